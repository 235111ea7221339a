"""Kolmogorov and Smirnov's distances of the distribution function of n draws from the true one, on two sides or one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import kolmogi, lambertw

from probdiff.distributions.base import Continuous
from probdiff.distributions.counted import log_above, log_below, log_density
from probdiff.distributions.kolmogorov_smirnov import one_sided_distance, two_sided_distance
from probdiff.distributions.support import Interval, PositiveInteger, interval, unit_interval
from probdiff.tree import Array

Numbers = np.ndarray[Any, Any]
BLOCK = 1_000_000


class KolmogorovSmirnov(Continuous):
    """The largest |F_n(t) - F(t)| over t, F_n the empirical distribution function of n draws of F, continuous.

    n  positive integer

    Exact for every n, in 1 / (2 n) <= x <= 1: by Durbin's matrix, Smirnov's sum and, where n x is 17 or more, by the
    roots of a Lévy exponent; `Kolmogorov` is the limit. Simard & L'Ecuyer, Computing the two-sided Kolmogorov-Smirnov
    distribution, J. Stat. Softw. 39 (2011), compare others.
    """

    n: PositiveInteger

    @property
    def support(self) -> Interval:
        return interval(0.5 / self.n, 1.0)

    def logpdf(self, x: Array) -> Array:
        inside = log_density(two_sided_distance, self.n, x)
        at_ends = np.where(self.n == 1, math.log(2), -math.inf)
        return np.where((x > 0.5 / self.n) & (x < 1), inside, at_ends)

    def logcdf(self, x: Array) -> Array:
        return log_below(two_sided_distance, self.n, x)

    def logccdf(self, x: Array) -> Array:
        return log_above(two_sided_distance, self.n, x)

    def guess(self, lower: Array, lp: Array) -> Array:
        # The limit's quantile, moved as its first correction says: the distance is larger by 1 / (6 n).
        p = np.exp(lp)
        z = np.where(lower & (p < 0.1), math.pi / np.sqrt(-8 * lp + 4), kolmogi(np.where(lower, -np.expm1(lp), p)))
        return z / np.sqrt(self.n) - 1 / (6 * self.n)

    def kinks(self) -> tuple[Array, ...]:
        # At k / n the k-th derivative of the distribution function may jump, at (k - 1/2) / n a higher one.
        # Those amid the mass count.
        root = np.sqrt(self.n)
        return tuple(np.clip(p, 0.3 / root, 1.5 / root) for p in (0.5, *(0.5 * k / self.n for k in range(2, 8))))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return _drawn(self.n, shape, rng, lambda above, below: np.maximum(above, below))


class OneSidedKolmogorovSmirnov(Continuous):
    """The largest F_n(t) - F(t) over t, or F(t) - F_n(t), F_n the empirical distribution function of n draws of F.

    n  positive integer

    P(X >= x) = x Σ_j C(n, j) (x + j / n)^(j - 1) (1 - x - j / n)^(n - j) over j < n (1 - x). Birnbaum & Tingey,
    One-sided confidence contours for probability distribution functions, Ann. Math. Stat. 22 (1951).
    """

    n: PositiveInteger

    support = unit_interval

    def logpdf(self, x: Array) -> Array:
        inside = log_density(one_sided_distance, self.n, x)
        last = np.where(self.n == 1, 0.0, -math.inf)
        return np.where(x > 0, np.where(x < 1, inside, last), 0.0)

    def logcdf(self, x: Array) -> Array:
        return log_below(one_sided_distance, self.n, x)

    def logccdf(self, x: Array) -> Array:
        return log_above(one_sided_distance, self.n, x)

    def guess(self, lower: Array, lp: Array) -> Array:
        # P(X >= x) is about exp(-(6 n x + 1)² / (18 n)); P(X < x) is x (1 + x)^(n - 1) up to 1 / n.
        log_upper = np.where(lower, np.log1p(-np.exp(np.where(lower, lp, -1.0))), lp)
        few = np.exp(np.where(lower, lp, 0.0)) * self.n
        return np.where(few < math.e, lambertw(few).real, (np.sqrt(-18 * self.n * log_upper) - 1) / 6) / self.n

    def kinks(self) -> tuple[Array, ...]:
        # At k / n the k-th derivative of the distribution function jumps: at 1 / n the density itself.
        return tuple(k / self.n for k in range(1, 5))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return _drawn(self.n, shape, rng, lambda above, below: above)


def _drawn(n: Any, shape: tuple[int, ...], rng: np.random.Generator, distance: Any) -> Numbers:
    """Distances of as many uniform points as `n` says, above and below their distribution function."""
    counts = np.broadcast_to(n, shape).astype(int).ravel()
    result = np.empty(counts.size)
    for count in np.unique(counts).tolist():
        places = np.flatnonzero(counts == count)
        steps = np.arange(count) / count
        for start in range(0, len(places), max(1, BLOCK // count)):
            here = places[start : start + max(1, BLOCK // count)]
            sums = np.cumsum(rng.standard_exponential((len(here), count + 1)), axis=1)
            points = sums[:, :-1] / sums[:, -1:]
            above, below = np.max(steps + 1 / count - points, axis=1), np.max(points - steps, axis=1)
            result[here] = distance(above, below)
    return result.reshape(shape)
