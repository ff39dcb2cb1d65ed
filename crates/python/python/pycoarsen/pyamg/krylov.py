"""Krylov methods with the signatures of PyAMG."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sla

from .. import _core

from ._matrices import as_rows, real, to_core, vector
from ._options import Choice, missing
from .multilevel import Preconditioner

__all__ = ["bicgstab", "cg", "fgmres", "gmres", "minimal_residual"]

_CRITERIA = Choice("rr")

#: The most iterations of GMRES, which keeps a vector for each, if neither `maxiter` nor `restart` is given.
_VECTORS = 5000


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = 1e-5,
    criteria: str = "rr",
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], object] | None = None,
    residuals: MutableSequence[float] | None = None,
) -> tuple[Any, int]:
    """Conjugate gradients for symmetric positive definite A and M.

    Parameters
    ----------
    A : sparse matrix, array or LinearOperator, shape (n, n)
    b, x0 : array, shape (n,) or (n, 1)
        Right-hand side, and guess (zeros by default).
    tol : float
        The solve ends once the 2-norm of b - A x is at most ``tol`` times that of b.
    criteria : {'rr'}
        The norm of that test.
    maxiter : int, optional
        The largest number of iterations; 1.3 n + 2 by default.
    M : sparse matrix, array or LinearOperator, shape (n, n), optional
        An approximate inverse of A.
    callback : function, optional
        Called as ``callback(x)`` after each iteration.
    residuals : list, optional
        Receives the 2-norms of b - A x.

    Returns
    -------
    x : ndarray, shape of b
    info : int
        0 after convergence, the number of iterations at the limit, -1 after a breakdown.
    """
    if criteria not in _CRITERIA.values:
        missing(f"criteria={criteria!r}", _CRITERIA.values, False, "")
    return _solve("cg", A, b, x0, tol, maxiter, M, callback, residuals, None)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = 1e-5,
    criteria: str = "rr",
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], object] | None = None,
    residuals: MutableSequence[float] | None = None,
) -> tuple[Any, int]:
    """BiCGStab for any A; the arguments are those of :func:`cg`."""
    if criteria not in _CRITERIA.values:
        missing(f"criteria={criteria!r}", _CRITERIA.values, False, "")
    return _solve("bicgstab", A, b, x0, tol, maxiter, M, callback, residuals, None)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = 1e-5,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], object] | None = None,
    residuals: MutableSequence[float] | None = None,
) -> tuple[Any, int]:
    """GMRES for any A, preconditioned from the right; the arguments are those of :func:`cg`.

    ``maxiter`` counts all iterations; with ``restart`` a cycle has that many. Without both there are at most 5000 iterations, since
    each keeps a vector.
    """
    return _solve("gmres", A, b, x0, tol, maxiter, M, callback, residuals, restart)


def fgmres(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = 1e-5,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], object] | None = None,
    residuals: MutableSequence[float] | None = None,
) -> tuple[Any, int]:
    """GMRES for an M that may vary; the arguments are those of :func:`gmres`."""
    return _solve("fgmres", A, b, x0, tol, maxiter, M, callback, residuals, restart)


def minimal_residual(*args: Any, **kwargs: Any) -> tuple[Any, int]:
    """Is not here."""
    raise NotImplementedError("minimal_residual is not in pycoarsen.pyamg; there is gmres")


def _solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    tol: float,
    maxiter: int | None,
    M: Any,
    callback: Callable[[Any], object] | None,
    residuals: MutableSequence[float] | None,
    restart: int | None,
) -> tuple[Any, int]:
    n = A.shape[0]
    own = vector(b, n, "b")
    x = np.zeros(n) if x0 is None else vector(x0, n, "x0")
    most = int(1.3 * n) + 2 if maxiter is None else int(maxiter)
    if maxiter is None and restart is None and method in ("gmres", "fgmres"):
        most = min(most, _VECTORS)
    if most < 1:
        raise ValueError("Number of iterations must be positive")
    if callback is not None and method in ("gmres", "fgmres"):
        raise NotImplementedError(f"a callback for {method} is not in pycoarsen.pyamg; use residuals")
    inner = min(restart or most, n)
    if isinstance(M, Preconditioner) and M.solver.levels[0].A is A:
        x, norms, outcome = M.solver._levels().accelerate(method, M.cycle, 1, own, x, float(tol), most, inner, callback)
    else:
        x, norms, outcome = _core.iterate(method, _operator(A), _function(M), own, x, float(tol), most, inner, callback)
    if residuals is not None:
        residuals[:] = norms
    x = x.reshape(np.shape(b))
    if outcome == "converged":
        return x, 0
    return x, max(len(norms) - 1, 1) if outcome in ("iteration_limit", "stagnated", "stopped") else -1


def _operator(A: Any) -> Any:
    real(A, "A")
    if isinstance(A, sla.LinearOperator):
        return _function(A)
    if sparse.issparse(A) or isinstance(A, np.ndarray):
        return to_core(as_rows(A if sparse.issparse(A) else sparse.csr_array(A)))
    return _function(sla.aslinearoperator(A))


def _function(M: Any) -> Any:
    """A function of contiguous vectors."""
    if M is None:
        return None
    real(M, "M")
    operator = sla.aslinearoperator(M)
    return lambda r: np.ascontiguousarray(operator.matvec(r), np.float64)
