"""Minimisation of an energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _arrays, _core
from ._arrays import Vector
from ._core import SolveError
from ._krylov import inverse


class _Default(str):
    """A name that the user has not given."""


_DEFAULT = _Default("smoothed_aggregation")


@dataclass(frozen=True)
class Minimum:
    """A minimiser, and how it was found.

    Attributes
    ----------
    x : array, shape (n,)
    value : float
        f(x).
    gradient : float
        ‖∇f(x)‖₂.
    tolerance : float
        What was asked for, in the same unit.
    ending, advice, message : str
        As in `Report`.
    iterations, inner_iterations : int
        Steps, and the iterations of their linear solves.
    values, gradients : int
        The evaluations of f and of ∇f.
    history : list of (float, float)
        f and ‖∇f‖₂ at each iterate, the first of the start.
    """

    x: Vector = field(repr=False)
    value: float
    gradient: float
    tolerance: float
    ending: str
    advice: str
    message: str
    iterations: int
    inner_iterations: int
    values: int
    gradients: int
    history: list[tuple[float, float]] = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether a criterion is met."""
        return self.ending == "converged"

    def __str__(self) -> str:
        return self.message


def minimize(
    fun: Callable[[Vector], float],
    x0: ArrayLike,
    jac: Callable[[Vector], ArrayLike],
    hess: Callable[[Vector], Any] | None = None,
    *,
    method: Literal["newton", "lbfgs"] | None = None,
    gtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 1000,
    M: Any = None,
    preconditioner: str | None = _DEFAULT,
    block_size: int | None = None,
    coordinates: ArrayLike | None = None,
    near_kernel: ArrayLike | None = None,
    max_step: Callable[[Vector, Vector], float] | None = None,
    callback: Callable[[Vector], object] | None = None,
    threads: int | None = None,
) -> Minimum:
    """Minimise a smooth energy of many variables.

    Parameters
    ----------
    fun : callable
        f(x), x of shape (n,). Outside its domain (an inverted element) it returns ``inf`` or NaN, and the step is shortened.
    x0 : array, shape (n,)
        The start.
    jac : callable
        ∇f(x), of shape (n,).
    hess : callable, optional
        The Hessian at x or a positive definite approximation, a sparse matrix of shape (n, n) with both triangles.
    method : {"newton", "lbfgs"}, optional
        Newton's method with conjugate gradients, the default with `hess`; or L-BFGS, which calls no `hess`.
    gtol, atol : float
        The descent ends at ‖∇f‖₂ ≤ max(gtol ‖∇f(x0)‖₂, atol).
    maxiter : int
        The largest number of steps.
    M : Preconditioner, matrix or LinearOperator, optional
        The first inverse Hessian of L-BFGS; Newton's method takes none.
    preconditioner : str or None
        For Newton's method, the name of a function of this package that builds it: ``"smoothed_aggregation"``,
        ``"schwarz"``, ``"block_jacobi"``, ``"ic"``, ... It is updated to the Hessian when convergence slows down. None for none.
    block_size, coordinates, near_kernel
        Of the Hessian, as in `Solver`; L-BFGS takes none.
    max_step : callable, optional
        ``max_step(x, d)``, the largest α for which the path from x to x + α d is free of collisions.
    callback : callable, optional
        Called as ``callback(xk)`` after each step.
    threads : int, optional
        The number of threads of what Rust computes; by default one for each core.

    Returns
    -------
    Minimum

    Raises
    ------
    SolveError
        Unless a criterion is met; the error has the last `Minimum` as ``error.report``, with the last accepted x.

    Notes
    -----
    The functions are called on another thread, one call at a time. An exception in one of them ends the descent and is raised.

    Examples
    --------
    >>> import numpy as np
    >>> import pycoarsen
    >>> found = pycoarsen.minimize(lambda x: 0.25 * np.sum(x**4) + 0.5 * np.sum(x**2), [3.0, -2.0], lambda x: x**3 + x)
    >>> bool(np.abs(found.x).max() < 1e-4)
    True
    """
    _arrays.real(np.asarray(x0), "x0")
    start = np.array(x0, dtype=np.float64)
    n = start.size
    start = _arrays.vector(start, n, "x0")
    points = _arrays.coordinates(coordinates)
    chosen = method or ("lbfgs" if hess is None else "newton")
    if chosen == "newton" and M is not None:
        raise ValueError("M is for method='lbfgs'; Newton's method takes preconditioner=")
    if chosen == "lbfgs":
        named = None if isinstance(preconditioner, _Default) else preconditioner
        of_hessian = {
            "preconditioner": named,
            "block_size": block_size,
            "coordinates": coordinates,
            "near_kernel": near_kernel,
        }
        for name, value in of_hessian.items():
            if value is not None:
                raise ValueError(f"{name} is for method='newton'; L-BFGS takes M=")
    structure: _core.Structure | None = None

    def gradient(x: Vector) -> Vector:
        return _arrays.vector(jac(x), n, "jac(x)")

    def hessian(x: Vector) -> _core.Matrix:
        nonlocal structure
        assert hess is not None
        matrix, structure = _arrays.blocks(
            hess(x), block_size=block_size, points=points, like=structure, threads=threads
        )
        return matrix

    functions = {
        "value": fun,
        "gradient": gradient,
        "hessian": None if hess is None else hessian,
        "max_step": max_step,
        "callback": callback,
    }
    call = {"method": chosen, "gtol": float(gtol), "atol": float(atol), "maxiter": int(maxiter)}
    x, told = _core.minimize(
        call,
        functions,
        start,
        inverse(M, n),
        None if preconditioner is None else (preconditioner, {}),
        points,
        _arrays.near_kernel(near_kernel, n),
        threads,
    )
    found = Minimum(x=x, **told)
    if not found.converged:
        error = SolveError(f"{found.message}: {found.advice}")
        error.x, error.report = x, found
        raise error
    return found
