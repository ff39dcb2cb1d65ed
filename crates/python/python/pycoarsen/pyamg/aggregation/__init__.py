"""Smoothed aggregation."""

from .aggregation import (
    energy_prolongation_smoother,
    fit_candidates,
    jacobi_prolongation_smoother,
    naive_aggregation,
    richardson_prolongation_smoother,
    smoothed_aggregation_solver,
    standard_aggregation,
)

__all__ = [
    "energy_prolongation_smoother",
    "fit_candidates",
    "jacobi_prolongation_smoother",
    "naive_aggregation",
    "richardson_prolongation_smoother",
    "smoothed_aggregation_solver",
    "standard_aggregation",
]
