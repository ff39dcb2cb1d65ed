"""Strength of connection: matrices over nodes whose larger entries are stronger couplings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import _core

from ._matrices import as_rows, columns, from_core, to_core
from ._options import STRENGTH, choose

__all__ = [
    "classical_strength_of_connection",
    "evolution_strength_of_connection",
    "symmetric_strength_of_connection",
]


def symmetric_strength_of_connection(A: Any, theta: float = 0) -> Any:
    """Strong couplings have abs(A[i, j]) >= theta * sqrt(abs(A[i, i]) * abs(A[j, j])); blocks in the Frobenius norm.

    Parameters
    ----------
    A : csr_array or bsr_array, shape (n, n)
    theta : float
        0 or more; with 0 all stored couplings are strong, and those of BSR equally.

    Returns
    -------
    csr_array over the nodes of A; the largest entry of each row is 1.
    """
    A = as_rows(A)
    return from_core(_symmetric(to_core(A), A.format == "bsr", theta), False)


def _symmetric(a: _core.Matrix, blocks: bool, theta: float) -> _core.Matrix:
    if theta < 0:
        raise ValueError("expected a positive theta")
    return _core.strength_symmetric(a, float(theta), blocks)


def classical_strength_of_connection(A: Any, theta: float = 0.1, block: bool = True, norm: str = "abs") -> Any:
    """Strong couplings have abs(A[i, j]) >= theta * max(abs(A[i, k])) over k != i.

    Parameters
    ----------
    A : csr_array or bsr_array, shape (n, n)
    theta : float
        Between 0 and 1.
    block : bool
        Whether a block counts as one coupling; for BSR with larger blocks only True is here.
    norm : {'abs', 'min', 'fro'}
        What stands for a coupling: its absolute value; its negative; for blocks the square of the Frobenius norm.

    Returns
    -------
    csr_array over the nodes of A; the largest entry of each row is 1.
    """
    _, parameters = choose("strength", ("classical", {"theta": theta, "block": block, "norm": norm}), STRENGTH)
    A = as_rows(A)
    return from_core(_classical(to_core(A), **parameters), False)


def _classical(a: _core.Matrix, theta: float, block: bool, norm: str) -> _core.Matrix:
    if theta < 0 or theta > 1:
        raise ValueError("expected theta in [0,1]")
    if not block and a.block != (1, 1):
        raise NotImplementedError(
            "block=False of strength='classical' for blocks is not in pycoarsen.pyamg; there is True"
        )
    return _core.strength_classical(a, float(theta), norm)


def evolution_strength_of_connection(
    A: Any,
    B: Any = None,
    epsilon: float = 4.0,
    k: int = 2,
    proj_type: str = "l2",
    block_flag: bool = False,
    symmetrize_measure: bool = True,
) -> Any:
    """Couplings along which k steps of damped Jacobi keep a unit vector close to the span of B.

    Parameters
    ----------
    A : csr_array or bsr_array, shape (n, n)
    B : array, shape (n, m), optional
        Near-kernel; ones by default.
    epsilon : float
        A coupling is weak if its distance is at least epsilon times the smallest one of its row; 1 or more.
    k : int
        The number of steps.
    proj_type : {'l2', 'D_A'}
        The norm of the projection.
    block_flag : bool
        Only False is here.
    symmetrize_measure : bool
        Whether distances are averaged with their transposes.

    Returns
    -------
    csr_array over the nodes of A; the largest entry of each row is 1.
    """
    given = {
        "epsilon": epsilon,
        "k": k,
        "proj_type": proj_type,
        "block_flag": block_flag,
        "symmetrize_measure": symmetrize_measure,
    }
    _, parameters = choose("strength", ("evolution", given), STRENGTH)
    A = as_rows(A)
    B = np.ones((A.shape[0], 1)) if B is None else columns(B, A.shape[0], "B")
    a = to_core(A)
    return from_core(_evolution(a, B, _core.spectral_radius(a, "diagonal"), **{**parameters, "B": None}), False)


def _evolution(
    a: _core.Matrix,
    near_kernel: Any,
    radius: float,
    B: Any,
    epsilon: float,
    k: int,
    proj_type: str,
    block_flag: bool,
    symmetrize_measure: bool,
) -> _core.Matrix:
    if epsilon < 1.0:
        raise ValueError("expected epsilon > 1.0")
    if k <= 0:
        raise ValueError("number of time steps must be > 0")
    b = near_kernel if B is None else columns(B, a.shape[0], "B")
    return _core.strength_evolution(
        a, b, b.shape[1], radius or 1.0, float(epsilon), int(k), proj_type == "D_A", symmetrize_measure
    )


def of_level(level: Any, name: str | None, parameters: dict[str, Any]) -> _core.Matrix:
    """The strength of connection of a level, in Rust."""
    a: _core.Matrix = level.core("A")
    if name == "symmetric":
        return _symmetric(a, level._blocks, **parameters)
    if name == "classical":
        return _classical(a, **parameters)
    if name == "evolution":
        near_kernel = level.__dict__.get("B")
        if near_kernel is None:
            near_kernel = np.ones((a.shape[0], 1))
        return _evolution(a, near_kernel, level.radius("diagonal"), **parameters)
    if name == "predefined":
        C = parameters["C"]
        if not sparse.issparse(C) or C.shape[0] != C.shape[1] or a.shape[0] % C.shape[0]:
            raise ValueError("C of strength='predefined' is a square sparse matrix with a row for each node")
        return to_core(sparse.csr_array(C))
    # Without a measure all stored scalars are strong.
    if a.block == (1, 1):
        return a
    return to_core(level.A.tocsr())
