"""Transported: a distribution that a sampler moves through by the standard normal variable of its quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from probdiff.distributions.base import Continuous, Distribution
from probdiff.distributions.bijectors import Bijector
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.errors import ProbdiffError, UnsupportedError
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

    base   a continuous distribution of one number whose quantile function Q is a formula that can be differentiated

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
        if not differentiable_quantile(family):
            raise UnsupportedError(
                f"transport: {name}.quantile cannot be differentiated: it has no formula that can be traced. "
                f"{', '.join(_families())} have one."
            )
        self.__dict__["base"] = base

    def standard(self) -> Distribution:
        return STANDARD

    def bijector(self) -> QuantileMap:
        return QuantileMap(self.base)


register(Transported, ("base",))
STANDARD = Normal(0.0, 1.0)


def transport(distribution: Distribution) -> Distribution:
    """`distribution` with a standard normal variable as the unconstrained coordinate; `iid` may come before or after.

    UnsupportedError if its quantile function cannot be differentiated.
    """
    if isinstance(distribution, IID):
        return IID(transport(distribution.base), distribution.sizes)
    return Transported(distribution)


_differentiable: dict[Any, bool] = {}  # by family, as they are asked for


def differentiable_quantile(family: Any) -> bool:
    """Whether the quantile function of a family is made of operations with a derivative, in p and in the parameters."""
    if family not in _differentiable:
        _differentiable[family] = "quantile" in family._given and _has_derivative(family)
    return _differentiable[family]


def _has_derivative(family: Any) -> bool:
    from probdiff.ad.transforms import gradient

    fields = [name for name, domain in family.domains.items() if domain is not None and name not in family.exclusive]

    def quantile(p: Array, parameters: dict[str, Array]) -> Array:
        member = object.__new__(family)
        member.__dict__.update({name: None for name in family.domains}, **parameters)
        return np.where(p < 0.5, member.quantile(p), member.cquantile(p))

    # Whether there is a derivative is a matter of which operations the formula takes, not of the numbers.
    try:
        with np.errstate(all="ignore"):
            gradient(quantile, 0.4, {name: 1.0 + k for k, name in enumerate(fields)})
    except ProbdiffError:
        return False
    return True


def _families() -> list[str]:
    import probdiff.distributions as every

    found: list[Any] = [getattr(every, name) for name in every.__all__]
    families = [each for each in found if isinstance(each, type) and issubclass(each, Continuous) and each._given]
    return sorted(each.__name__ for each in families if differentiable_quantile(each))
