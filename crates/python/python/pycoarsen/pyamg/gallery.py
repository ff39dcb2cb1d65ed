"""Test matrices with the signatures of PyAMG's gallery."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["diffusion_stencil_2d", "gauge_laplacian", "linear_elasticity", "load_example", "poisson", "stencil_grid"]


def stencil_grid(S: Any, grid: Any, dtype: Any = None, format: str | None = None) -> Any:
    """Returns the matrix of a stencil on a regular grid with zero boundary values.

    Parameters
    ----------
    S : array with an odd number of entries along each axis
        The coefficients; the middle one is the diagonal.
    grid : tuple of int
        The points along each axis. The last axis varies fastest.
    dtype, format : optional
        Those of the result; DIA by default.

    Returns
    -------
    sparse array, shape (n, n), where n is the number of points
    """
    S = np.asarray(S, dtype=dtype)
    grid = tuple(int(n) for n in grid)
    if not all(n % 2 for n in S.shape):
        raise ValueError("all stencil dimensions must be odd")
    if len(grid) != S.ndim:
        raise ValueError("stencil dimension must equal number of grid dimensions")
    if not grid or min(grid) < 1:
        raise ValueError("grid dimensions must be positive")
    total = int(np.prod(grid))
    diagonals: dict[int, Any] = {}
    for at in product(*(range(n) for n in S.shape)):
        if S[at] == 0:
            continue
        shift = tuple(i - n // 2 for i, n in zip(at, S.shape, strict=True))
        # The points whose neighbour at this shift is on the grid.
        ranges = [(max(0, -s), min(n, n - s)) for s, n in zip(shift, grid, strict=True)]
        if any(low >= high for low, high in ranges):
            continue
        inside = np.zeros(grid, dtype=S.dtype)
        inside[tuple(slice(low, high) for low, high in ranges)] = S[at]
        offset = int(np.ravel_multi_index(shift, grid, mode="wrap")) if total == 1 else _offset(shift, grid)
        values = inside.reshape(-1)
        # DIA stores the value of column j at position j.
        moved = np.zeros_like(values)
        if offset >= 0:
            moved[offset:] = values[: total - offset]
        else:
            moved[:offset] = values[-offset:]
        diagonals[offset] = diagonals.get(offset, 0) + moved
    offsets = sorted(diagonals)
    data = np.array([diagonals[offset] for offset in offsets]).reshape(len(offsets), total)
    return sparse.dia_array((data, offsets), shape=(total, total)).asformat(format)


def _offset(shift: tuple[int, ...], grid: tuple[int, ...]) -> int:
    offset = 0
    for s, n in zip(shift, grid, strict=True):
        offset = offset * n + s
    return offset


def poisson(grid: Any, dtype: Any = float, format: str | None = None, type: str = "FD") -> Any:
    """Returns the matrix of Poisson's equation on a regular grid with mesh width 1 and zero boundary values.

    Parameters
    ----------
    grid : tuple of int
        The points along each axis.
    dtype, format : optional
        Those of the result; DIA by default.
    type : {'FD', 'FE'}
        Differences to the neighbours along the axes, or to all neighbours.
    """
    n = len(tuple(grid))
    if n < 1:
        raise ValueError(f"Invalid grid shape: {grid}")
    if type == "FE":
        stencil = np.full((3,) * n, -1, dtype=dtype)
        stencil[(1,) * n] = 3**n - 1
    elif type == "FD":
        stencil = np.zeros((3,) * n, dtype=dtype)
        stencil[(1,) * n] = 2 * n
        for axis in range(n):
            for end in (0, 2):
                stencil[tuple(end if d == axis else 1 for d in range(n))] = -1
    else:
        raise NotImplementedError(f"type={type!r} is not in pycoarsen.pyamg; there are 'FD', 'FE'")
    return stencil_grid(stencil, grid, dtype=dtype, format=format)


def diffusion_stencil_2d(epsilon: float = 1.0, theta: float = 0.0, type: str = "FE") -> Any:
    """Returns the stencil of rotated anisotropic diffusion, shape (3, 3).

    The equation is -div(Q diag(1, epsilon) Q.T grad u) = f with the rotation Q by theta.

    Parameters
    ----------
    epsilon : float
        The weak diffusion.
    theta : float
        The angle in radians.
    type : {'FE', 'FD'}
        Bilinear elements, or differences.
    """
    c, s = float(np.cos(theta)), float(np.sin(theta))
    xx, xy, yy = c * c + epsilon * s * s, (1.0 - epsilon) * c * s, s * s + epsilon * c * c
    one, mass, slope = np.array([-1.0, 2.0, -1.0]), np.array([1.0, 4.0, 1.0]) / 6.0, np.array([-0.5, 0.0, 0.5])
    if type == "FD":
        mass = np.array([0.0, 1.0, 0.0])
    elif type != "FE":
        raise NotImplementedError(f"type={type!r} is not in pycoarsen.pyamg; there are 'FE', 'FD'")
    return xx * np.outer(one, mass) + yy * np.outer(mass, one) - 2.0 * xy * np.outer(slope, slope)


def linear_elasticity(
    grid: Any, spacing: Any = None, E: float = 1e5, nu: float = 0.3, format: str | None = None
) -> tuple[Any, Any]:
    """Returns the stiffness matrix of plane strain with bilinear elements, fixed at the boundary.

    Parameters
    ----------
    grid : (int, int)
        The free points along each axis. The second one varies slowest.
    spacing : (float, float), optional
        The mesh widths; 1 by default.
    E, nu : float
        Young's modulus and Poisson's ratio.
    format : str, optional
        The format of the matrix; BSR with 2 x 2 blocks by default.

    Returns
    -------
    A : sparse array, shape (2 n, 2 n)
    B : ndarray, shape (2 n, 3)
        Translations and the rotation.
    """
    if len(grid) != 2:
        raise NotImplementedError(f"linear_elasticity for grid={grid} is not in pycoarsen.pyamg; there are two axes")
    X, Y = (int(n) for n in grid)
    if X < 1 or Y < 1:
        raise ValueError("invalid grid shape")
    hx, hy = (1.0, 1.0) if spacing is None else (float(h) for h in spacing)
    lame, mu = E * nu / ((1 + nu) * (1 - 2 * nu)), E / (2 * (1 + nu))
    material = np.array([[lame + 2 * mu, lame, 0], [lame, lame + 2 * mu, 0], [0, 0, mu]])
    local = np.zeros((8, 8))
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    for gauss in corners / np.sqrt(3.0):
        # Two Gauss points along each axis; the gradients of the four corner functions.
        gradients = corners * (1 + gauss[::-1] * corners[:, ::-1]) / 4 * np.array([2 / hx, 2 / hy])
        strain = np.zeros((3, 8))
        strain[0, 0::2], strain[1, 1::2] = gradients[:, 0], gradients[:, 1]
        strain[2, 0::2], strain[2, 1::2] = gradients[:, 1], gradients[:, 0]
        local += strain.T @ material @ strain * (hx * hy / 4)
    # Elements touch (X + 2) x (Y + 2) points, of which the inner ones are free.
    points = np.arange((X + 2) * (Y + 2)).reshape(Y + 2, X + 2)
    low = points[:-1, :-1].reshape(-1)
    nodes = low[:, None] + np.array([0, 1, X + 3, X + 2])
    unknowns = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 8)
    rows, places = np.repeat(unknowns, 8, axis=1), np.tile(unknowns, (1, 8))
    values = np.tile(local.reshape(-1), len(unknowns))
    whole = sparse.coo_array((values, (rows.reshape(-1), places.reshape(-1))), shape=(2 * points.size,) * 2)
    free = points[1:-1, 1:-1].reshape(-1)
    kept = np.stack([2 * free, 2 * free + 1], axis=1).reshape(-1)
    A = sparse.csr_array(whole.tocsr()[kept][:, kept])
    x = hx * (free % (X + 2) - (X + 1) / 2)
    y = hy * (free // (X + 2) - (Y + 1) / 2)
    B = np.zeros((2 * len(free), 3))
    B[0::2, 0], B[1::2, 1], B[0::2, 2], B[1::2, 2] = 1.0, 1.0, -y, x
    return A.tobsr(blocksize=(2, 2)).asformat(format), B


def load_example(name: str) -> Any:
    """Is not here: the examples are files of PyAMG."""
    raise NotImplementedError(f"load_example({name!r}) is not in pycoarsen.pyamg: the examples are files of PyAMG")


def gauge_laplacian(*args: Any, **kwargs: Any) -> Any:
    """Is not here: it is complex."""
    raise NotImplementedError("gauge_laplacian is not in pycoarsen.pyamg: it is complex")
