"""Wrapped: a distribution that is another one, with something else changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Bijector
from probdiff.tree import Array

__all__ = ["Wrapped"]


class Wrapped(Distribution, abstract=True):
    """The distribution `base`, moved through by other unconstrained coordinates.

    Densities, moments and draws are those of `base`. A wrapper gives the `bijector` from its coordinates z to values,
    the `standard` distribution of z, and the word `call` that makes it.
    """

    base: Distribution
    call = ""

    def bijector(self) -> Bijector:
        """The map from z to x."""
        raise NotImplementedError

    def standard(self) -> Distribution:
        """The distribution of z, which depends on no other variable."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        return self.base.support

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.base.batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self.base.event_shape

    def __repr__(self) -> str:
        return f"{self.call}({self.base!r})"

    def __eq__(self, other: object) -> bool:
        return self.base == other.base if isinstance(other, Wrapped) and type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self.base))

    def logpdf(self, x: Array) -> Array:
        return self.base.logpdf(x)

    def cdf(self, x: Array) -> Array:
        return self.base.cdf(x)

    def ccdf(self, x: Array) -> Array:
        return self.base.ccdf(x)

    def logcdf(self, x: Array) -> Array:
        return self.base.logcdf(x)

    def logccdf(self, x: Array) -> Array:
        return self.base.logccdf(x)

    def quantile(self, p: Array) -> Array:
        return self.base.quantile(p)

    def cquantile(self, p: Array) -> Array:
        return self.base.cquantile(p)

    def mean(self) -> Array:
        return self.base.mean()

    def var(self) -> Array:
        return self.base.var()

    def mode(self) -> Array:
        return self.base.mode()

    def skewness(self) -> Array:
        return self.base.skewness()

    def kurtosis(self) -> Array:
        return self.base.kurtosis()

    def entropy(self) -> Array:
        return self.base.entropy()

    def modes(self) -> Array:
        return self.base.modes()

    def kinks(self) -> tuple[Array, ...]:
        return self.base.kinks()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.base.draw(shape, rng)
