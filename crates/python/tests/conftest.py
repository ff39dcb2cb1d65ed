"""Systems that tests share."""

import numpy as np
import pytest
import scipy.sparse as sp


def poisson(n, dimensions=2):
    """The Laplacian of a grid with Dirichlet boundary: n^d unknowns, 2 d + 1 entries in a row."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    one = sp.eye_array(n, format="csr")
    A = line
    for _ in range(dimensions - 1):
        A = sp.kron(A, one, format="csr") + sp.kron(sp.eye_array(A.shape[0]), line, format="csr")
    return sp.csr_array(A)


def springs(n):
    """An n x n x n lattice of springs with inertia: 3 unknowns for each node, and the positions of the nodes."""
    points = np.stack(np.meshgrid(*[np.arange(n, dtype=float)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(n**3).reshape(n, n, n)
    steps = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) > (0, 0, 0)]
    rows, columns, values = [], [], []
    for step in steps:
        cut = [slice(max(0, -s), n - max(0, s)) for s in step]
        moved = [slice(max(0, s), n - max(0, -s)) for s in step]
        i, j = number[tuple(cut)].ravel(), number[tuple(moved)].ravel()
        d = np.array(step) / np.linalg.norm(step)
        for a in range(3):
            for b in range(3):
                k = d[a] * d[b]
                for p, q, sign in ((i, i, k), (j, j, k), (i, j, -k), (j, i, -k)):
                    rows.append(3 * p + a)
                    columns.append(3 * q + b)
                    values.append(np.full(len(p), sign))
    size = 3 * n**3
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    A = sp.csr_array(sp.coo_array(entries, shape=(size, size)))
    return sp.bsr_array(A + 1e-3 * sp.eye_array(size), blocksize=(3, 3)), points


def residual(A, b, x):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.fixture
def rng():
    return np.random.default_rng(1)
