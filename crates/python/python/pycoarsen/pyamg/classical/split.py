"""Splitting of unknowns into coarse and fine ones."""

from __future__ import annotations

from typing import Any

from ... import _core

from .._matrices import as_rows, to_core

__all__ = ["RS"]


def RS(S: Any, second_pass: bool = False) -> Any:
    """Returns 1 for coarse and 0 for fine unknowns, by the method of Ruge and Stueben.

    Parameters
    ----------
    S : csr_array, shape (n, n)
        Strength of connection: i depends on j if S[i, j] is not zero.
    second_pass : bool
        Whether two fine unknowns that depend on each other also share a coarse unknown.

    Returns
    -------
    ndarray, shape (n,), int32
    """
    return _core.split(to_core(as_rows(S, "S")), bool(second_pass))
