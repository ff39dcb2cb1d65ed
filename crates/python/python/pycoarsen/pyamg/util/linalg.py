"""Norms and estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core

from .._matrices import as_rows, to_core

__all__ = ["approximate_spectral_radius", "norm"]


def norm(x: Any) -> float:
    """The 2-norm of all entries of an array."""
    return float(np.linalg.norm(np.ravel(x)))


def approximate_spectral_radius(A: Any) -> float:
    """An estimate of the spectral radius of A from below; the same in every call."""
    return _core.spectral_radius(to_core(as_rows(A)), "none")
