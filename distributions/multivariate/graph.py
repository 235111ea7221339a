"""Undirected graphs: which areas are neighbours, and what their densities need to know of it, found once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from probdiff.errors import ParameterError
from probdiff.tree import Array

__all__ = ["Graph"]

Numbers = np.ndarray[Any, Any]


class Graph:
    """The graph of a symmetric adjacency matrix, dense or of scipy.sparse, with nonnegative weights and no loops.

    nodes, edges         their numbers
    first, second        the ends of each edge, first < second
    weights              of the edges; 1 for plain neighbours
    degrees              of the nodes, the sums of their weights

    Equal graphs are equal objects. The spectrum is found once, when first asked for: give one graph to several
    distributions to share it.
    """

    def __init__(self, adjacency: Any) -> None:
        from scipy import sparse

        given: Any = adjacency if sparse.issparse(adjacency) else np.asarray(adjacency)
        if given.dtype.kind not in "fiub":
            raise ParameterError(f"Graph: an adjacency matrix must hold real numbers, got {given.dtype}")
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.shape[0]:
            raise ParameterError(f"Graph: an adjacency matrix must be square, got shape {given.shape}")
        matrix = sparse.coo_array(given, dtype=float)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        rows, columns = matrix.coords
        weights = np.asarray(matrix.data)
        good = (weights > 0) & (weights < np.inf)
        if not np.all(good):
            bad = weights[np.argmin(good)]
            raise ParameterError(f"Graph: weights must be nonnegative and finite, got {float(bad)!r}")
        if np.any(rows == columns):
            node = int(rows[np.argmax(rows == columns)])
            raise ParameterError(f"Graph: no node is its own neighbour, but node {node} is. Set the diagonal to 0.")
        if (matrix - matrix.T).count_nonzero():
            raise ParameterError("Graph: an adjacency matrix must be symmetric. Neighbours are so both ways.")
        upper = rows < columns
        order = np.lexsort((columns[upper], rows[upper]))
        self.nodes = int(matrix.shape[0])
        self.first, self.second = rows[upper][order].astype(np.intp), columns[upper][order].astype(np.intp)
        self.weights = weights[upper][order]
        self.edges = len(self.weights)
        self.degrees = np.bincount(rows, weights, minlength=self.nodes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"Graph({self.nodes} nodes, {self.edges} edges)"

    @functools.cached_property
    def _content(self) -> tuple[int, bytes, bytes, bytes]:
        return self.nodes, self.first.tobytes(), self.second.tobytes(), self.weights.tobytes()

    def roughness(self, x: Array) -> Array:
        """Σ w_ij (x_i - x_j)² over the edges, for values of the nodes along the last axis."""
        steps = x[..., self.first] - x[..., self.second]
        return np.sum(self.weights.astype(x.dtype) * steps * steps, axis=-1)

    def adjacency(self) -> Numbers:
        """The dense matrix of weights."""
        w = np.zeros((self.nodes, self.nodes))
        w[self.first, self.second] = w[self.second, self.first] = self.weights
        return w

    def laplacian(self) -> Numbers:
        """D - W: the degrees on the diagonal less the weights."""
        return np.diag(self.degrees) - self.adjacency()

    @functools.cached_property
    def spectrum(self) -> Numbers:
        """The eigenvalues of D^(-1/2) W D^(-1/2), which lie in [-1, 1], for a graph where every node has neighbours."""
        root = np.sqrt(self.degrees)
        found = np.clip(np.linalg.eigvalsh(self.adjacency() / np.outer(root, root)), -1.0, 1.0)
        # Each part has the eigenvalue one, whose rounding would show where 1 - alpha is small.
        found[-self.parts :] = 1.0
        return found

    @functools.cached_property
    def log_trees(self) -> float:
        """The log of the number of spanning trees, each counted by its weights: Kirchhoff's theorem."""
        return float(np.linalg.slogdet(self.laplacian()[1:, 1:])[1])

    @functools.cached_property
    def parts(self) -> int:
        """The number of parts that no edge connects."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.nodes, self.nodes)
        edges = coo_array((self.weights, (self.first, self.second)), shape=shape)
        return int(connected_components(edges, directed=False)[0])


def as_graph(adjacency: Any) -> Graph:
    """The graph itself, or that of an adjacency matrix."""
    return adjacency if isinstance(adjacency, Graph) else Graph(adjacency)
