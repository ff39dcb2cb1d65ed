"""The relaxation methods of a hierarchy."""

from ..multilevel import change_smoothers

__all__ = ["change_smoothers"]
