"""FisherNoncentralHypergeometric: successes of two binomials, given their sum."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.stable import binomial_log_mass
from probdiff.distributions.support import Positive
from probdiff.distributions.urn import Urn
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.tree import Array


class FisherNoncentralHypergeometric(Urn):
    """P(k) proportional to C(successes, k) C(failures, draws - k) odds^k.

    successes  nonnegative integer  in the urn
    failures   nonnegative integer  in the urn
    draws      nonnegative integer  not more than both together
    odds       positive             ratio of the odds of a success and of a failure to be drawn; 1 is Hypergeometric

    Fog, Sampling methods for Wallenius' and Fisher's noncentral hypergeometric distributions, Comm. Stat. 37 (2008).
    The normalisation, the cumulants and the distribution function are sums over k.
    """

    odds: Positive = 1.0

    def logpdf(self, x: Array) -> Array:
        x = stop_gradient(x)
        counts = (self.successes, self.failures, self.draws)
        total = apply(cumulant(0), *(count + 0 * self.odds for count in counts), self.odds)
        return log_weight(x, *counts, self.odds) - total

    def mean(self) -> Array:
        return self._cumulant(1)

    def var(self) -> Array:
        return self._cumulant(2)

    def mode(self) -> Array:
        # The mass rises up to the k where (successes - k + 1) (draws - k + 1) odds = k (failures - draws + k).
        m, n, w = self.successes + 1, self.draws + 1, self.odds
        a, b = w - 1, (m + n) * w + (self.failures - self.draws)
        root = 2 * m * n * w / (b + np.sqrt(b * b - 4 * a * m * n * w))
        return np.clip(np.floor(root), self.support.lower, self.support.upper)

    def skewness(self) -> Array:
        return self._cumulant(3) / self._cumulant(2) ** 1.5

    def kurtosis(self) -> Array:
        return self._cumulant(4) / self._cumulant(2) ** 2

    def _cumulant(self, order: int) -> Array:
        return apply(cumulant(order), self.successes, self.failures, self.draws, self.odds)


def log_weight(x: Array, m: Array, n: Array, draws: Array, odds: Array) -> Array:
    """Two binomial log-masses whose means add up to `draws`, so that their sum is moderate near the mode."""
    tilt = _tilt(m, n, draws, odds + 0 * x)
    log_odds, log_tilt = np.log(odds), np.log(tilt)
    return _binomial(x, m - x, odds * tilt, log_odds + log_tilt) + _binomial(draws - x, n - (draws - x), tilt, log_tilt)


def _tilt(m: Array, n: Array, draws: Array, odds: Array) -> Array:
    """The t with m odds t / (1 + odds t) + n t / (1 + t) = draws, constant: it cancels in the normalised mass."""
    b, left = (draws - n) + odds * (draws - m), m + n - draws + 0 * odds
    root = np.sqrt(b * b + 4 * odds * draws * left)
    t = np.where(b > 0, (b + root) / (2 * odds * np.maximum(left, 1)), 2 * draws / (root - b))
    return stop_gradient(np.clip(t, 1e-30, 1e30))


def _binomial(k: Array, m: Array, odds: Array, log_odds: Array) -> Array:
    log_q = -np.log1p(odds)
    return binomial_log_mass(k, m, odds / (1 + odds), 1 / (1 + odds), log_odds + log_q, log_q)


@functools.cache
def cumulant(order: int) -> Elementwise:
    """The cumulant of that order, of (successes, failures, draws, odds); order 0 is the log of the sum of all weights.

    In an exponential family with parameter log odds, the derivative of a cumulant is the next one.
    """

    def evaluate(m: Any, n: Any, draws: Any, odds: Any) -> Any:
        with np.errstate(all="ignore"):
            return _sums(order, m, n, draws, odds)

    def slope(m: Array, n: Array, draws: Array, odds: Array, z: Array) -> Array:
        tilt = _tilt(m, n, draws, odds)
        shift = m * tilt / (1 + odds * tilt) if order == 0 else 0.0
        return apply(cumulant(order + 1), m, n, draws, odds) / odds - shift

    return Elementwise(f"fisher_cumulant{order}", evaluate, (None, None, None, slope))


def _sums(order: int, m: Any, n: Any, draws: Any, odds: Any) -> Any:
    kind = np.result_type(np.float32, *(v.dtype for v in map(np.asarray, (m, n, draws, odds)) if v.dtype.kind == "f"))
    m, n, draws, odds = (np.asarray(v, dtype=float)[..., None] for v in (m, n, draws, odds))
    first, last = np.maximum(draws - n, 0.0), np.minimum(draws, m)
    k = first + np.arange(np.nanmax(last - first, initial=0.0) + 1)
    weight = np.where(k <= last, log_weight(k, m, n, draws, odds), -np.inf)
    top = np.max(weight, axis=-1, keepdims=True)
    p = np.exp(weight - top)
    total = np.sum(p, axis=-1, keepdims=True)
    if order == 0:
        return (np.log(total) + top)[..., 0].astype(kind)[()]
    mean = first + np.sum(p * (k - first), axis=-1, keepdims=True) / total
    moments = [np.sum(p * (k - mean) ** j, axis=-1) / total[..., 0] for j in range(order + 1)]
    found = [np.zeros(mean.shape[:-1])] * 2
    for r in range(2, order + 1):
        found.append(moments[r] - sum(math.comb(r - 1, j - 1) * found[j] * moments[r - j] for j in range(2, r)))
    return (mean[..., 0] if order == 1 else found[order]).astype(kind)[()]
