"""Relaxation methods as functions that improve x in A x = b in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrices import as_rows, vector
from .._options import RELAXATION, choose
from ..multilevel import Level

__all__ = [
    "block_gauss_seidel",
    "block_jacobi",
    "gauss_seidel",
    "gauss_seidel_ne",
    "gauss_seidel_nr",
    "jacobi",
    "jacobi_ne",
    "schwarz",
    "sor",
]


def _relax(A: Any, x: Any, b: Any, name: str, **given: Any) -> None:
    name, parameters = choose("relaxation", (name, given), RELAXATION)
    level = Level()
    level.A = as_rows(A)
    n = level.shape[0]
    if not isinstance(x, np.ndarray) or x.dtype != np.float64:
        raise TypeError("x is changed in place: it is an array of float64")
    result = level.relaxation(name, parameters).run(vector(b, n, "b"), vector(x, n, "x"))
    x[...] = result.reshape(x.shape)


def gauss_seidel(A: Any, x: Any, b: Any, iterations: int = 1, sweep: str = "forward") -> None:
    """Gauss-Seidel on single unknowns; sweep is 'forward', 'backward' or 'symmetric'."""
    _relax(A, x, b, "gauss_seidel", iterations=iterations, sweep=sweep)


def block_gauss_seidel(
    A: Any, x: Any, b: Any, iterations: int = 1, sweep: str = "forward", blocksize: int | None = None
) -> None:
    """Gauss-Seidel on nodes of `blocksize` unknowns, that of BSR by default."""
    _relax(A, x, b, "block_gauss_seidel", iterations=iterations, sweep=sweep, blocksize=blocksize)


def sor(A: Any, x: Any, b: Any, omega: float, iterations: int = 1, sweep: str = "forward") -> None:
    """Successive over-relaxation with the factor omega, between 0 and 2."""
    _relax(A, x, b, "sor", omega=omega, iterations=iterations, sweep=sweep)


def jacobi(A: Any, x: Any, b: Any, iterations: int = 1, omega: float = 1.0) -> None:
    """Jacobi with the damping omega."""
    _relax(A, x, b, "jacobi", iterations=iterations, omega=omega, withrho=False)


def block_jacobi(A: Any, x: Any, b: Any, blocksize: int | None = None, iterations: int = 1, omega: float = 1.0) -> None:
    """Jacobi on nodes of `blocksize` unknowns, that of BSR by default."""
    _relax(A, x, b, "block_jacobi", iterations=iterations, omega=omega, blocksize=blocksize, withrho=False)


def gauss_seidel_ne(A: Any, x: Any, b: Any, iterations: int = 1, sweep: str = "forward", omega: float = 1.0) -> None:
    """Gauss-Seidel on A A.T y = b with x = A.T y (Kaczmarz)."""
    _relax(A, x, b, "gauss_seidel_ne", iterations=iterations, sweep=sweep, omega=omega)


def gauss_seidel_nr(A: Any, x: Any, b: Any, iterations: int = 1, sweep: str = "forward", omega: float = 1.0) -> None:
    """Gauss-Seidel on A.T A x = A.T b."""
    _relax(A, x, b, "gauss_seidel_nr", iterations=iterations, sweep=sweep, omega=omega)


def jacobi_ne(A: Any, x: Any, b: Any, iterations: int = 1, omega: float = 1.0) -> None:
    """Jacobi on A A.T y = b with x = A.T y."""
    _relax(A, x, b, "jacobi_ne", iterations=iterations, omega=omega, withrho=False)


def schwarz(A: Any, x: Any, b: Any, iterations: int = 1, sweep: str = "forward") -> None:
    """Multiplicative Schwarz: each unknown with its neighbours is solved exactly, one after the other."""
    _relax(A, x, b, "schwarz", iterations=iterations, sweep=sweep)
