"""Smoothed aggregation."""

from .aggregation import (
    balanced_lloyd_aggregation,
    energy_prolongation_smoother,
    fit_candidates,
    jacobi_prolongation_smoother,
    lloyd_aggregation,
    naive_aggregation,
    richardson_prolongation_smoother,
    smoothed_aggregation_solver,
    standard_aggregation,
)

__all__ = [
    "balanced_lloyd_aggregation",
    "energy_prolongation_smoother",
    "fit_candidates",
    "jacobi_prolongation_smoother",
    "lloyd_aggregation",
    "naive_aggregation",
    "richardson_prolongation_smoother",
    "smoothed_aggregation_solver",
    "standard_aggregation",
]
