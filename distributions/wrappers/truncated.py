"""Truncated: a distribution of one number, given that it lies between two bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous, Discrete, Distribution
from probdiff.distributions.guards import floating
from probdiff.distributions.intervals import from_tails
from probdiff.distributions.quantiles import LOG_HALF
from probdiff.distributions.support import Integers, Interval, Support, nonnegative
from probdiff.distributions.wrappers.combined import Combined
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.special import log1mexp
from probdiff.tree import Array, register


class Truncated(Distribution, abstract=True):
    """p(x) = q(x) / P(lower <= X <= upper) between the bounds, with q and P the density (or mass) and law of `base`.

    base   a distribution of real or whole numbers
    lower  -inf for no bound
    upper  inf for no bound
    """

    base: Distribution
    lower: Any
    upper: Any

    def __init__(self, base: Distribution, lower: Any = -math.inf, upper: Any = math.inf) -> None:
        one = isinstance(base, (Continuous, Discrete, Combined)) and not base.event_shape
        if not one or (isinstance(base, Combined) and base.atoms and not base.support.discrete):
            raise UnsupportedError(f"truncated: {type(base).__name__} is not a distribution of real or whole numbers.")
        self.__dict__.update(base=base, lower=lower, upper=upper)
        first, last = self._ends()
        if not (is_lifted(lower) or is_lifted(upper)) and not np.all(np.asarray(first) < np.asarray(last)):
            rule = "there must be whole numbers between the bounds" if self._discrete else "lower must be below upper"
            raise ParameterError(f"truncated: {rule}, got {lower} and {upper}.")

    @property
    def support(self) -> Support:
        base = self.base.support
        first, last = self._ends()
        if self._discrete:
            lower, upper = np.maximum(first + 1.0, base.lower), np.minimum(last, base.upper)
            return Integers("integer_interval", "a whole number between the bounds", lower, upper)
        lower = self.lower if _infinite(base.lower) else np.maximum(self.lower, base.lower)
        upper = self.upper if _infinite(base.upper) else np.minimum(self.upper, base.upper)
        if not is_lifted(lower) and np.ndim(lower) == 0 and lower == 0 and _infinite(upper):
            return nonnegative
        return Interval("interval", "between the bounds", lower, upper, not _infinite(lower), not _infinite(upper))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        bounds = (getattr(bound, "shape", ()) for bound in (self.lower, self.upper))
        return np.broadcast_shapes(self.base.batch_shape, *bounds)

    def logpdf(self, x: Array) -> Array:
        x = floating(x)
        with np.errstate(all="ignore"):
            return np.where(self.support.contains(x), self.base.logpdf(x) - self._log_mass(), -np.inf)[()]

    def logcdf(self, x: Array) -> Array:
        first, last = self._ends()
        with np.errstate(all="ignore"):
            x = np.floor(floating(x)) if self._discrete else floating(x)
            below, above = self._log_tails(x)
            inside = np.where(below < LOG_HALF, below, log1mexp(above))
            return np.where(x >= last, 0.0, np.where(x <= first, -np.inf, inside))[()]

    def logccdf(self, x: Array) -> Array:
        first, last = self._ends()
        with np.errstate(all="ignore"):
            x = np.floor(floating(x)) if self._discrete else floating(x)
            below, above = self._log_tails(x)
            inside = np.where(above < LOG_HALF, above, log1mexp(below))
            return np.where(x >= last, -np.inf, np.where(x <= first, 0.0, inside))[()]

    def cdf(self, x: Array) -> Array:
        return np.exp(self.logcdf(x))

    def ccdf(self, x: Array) -> Array:
        return np.exp(self.logccdf(x))

    def quantile(self, p: Array) -> Array:
        if self._discrete:
            return super().quantile(p)
        with np.errstate(all="ignore"):
            return self._inverted(np.log(p), np.log1p(-floating(p)))

    def cquantile(self, p: Array) -> Array:
        if self._discrete:
            return super().cquantile(p)
        with np.errstate(all="ignore"):
            return self._inverted(np.log1p(-floating(p)), np.log(p))

    def _inverted(self, log_p: Array, log_q: Array) -> Array:
        """The x with P(X <= x) = p = 1 - q, by the tail of `base` that is smaller in the interval."""
        base, mass = self.base, self._log_mass()
        above = base.invlogccdf(np.minimum(np.logaddexp(base.logccdf(self.upper), log_q + mass), 0.0))
        below = base.invlogcdf(np.minimum(np.logaddexp(base.logcdf(self.lower), log_p + mass), 0.0))
        x = np.where(base.logccdf(self.lower) < LOG_HALF, above, below)
        return np.clip(x, self.lower, self.upper)[()]

    def kinks(self) -> tuple[Array, ...]:
        return self.base.kinks()

    @property
    def _discrete(self) -> bool:
        return bool(self.base.support.discrete)

    def _ends(self) -> tuple[Any, Any]:
        """The bounds as those of first < X <= last, which counts also where single numbers have mass."""
        if self._discrete:
            return np.ceil(self.lower) - 1, np.floor(self.upper)
        return self.lower, self.upper

    def _log_mass(self) -> Array:
        """The log of the probability of the interval under `base`."""
        return from_tails(self.base, *self._ends())[0]

    def _log_tails(self, x: Array) -> tuple[Array, Array]:
        """The logs of P(X <= x) and P(X > x), for x between the bounds; whichever is near zero has its digits there."""
        first, last = self._ends()
        mass = self._log_mass()
        below, above = self.base.logdiffcdf(first, x) - mass, self.base.logdiffcdf(x, last) - mass
        return np.minimum(below, 0.0), np.minimum(above, 0.0)

    def __repr__(self) -> str:
        return f"truncated({self.base!r}, {self.lower}, {self.upper})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Truncated):
            return NotImplemented
        bounds = ((self.lower, other.lower), (self.upper, other.upper))
        return self.base == other.base and all(np.array_equal(a, b) for a, b in bounds)

    def __hash__(self) -> int:
        return hash((Truncated, self.base))


register(Truncated, ("base", "lower", "upper"))


def truncated(distribution: Distribution, lower: Any = -math.inf, upper: Any = math.inf) -> Truncated:
    """`distribution` between the bounds, normalised; a bound may depend on other variables.

    UnsupportedError for a distribution of vectors, ParameterError unless lower < upper (for whole numbers: unless there
    is one between the bounds, both included).
    """
    return Truncated(distribution, lower, upper)


def _infinite(bound: Any) -> bool:
    return isinstance(bound, float) and math.isinf(bound)
