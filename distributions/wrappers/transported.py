"""Transported: a distribution that a sampler moves through by the standard normal variable of its quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from probdiff.distributions.base import Distribution, has_tails
from probdiff.distributions.bijectors import Bijector
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.errors import UnsupportedError
from probdiff.tree import Array, register

__all__ = ["QuantileMap", "Transported", "transport"]


@dataclass(frozen=True)
class QuantileMap(Bijector):
    """x = Q(Φ(z)), each half by the tail that it lies in: Φ(z) is one to rounding from z = 8 on."""

    base: Distribution

    def forward(self, u: Array) -> Array:
        return np.where(u < 0, self.base.quantile(ndtr(u)), self.base.cquantile(ndtr(-u)))

    def inverse(self, x: Array) -> Array:
        below, above = self.base.cdf(x), self.base.ccdf(x)
        return np.where(below < above, ndtri(below), -ndtri(above))

    def log_jacobian(self, u: Array) -> Array:
        return -0.5 * u * u - HALF_LOG_2PI - self.base.logpdf(self.forward(u))


class Transported(Wrapped, abstract=True):
    """The distribution of x = Q(Φ(z)), with z standard normal: the same distribution as `base`, moved through by z.

    base   a continuous distribution of one number, Q its quantile function

    Densities, moments and draws are those of `base`. Only the unconstrained coordinates of a model differ: they are z,
    whose density does not depend on the parameters of `base`, and has neither heavy tails nor bounds.
    """

    call = "transport"

    def __init__(self, base: Distribution) -> None:
        family = type(base)
        name = family.__name__
        if base.support.discrete or base.support.event_ndim:
            kind = "discrete" if base.support.discrete else "not of one number"
            raise UnsupportedError(f"transport: {name} is {kind}. Only a continuous distribution of one number has it.")
        if not has_tails(family):
            raise UnsupportedError(f"transport: {name} has no distribution function, so it has no quantiles.")
        self.__dict__["base"] = base

    def standard(self) -> Distribution:
        return STANDARD

    def bijector(self) -> QuantileMap:
        return QuantileMap(self.base)


register(Transported, ("base",))
STANDARD = Normal(0.0, 1.0)


def transport(distribution: Distribution) -> Distribution:
    """`distribution` with a standard normal variable as the unconstrained coordinate; `iid` may come before or after.

    UnsupportedError if it has no distribution function.
    """
    if isinstance(distribution, IID):
        return IID(transport(distribution.base), distribution.sizes)
    return Transported(distribution)
