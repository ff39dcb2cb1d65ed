"""Small helpers that programs for PyAMG import."""

from . import linalg, utils

__all__ = ["linalg", "utils"]
