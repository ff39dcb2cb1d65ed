"""Interpolation from coarse to fine unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core

from .._matrices import as_rows, from_core, to_core
from .._options import INTERPOLATION, choose

__all__ = ["classical_interpolation", "direct_interpolation"]


def direct_interpolation(A: Any, C: Any, splitting: Any, theta: float | None = None, norm: str = "min") -> Any:
    """Returns P by direct interpolation: every coupling is distributed over the strong coarse unknowns.

    Parameters
    ----------
    A : csr_array, shape (n, n)
    C : csr_array, shape (n, n)
        Strength of connection.
    splitting : array, shape (n,)
        1 for coarse unknowns.
    theta, norm : float, str
        If theta is given, the classical strength with this threshold and norm replaces C.

    Returns
    -------
    csr_array, shape (n, m)
    """
    return _by_hand(A, C, splitting, ("direct", {"theta": theta, "norm": norm}))


def classical_interpolation(
    A: Any, C: Any, splitting: Any, theta: float | None = None, norm: str = "min", modified: bool = True
) -> Any:
    """Returns P by classical interpolation: strong couplings to fine unknowns are distributed by their own couplings.

    Parameters
    ----------
    A, C, splitting, theta, norm
        As for :func:`direct_interpolation`.
    modified : bool
        Whether strong fine unknowns without a common coarse unknown count as weak.

    Returns
    -------
    csr_array, shape (n, m)
    """
    return _by_hand(A, C, splitting, ("classical", {"theta": theta, "norm": norm, "modified": modified}))


def _by_hand(A: Any, C: Any, splitting: Any, method: tuple[str, dict[str, Any]]) -> Any:
    name, parameters = choose("interpolation", method, INTERPOLATION)
    a, c = to_core(as_rows(A)), to_core(as_rows(C, "C"))
    return from_core(of_splitting(a, c, np.ascontiguousarray(splitting, np.int32), name, parameters), False)


def of_splitting(
    a: _core.Matrix, c: _core.Matrix, splitting: Any, name: str, parameters: dict[str, Any]
) -> _core.Matrix:
    """The prolongation of a splitting, in Rust."""
    if parameters["theta"] is not None:
        c = _core.strength_classical(a, float(parameters["theta"]), parameters["norm"])
    if name == "classical" and parameters["modified"]:
        name = "modified"
    return _core.interpolate(a, c, splitting, name)
