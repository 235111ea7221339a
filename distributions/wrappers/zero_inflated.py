"""Zeros beside a distribution: more of them than it has (zero-inflated), or as many as it takes (hurdle)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from probdiff.distributions.guards import floating
from probdiff.distributions.support import Probability, Real, Support, integer_interval, interval
from probdiff.distributions.wrappers.combined import Combined, any_of, log_tail, name_of
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

__all__ = ["Hurdle", "ZeroInflated"]

zero = integer_interval(0.0, 0.0)
zero_of_reals = interval(0.0, 0.0)


class ZeroInflated(Combined):
    """P(0) = p + (1 - p) q(0),  P(k) = (1 - p) q(k) for other k.

    base    a distribution of whole numbers, with masses q
    p       in [0, 1]  the probability of an extra zero
    logits  real       log(p / (1 - p)), in place of p

    Lambert (1992), Zero-inflated Poisson regression.
    """

    base: Any
    p: Probability = None
    logits: Real = None

    exclusive = ("p", "logits")

    def check_parts(self) -> None:
        self.refuse_unless(self.base)
        if not self.base.support.discrete:
            raise UnsupportedError(f"ZeroInflated: {name_of(self.base)} is continuous, and has no zeros. Use Hurdle.")

    @property
    def support(self) -> Support:
        ends: Support = self.base.support
        if not is_lifted(ends.lower) and np.ndim(ends.lower) == 0 and ends.lower == 0:
            return ends
        return any_of(zero, ends)

    def logpdf(self, x: Array) -> Array:
        log_zero, log_rest = log_odds(self)
        own = self.base.logpdf(x)
        rest = log_rest + own
        # A mass near one has its digits in what it lacks.
        at_zero = np.where(own > -0.5, np.log1p(rest_of(self) * np.expm1(own)), np.logaddexp(log_zero, rest))
        return np.where(x == 0, at_zero, rest)

    def logcdf(self, x: Array) -> Array:
        return log_tail(self._tail("logcdf", x, x >= 0), self._tail("logccdf", x, x < 0))

    def logccdf(self, x: Array) -> Array:
        return log_tail(self._tail("logccdf", x, x < 0), self._tail("logcdf", x, x >= 0))

    def mean(self) -> Array:
        return rest_of(self) * self.base.mean()

    def var(self) -> Array:
        mean = self.base.mean()
        return rest_of(self) * (self.base.var() + (1 - rest_of(self)) * mean * mean)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        drawn = self.base.draw(shape, rng)
        return np.where(rng.random(shape) < rest_of(self), drawn, 0)

    def _tail(self, method: str, x: Array, with_zero: Array) -> Array:
        log_zero, log_rest = log_odds(self)
        rest = log_rest + getattr(self.base, method)(x)
        return np.where(with_zero, np.logaddexp(log_zero, rest), rest)


class Hurdle(Combined):
    """P(0) = p,  p(x) = (1 - p) q(x) / Q(X > 0) for x > 0.

    base    a distribution of nonnegative numbers, real or whole, with density or masses q
    p       in [0, 1]  the probability of zero
    logits  real       log(p / (1 - p)), in place of p

    With a continuous base, the density at zero is the mass there.
    Mullahy (1986), Specification and testing of some modified count data models.
    """

    base: Any
    p: Probability = None
    logits: Real = None

    atoms = True
    exclusive = ("p", "logits")

    def check_parts(self) -> None:
        self.refuse_unless(self.base)
        bottom = self.base.support.lower
        if not is_lifted(bottom) and np.any(np.asarray(bottom) < 0):
            raise UnsupportedError(f"Hurdle needs a distribution of nonnegative numbers, got {name_of(self.base)}.")

    @property
    def support(self) -> Support:
        return self.base.support if self.base.support.discrete else any_of(zero_of_reals, self.base.support)

    def logpdf(self, x: Array) -> Array:
        log_zero, log_rest = log_odds(self)
        return np.where(x == 0, log_zero, log_rest + self.base.logpdf(x) - self._log_positive())

    def logcdf(self, x: Array) -> Array:
        x = floating(x)
        with np.errstate(all="ignore"):
            log_zero, log_rest = log_odds(self)
            positive = log_rest + self.base.logdiffcdf(np.zeros_like(x), x) - self._log_positive()
            whole = np.floor(x) if self.base.support.discrete else x
            direct = np.where(whole > 0, np.logaddexp(log_zero, positive), log_zero)
            return np.where(x < 0, -np.inf, log_tail(direct, self.logccdf(x)))[()]

    def logccdf(self, x: Array) -> Array:
        x = floating(x)
        with np.errstate(all="ignore"):
            log_rest = log_odds(self)[1]
            above = np.where(x > 0, log_rest + self.base.logccdf(x) - self._log_positive(), log_rest)
            return np.where(x < 0, 0.0, above)[()]

    def quantile(self, p: Array) -> Array:
        zeros, positive = 1 - rest_of(self), np.exp(self._log_positive())
        # Among the positive values, which are the upper part of the base.
        part = np.where(p > zeros, (p - zeros) / rest_of(self), 0.0)
        return np.where(p > zeros, self.base.quantile((1 - positive) + positive * part), 0.0)

    def cquantile(self, p: Array) -> Array:
        part = p / rest_of(self)
        return np.where(part < 1, self.base.cquantile(np.exp(self._log_positive()) * np.minimum(part, 1.0)), 0.0)

    def mean(self) -> Array:
        return rest_of(self) * self._positive_mean()

    def var(self) -> Array:
        mean, share = self._positive_mean(), rest_of(self)
        second = (self.base.var() + self.base.mean() ** 2) / np.exp(self._log_positive())
        return share * (second - share * mean * mean)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        upper = 1.0 - rng.random(shape)
        drawn = self.base.cquantile(np.exp(self._log_positive()) * upper)
        return np.where(rng.random(shape) < rest_of(self), drawn, 0.0)

    def _positive_mean(self) -> Array:
        return self.base.mean() / np.exp(self._log_positive())

    def _log_positive(self) -> Array:
        """log Q(X > 0)."""
        # A zero of the precision of p.
        return self.base.logccdf(0.0 * rest_of(self)) if self.base.support.discrete else 0.0


def log_odds(d: ZeroInflated | Hurdle) -> tuple[Array, Array]:
    """log p and log(1 - p)."""
    if d.p is None:
        return log_expit(d.logits), log_expit(-d.logits)
    return np.log(d.p), np.log1p(-d.p)


def rest_of(d: ZeroInflated | Hurdle) -> Array:
    """1 - p."""
    return expit(-d.logits) if d.p is None else 1 - d.p
