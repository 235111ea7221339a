"""Generalized Poisson (Consul): counts with a variance above or below the mean."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from probdiff.distributions.smaller_tail import BySmallerTail
from probdiff.distributions.stable import HALF_LOG_2PI, deviance, either, stirling_error
from probdiff.distributions.support import Integers, Interval, Positive, integer_interval
from probdiff.distributions.whole_sums import log_sum
from probdiff.tree import Array

Dispersion = Annotated[Any, Interval("dispersion", "in [-1, 1)", -1.0, 1.0, True, False)]


class GeneralizedPoisson(BySmallerTail):
    """P(k) = rate (rate + dispersion k)^(k - 1) exp(-rate - dispersion k) / k!,  k = 0, 1, … while rate + dispersion k
    is positive.

    rate        positive
    dispersion  in [-1, 1), not below -rate / 4; 0 is Poisson

    For a dispersion of at least zero the mean is rate / (1 - dispersion), the variance rate / (1 - dispersion)³: the
    size of all families of a branching process. For a negative one the values end, and the formula adds up to one but
    for less than 0.5 %: it is divided by its sum here. Consul & Jain, A generalization of the Poisson distribution,
    Technometrics 15 (1973); Consul & Famoye, Lagrangian Probability Distributions, ch. 9.
    """

    rate: Positive
    dispersion: Dispersion = 0.0

    relation = "dispersion >= -rate / 4"

    def related(self) -> Array:
        return self.dispersion >= -0.25 * self.rate

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, self._last())

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        some = np.where(self.dispersion > 0, self.dispersion, 1.0)
        return np.inf, np.where(self.dispersion > 0, some - 1 - np.log(some), np.inf)

    def logpdf(self, x: Array) -> Array:
        mass = log_mass(x, self.rate, self.dispersion) - self._log_total()
        return np.where(x < np.inf, mass, -np.inf)

    def mean(self) -> Array:
        return either(self.dispersion < 0, lambda: self._moment(log_first), self._middle)

    def var(self) -> Array:
        def ended() -> Array:
            mean = self._moment(log_first)
            return self._moment(log_second) + mean - mean * mean

        return either(self.dispersion < 0, ended, lambda: self.rate / (1 - self.dispersion) ** 3)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        if np.any(self.dispersion < 0):
            return super().draw(shape, rng)
        total = generation = rng.poisson(self.rate, shape)
        while np.any(generation):
            generation = rng.poisson(self.dispersion * generation)
            total = total + generation
        return total

    def _last(self) -> Array:
        ends = self.dispersion < 0
        return np.where(ends, np.ceil(self.rate / np.where(ends, -self.dispersion, 1.0)) - 1, np.inf)

    def _middle(self) -> Array:
        return self.rate / (1 - self.dispersion)

    def _log_total(self) -> Array:
        return either(self.dispersion < 0, lambda: self._log_sum(log_mass), lambda: 0.0 * self.rate)

    def _log_sum(self, height: Any) -> Array:
        """Over all values, in two parts."""
        first, cut, last = 0 * self.rate, np.floor(self._middle()), self._last()
        parts = ((first, np.minimum(cut, last)), (cut + 1, last))
        return np.logaddexp(*(log_sum(height, *ends, self.rate, self.dispersion) for ends in parts))

    def _moment(self, height: Any) -> Array:
        return np.exp(self._log_sum(height) - self._log_total())

    def smaller_tail(self, x: Array) -> tuple[Array, Array]:
        below = x < self._middle()
        first, last = np.where(below, 0.0, x + 1), np.where(below, x, self._last())
        tail = log_sum(log_mass, first, last, self.rate, self.dispersion) - self._log_total()
        return below, np.minimum(tail, 0.0)


def log_mass(k: Array, rate: Array, dispersion: Array) -> Array:
    """rate / r times a Poisson mass of rate r = rate + dispersion k."""
    r = rate + dispersion * k
    some = np.where(k > 0, k, 1.0)
    saddle = np.log(rate / r) - deviance(some, r) - stirling_error(some) - 0.5 * np.log(some) - HALF_LOG_2PI
    return np.where(k > 0, saddle, -rate)


def log_first(k: Array, rate: Array, dispersion: Array) -> Array:
    """The log of k times the mass."""
    return np.log(k) + log_mass(k, rate, dispersion)


def log_second(k: Array, rate: Array, dispersion: Array) -> Array:
    """The log of k (k - 1) times the mass."""
    return np.log(k) + np.log(np.maximum(k - 1, 0.0)) + log_mass(k, rate, dispersion)
