"""Sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["diag_sparse"]


def diag_sparse(A: Any) -> Any:
    """Returns the diagonal of a sparse matrix as an array, or an array as a diagonal csr_array."""
    if sparse.issparse(A):
        return A.diagonal()
    return sparse.csr_array(sparse.diags_array(np.ravel(A)))
