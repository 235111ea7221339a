"""ICAR: intrinsic conditional autoregression, a rough surface over areas that sums to zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.graph import as_graph
from probdiff.distributions.multivariate.location_scale import divided
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, sum_to_zero
from probdiff.errors import ParameterError
from probdiff.tree import Array


class ICAR(Multivariate):
    """p(x) = c exp(-Σ_edges w_ij (x_i - x_j)² / (2 scale²)) / scale^(K - 1),  Σ x_k = 0.

    adjacency  W, symmetric, dense or of scipy.sparse, or a `Graph`; all nodes are connected
    scale      positive  given its neighbours, x_i is about their mean, with deviation scale / sqrt(D_ii); or
                         precision = 1 / scale²

    The limit of `CAR` at alpha = 1, proper because the sum is fixed: the density of any K - 1 of the K values, with
    c = K sqrt(T) / (2π)^((K - 1) / 2) for T spanning trees of the graph. It costs as much as there are edges.

    Besag, York & Mollié (1991), Bayesian image restoration with two applications in spatial statistics, Ann. Inst.
    Statist. Math. 43; Rue & Held, Gaussian Markov Random Fields, ch. 3.
    """

    adjacency: Any
    scale: Positive = 1.0

    support = sum_to_zero

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        graph = self.__dict__["adjacency"] = as_graph(self.adjacency)
        if graph.parts != 1:
            fix = "Give each part an ICAR of its own."
            raise ParameterError(f"ICAR.adjacency must connect all nodes, got {graph.parts} parts. {fix}")

    @alternative
    def by_precision(precision: Positive) -> dict[str, Any]:
        return {"scale": 1 / np.sqrt(precision)}

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.adjacency.nodes),)

    def logpdf(self, x: Array) -> Array:
        return -0.5 * self.adjacency.roughness(x / np.expand_dims(self.scale, -1)) - self._log_constant()

    def mean(self) -> Array:
        return np.zeros(self.event_shape)

    def var(self) -> Array:
        return np.linalg.diagonal(self.cov())

    def cov(self) -> Array:
        """The covariance matrix, the generalised inverse of the precision."""
        # The direction that the Laplacian lacks is put in for the inversion, and taken out again.
        flat = 1 / self.adjacency.nodes
        inverse = np.linalg.inv(self.adjacency.laplacian() + flat) - flat
        return np.expand_dims(self.scale**2, (-2, -1)) * inverse

    def mode(self) -> Array:
        return np.zeros(self.event_shape)

    def entropy(self) -> Array:
        return self._log_constant() + 0.5 * (self.adjacency.nodes - 1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # Differences do not see the mean: hold the first value at zero, draw the rest, take the mean away.
        factor = np.linalg.cholesky(self.adjacency.laplacian()[1:, 1:])
        rest = divided(factor, rng.standard_normal((*shape, self.adjacency.nodes - 1)), transpose=True)
        r = np.concatenate([np.zeros((*shape, 1)), rest], axis=-1)
        return np.expand_dims(self.scale, -1) * (r - np.mean(r, axis=-1, keepdims=True))

    def _log_constant(self) -> Array:
        k = self.adjacency.nodes
        return (k - 1) * (np.log(self.scale) + HALF_LOG_2PI) - math.log(k) - 0.5 * self.adjacency.log_trees
