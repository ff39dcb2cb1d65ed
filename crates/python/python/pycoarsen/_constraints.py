"""Linear equality constraints on x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _arrays, _core
from ._arrays import Vector


class Constraints:
    """Linear equality constraints C x = d on the unknowns of nodes, which the solution meets exactly.

    In a time step x is a displacement or a velocity, not a position. Constraints are numbered from 0 in the order in which
    they are added; those that contradict each other are a `ValueError` of `Solver`.

    Parameters
    ----------
    nodes : int
        The number of nodes of the system.
    block_size : int
        The number of unknowns of a node.

    References
    ----------
    Tamstorf, Jones & McCormick 2015, §8; Baraff & Witkin 1998, §5.1.

    Examples
    --------
    >>> from pycoarsen import Constraints
    >>> c = Constraints(5, 3)
    >>> c.point(0, [0.0, 0.0, 0.0])  # node 0 does not move
    >>> c.plane(1, [0.0, 0.0, 1.0], 0.0)  # node 1 slides on a table
    >>> len(c)
    4
    """

    def __init__(self, nodes: int, block_size: int = 1) -> None:
        self._core = _core.Constraints(nodes, block_size)

    def __len__(self) -> int:
        return len(self._core)

    @property
    def nodes(self) -> int:
        """The number of nodes of the system."""
        return self._core.nodes

    @property
    def block_size(self) -> int:
        """The number of unknowns of a node."""
        return self._core.block

    def clear(self) -> None:
        """Remove all constraints."""
        self._core.clear()

    def fix(self, unknowns: ArrayLike, values: ArrayLike = 0.0) -> None:
        """Prescribe scalar unknowns.

        Parameters
        ----------
        unknowns : array of int, shape (k,)
            Their numbers in x.
        values : float or array, shape (k,)
            In the unit of x.
        """
        numbers = np.asarray(unknowns).reshape(-1)
        if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
            raise TypeError(f"unknowns are {numbers.dtype}, but integers are needed")
        _arrays.real(np.asarray(values), "values")
        given = np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float64), numbers.shape))
        self._core.fix(numbers.tolist(), given)

    def point(self, node: int, value: ArrayLike) -> None:
        """Fix a node: x of `node` is `value`, in the unit of x, shape (block_size,)."""
        self._core.point(node, self._node(value, "value"))

    def line(self, node: int, direction: ArrayLike, value: ArrayLike) -> None:
        """Keep a node on the line through `value` along `direction`, both of shape (block_size,)."""
        self._core.line(node, self._node(direction, "direction"), self._node(value, "value"))

    def plane(self, node: int, normal: ArrayLike, offset: float = 0.0) -> None:
        """Keep a node on a plane: ``normal @ x`` of `node` is `offset`."""
        self._core.plane(node, self._node(normal, "normal"), offset)

    def equation(self, terms: Sequence[tuple[int, ArrayLike]], value: float = 0.0) -> None:
        """Add one row of C: the sum of ``c @ x`` of `node` over the pairs (node, c) in `terms` is `value`."""
        self._core.equation([(node, self._node(c, "c").tolist()) for node, c in terms], value)

    def rows(self, C: Any, values: ArrayLike) -> None:
        """Add all rows of a sparse C of shape (k, nodes * block_size), with values d of shape (k,)."""
        matrix = _arrays.rows(C, block_size=1)
        values = _arrays.vector(values, matrix.shape[0], "values")
        if self.block_size > 1:
            indptr, indices, data = matrix.arrays()
            b = self.block_size
            for i, value in enumerate(values):
                entries = slice(indptr[i], indptr[i + 1])
                terms: dict[int, Vector] = {}
                for j, v in zip(indices[entries], data[entries]):
                    terms.setdefault(int(j) // b, np.zeros(b))[int(j) % b] = v
                self.equation(list(terms.items()), float(value))
        else:
            self._core.rows_of(matrix, values)

    def vertex_face(
        self, vertex: int, face: tuple[int, int, int], weights: ArrayLike, normal: ArrayLike, gap: float = 0.0
    ) -> None:
        """Add a contact: normal · (x of `vertex` − Σ weights[k] x of face[k]) is `gap`."""
        w = _arrays.vector(weights, 3, "weights").tolist()
        self._core.vertex_face(vertex, face, (w[0], w[1], w[2]), self._node(normal, "normal"), gap)

    def edge_edge(
        self,
        first: tuple[int, int],
        second: tuple[int, int],
        at: tuple[float, float],
        normal: ArrayLike,
        gap: float = 0.0,
    ) -> None:
        """Add a contact of the points at ``at`` (0 to 1) on two edges: normal · (p − q) is `gap`."""
        self._core.edge_edge(first, second, at, self._node(normal, "normal"), gap)

    def _node(self, values: ArrayLike, what: str) -> Vector:
        return _arrays.vector(np.atleast_1d(np.asarray(values)), self.block_size, what)
