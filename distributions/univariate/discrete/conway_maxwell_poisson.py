"""Conway-Maxwell-Poisson: counts whose masses are powers of Poisson ones, normalised."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from probdiff.ad.transforms import pushforward
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.smaller_tail import BySmallerTail
from probdiff.distributions.stable import HALF_LOG_2PI, deviance, stirling_error
from probdiff.distributions.support import Positive, nonnegative_integers
from probdiff.distributions.whole_sums import log_sum
from probdiff.ops.dispatch import shape_of
from probdiff.tree import Array


class ConwayMaxwellPoisson(BySmallerTail):
    """P(k) = rate^k / (k!)^shape / Z,  k = 0, 1, ….

    rate   positive
    shape  positive  1 is Poisson, more is less spread; towards 0 it is geometric, or without end for a rate above 1
    mu     positive  in place of rate, near the mean: rate = mu^shape

    Shmueli, Minka, Kadane, Borle & Boatwright, A useful distribution for fitting discrete data, Applied Statistics 54
    (2005). Drawn by rejection as in Benson & Friel, Bayesian inference, model selection and likelihood estimation using
    fast rejection sampling, Bayesian Analysis 16 (2021).
    """

    rate: Positive = None
    shape: Positive = 1.0
    mu: Positive = None

    exclusive = ("rate", "mu")
    support = nonnegative_integers
    tail_rates = (np.inf, np.inf)

    def logpdf(self, x: Array) -> Array:
        return log_weight(x, self._log_rate(), self.shape) - log_total(self._log_rate(), self.shape)

    def mean(self) -> Array:
        return self._middle() + mean_beyond(self._log_rate(), self.shape)

    def var(self) -> Array:
        middle = self._middle()
        return middle / self.shape + slope(mean_beyond, self._log_rate(), self.shape)

    def mode(self) -> Array:
        return np.floor(self._middle())

    def exponential_form(self) -> ExponentialForm:
        log_partition = log_total(self._log_rate(), self.shape) + self.shape * self._middle()
        return ExponentialForm(lambda x: (x, gammaln(x + 1)), (self._log_rate(), -self.shape), log_partition)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        log_rate, power = np.broadcast_arrays(self._log_rate(), self.shape)
        mu = np.exp(log_rate / power)
        narrow = power >= 1
        # Above a Poisson law of the same mode, or above a geometric one of about the same mean.
        p = np.where(narrow, 0.5, 2 * power / (2 * mu * power + 1 + power))
        touching = np.floor(np.where(narrow, mu, mu / (1 - p) ** (1 / power)))

        def excess(k: Any) -> Any:
            poisson = log_weight(k, np.log(mu), 1.0)
            return np.where(narrow, (power - 1) * poisson, power * poisson - k * np.log1p(-p))

        drawn, waiting = np.zeros(shape), np.ones(shape, dtype=bool)
        highest = excess(touching)
        while np.any(waiting):
            k = np.where(narrow, rng.poisson(np.where(narrow, mu, 1.0), shape), rng.geometric(p, shape) - 1)
            accepted = waiting & (-rng.standard_exponential(shape) <= excess(k) - highest)
            drawn = np.where(accepted, k, drawn)
            waiting &= ~accepted
        return drawn

    def _log_rate(self) -> Array:
        return np.log(self.rate) if self.mu is None else self.shape * np.log(self.mu)

    def _middle(self) -> Array:
        return np.exp(self._log_rate() / self.shape)

    def smaller_tail(self, x: Array) -> tuple[Array, Array]:
        log_rate = self._log_rate()
        below = x < self._middle()
        first, last = np.where(below, 0.0, x + 1), np.where(below, x, np.inf)
        tail = log_sum(log_weight, first, last, log_rate, self.shape) - log_total(log_rate, self.shape)
        return below, np.minimum(tail, 0.0)


def log_weight(k: Array, log_rate: Array, shape: Array) -> Array:
    """shape times the log of a Poisson mass of rate mu = rate^(1 / shape), by its saddle-point form."""
    mu = np.exp(log_rate / shape)
    some = np.where(k > 0, k, 1.0)
    saddle = -deviance(some, mu) - stirling_error(some) - 0.5 * np.log(some) - HALF_LOG_2PI
    small = k * log_rate - shape * (gammaln(k + 1) + mu)
    return np.where(mu < 1, small, np.where(k > 0, shape * saddle, -shape * mu))


def log_total(log_rate: Array, shape: Array) -> Array:
    """log Z - shape mu, in two sums that meet at the mode."""
    mode = np.floor(np.exp(log_rate / shape))
    low = log_sum(log_weight, 0 * mode, mode, log_rate, shape)
    return np.logaddexp(low, log_sum(log_weight, mode + 1, 0 * mode + np.inf, log_rate, shape))


def mean_beyond(log_rate: Array, shape: Array) -> Array:
    """The mean, the slope of log Z, less mu."""
    return slope(log_total, log_rate, shape)


def slope(f: Any, log_rate: Array, shape: Array) -> Array:
    """The derivative in the log of the rate."""
    return pushforward(lambda u: f(u, shape), log_rate)(np.ones(shape_of(log_rate)))
