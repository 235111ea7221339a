"""Multivariate hypergeometric: how many of each kind are drawn without replacement from an urn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.stable import binomial_log_mass
from probdiff.distributions.support import Counts, NonnegativeInteger, Support, counts
from probdiff.tree import Array


@dataclass(frozen=True, repr=False)
class CountVectors(Support):
    """Vectors (last axis) of nonnegative integers."""

    discrete: ClassVar[bool] = True
    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all((x >= 0) & (np.floor(x) == x) & (x < np.inf), axis=-1)


CountVector = Annotated[Any, CountVectors("count_vector", "nonnegative integers", 0.0)]


class MultivariateHypergeometric(Multivariate):
    """P(x) = Π_k C(sizes_k, x_k) / C(Σ sizes_k, n),  x nonnegative integers that sum to n.

    sizes  vector of nonnegative integers: how many of each kind the urn has
    n      nonnegative integer: draws, not more than there are in the urn

    Johnson, Kotz & Balakrishnan, Discrete Multivariate Distributions, ch. 39.
    """

    sizes: CountVector
    n: NonnegativeInteger

    relation = "n <= the sum of sizes"

    def related(self) -> Array:
        return self.n <= np.sum(self.sizes, axis=-1)

    @property
    def support(self) -> Counts:
        return counts(self.n)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.sizes.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        # Binomials of one probability, which cancels: near the mode each of their masses is moderate (Loader).
        total = 1.0 * np.sum(self.sizes, axis=-1)
        p = self.n / np.maximum(total, 1.0)
        each = np.expand_dims(p, -1)
        # A kind of which more are drawn than there are has no mass.
        left = np.maximum(self.sizes - x, 0.0)
        masses = binomial_log_mass(x, left + 0 * x, each, 1 - each, np.log(each), np.log1p(-each))
        masses = np.where(x <= self.sizes, masses, -np.inf)
        drawn = self.n + 0 * total
        whole = binomial_log_mass(drawn, total - drawn, p, 1 - p, np.log(p), np.log1p(-p))
        # Nothing or everything drawn is certain.
        return np.sum(masses, axis=-1) - whole

    def mean(self) -> Array:
        return np.expand_dims(self.n, -1) * self._shares()

    def var(self) -> Array:
        p = self._shares()
        return np.expand_dims(self.n * self._remaining(), -1) * p * (1 - p)

    def cov(self) -> Array:
        """The covariance matrix, n (diag(p) - p p') (N - n) / (N - 1) with p = sizes / N."""
        p = np.expand_dims(self._shares(), -1)
        spread = p * np.eye(self.event_shape[0]) - p * np.swapaxes(p, -1, -2)
        return np.expand_dims(self.n * self._remaining(), (-2, -1)) * spread

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        sizes = np.broadcast_to(self.sizes, (*shape, *self.event_shape)).astype(np.int64)
        left, drawn = np.broadcast_to(self.n, shape).astype(np.int64), []
        rest = np.sum(sizes, axis=-1)
        for kind in range(sizes.shape[-1]):
            rest = rest - sizes[..., kind]
            drawn.append(rng.hypergeometric(sizes[..., kind], rest, left))
            left = left - drawn[-1]
        return np.stack(drawn, axis=-1)

    def _shares(self) -> Array:
        total = np.sum(self.sizes, axis=-1, keepdims=True)
        return self.sizes / np.maximum(total, 1)

    def _remaining(self) -> Array:
        total = np.sum(self.sizes, axis=-1)
        return (total - self.n) / np.maximum(total - 1, 1)
