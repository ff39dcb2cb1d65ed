"""Classical algebraic multigrid."""

from . import interpolate, split
from .classical import ruge_stuben_solver

__all__ = ["interpolate", "ruge_stuben_solver", "split"]
