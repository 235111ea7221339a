"""Noncentered: a location-scale distribution that a sampler moves through by its standardised variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Affine
from probdiff.distributions.wrappers.iid import IID
from probdiff.errors import UnsupportedError
from probdiff.tree import Array, register


class Noncentered(Distribution, abstract=True):
    """The distribution of x = loc + scale z, with z standard: the same distribution as `base`, moved through by z.

    base   a distribution of real numbers with the fields loc and scale

    Densities, moments and draws are those of `base`. Only the unconstrained coordinates of a model differ: they are z,
    whose density does not depend on loc and scale. That takes the funnel out of a hierarchy whose groups hold little
    data.
    Papaspiliopoulos, Roberts & Sköld (2007), A general framework for the parametrization of hierarchical models.
    """

    base: Distribution

    def __init__(self, base: Distribution) -> None:
        if not {"loc", "scale"} <= set(base.domains):
            name = type(base).__name__
            raise UnsupportedError(
                f"noncentered: {name} has no loc and scale. Only a location-scale family has a standard form."
            )
        self.__dict__["base"] = base

    @property
    def support(self) -> Any:
        return self.base.support

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.base.batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self.base.event_shape

    def standard(self) -> Distribution:
        """The distribution of z: `base` with location 0 and scale 1."""
        base: Any = self.base
        standard = object.__new__(type(base))
        standard.__dict__.update(base.__dict__, loc=0.0, scale=1.0)
        return standard  # type: ignore[no-any-return]

    def bijector(self) -> Affine:
        """The map from z to x."""
        base: Any = self.base
        return Affine(base.loc, base.scale)

    def __repr__(self) -> str:
        return f"noncentered({self.base!r})"

    def __eq__(self, other: object) -> bool:
        return self.base == other.base if isinstance(other, Noncentered) else NotImplemented

    def __hash__(self) -> int:
        return hash((Noncentered, self.base))

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

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.base.draw(shape, rng)


register(Noncentered, ("base",))


def noncentered(distribution: Distribution) -> Distribution:
    """`distribution` with its standardised variable as the unconstrained coordinate; `iid` may come before or after.

    UnsupportedError if it has no loc and scale.
    """
    if isinstance(distribution, IID):
        return IID(noncentered(distribution.base), distribution.sizes)
    return Noncentered(distribution)
