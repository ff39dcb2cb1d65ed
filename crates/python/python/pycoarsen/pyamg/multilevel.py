"""Hierarchies: levels, the cycle, and the coarsest solve."""

from __future__ import annotations

import warnings
from collections.abc import Callable, MutableSequence
from typing import Any

import numpy as np
from scipy.sparse import linalg as sla

from .. import _core
from .._report import ConvergenceWarning
from ._matrices import as_rows, block_size, from_core, real, to_core, vector
from ._options import COARSE, RELAXATION, choose, missing, per_level

__all__ = ["Level", "MultilevelSolver", "coarse_grid_solver"]

#: What a level stores as a sparse matrix.
_MATRICES = ("A", "P", "R", "C", "T", "AggOp")

#: Relaxations that are symmetric in one direction.
_SYMMETRIC = ("jacobi", "richardson", "block_jacobi", "jacobi_ne", "chebyshev", None)

#: The solvers of ``scipy.sparse.linalg`` that take a preconditioner and a callback. ``tfqmr`` is not one of them: in SciPy
#: 1.17 it solves M A y = b and returns M y as a success.
_SCIPY = ("cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "gcrotmk", "minres")

#: The Krylov methods of this package.
_KRYLOV = ("cg", "fcg", "minres", "bicgstab", "gmres", "fgmres")


class Level:
    """One level of a hierarchy.

    Attributes
    ----------
    A : csr_array or bsr_array, shape (n, n)
        The matrix. That of the finest level is the matrix of the caller; the others are made when they are first read. The
        cycle has copies: the arrays of this class cannot be written, and a changed matrix is assigned, ``level.A = A``.
    P, R : csr_array or bsr_array, shapes (n, m) and (m, n)
        The transfers to and from the next coarser level; the coarsest level has none.
    B, BH : ndarray, shape (n, k)
        The near-kernel, and that of the transpose for ``symmetry='nonsymmetric'``.
    C, T, AggOp, Cnodes, splitting
        The strength of connection, the tentative prolongation, the aggregates and their roots (with ``keep=True``), and
        which unknowns are coarse (classical multigrid).
    """

    def __init__(self) -> None:
        object.__setattr__(self, "_host", {})
        object.__setattr__(self, "_core", {})
        object.__setattr__(self, "_kept", {})
        object.__setattr__(self, "_version", 0)
        object.__setattr__(self, "_blocks", False)

    def __getattr__(self, name: str) -> Any:
        if name in _MATRICES:
            if name in self._host:
                return self._host[name]
            if name in self._core:
                blocks = self._blocks and name not in ("C", "AggOp")
                self._host[name] = _fixed(from_core(self._core[name], blocks))
                return self._host[name]
            if name == "A":
                return None
        raise AttributeError(f"this level has no {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "_version", self._version + 1)
        if name in _MATRICES:
            self._core.pop(name, None)
            self._host[name] = value
            if name == "A":
                self._kept.clear()
        else:
            object.__setattr__(self, name, value)

    def core(self, name: str) -> _core.Matrix:
        """A matrix of this level in Rust; copied once."""
        if name not in self._core:
            self._core[name] = to_core(self._host[name])
        matrix: _core.Matrix = self._core[name]
        return matrix

    def set_core(self, name: str, matrix: _core.Matrix) -> None:
        """Sets a matrix of this level."""
        self._host.pop(name, None)
        self._core[name] = matrix

    def has(self, name: str) -> bool:
        """Whether this level has a matrix."""
        return name in self._core or name in self._host

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A."""
        rows, columns = (self._core["A"] if "A" in self._core else self._host["A"]).shape
        return int(rows), int(columns)

    @property
    def nnz(self) -> int:
        """The number of stored entries of A."""
        return int(self._core["A"].nnz if "A" in self._core else self._host["A"].nnz)

    @property
    def block_size(self) -> int:
        """The unknowns of a node."""
        return int(self._core["A"].block[0]) if "A" in self._core else block_size(self._host["A"])

    def radius(self, weighting: str) -> float:
        """An estimate of the spectral radius of D A; computed once."""
        key = ("radius", weighting)
        if key not in self._kept:
            self._kept[key] = _core.spectral_radius(self.core("A"), weighting)
        radius: float = self._kept[key]
        return radius or 1.0

    def relaxation(self, name: str | None, parameters: dict[str, Any]) -> _core.Relaxation:
        """A relaxation method of this level; the same parameters share it."""
        key = (name, *sorted((k, repr(v)) for k, v in parameters.items()))
        if key not in self._kept:
            self._kept[key] = _relaxation(self, name, parameters)
        relaxation: _core.Relaxation = self._kept[key]
        return relaxation


def _fixed(matrix: Any) -> Any:
    """The matrix with arrays that cannot be written, since the cycle would not see it."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def _relaxation(level: Level, name: str | None, p: dict[str, Any]) -> _core.Relaxation:
    """Builds a relaxation method from complete parameters."""
    a, make = level.core("A"), _core.Relaxation
    count = int(p.get("iterations", 1))
    if count < 0:
        raise ValueError(f"iterations is 0 or more, not {count}")
    size = int(p.get("blocksize") or level.block_size)
    if name is None:
        return make.nothing(a)
    if name in ("gauss_seidel", "block_gauss_seidel"):
        return make.sweeps(a, 1 if name == "gauss_seidel" else size, 1.0, p["sweep"], count)
    if name == "sor":
        return make.sweeps(a, 1, float(p["omega"]), p["sweep"], count)
    if name in ("jacobi", "block_jacobi"):
        size = 1 if name == "jacobi" else size
        if not p["withrho"]:
            radius = 1.0
        elif size in (1, level.block_size):
            radius = level.radius("diagonal" if size == 1 else "block")
        else:
            radius = _core.spectral_radius(a.reblock(size), "block")
        return make.jacobi(a, size, p["omega"] / radius, count)
    if name == "richardson":
        return make.polynomial(a, [p["omega"] / level.radius("none")], count)
    if name == "chebyshev":
        radius = level.radius("none")
        ends = (radius * p["lower_bound"], radius * p["upper_bound"])
        return make.polynomial(a, _chebyshev(*ends, int(p["degree"])), count)
    if name in ("gauss_seidel_ne", "gauss_seidel_nr"):
        return make.normal(a, name[-2:], float(p["omega"]), p["sweep"], count)
    if name == "jacobi_ne":
        radius = level.radius("diagonal") if p["withrho"] else 1.0
        return make.normal(a, "jacobi_ne", p["omega"] / radius**2, "forward", count)
    if name in ("schwarz", "strength_based_schwarz"):
        domains = None
        if name == "strength_based_schwarz" and level.has("C"):
            domains = level.core("C")
            if domains.shape != a.shape:
                raise NotImplementedError(
                    "strength_based_schwarz for blocks is not in pycoarsen.pyamg; there is 'schwarz'"
                )
        return make.schwarz(a, domains, p["sweep"], count)
    return _inner(a, name, p)


def _inner(a: _core.Matrix, name: str, p: dict[str, Any]) -> _core.Relaxation:
    n = a.shape[0]
    most = int(1.3 * n) + 2 if p["maxiter"] is None else int(p["maxiter"])
    return _core.Relaxation.krylov(a, name, float(p["tol"]), most, int(p.get("restart") or min(most, n)))


def _chebyshev(a: float, b: float, degree: int) -> list[float]:
    """The coefficients of q, highest power first: 1 - t q(t) is the Chebyshev polynomial of [a, b], 1 at t = 0."""
    if degree < 1 or not 0.0 < a < b:
        raise ValueError(
            f"chebyshev needs a degree of 1 or more and 0 < lower_bound < upper_bound, not {degree}, {a}, {b}"
        )
    angles = np.pi * (np.arange(degree) + 0.5) / degree
    roots = 0.5 * (b + a) + 0.5 * (b - a) * np.cos(angles)
    polynomial = np.poly(roots)
    return [float(c) for c in -(polynomial / polynomial[-1])[:-1]]


class Smoother:
    """The relaxation of a level before or after the coarse correction: ``smoother(A, x, b)`` improves x in place."""

    def __init__(self, level: Level, name: str | None, parameters: dict[str, Any]) -> None:
        self._level, self.name, self.parameters = level, name, parameters
        self.__name__ = str(name).lower()

    def core(self) -> _core.Relaxation:
        """The method in Rust."""
        return self._level.relaxation(self.name, self.parameters)

    def __call__(self, A: Any, x: Any, b: Any) -> None:
        x[...] = (
            self.core().run(np.ascontiguousarray(b, np.float64), np.ascontiguousarray(x, np.float64)).reshape(x.shape)
        )

    def __repr__(self) -> str:
        return f"Smoother({self.name!r}, {self.parameters!r})"


class GenericSolver:
    """A method for the coarsest level; see :func:`coarse_grid_solver`."""

    def __init__(self, solver: Any, fallback: bool = False) -> None:
        self._called: Callable[..., Any] | None = None
        self._parameters: dict[str, Any] = {}
        self._name: Any = None
        self._kept: tuple[Any, Level, _core.Relaxation] | None = None
        name = solver[0] if isinstance(solver, tuple) else solver
        if callable(name):
            self._called = name
            self._parameters = dict(solver[1]) if isinstance(solver, tuple) else {}
            self._name = name
        else:
            self._name, self._parameters = choose("coarse_solver", solver, COARSE, fallback)

    def core(self, level: Level) -> _core.Relaxation:
        """The method for the matrix of a level."""
        a, name, p = level.core("A"), self._name, self._parameters
        if self._called is not None:
            A = level.A

            def solve(b: Any) -> Any:
                x = self._called(A, b, **p)  # type: ignore[misc]
                real(x, "the result of the coarse solver")
                return np.ascontiguousarray(x, np.float64).reshape(b.shape)

            return _core.Relaxation.called(a, solve)
        if name is None or a.nnz == 0:
            return _core.Relaxation.nothing(a)
        if name in ("splu", "lu", "cholesky"):
            return _core.Relaxation.factor(a, "cholesky" if name == "cholesky" else "lu")
        if name in ("pinv", "pinv2"):
            relative = None if p["rtol"] is None else float(p["rtol"])
            return _core.Relaxation.pseudo_inverse(a, float(p["atol"] or 0.0), relative)
        if name in RELAXATION and "iterations" in p:
            return level.relaxation(name, p)
        return _inner(a, name, p)

    def __call__(self, A: Any, b: Any) -> Any:
        """Returns x for A x = b; what the method computes for A is kept."""
        if self._kept is None or self._kept[0] is not A:
            level = Level()
            level.A = as_rows(A)
            self._kept = (A, level, self.core(level))
        b = np.asanyarray(b)
        own = vector(b, A.shape[0], "b")
        return self._kept[2].run(own, np.zeros(A.shape[0])).reshape(b.shape)

    def name(self) -> str:
        """The name that ``print`` shows."""
        return repr(self._name)

    def __repr__(self) -> str:
        return f"coarse_grid_solver({self._name!r})"


def coarse_grid_solver(solver: Any) -> GenericSolver:
    """Returns a method for the coarsest level.

    Parameters
    ----------
    solver : str, callable, tuple or None
        ``'splu'``, ``'lu'``, ``'cholesky'`` (a sparse factor each), ``'pinv'`` (``atol``, ``rtol``), ``'cg'``,
        ``'gmres'``, ``'bicgstab'``, ``'minres'`` (``tol``, ``maxiter``), a relaxation method (``iterations``, 10 by
        default, and its own parameters), a function ``f(A, b)``, or ``None`` for no correction. A tuple adds a
        dictionary of parameters.

    Returns
    -------
    GenericSolver
        A function ``f(A, b)`` that keeps what it computes for the last A.
    """
    return GenericSolver(solver)


#: The name that the class below has for its users.
_Level = Level


class Preconditioner(sla.LinearOperator):  # type: ignore[misc]
    """One cycle from zero as a linear operator of shape (n, n)."""

    def __init__(self, solver: MultilevelSolver, cycle: str) -> None:
        self.solver, self.cycle = solver, cycle
        super().__init__(np.float64, solver.levels[0].shape)

    def _matvec(self, x: Any) -> Any:
        return self.solver._one_cycle(self.cycle, x)

    def _rmatvec(self, x: Any) -> Any:
        if self.cycle not in ("V", "W") or not self.solver.symmetric_smoothing or self.solver._symmetry == "nonsymmetric":
            raise NotImplementedError("the transpose of a cycle that is not symmetric is not in pycoarsen.pyamg")
        return self._matvec(x)


class MultilevelSolver:
    """A hierarchy and its cycle.

    Parameters
    ----------
    levels : list of Level
        From fine to coarse. A level without R has the transpose of P.
    coarse_solver : str, callable, tuple or None
        See :func:`coarse_grid_solver`.

    Attributes
    ----------
    levels : list of Level
    coarse_solver : GenericSolver
    symmetric_smoothing : bool
        Whether the relaxation after the coarse correction is the transpose of that before it.
    """

    Level = _Level

    def __init__(self, levels: list[_Level], coarse_solver: Any = "pinv", fallback: bool = False) -> None:
        if not levels:
            raise ValueError("a hierarchy has at least one level")
        self.levels = levels
        self.coarse_solver = GenericSolver(coarse_solver, fallback)
        self.symmetric_smoothing = False
        self._built: tuple[Any, _core.Levels] | None = None
        self._symmetry = "hermitian"
        for level in levels[:-1]:
            if not level.has("R"):
                level.set_core("R", _core.transpose(level.core("P")))

    def __repr__(self) -> str:
        total = sum(level.nnz for level in self.levels)
        lines = [
            "MultilevelSolver",
            f"Number of Levels:     {len(self.levels)}",
            f"Operator Complexity:  {self.operator_complexity():6.3f}",
            f"Grid Complexity:      {self.grid_complexity():6.3f}",
            f"Coarse Solver:        {self.coarse_solver.name()}",
            "  level   unknowns     nonzeros",
        ]
        for n, level in enumerate(self.levels):
            share = 100 * level.nnz / max(total, 1)
            lines.append(f"{n:>6} {level.shape[1]:>11} {level.nnz:>12} [{share:2.2f}%]")
        return "\n".join(lines) + "\n"

    def operator_complexity(self) -> float:
        """The stored entries of the matrices of all levels, divided by those of the finest one."""
        return sum(level.nnz for level in self.levels) / float(self.levels[0].nnz)

    def grid_complexity(self) -> float:
        """The unknowns of all levels, divided by those of the finest one."""
        return sum(level.shape[0] for level in self.levels) / float(self.levels[0].shape[0])

    def cycle_complexity(self, cycle: str = "V") -> float:
        """The stored entries that the relaxations of a cycle read, divided by those of the finest matrix.

        A level counts twice for each visit, and the coarsest one once.
        """
        sizes = [level.nnz for level in self.levels]
        last = len(sizes) - 1
        name = self._cycle(cycle)

        def work(level: int, kind: str) -> int:
            if level == last:
                return sizes[level]
            if level == last - 1:
                return 2 * sizes[level] + sizes[level + 1]
            below = {"V": ("V",), "W": ("W", "W"), "F": ("F", "V")}[kind]
            return 2 * sizes[level] + sum(work(level + 1, each) for each in below)

        return work(0, "W" if name == "AMLI" else name) / float(sizes[0])

    def change_solve_matrix(self, A: Any) -> None:
        """Replaces the matrix of the finest level and its relaxation; the coarser levels stay."""
        self.levels[0].A = as_rows(A)

    def psolve(self, b: Any) -> Any:
        """Returns the result of one cycle from zero."""
        return self._one_cycle("V", b)

    def aspreconditioner(self, cycle: str = "V") -> Preconditioner:
        """Returns one cycle from zero as a ``LinearOperator``, for the Krylov methods of SciPy and of this package.

        Parameters
        ----------
        cycle : {'V', 'W', 'F', 'AMLI'}
            AMLI is not linear: use it with ``fgmres``.
        """
        return Preconditioner(self, self._cycle(cycle))

    def solve(
        self,
        b: Any,
        x0: Any = None,
        tol: float = 1e-5,
        maxiter: int = 100,
        cycle: str = "V",
        accel: Any = None,
        callback: Callable[[Any], object] | None = None,
        residuals: MutableSequence[float] | None = None,
        cycles_per_level: int = 1,
        return_info: bool = False,
    ) -> Any:
        """Solves A x = b by cycles, or by a Krylov method with one cycle as its preconditioner.

        Parameters
        ----------
        b : array, shape (n,) or (n, 1)
            Right-hand side.
        x0 : array, optional
            Guess; zeros by default.
        tol : float
            The solve ends once the 2-norm of b - A x is below ``tol`` times that of b.
        maxiter : int
            The largest number of cycles or iterations.
        cycle : {'V', 'W', 'F', 'AMLI'}
            The order in which levels are visited.
        accel : str or function, optional
            'cg', 'fcg', 'gmres', 'fgmres', 'bicgstab', 'minres', of SciPy 'cgs', 'bicg', 'lgmres', 'gcrotmk', or a
            function with the signature of ``pyamg.krylov`` or ``scipy.sparse.linalg``. GMRES is preconditioned from the right.
        callback : function, optional
            Called as ``callback(x)`` after each cycle or iteration.
        residuals : list, optional
            Receives the 2-norms of b - A x, that of the guess first.
        cycles_per_level : int
            The V-cycles after each F-cycle.
        return_info : bool
            Whether to return ``(x, info)``; info is 0 after convergence, otherwise the number of iterations.

        Returns
        -------
        x : ndarray, shape (n,)
            The solution. A ``ConvergenceWarning`` says that it did not converge.
        """
        n = self.levels[0].shape[0]
        name = self._cycle(cycle)
        own = vector(b, n, "b")
        x = np.zeros(n) if x0 is None else vector(x0, n, "x0")
        if int(maxiter) < 1:
            raise ValueError(f"maxiter is 1 or more, not {maxiter}")
        if name == "AMLI" and accel is not None and accel != "fgmres":
            raise ValueError("AMLI cycles need accel='fgmres', or no acceleration")
        if accel is None:
            x, norms, outcome = self._levels().solve(
                name, int(cycles_per_level), own, x, float(tol), int(maxiter), callback
            )
        elif accel in _KRYLOV:
            if accel == "cg" and not self.symmetric_smoothing:
                warnings.warn(
                    "the relaxations before and after the coarse correction are not transposes of each other; 'cg' "
                    "needs a symmetric preconditioner",
                    UserWarning,
                    stacklevel=2,
                )
            if callback is not None and accel in ("gmres", "fgmres"):
                raise NotImplementedError(
                    f"a callback for accel={accel!r} is not in pycoarsen.pyamg: use residuals, since the iterates "
                    "are not computed"
                )
            x, norms, outcome = self._levels().accelerate(
                accel, name, int(cycles_per_level), own, x, float(tol), int(maxiter), min(int(maxiter), n), callback
            )
        else:
            return self._by_scipy(accel, name, b, x0, tol, maxiter, callback, residuals, return_info)
        if residuals is not None:
            residuals[:] = norms
        iterations = len(norms) - 1
        if outcome != "converged":
            _warn(norms[-1], float(np.linalg.norm(own)) or 1.0, tol, iterations, outcome)
        result = x.astype(self._dtype(b), copy=False)
        if return_info:
            return result, 0 if outcome == "converged" else max(iterations, 1)
        return result

    def _by_scipy(
        self,
        accel: Any,
        cycle: str,
        b: Any,
        x0: Any,
        tol: float,
        maxiter: int,
        callback: Callable[[Any], object] | None,
        residuals: MutableSequence[float] | None,
        return_info: bool,
    ) -> Any:
        """Solves by a function with the signature of ``pyamg.krylov`` or ``scipy.sparse.linalg``."""
        if isinstance(accel, str):
            if accel not in _SCIPY:
                missing(f"accel={accel!r}", dict.fromkeys((*_KRYLOV, *_SCIPY)), False, "")
            accel = getattr(sla, accel)
        A, M = self.levels[0].A, self.aspreconditioner(cycle)
        b = np.asarray(b)
        if getattr(accel, "__module__", "").startswith("scipy"):
            if accel.__name__ not in _SCIPY:
                missing(f"accel={accel.__name__!r}", dict.fromkeys((*_KRYLOV, *_SCIPY)), False, "")
            norms = [] if residuals is None else residuals
            norms[:] = [float(np.linalg.norm(b - A @ (np.zeros_like(b) if x0 is None else x0)))]

            def observe(x: Any) -> None:
                norms.append(float(np.linalg.norm(b - A @ x)))
                if callback is not None:
                    callback(x)

            options: dict[str, Any] = {"rtol": tol, "maxiter": maxiter, "M": M, "callback": observe}
            if accel is not sla.minres:
                options["atol"] = 0.0
            if accel is sla.gmres:
                options["callback_type"] = "x"  # otherwise it sees preconditioned residuals
            x, info = accel(A, b, x0=x0, **options)
        else:
            x, info = accel(A, b, x0=x0, tol=tol, maxiter=maxiter, M=M, callback=callback, residuals=residuals)
            return (x, info) if return_info else x
        if info != 0:
            _warn(norms[-1], float(np.linalg.norm(b)) or 1.0, tol, len(norms) - 1, "iteration_limit")
        return (x, info) if return_info else x

    def _cycle(self, cycle: str) -> str:
        name = str(cycle).upper()
        if name not in ("V", "W", "F", "AMLI"):
            raise NotImplementedError(f"cycle={cycle!r} is not in pycoarsen.pyamg; there are 'V', 'W', 'F', 'AMLI'")
        if name == "AMLI" and self._symmetry == "nonsymmetric":
            raise ValueError("AMLI cycles need a symmetric matrix")
        return name

    def _dtype(self, b: Any) -> Any:
        A = self.levels[0]
        single = A.has("A") and "A" in A._host and A._host["A"].dtype == np.float32
        return np.float32 if single and np.asarray(b).dtype == np.float32 else np.float64

    def _one_cycle(self, cycle: str, b: Any) -> Any:
        b = np.asanyarray(b)
        own = vector(b, self.levels[0].shape[0], "b")
        return self._levels().apply(cycle, 1, own).reshape(b.shape)

    def _levels(self) -> _core.Levels:
        """The cycle in Rust; built again after a change of a level."""
        key = (self.coarse_solver, tuple((level, level._version) for level in self.levels))
        if self._built is None or self._built[0] != key:
            parts = []
            for level in self.levels[:-1]:
                before, after = (self._smoother(level, name) for name in ("presmoother", "postsmoother"))
                parts.append((level.core("A"), level.core("P"), level.core("R"), before, after))
            last = self.levels[-1]
            levels = _core.Levels(parts, last.core("A"), self.coarse_solver.core(last))
            self._built = (key, levels)
        return self._built[1]

    @staticmethod
    def _smoother(level: _Level, name: str) -> _core.Relaxation:
        found = level.__dict__.get(name)
        if found is None:
            raise AttributeError(f"a level has no {name}; call change_smoothers first")
        if not isinstance(found, Smoother):
            raise NotImplementedError(f"a {name} that is a function of Python is not in pycoarsen.pyamg")
        return found.core()


def _warn(residual: float, size: float, tol: float, iterations: int, outcome: str) -> None:
    reason = "" if outcome == "iteration_limit" else f" ({outcome.replace('_', ' ')})"
    warnings.warn(
        f"the solve did not converge{reason}: relative residual {residual / size:.2e} after {iterations} iterations, "
        f"asked {tol:.1e}",
        ConvergenceWarning,
        stacklevel=3,
    )


def change_smoothers(ml: MultilevelSolver, presmoother: Any, postsmoother: Any, fallback: bool = False) -> None:
    """Sets the relaxation before and after the coarse correction on all levels but the coarsest one.

    Parameters
    ----------
    ml : MultilevelSolver
        Changed in place.
    presmoother, postsmoother : str, tuple, list or None
        A method, a method with its parameters, or one of these for each level; the last one of a list is repeated.
    fallback : bool
        Whether what is not here is replaced with a warning.
    """
    count = len(ml.levels) - 1
    presmoothers, postsmoothers = per_level(presmoother, count), per_level(postsmoother, count)
    ml.symmetric_smoothing = True
    for level, before, after in zip(ml.levels, presmoothers[:count], postsmoothers[:count], strict=False):
        chosen = [
            choose(option, value, RELAXATION, fallback, "relaxation")
            for option, value in (("presmoother", before), ("postsmoother", after))
        ]
        level.presmoother, level.postsmoother = (Smoother(level, *each) for each in chosen)
        ml.symmetric_smoothing &= _transposed(*chosen)


def _transposed(before: tuple[Any, dict[str, Any]], after: tuple[Any, dict[str, Any]]) -> bool:
    """Whether one relaxation is the transpose of the other."""
    if before[0] != after[0] or before[0] in ("cg", "gmres"):
        return False
    mirror = {"forward": "backward", "backward": "forward"}
    mirrored = dict(after[1])
    if "sweep" in mirrored:
        mirrored["sweep"] = mirror.get(mirrored["sweep"], mirrored["sweep"])
    return before[0] in _SYMMETRIC and before[1] == after[1] or before[1] == mirrored
