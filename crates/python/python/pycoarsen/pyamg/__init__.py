"""PyAMG in one changed line: ``import pycoarsen.pyamg as pyamg``.

Smoothed aggregation and classical multigrid with the options of PyAMG, put together from parts that run in Rust. An
option does what PyAMG documents, or raises ``NotImplementedError`` that names it; with ``fallback=True`` the nearest
option is taken, with a warning. Complex matrices raise ``TypeError``, and a solve that does not converge warns.

Details that differ from PyAMG:

- GMRES is preconditioned from the right, so its residuals and its tolerance are those of the system.
- Spectral radii are estimated from the same start vector in every call, so results repeat.
- Gauss-Seidel on more than 8192 nodes visits a few large chunks in parallel, and each chunk in natural order.
- The visits of an AMLI cycle start from zero.
- The cycle has copies of the matrices of a level. Those that it made cannot be written; after a change of the matrix of the
  caller in place, assign it: ``level.A = level.A``.
- No function takes a number of threads: there is one for each core.
- Numbers are computed in ``float64``; a solution is ``float32`` if the matrix and the right-hand side are.

For the fastest solver of a system use :func:`pycoarsen.solve` and :class:`pycoarsen.Solver`, which choose the method.

Examples
--------
>>> import pycoarsen.pyamg as pyamg
>>> A = pyamg.gallery.poisson((500, 500), format="csr")
>>> ml = pyamg.ruge_stuben_solver(A)
>>> print(ml)
>>> x = ml.solve(A @ [1.0] * 250000, tol=1e-10)
"""

from __future__ import annotations

from typing import Any

from . import aggregation, blackbox, classical, gallery, krylov, multilevel, relaxation, strength, util
from .aggregation import smoothed_aggregation_solver
from .blackbox import solve, solver, solver_configuration
from .classical import ruge_stuben_solver
from .multilevel import MultilevelSolver, coarse_grid_solver

__all__ = [
    "MultilevelSolver",
    "adaptive_sa_solver",
    "aggregation",
    "air_solver",
    "blackbox",
    "classical",
    "coarse_grid_solver",
    "gallery",
    "krylov",
    "multilevel",
    "pairwise_solver",
    "relaxation",
    "rootnode_solver",
    "ruge_stuben_solver",
    "smoothed_aggregation_solver",
    "solve",
    "solver",
    "solver_configuration",
    "strength",
    "util",
]


def rootnode_solver(*args: Any, **kwargs: Any) -> MultilevelSolver:
    """Is not here."""
    raise NotImplementedError("rootnode_solver is not in pycoarsen.pyamg; there is smoothed_aggregation_solver")


def adaptive_sa_solver(*args: Any, **kwargs: Any) -> MultilevelSolver:
    """Is not here."""
    raise NotImplementedError("adaptive_sa_solver is not in pycoarsen.pyamg; there is smoothed_aggregation_solver")


def pairwise_solver(*args: Any, **kwargs: Any) -> MultilevelSolver:
    """Is not here."""
    raise NotImplementedError("pairwise_solver is not in pycoarsen.pyamg; there is smoothed_aggregation_solver")


def air_solver(*args: Any, **kwargs: Any) -> MultilevelSolver:
    """Is not here."""
    raise NotImplementedError("air_solver is not in pycoarsen.pyamg; there is smoothed_aggregation_solver")
