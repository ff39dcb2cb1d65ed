"""A solver without settings."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

import numpy as np

from ._matrices import as_rows, block_size, columns
from .aggregation import smoothed_aggregation_solver
from .multilevel import MultilevelSolver

__all__ = ["solve", "solver", "solver_configuration"]


def solver_configuration(A: Any, B: Any = None, verb: bool = True) -> dict[str, Any]:
    """Returns the arguments of :func:`smoothed_aggregation_solver` for any matrix.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n)
    B : array, shape (n, k), optional
        Near-kernel.
    verb : bool
        Whether to print whether A is symmetric.
    """
    A = as_rows(A)
    difference = abs(A - A.T)
    symmetric = difference.max() <= 1e-10 * abs(A).max()
    if verb:
        print(f"  Detected a {'Hermitian' if symmetric else 'non-Hermitian'} matrix")
    size = block_size(A)
    B = np.kron(np.ones((A.shape[0] // size, 1)), np.eye(size)) if B is None else columns(B, A.shape[0], "B")
    name, count = ("block_gauss_seidel", 1) if symmetric else ("gauss_seidel_nr", 2)
    relaxation = (name, {"sweep": "symmetric", "iterations": count})
    krylov = "cg" if symmetric else "gmres"
    return {
        "symmetry": "hermitian" if symmetric else "nonsymmetric",
        "smooth": ("energy", {"krylov": krylov, "maxiter": 3, "degree": 2, "weighting": "local"}),
        "presmoother": relaxation,
        "postsmoother": relaxation,
        "B": B,
        "BH": None if symmetric else B.copy(),
        "strength": ("evolution", {"k": 2, "proj_type": "l2", "epsilon": 3.0}),
        "max_levels": 15,
        "max_coarse": 500,
        "coarse_solver": "pinv",
        "aggregate": "standard",
        "keep": False,
    }


def solver(A: Any, config: dict[str, Any]) -> MultilevelSolver:
    """Returns the hierarchy of a configuration."""
    return smoothed_aggregation_solver(as_rows(A), **config)


def solve(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = 1e-5,
    maxiter: int = 400,
    return_solver: bool = False,
    existing_solver: MultilevelSolver | None = None,
    verb: bool = True,
    residuals: MutableSequence[float] | None = None,
) -> Any:
    """Solves A x = b without settings, by smoothed aggregation and conjugate gradients or GMRES.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n)
    b : array, shape (n,) or (n, 1)
    x0 : array, optional
        Guess; random numbers by default.
    tol, maxiter : float, int
        As for ``MultilevelSolver.solve``.
    return_solver : bool
        Whether to return ``(x, ml)``.
    existing_solver : MultilevelSolver, optional
        The hierarchy of an earlier solve.
    verb : bool
        Whether to print what is done.
    residuals : list, optional
        Receives the 2-norms of b - A x.

    Returns
    -------
    x : ndarray, shape of b

    See Also
    --------
    pycoarsen.solve : chooses among all methods of this package, and is usually faster.
    """
    A = as_rows(A)
    ml = existing_solver
    if ml is None:
        ml = solver(A, solver_configuration(A, verb=verb))
    elif ml.levels[0].shape[0] != A.shape[0]:
        raise TypeError("existing_solver belongs to a matrix of another size")
    if x0 is None:
        x0 = np.random.rand(A.shape[0])
    norms: MutableSequence[float] = [] if residuals is None else residuals
    accel = "gmres" if ml._symmetry == "nonsymmetric" else "cg"
    x = ml.solve(b, x0=x0, accel=accel, tol=tol, maxiter=maxiter, residuals=norms)
    if verb:
        print(f"  {len(norms) - 1} iterations, residual {norms[0]:1.2e} -> {norms[-1]:1.2e}")
    x = x.reshape(np.shape(b))
    return (x, ml) if return_solver else x
