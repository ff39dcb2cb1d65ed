"""Krylov methods with the signatures of `scipy.sparse.linalg`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from . import _arrays, _core
from ._arrays import Vector
from ._preconditioners import Preconditioner
from ._report import ConvergenceWarning

Callback = Callable[[Vector], object]


def cg(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    null_space: ArrayLike | None = None,
    threads: int | None = None,
) -> tuple[Vector, int]:
    """Solve A x = b by conjugate gradients, for symmetric positive definite A and M.

    Parameters
    ----------
    A : sparse or dense matrix or LinearOperator, shape (n, n)
    b : array, shape (n,) or (n, 1)
    x0 : array, shape (n,) or (n, 1), optional
        The starting guess, zeros by default. ``"Mb"`` stands for ``M @ b``.
    rtol, atol : float
        The solve ends at ‖b − A x‖₂ ≤ max(rtol ‖b‖₂, atol), for a residual recomputed from x; atol has the unit of b.
    maxiter : int, optional
        10 n by default.
    M : Preconditioner, matrix or LinearOperator, shape (n, n), optional
        An approximation of A⁻¹. One of this package is applied without Python; if it is variable, the method is flexible.
    callback : callable, optional
        Called as ``callback(xk)`` with a copy of x after each iteration.
    null_space : array, shape (n, k), optional
        Vectors that a singular A maps to zero; they are projected out.
    threads : int, optional
        The number of threads; by default one for each core. It does not change a bit of the result.

    Returns
    -------
    x : array, shape (n,)
    info : int
        0 if it converged; the number of iterations at the limit; -1 for another ending, of which a `ConvergenceWarning`
        gives the cause and a remedy.

    Raises
    ------
    ValueError
        For shapes that do not fit, NaN or infinity in A, b or x0, and a preconditioner that the method cannot use.
    TypeError
        For complex numbers.

    Notes
    -----
    An exception in a callback ends the solve and is raised. If ‖b‖₂² is not a normal number, callbacks are not called.
    """
    return _solve("cg", A, b, x0, rtol, atol, maxiter, 10, M, callback, null_space, threads)


def minres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    shift: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    show: bool = False,
    check: bool = False,
    null_space: ArrayLike | None = None,
    threads: int | None = None,
) -> tuple[Vector, int]:
    """Solve (A − shift I) x = b by MINRES, for symmetric A and symmetric positive definite M.

    Parameters
    ----------
    shift : float
        In the unit of A.
    maxiter : int, optional
        5 n by default.
    show, check : bool
        Not implemented: raise `NotImplementedError`. `diagnose` tells whether A is symmetric.
    A, b, x0, rtol, atol, M, callback, null_space, threads
        As in `cg`. The tolerance is that of ‖b − A x‖₂, where SciPy's depends on ‖A‖ and ‖x‖.

    Returns
    -------
    x, info
        As in `cg`.
    """
    for name, value in (("show", show), ("check", check)):
        if value:
            raise NotImplementedError(f"minres: {name}=True")
    return _solve("minres", A, b, x0, rtol, atol, maxiter, 5, M, callback, null_space, threads, shift=shift)


def bicgstab(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    null_space: ArrayLike | None = None,
    threads: int | None = None,
) -> tuple[Vector, int]:
    """Solve A x = b by BiCGStab, for any square A, preconditioned from the right.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback, null_space, threads
        As in `cg`.

    Returns
    -------
    x, info
        As in `cg`.
    """
    return _solve("bicgstab", A, b, x0, rtol, atol, maxiter, 10, M, callback, null_space, threads)


def gmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., object] | None = None,
    callback_type: Literal["x", "pr_norm", "legacy"] | None = None,
    null_space: ArrayLike | None = None,
    threads: int | None = None,
) -> tuple[Vector, int]:
    """Solve A x = b by restarted GMRES, for any square A, preconditioned from the right.

    Parameters
    ----------
    restart : int, optional
        The iterations between restarts, 20 by default.
    maxiter : int, optional
        The largest number of restart cycles, as in SciPy (iterations with a callback of the type "legacy");
        10 n by default.
    callback_type : {"x", "pr_norm", "legacy"}, optional
        ``"x"`` calls back with x after each cycle; ``"pr_norm"`` and ``"legacy"``, the default, with the relative residual
        after each iteration.
    A, b, x0, rtol, atol, M, callback, null_space, threads
        As in `cg`.

    Returns
    -------
    x, info
        As in `cg`; at the limit, info is `maxiter`.
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"Unknown callback_type: {callback_type!r}")
    n = _size(A)
    length = max(1, min(20 if restart is None else restart, n))
    cycles = 10 * n if maxiter is None else maxiter
    legacy = callback is not None and callback_type in (None, "legacy")
    most = cycles if legacy else cycles * length
    x, info = _solve(
        "gmres", A, b, x0, rtol, atol, most, 0, M, callback, null_space, threads,
        restart=length, callback_with="x" if callback_type == "x" else "residual",
    )  # fmt: skip
    return x, max(1, cycles) if info > 0 else info


def _size(A: Any) -> int:
    """Return the number of rows of a square A."""
    shape = getattr(A, "shape", None) or np.shape(A)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"A has the shape {tuple(shape)}, but a square matrix is needed")
    return int(shape[0])


def function(A: Any, n: int, what: str) -> Callable[[Vector], Vector]:
    """Return y = A x of a `LinearOperator` on arrays of `float64`."""
    if A.shape != (n, n):
        raise ValueError(f"{what} has the shape {tuple(A.shape)}, but ({n}, {n}) is needed")
    _arrays.real(A, what)

    def apply(x: Vector) -> Vector:
        return _arrays.vector(A.matvec(x), n, f"{what} x")

    return apply


def inverse(M: Any, n: int) -> Any:
    """Return a preconditioner as Rust takes it: its own, a function, or None."""
    if M is None:
        return None
    if isinstance(M, Preconditioner) and M.shape == (n, n):
        return M._core
    if sparse.issparse(M) or not hasattr(M, "matvec"):
        matrix = _arrays.rows(M)
        if matrix.shape != (n, n):
            raise ValueError(f"M has the shape {matrix.shape}, but ({n}, {n}) is needed")
        return matrix.apply
    return function(M, n, "M")


def _solve(
    method: str,
    A: Any,
    b: ArrayLike,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    times: int,
    M: Any,
    callback: Callable[..., object] | None,
    null_space: ArrayLike | None,
    threads: int | None,
    *,
    shift: float = 0.0,
    restart: int = 20,
    callback_with: str = "x",
) -> tuple[Vector, int]:
    n = _size(A)
    right = _arrays.vector(b, n, "b")
    a = function(A, n, "A") if isinstance(A, LinearOperator) else _arrays.rows(A, threads=threads)
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0 is {x0!r}, but must be an array or 'Mb'")
        guess = right if M is None else np.asarray(M @ right)
    else:
        guess = x0
    space = _arrays.near_kernel(null_space, n)
    most = times * n if maxiter is None else maxiter
    call = {
        "method": method,
        "rtol": float(rtol),
        "atol": float(atol),
        "maxiter": int(most),
        "restart": restart,
        "shift": float(shift),
        "callback_with": callback_with,
    }
    x, ended = _core.solve_krylov(
        call,
        a,
        inverse(M, n),
        right,
        None if guess is None else _arrays.vector(guess, n, "x0"),
        None if space is None else [np.ascontiguousarray(v) for v in space.T],
        callback,
        threads,
    )
    if ended["ending"] == "converged":
        return x, 0
    if ended["ending"] == "iteration_limit":
        return x, max(1, ended["iterations"])
    warnings.warn(f"{method}: {ended['message']}: {ended['advice']}", ConvergenceWarning, stacklevel=3)
    return x, -1
