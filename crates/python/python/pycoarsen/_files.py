"""Matrices from files, and what is known of a matrix before a solve."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import Any

from . import _arrays, _core


def read(path: str | os.PathLike[str], *, threads: int | None = None) -> Any:
    """Read a Matrix Market file, plain or gzip.

    Parameters
    ----------
    path : str or path
        Coordinate or array; real, integer, complex or pattern; general, symmetric, skew-symmetric or hermitian.
        Duplicates are summed.
    threads : int, optional
        The number of threads that parse; by default one for each core.

    Returns
    -------
    scipy.sparse.csr_array
        With both triangles of a symmetric file. A complex entry a + ib becomes the real block [[a, -b], [b, a]], so that
        the matrix has twice the size.

    Raises
    ------
    FileNotFoundError
    ValueError
        With the line, the problem and a remedy.
    """
    return _arrays.to_scipy(_core.read(os.fspath(path), threads))


@dataclass(frozen=True)
class Diagnosis:
    """Properties of a matrix that decide which methods can solve it.

    Attributes
    ----------
    text : str
        All of it; also ``str(diagnosis)``.
    symmetric : bool
        Whether A = Aᵀ up to the round-off of an assembly.
    severity : str or None
        The worst of the findings: ``"note"``, ``"warning"``, ``"error"`` (no method can solve it).
    findings : list of (str, str)
        The severity and a sentence with the rows and a remedy, the most severe first.
    """

    text: str
    symmetric: bool
    severity: str | None
    findings: list[tuple[str, str]]

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def diagnose(A: Any, *, block_size: int | None = None, threads: int | None = None) -> Diagnosis:
    """Inspect a matrix without solving a system.

    Shape, pattern, diagonal, row sums, symmetry and 2x2 minors are inspected, in one pass. A matrix without findings may still
    be singular or indefinite.

    Parameters
    ----------
    A : sparse or dense matrix
    block_size : int, optional
        The number of unknowns of a node; by default that of BSR, else 1.
    threads : int, optional

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import pycoarsen
    >>> pycoarsen.diagnose([[1.0, -2.0], [-2.0, 1.0]]).symmetric
    True
    """
    matrix = _arrays.rows(A, block_size=block_size, threads=threads)
    if block_size is not None:
        matrix = matrix.reblock(block_size, threads)
    return Diagnosis(**_core.diagnose(matrix, threads))
