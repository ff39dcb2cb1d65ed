"""NumPy and SciPy objects as the arrays that Rust takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from . import _core

Vector = NDArray[np.float64]

#: The largest number of unknowns of a node that the number of coordinates may imply.
_MOST = 12


def real(array: Any, what: str) -> None:
    """Raise `TypeError` for complex numbers."""
    if np.issubdtype(getattr(array, "dtype", np.float64), np.complexfloating):
        raise TypeError(
            f"{what} is complex, and pycoarsen solves real systems; a complex system of n unknowns "
            "is a real one of n blocks of 2x2"
        )


def vector(values: ArrayLike, n: int, what: str) -> Vector:
    """Return `values`, of shape (n,) or (n, 1), as n `float64`, contiguous."""
    array = np.asarray(values)
    real(array, what)
    if array.shape not in ((n,), (n, 1)):
        raise ValueError(f"{what} has the shape {array.shape}, but ({n},) is needed")
    return np.ascontiguousarray(array.reshape(n), dtype=np.float64)


def near_kernel(vectors: ArrayLike | None, n: int) -> Vector | None:
    """Return near-kernel vectors as n rows of `float64`."""
    if vectors is None:
        return None
    array = np.asarray(vectors)
    real(array, "near_kernel")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != n or array.shape[1] == 0:
        raise ValueError(f"near_kernel has the shape {array.shape}, but ({n}, k) is needed")
    return np.ascontiguousarray(array, dtype=np.float64)


def coordinates(points: ArrayLike | None) -> Vector | None:
    """Return positions of shape (nodes,) or (nodes, 1, 2 or 3) as three columns of `float64`."""
    if points is None:
        return None
    array = np.asarray(points)
    real(array, "coordinates")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not 1 <= array.shape[1] <= 3:
        raise ValueError(f"coordinates have the shape {array.shape}, but (nodes, 1, 2 or 3) is needed")
    whole = np.zeros((array.shape[0], 3))
    whole[:, : array.shape[1]] = array
    return whole


def rows(
    A: Any, *, block_size: int | None = None, like: _core.Structure | None = None, threads: int | None = None
) -> _core.Matrix:
    """Copy a SciPy or dense matrix: BSR with square blocks as it is, everything else as CSR.

    `block_size` says that BSR with other blocks is to be taken as CSR.
    """
    if isinstance(A, _core.Matrix):
        return A
    if not sparse.issparse(A):
        if isinstance(A, LinearOperator):
            raise TypeError("A is a LinearOperator, but its entries are needed: pass a matrix")
        A = np.asarray(A)
        if A.ndim != 2:
            raise ValueError(f"A has the shape {A.shape}, but a matrix is needed")
        real(A, "A")
        A = sparse.csr_array(A)
    real(A, "A")
    block = (1, 1)
    if A.format == "bsr" and A.blocksize[0] == A.blocksize[1] and block_size in (None, A.blocksize[0]):
        block = A.blocksize
    elif A.format != "csr":
        A = A.tocsr()
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    data = np.ascontiguousarray(A.data, dtype=np.float64)
    return _core.Matrix(A.shape, block, _indices(A.indptr), _indices(A.indices), data, like, threads)


def blocks(
    A: Any,
    *,
    block_size: int | None = None,
    points: Vector | None = None,
    like: _core.Structure | None = None,
    threads: int | None = None,
) -> tuple[_core.Matrix, _core.Structure]:
    """Copy a square matrix in blocks of the unknowns of a node; also return its pattern before that.

    The block size is the given one, that of BSR, the number of unknowns for each point, or the one that needs the
    fewest bytes.
    """
    matrix = rows(A, block_size=block_size, like=like, threads=threads)
    structure, (n, columns) = matrix.structure, matrix.shape
    if n != columns:
        raise ValueError(f"A is {n} x {columns}, but a square matrix is needed")
    size = block_size
    if size is None and points is not None and len(points) > 0 and matrix.block == (1, 1):
        size, rest = divmod(n, len(points))
        if rest != 0 or not 1 <= size <= _MOST:
            raise ValueError(f"{len(points)} coordinates do not fit {n} unknowns: give one point for each node")
    if size is None:
        size = matrix.detect_block_size(threads)
    if size < 1 or n % size != 0:
        raise ValueError(f"block_size is {size}, which does not divide the {n} unknowns")
    matrix = matrix.reblock(size, threads)
    if points is not None and len(points) * size != n:
        raise ValueError(
            f"{len(points)} coordinates do not fit {n // size} nodes of {size} unknowns: give one point for each node"
        )
    return matrix, structure


def to_scipy(matrix: _core.Matrix) -> Any:
    """Return a matrix as `csr_array` or `bsr_array`."""
    indptr, indices, data = matrix.arrays()
    if matrix.block == (1, 1):
        return sparse.csr_array((data, indices, indptr), shape=matrix.shape)
    return sparse.bsr_array((data.reshape(-1, *matrix.block), indices, indptr), shape=matrix.shape)


def _indices(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array, dtype=np.int32 if array.dtype == np.int32 else np.int64)
