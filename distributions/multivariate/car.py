"""CAR: conditional autoregression, values of areas that depend on their neighbours."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.graph import as_graph
from probdiff.distributions.multivariate.location_scale import divided
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Interval, Positive, RealVector, real_vector
from probdiff.errors import ParameterError, ShapeError
from probdiff.tree import Array

Autocorrelation = Annotated[Any, Interval("autocorrelation", "in (-1, 1)", -1.0, 1.0)]


class CAR(Multivariate):
    """The multivariate normal with precision (D - alpha W) / scale²,  D the degrees of the adjacency W.

    loc        vector, the mean
    adjacency  W, symmetric, dense or of scipy.sparse, or a `Graph`; every node has a neighbour
    alpha      in (-1, 1)  0: independent nodes; towards 1, values of neighbours come together
    scale      positive    given its neighbours, x_i has the standard deviation scale / sqrt(D_ii); or precision =
                           1 / scale²

    The density costs as much as there are edges. det(D - alpha W) comes from the eigenvalues of the graph, which are
    found once. The quadratic form is (1 - alpha) Σ D_ii r_i² + alpha Σ w_ij (r_i - r_j)², which does not cancel
    as alpha approaches 1.

    Besag (1974), Spatial interaction and the statistical analysis of lattice systems, J. R. Stat. Soc. B 36;
    Jin, Carlin & Banerjee (2005), Generalized hierarchical multivariate CAR models for areal data, Biometrics 61.
    """

    loc: RealVector
    adjacency: Any
    alpha: Autocorrelation
    scale: Positive = 1.0

    support = real_vector

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        graph = self.__dict__["adjacency"] = as_graph(self.adjacency)
        if self.loc.shape[-1] != graph.nodes:
            raise ShapeError(f"CAR: loc must have a value for each node, got {self.loc.shape[-1]} for {graph.nodes}")
        if not np.all(graph.degrees > 0):
            lonely = int(np.argmin(graph.degrees))
            raise ParameterError(f"CAR.adjacency must give every node a neighbour, got none for node {lonely}")

    @alternative
    def by_precision(precision: Positive) -> dict[str, Any]:
        return {"scale": 1 / np.sqrt(precision)}

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.adjacency.nodes),)

    def logpdf(self, x: Array) -> Array:
        r = (x - self.loc) / np.expand_dims(self.scale, -1)
        own = np.sum(self.adjacency.degrees.astype(r.dtype) * r * r, axis=-1)
        square = (1 - self.alpha) * own + self.alpha * self.adjacency.roughness(r)
        return -0.5 * square - self._log_constant()

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return np.linalg.diagonal(self.cov())

    def cov(self) -> Array:
        """The covariance matrix."""
        return np.expand_dims(self.scale**2, (-2, -1)) * np.linalg.inv(self._structure())

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return self._log_constant() + 0.5 * self.adjacency.nodes

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = rng.standard_normal((*shape, self.adjacency.nodes))
        r = divided(np.linalg.cholesky(self._structure()), z, transpose=True)
        return self.loc + np.expand_dims(self.scale, -1) * r

    def _structure(self) -> Array:
        """D - alpha W."""
        weights = np.expand_dims(self.alpha, (-2, -1)) * self.adjacency.adjacency()
        return np.diag(self.adjacency.degrees) - weights

    def _log_constant(self) -> Array:
        spectrum = self.adjacency.spectrum.astype(self.alpha.dtype)
        log_det = np.sum(np.log1p(-np.expand_dims(self.alpha, -1) * spectrum), axis=-1)
        log_det = log_det + float(np.sum(np.log(self.adjacency.degrees)))
        return self.adjacency.nodes * (np.log(self.scale) + HALF_LOG_2PI) - 0.5 * log_det
