"""Solvers that choose the method."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _core
from ._constraints import Constraints
from ._core import SolveError
from ._report import Levels, Report, report

# The columns after the first one that are copied and solved at once.
_AT_ONCE = 8

Method = Literal["auto", "direct", "cg", "fcg", "minres", "gmres", "bicgstab"]


class Solver:
    """A solver that keeps the method and the preconditioner that it chose, for systems that follow each other.

    The first solve tries methods, with a bound on the cost of a wrong choice. Later solves take the method that ended it; its
    preconditioner is kept, updated or built again as its iterations demand. If a later solve does not converge, methods are
    tried again.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
        Copied; the values of the user may change afterwards.
    near_kernel : array, shape (n, k), optional
        Vectors v with ‖A v‖ small, such as rigid-body modes.
    coordinates : array, shape (nodes, 1, 2 or 3), optional
        The positions of the nodes, in any unit of length: rigid-body modes follow from them.
    block_size : int, optional
        The number of unknowns of a node. By default that of BSR, or n / nodes, or the one that needs the fewest bytes.
    method : {"auto", "direct", "cg", "fcg", "minres", "gmres", "bicgstab"}
        ``"auto"`` also chooses the method; otherwise the preconditioner is chosen for it.
    constraints : Constraints, optional
        Equations that x meets exactly.
    rtol : float
        The tolerance for ‖b − A x‖₂ / ‖b‖₂, recomputed from x. With constraints, that of the system without them.
    maxiter : int
        The largest number of iterations of all methods together.
    memory : int, optional
        The largest size of a factor in bytes, if iterations are an alternative; 4 GiB by default.
    single : bool
        Whether preconditioners are first tried in float32.
    threads : int, optional
        The number of threads; by default one for each core. It does not change a bit of the result.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import pycoarsen
    >>> A = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000), format="csr")
    >>> solver = pycoarsen.Solver(A)
    >>> x = solver.solve(np.ones(1000))
    >>> bool(np.linalg.norm(1.0 - A @ x) <= 1e-8 * np.sqrt(1000))
    True
    >>> solver.update(1.01 * A)  # the matrix of the next step
    >>> x = solver.solve(np.ones(1000), x0=x)
    >>> print(solver.report)  # doctest: +SKIP
    """

    def __init__(
        self,
        A: Any,
        *,
        near_kernel: ArrayLike | None = None,
        coordinates: ArrayLike | None = None,
        block_size: int | None = None,
        method: Method = "auto",
        constraints: Constraints | None = None,
        rtol: float = 1e-8,
        maxiter: int = 5000,
        memory: int | None = None,
        single: bool = True,
        threads: int | None = None,
    ) -> None:
        points = _arrays.coordinates(coordinates)
        matrix, self._structure = _arrays.blocks(A, block_size=block_size, points=points, threads=threads)
        self._n, self._block_size, self._threads = matrix.shape[0], matrix.block[0], threads
        self._report: Report | None = None
        self._constrained = constraints is not None
        # By the name of the preconditioner: a method that was tried and left also built one.
        self._levels: dict[str, Levels] = {}
        self._core = _core.Solver(
            matrix,
            method,
            float(rtol),
            int(maxiter),
            memory,
            single,
            points,
            _arrays.near_kernel(near_kernel, self._n),
            None if constraints is None else constraints._core,
            threads,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A."""
        return (self._n, self._n)

    @property
    def block_size(self) -> int:
        """The number of unknowns of a node."""
        return self._block_size

    @property
    def report(self) -> Report | None:
        """How the last solve ended; None before the first. In a notebook it shows levels and residuals."""
        return self._report

    @property
    def levels(self) -> Levels | None:
        """The levels of the hierarchy that was built last, if the kept method has one."""
        kept = self._core.kept()
        return None if kept is None else self._levels.get(kept[1])

    @property
    def method(self) -> tuple[str, str] | None:
        """The method and the preconditioner that the next solve takes first; None if methods are to be tried."""
        return self._core.kept()

    def update(self, A: Any, *, constraints: Constraints | None = None) -> None:
        """Copy the next matrix: its values, if its pattern is that of the last one.

        Parameters
        ----------
        A : sparse or dense matrix
            With as many unknowns, coordinates and near-kernel stay.
        constraints : Constraints, optional
            In place of those of the last system. A solver that began without constraints takes none: `ValueError`.
        """
        if constraints is not None and not self._constrained:
            raise ValueError("the solver began without constraints; make one with constraints=")
        matrix, self._structure = _arrays.blocks(
            A, block_size=self._block_size, like=self._structure, threads=self._threads
        )
        self._core.update(matrix, None if constraints is None else constraints._core)
        self._n = matrix.shape[0]

    def solve(self, b: ArrayLike, x0: ArrayLike | None = None) -> NDArray[np.float64]:
        """Solve A x = b.

        Parameters
        ----------
        b : array, shape (n,) or (n, k)
            Several columns share one setup. If conjugate gradients solve the first one, eight others are solved at once.
            The report is that of the last one; its history has the largest residuals of those that were solved with it.
        x0 : array of the shape of b, optional
            The starting guess, zeros by default.

        Returns
        -------
        x : array of the shape of b

        Raises
        ------
        SolveError
            Unless the recomputed residual is within `rtol`. The error has the best x as ``error.x``, for b with one column,
            and the report as ``error.report``.
        ValueError
            For shapes that do not fit, and NaN or infinity in A, b or x0.
        TypeError
            For complex numbers.
        """
        right = np.asarray(b)
        _arrays.real(right, "b")
        if right.ndim not in (1, 2) or right.shape[0] != self._n:
            raise ValueError(f"b has the shape {right.shape}, but ({self._n},) or ({self._n}, k) is needed")
        guess = None if x0 is None else np.asarray(x0)
        if guess is not None:
            _arrays.real(guess, "x0")
            if guess.shape != right.shape:
                raise ValueError(f"x0 has the shape {guess.shape}, but that of b is {right.shape}")
        if right.ndim == 1:
            return self._ended(
                *self._core.solve(
                    np.asarray(right, dtype=np.float64),
                    None if guess is None else np.asarray(guess, dtype=np.float64),
                )
            )
        x = np.zeros(right.shape) if guess is None else np.array(guess, dtype=np.float64)
        first = 0
        while first < right.shape[1]:
            columns = range(first, min(first + (_AT_ONCE if first else 1), right.shape[1]))
            solved = self._core.solve_many(
                [np.array(right[:, j], dtype=np.float64) for j in columns], [x[:, j].copy() for j in columns]
            )
            for j, (one, told) in zip(columns, solved):
                x[:, j] = self._ended(one, told)
            first = columns.stop
        return x

    def _ended(self, x: NDArray[np.float64], told: dict[str, Any]) -> NDArray[np.float64]:
        self._report = report(told)
        for attempt in self._report.attempts:
            if attempt.levels is not None:
                self._levels[attempt.preconditioner] = attempt.levels
        if not self._report.converged:
            error = SolveError(self._report.message)
            error.x, error.report = x, self._report
            raise error
        return x

    def __repr__(self) -> str:
        kept = self._core.kept()
        how = "nothing chosen yet" if kept is None else " with ".join(kept)
        return f"<Solver of {self._n} unknowns in nodes of {self._block_size}: {how}>"


def solve(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    near_kernel: ArrayLike | None = None,
    coordinates: ArrayLike | None = None,
    block_size: int | None = None,
    method: Method = "auto",
    constraints: Constraints | None = None,
    rtol: float = 1e-8,
    maxiter: int = 5000,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Solve A x = b by the method with the lowest forecast.

    The work is at most three times that of a sparse factor, and at most three times that of all methods tried.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    b : array, shape (n,) or (n, k)
        Several columns share one setup.
    x0 : array of the shape of b, optional
    near_kernel, coordinates, block_size, method, constraints, rtol, maxiter, threads
        As in `Solver`.

    Returns
    -------
    x : array of the shape of b

    Raises
    ------
    SolveError
        Unless ‖b − A x‖₂ ≤ rtol ‖b‖₂ for each column; the message gives the cause and a remedy.
    ValueError
        For shapes that do not fit, and NaN or infinity in A, b or x0.
    TypeError
        For complex numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import pycoarsen
    >>> pycoarsen.solve([[4.0, 0.0], [0.0, 2.0]], [4.0, 4.0])
    array([1., 2.])
    """
    solver = Solver(
        A,
        near_kernel=near_kernel,
        coordinates=coordinates,
        block_size=block_size,
        method=method,
        constraints=constraints,
        rtol=rtol,
        maxiter=maxiter,
        threads=threads,
    )
    return solver.solve(b, x0)
