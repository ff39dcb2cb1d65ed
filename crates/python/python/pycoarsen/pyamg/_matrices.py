"""Matrices of SciPy, and of the Rust half."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._arrays import Vector, real, to_scipy, vector

__all__ = ["Vector", "as_rows", "block_size", "columns", "from_core", "real", "to_core", "vector"]


def as_rows(A: Any, what: str = "A") -> Any:
    """Return a square matrix of floats as CSR or BSR; a matrix in one of these formats is not copied."""
    if not sparse.issparse(A) or A.format not in ("csr", "bsr"):
        real(A if hasattr(A, "dtype") else np.asarray(A), what)
        try:
            A = sparse.csr_array(A)
        except Exception as error:
            raise TypeError(f"{what} is neither a sparse matrix nor convertible to one") from error
        warnings.warn(f"Implicit conversion of {what} to CSR", sparse.SparseEfficiencyWarning, stacklevel=3)
    real(A, what)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix, {what} has the shape {A.shape}")
    if A.format == "bsr" and A.blocksize[0] != A.blocksize[1]:
        raise ValueError(f"the blocks of {what} are not square: {A.blocksize}")
    if not np.issubdtype(A.dtype, np.floating):
        A = A.astype(np.float64)
    return A


def block_size(A: Any) -> int:
    """Return the unknowns of a node: the block size of BSR, 1 for other formats."""
    return int(A.blocksize[0]) if A.format == "bsr" else 1


def to_core(A: Any) -> _core.Matrix:
    """Copy a sparse matrix; blocks need not be square."""
    if A.format not in ("csr", "bsr"):
        A = A.tocsr()
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    (rows, columns), (r, c) = A.shape, A.blocksize if A.format == "bsr" else (1, 1)
    data = np.ascontiguousarray(A.data, dtype=np.float64)
    indptr, indices = (np.ascontiguousarray(v) for v in (A.indptr, A.indices))
    return _core.Matrix((int(rows), int(columns)), (int(r), int(c)), indptr, indices, data)


def from_core(matrix: _core.Matrix, blocks: bool) -> Any:
    """Copy a matrix to `bsr_array`, or to `csr_array` if its blocks are single numbers and `blocks` is false."""
    found = to_scipy(matrix)
    return found.tobsr(blocksize=(1, 1)) if blocks and found.format == "csr" else found


def columns(B: Any, rows: int, what: str) -> Vector:
    """Return vectors in columns as a C-contiguous array of shape (rows, k)."""
    array = np.asarray(B)
    real(array, what)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[0] != rows:
        raise ValueError(f"{what} has the shape {array.shape}, but ({rows}, k) is needed")
    return np.ascontiguousarray(array, dtype=np.float64)
