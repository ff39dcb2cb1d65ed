"""Preconditioners: `LinearOperator`s that Krylov methods of this package apply without Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from . import _arrays, _core
from ._arrays import Vector
from ._report import Levels, levels

Cycle = Literal["V", "W", "F", "K", "additive"]
Smoother = Literal["fitted", "gauss_seidel", "symmetric_gauss_seidel", "chebyshev", "damped_jacobi", "spai0"]


class Preconditioner(LinearOperator):  # type: ignore[misc] # SciPy has no types
    """z = M⁻¹ r, an approximation of A⁻¹.

    Functions of this package build it: `smoothed_aggregation`, `ruge_stueben`, `schwarz`, `skinning`, `ic`, `ilu`,
    `jacobi`, `gauss_seidel`, `chebyshev`, `factor`. Pass it as ``M=`` to a Krylov method of this package or of SciPy.
    """

    def __init__(
        self,
        name: str,
        core: _core.Preconditioner,
        block_size: int,
        threads: int | None,
        structure: _core.Structure | None = None,
    ) -> None:
        self._name = name
        self._core = core
        self._block_size = block_size
        self._structure = structure
        self._threads = threads
        super().__init__(np.dtype(np.float64), (core.size, core.size))

    def _matvec(self, x: ArrayLike) -> Vector:
        return self._core.apply(_arrays.vector(x, self._core.size, "r"), self._threads)

    def _rmatvec(self, x: ArrayLike) -> Vector:
        if self.kind != "symmetric":
            raise NotImplementedError(f"the transpose of {self._name}, which is not symmetric, cannot be applied")
        return self._matvec(x)

    @property
    def kind(self) -> str:
        """What a method may rely on: ``"symmetric"`` (positive definite), ``"linear"`` or ``"variable"``."""
        return self._core.kind

    @property
    def levels(self) -> Levels | None:
        """The levels at the build, if this is a hierarchy."""
        return levels(self._core.levels)

    def update(self, A: Any) -> str:
        """Update for new values of A.

        With the pattern of the build, its structure is kept: aggregates, prolongations, orderings.

        Parameters
        ----------
        A : sparse or dense matrix, shape (n, n)

        Returns
        -------
        str
            What was kept: ``"structure"``, ``"rest"`` (all but some parts) or ``"nothing"``.
        """
        matrix, self._structure = _arrays.blocks(
            A, block_size=self._block_size, like=self._structure, threads=self._threads
        )
        return self._core.update(matrix, self._threads)

    def __repr__(self) -> str:
        n = self._core.size
        return f"<{n}x{n} preconditioner {self._name}, {self.kind}>"

    def __str__(self) -> str:
        return repr(self) if self.levels is None else self.levels.table

    def _repr_html_(self) -> str:
        return Levels(1, 1.0, repr(self))._repr_html_() if self.levels is None else self.levels._repr_html_()


def _build(
    name: str,
    A: Any,
    options: dict[str, Any],
    *,
    block_size: int | None = None,
    coordinates: ArrayLike | None = None,
    near_kernel: ArrayLike | None = None,
    threads: int | None = None,
) -> Preconditioner:
    points = _arrays.coordinates(coordinates)
    matrix, structure = _arrays.blocks(A, block_size=block_size, points=points, threads=threads)
    kernel = _arrays.near_kernel(near_kernel, matrix.shape[0])
    given = {key: value for key, value in options.items() if value is not None}
    core = _core.precondition(name, matrix, given, points, kernel, threads)
    return Preconditioner(name, core, matrix.block[0], threads, structure)


def smoothed_aggregation(
    A: Any,
    near_kernel: ArrayLike | None = None,
    *,
    coordinates: ArrayLike | None = None,
    block_size: int | None = None,
    strength: Literal["spectral_radius", "symmetric"] = "spectral_radius",
    theta: float | None = None,
    omega: float | None = None,
    cycle: Cycle = "V",
    smoother: Smoother = "fitted",
    max_levels: int = 20,
    max_coarse: int = 500,
    single: bool = True,
    threads: int | None = None,
) -> Preconditioner:
    """Build a hierarchy by smoothed aggregation, for symmetric positive definite A.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
        BSR is taken in its blocks.
    near_kernel : array, shape (n, k), optional
        Vectors v with ‖A v‖ small, such as rigid-body modes. By default these modes, if `coordinates` are given and
        blocks are 2x2 or 3x3; otherwise a constant for each unknown of a node.
    coordinates : array, shape (nodes, 1, 2 or 3), optional
        The positions of the nodes, in any unit of length.
    block_size : int, optional
        The number of unknowns of a node. By default that of BSR, or n / nodes, or the one that needs the fewest bytes.
    strength : {"spectral_radius", "symmetric"}
        The measure of couplings: relative to the strongest of a node (Tamstorf 2015), or absolute (Vaněk 1996).
    theta : float, optional
        The threshold of strong couplings, between 0 and 1; 0.48 by default.
    omega : float, optional
        ω ρ(D⁻¹A) of the smoothing of P; 4/3 by default, 0 for none.
    cycle : {"V", "W", "F", "K", "additive"}
        K is variable: `cg` becomes flexible by itself.
    smoother : str
        ``"fitted"`` chooses for each level.
    max_levels, max_coarse : int
        Coarsening ends at this many levels, or at a level of at most this many unknowns.
    single : bool
        Whether levels are stored and applied in float32, which halves time and memory. Use False if A is so
        ill-conditioned that it is indefinite in float32.
    threads : int, optional
        The number of threads; by default one for each core. It does not change a bit of the result.

    Returns
    -------
    Preconditioner

    Raises
    ------
    SetupError
        With the row or node, the cause and a remedy.

    References
    ----------
    Tamstorf, Jones & McCormick 2015, "Smoothed aggregation multigrid for cloth simulation"; Vaněk, Mandel & Brezina 1996.
    """
    options = {
        "strength": strength,
        "theta": theta,
        "omega": omega,
        "cycle": cycle,
        "smoother": smoother,
        "max_levels": max_levels,
        "max_coarse": max_coarse,
        "single": single,
    }
    return _build(
        "smoothed_aggregation",
        A,
        options,
        block_size=block_size,
        coordinates=coordinates,
        near_kernel=near_kernel,
        threads=threads,
    )


def ruge_stueben(
    A: Any,
    *,
    theta: float = 0.25,
    interpolation: Literal["direct", "classical", "modified"] = "direct",
    cycle: Cycle = "V",
    smoother: Smoother = "gauss_seidel",
    max_levels: int = 20,
    max_coarse: int = 500,
    threads: int | None = None,
) -> Preconditioner:
    """Build a hierarchy by classical algebraic multigrid, for scalar problems close to an M-matrix.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    theta : float
        Unknown i depends strongly on j if |a_ij| is at least this fraction of the largest |a_ik|.
    interpolation : {"direct", "classical", "modified"}
        How fine unknowns are interpolated. "classical" adds the second pass of the splitting.
    cycle, smoother, max_levels, max_coarse, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner

    References
    ----------
    Ruge & Stüben 1987; Stüben 2001 (direct interpolation); De Sterck, Falgout, Nolting & Yang 2008 (modified).
    """
    options = {
        "theta": theta,
        "interpolation": interpolation,
        "cycle": cycle,
        "smoother": smoother,
        "max_levels": max_levels,
        "max_coarse": max_coarse,
    }
    return _build("ruge_stueben", A, options, block_size=1, threads=threads)


def schwarz(
    A: Any,
    *,
    form: Literal["multilevel", "overlapping", "restricted"] = "multilevel",
    domain: int | None = None,
    overlap: int | None = None,
    max_levels: int | None = None,
    block_size: int | None = None,
    coordinates: ArrayLike | None = None,
    threads: int | None = None,
) -> Preconditioner:
    """Build an additive Schwarz method.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    form : {"multilevel", "overlapping", "restricted"}
        Multilevel additive Schwarz for cloth and bodies whose contacts change (Wu 2022); one level of overlapping
        domains; or its restricted form, which is not symmetric and suits any matrix.
    domain : int, optional
        The largest number of nodes of a domain: 32, or 256 for the restricted form.
    overlap : int, optional
        Layers of neighbours; 1 by default. Not for the multilevel form.
    max_levels : int, optional
        8 by default. For the multilevel form.
    block_size, coordinates, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner

    References
    ----------
    Wu, Wang & Wang 2022, "A GPU-based multilevel additive Schwarz preconditioner for cloth and deformable body
    simulation"; Cai & Sarkis 1999 (restricted).
    """
    common: dict[str, Any] = {"block_size": block_size, "coordinates": coordinates, "threads": threads}
    if form == "multilevel":
        if overlap is not None:
            raise ValueError("overlap: domains of multilevel Schwarz do not overlap")
        return _build("schwarz", A, {"domain": domain, "max_levels": max_levels}, **common)
    if form not in ("overlapping", "restricted"):
        raise ValueError(f"form is {form!r}, but must be 'multilevel', 'overlapping' or 'restricted'")
    if max_levels is not None:
        raise ValueError(f"max_levels: {form} Schwarz has one level")
    options = {"restricted": form == "restricted", "domain": domain, "overlap": overlap}
    return _build("additive_schwarz", A, options, **common)


def skinning(
    A: Any,
    coordinates: ArrayLike,
    *,
    control_points: Sequence[int] = (),
    block_size: int | None = None,
    cycle: Cycle = "V",
    smoother: Smoother = "fitted",
    single: bool = True,
    threads: int | None = None,
) -> Preconditioner:
    """Build skinning-space multigrid, for elastic bodies with known rest positions.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
        The stiffness of a body.
    coordinates : array, shape (nodes, 1, 2 or 3)
        The rest positions of the nodes.
    control_points : sequence of int
        The number of control points (handles of the paper) of each coarse level, decreasing; by default from the number of
        nodes.
    block_size, cycle, smoother, single, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner

    References
    ----------
    Xian, Tong & Liu 2019, "A scalable Galerkin multigrid method for real-time simulation of deformable objects".
    """
    options = {"control_points": list(control_points), "cycle": cycle, "smoother": smoother, "single": single}
    return _build("skinning", A, options, block_size=block_size, coordinates=coordinates, threads=threads)


def ic(A: Any, *, block_size: int | None = None, threads: int | None = None) -> Preconditioner:
    """Build an incomplete Cholesky factor without fill-in, IC(0), for symmetric positive definite A.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    block_size, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner
    """
    return _build("ic", A, {}, block_size=block_size, threads=threads)


def ilu(A: Any, *, block_size: int | None = None, threads: int | None = None) -> Preconditioner:
    """Build an incomplete LU factor without fill-in, ILU(0), for any A. It is not symmetric: use `gmres` or `bicgstab`.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    block_size, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner
    """
    return _build("ilu", A, {}, block_size=block_size, threads=threads)


def jacobi(
    A: Any,
    *,
    omega: float = 1.0,
    l1: bool = False,
    block_size: int | None = 1,
    threads: int | None = None,
) -> Preconditioner:
    """Build Jacobi, z = ω D⁻¹ r.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    omega : float
        ω, above 0.
    l1 : bool
        Whether row sums of absolute values replace the diagonal, as `minres` needs it for an indefinite A.
    block_size : int or None
        1 for the diagonal; otherwise the diagonal blocks of this size (None: as in `smoothed_aggregation`), with ω = 1.
    threads : int, optional

    Returns
    -------
    Preconditioner
    """
    if block_size == 1:
        return _build("jacobi", A, {"omega": omega, "l1": l1}, block_size=1, threads=threads)
    if omega != 1.0 or l1:
        raise ValueError("omega and l1 are for block_size=1")
    return _build("block_jacobi", A, {}, block_size=block_size, threads=threads)


def gauss_seidel(
    A: Any,
    *,
    omega: float = 1.0,
    sweeps: int = 1,
    block_size: int | None = None,
    threads: int | None = None,
) -> Preconditioner:
    """Build symmetric Gauss-Seidel, or SSOR with ω ≠ 1, for symmetric positive definite A.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    omega : float
        ω, above 0 and below 2.
    sweeps : int
        The pairs of sweeps, forward and backward.
    block_size, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner
    """
    return _build("gauss_seidel", A, {"omega": omega, "sweeps": sweeps}, block_size=block_size, threads=threads)


def chebyshev(
    A: Any,
    *,
    degree: int = 4,
    ratio: float = 30.0,
    block_size: int | None = None,
    threads: int | None = None,
) -> Preconditioner:
    """Build a Chebyshev polynomial in D⁻¹A, for symmetric positive definite A.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    degree : int
        The degree of the error polynomial.
    ratio : float
        The ends of the interval, divided by each other.
    block_size, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner
    """
    return _build("chebyshev", A, {"degree": degree, "ratio": ratio}, block_size=block_size, threads=threads)


def factor(
    A: Any,
    *,
    method: Literal["auto", "cholesky", "ldlt", "lu"] = "auto",
    block_size: int | None = None,
    threads: int | None = None,
) -> Preconditioner:
    """Factorise A: applying the result solves A z = r, without refinement.

    `update` factorises new values in the structure of the first. `solve` with ``method="direct"`` also refines x and checks
    the residual. A factorisation runs on one thread, and Ctrl-C waits for it.

    Parameters
    ----------
    A : sparse or dense matrix, shape (n, n)
    method : {"auto", "cholesky", "ldlt", "lu"}
        ``"auto"`` takes the cheapest one that suits A.
    block_size, threads
        As in `smoothed_aggregation`.

    Returns
    -------
    Preconditioner

    Raises
    ------
    SetupError
        For a singular matrix, with its row.
    """
    return _build("factor", A, {"method": method}, block_size=block_size, threads=threads)
