"""Solvers for large sparse linear systems from simulations: cloth, soft bodies, heat, structures, contact.

>>> import numpy as np
>>> import scipy.sparse as sp
>>> import pycoarsen
>>> A = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000))
>>> x = pycoarsen.solve(A, np.ones(1000))  # chooses the method; raises unless it converged

====================  ==============================================================================================
`solve`, `Solver`     choose the method, and keep it for systems that follow each other
`cg`, `minres`, ...   Krylov methods with the signatures of ``scipy.sparse.linalg``
preconditioners       `smoothed_aggregation`, `ruge_stueben`, `schwarz`, `skinning`, `ic`, `ilu`, `jacobi`,
                      `gauss_seidel`, `chebyshev`, `factor`: each is a ``LinearOperator``
`Constraints`         equations that x meets exactly
`minimize`            Newton's method and L-BFGS for an energy
`read`, `diagnose`    Matrix Market files; what is known of a matrix before a solve
``pycoarsen.pyamg``   hierarchies with the interface of PyAMG
====================  ==============================================================================================

All numbers are ``float64``; other real numbers are converted, complex ones raise `TypeError`. Matrices are any SciPy sparse
arrays or matrices, or dense arrays; they are copied. The GIL is released while Rust works, and Ctrl-C ends a solve or a setup.
"""

from . import _core
from ._constraints import Constraints
from ._core import SetupError, SolveError
from ._files import Diagnosis, diagnose, read
from ._krylov import bicgstab, cg, gmres, minres
from ._minimize import Minimum, minimize
from ._preconditioners import (
    Preconditioner,
    chebyshev,
    factor,
    gauss_seidel,
    ic,
    ilu,
    jacobi,
    ruge_stueben,
    schwarz,
    skinning,
    smoothed_aggregation,
)
from ._report import Attempt, ConvergenceWarning, Levels, Report
from ._solver import Solver, solve

__version__ = _core.__version__

__all__ = [
    "Attempt",
    "Constraints",
    "ConvergenceWarning",
    "Diagnosis",
    "Levels",
    "Minimum",
    "Preconditioner",
    "Report",
    "SetupError",
    "SolveError",
    "Solver",
    "bicgstab",
    "cg",
    "chebyshev",
    "diagnose",
    "factor",
    "gauss_seidel",
    "gmres",
    "ic",
    "ilu",
    "jacobi",
    "minimize",
    "minres",
    "read",
    "ruge_stueben",
    "schwarz",
    "skinning",
    "smoothed_aggregation",
    "solve",
]
