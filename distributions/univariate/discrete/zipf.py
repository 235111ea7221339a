"""Zipf: probabilities that fall with a power of the rank (the zeta distribution)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.power_sums import excess, partial_excess
from probdiff.distributions.quantiles import LOG_HALF
from probdiff.distributions.support import Interval, positive_integers
from probdiff.tree import Array


class Zipf(Discrete):
    """P(k) = k^-power / ζ(power),  k = 1, 2, ….

    power  greater than 1

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 11.2.20. Draws by rejection from a Pareto law (Devroye,
    Non-Uniform Random Variate Generation, ch. X.6.1).
    """

    power: Annotated[Any, Interval("above_one", "greater than 1", 1.0)]

    support = positive_integers
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        return -self.power * np.log(x) - self._log_zeta()

    def logcdf(self, x: Array) -> Array:
        lower = np.log1p(partial_excess(self.power, 1 + 0 * x, x)) - self._log_zeta()
        return np.where(lower < LOG_HALF, lower, np.log1p(-np.exp(self._upper(x))))

    def logccdf(self, x: Array) -> Array:
        lower = np.log1p(partial_excess(self.power, 1 + 0 * x, x)) - self._log_zeta()
        return np.where(lower < LOG_HALF, np.log1p(-np.exp(lower)), self._upper(x))

    def mean(self) -> Array:
        return np.where(self.power > 2, 1 + self._moment(1), np.inf)

    def var(self) -> Array:
        first = self._moment(1)
        return np.where(self.power > 3, self._moment(2) - first * (2 + first), np.inf)

    def mode(self) -> Array:
        return 1.0

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (np.log(x),), (-self.power,), self._log_zeta())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        a = np.broadcast_to(self.power - 1.0, shape)
        drawn = np.ones(shape)
        waiting = np.ones(shape, dtype=bool)
        while np.any(waiting):
            with np.errstate(over="ignore", invalid="ignore"):
                k = np.floor((1 - rng.random(shape)) ** (-1 / a))
                step = a * np.log1p(1 / k)
                share = np.where(k < np.inf, k * -np.expm1(-step), a) / -np.expm1(-a * np.log(2.0))
            accepted = waiting & (rng.random(shape) * share <= 1)
            drawn = np.where(accepted, k, drawn)
            waiting &= ~accepted
        return drawn

    def _log_zeta(self) -> Array:
        return np.log1p(excess(self.power, 1 + 0 * self.power))

    def _upper(self, x: Array) -> Array:
        return -self.power * np.log1p(x) + np.log1p(excess(self.power, x + 1)) - self._log_zeta()

    def _moment(self, order: int) -> Array:
        """E[X^order] - 1."""
        own = excess(self.power, 1.0)
        return (excess(self.power - order, 1.0) - own) / (1 + own)
