"""Relaxation methods."""

from . import relaxation, smoothing

__all__ = ["relaxation", "smoothing"]
