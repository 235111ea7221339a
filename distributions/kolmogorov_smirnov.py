"""Laws of the largest distance between the distribution function of n uniform draws and the true one, for finite n.

Where a = n x is large, by `poisson_paths`; where it is small, by Durbin's matrix (Marsaglia, Tsang & Wang, Evaluating
Kolmogorov's distribution, 2003) or Smirnov's sum of positive terms. Each gives one of the two tails, and derivatives in
x of any order. One less a power of Durbin's matrix is taken down to 3e-3, where it has lost three digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln

from probdiff.distributions.poisson_paths import FEWEST, beyond, log_total, one_sided_beyond, one_sided_within, within
from probdiff.distributions.stable import HALF_LOG_2PI, deviance, stirling_error

__all__ = ["one_sided_distance", "two_sided_distance"]

Numbers = np.ndarray[Any, Any]
Scaled = tuple[Numbers, Numbers]  # as in `poisson_paths`: logs of factors, and derivatives in a less the factors
NODES = 257  # of a sum, in place of more than BLOCK / NODES terms
FEW = 4.0  # terms that alternate, and lose a digit
DEPTH = 40.0
BLOCK = 1_000_000
# Of x sqrt(n): where modes give way to the integral; from where on a path that is as far on both sides is rarer than
# others by 4e-9; and by eps.
NEAR, APART, FAR = 0.8, 1.8, 2.5


def two_sided_distance(n: Numbers, x: Numbers, order: int) -> tuple[Numbers, Numbers, Numbers]:
    """A tail of the distance to both sides, for `counted`."""
    return _tail(2, n, x, order)


def one_sided_distance(n: Numbers, x: Numbers, order: int) -> tuple[Numbers, Numbers, Numbers]:
    """A tail of the distance to one side."""
    return _tail(1, n, x, order)


def _tail(sides: int, n: Numbers, x: Numbers, order: int) -> tuple[Numbers, Numbers, Numbers]:
    methods = TWO_SIDED if sides == 2 else ONE_SIDED
    x = np.clip(x, 0.5 * (sides - 1) / n + 1e-300, 1 - 2.0**-53)
    a = n * x
    chosen = (_chosen_two_sided if sides == 2 else _chosen_one_sided)(n, a, a / np.sqrt(n))
    upper, log_tail, ratios = np.zeros(n.shape, bool), np.empty(n.shape), np.empty((order + 1, *n.shape))
    for k, (is_upper, method) in enumerate(methods):
        here = chosen == k
        if np.any(here):
            log_scale, values = method(n[here], a[here], order)
            upper[here], log_tail[here] = is_upper, log_scale + np.log(values[0])
            powers = n[here] ** np.arange(order + 1)[:, None]
            ratios[:, here] = values / values[0] * np.where(is_upper, -powers, powers)
    return upper, log_tail, ratios


def _chosen_two_sided(n: Numbers, a: Numbers, z: Numbers) -> Numbers:
    small = np.where(z < APART, 0, 1)
    large = np.where(z < NEAR, 2, 3)
    return np.where((a >= 0.5 * n) | (z >= FAR), 4, np.where(a < FEWEST, small, large))


def _chosen_one_sided(n: Numbers, a: Numbers, z: Numbers) -> Numbers:
    return np.where((z < 0.7) & (a <= FEW), 0, np.where((z < NEAR) & (a >= FEWEST), 1, 2))


# Tails where a is small, or x is large.


def matrix_within(n: Numbers, a: Numbers, order: int) -> Scaled:
    """P(D < x) = n! / n^n (H^n)_kk, k = ceil(a), by Taylor coefficients of the matrix H in a."""
    log_scale, values = np.empty(n.shape), np.empty((order + 1, *n.shape))
    k = np.ceil(a)
    for count, middle in {*zip(n.tolist(), k.tolist(), strict=True)}:
        here = (n == count) & (k == middle)
        log_scale[here], values[:, here] = _matrix_power(int(count), int(middle), a[here], order)
    factorials = gammaln(np.arange(order + 1.0) + 1)[:, None]
    return log_scale - n + log_total(n), values * np.exp(factorials)


def _matrix_power(n: int, k: int, a: Numbers, order: int) -> Scaled:
    """Log of a factor and Taylor coefficients of (H^n)_kk for all a of one k."""
    power = _durbin(k, a, order)
    row = [p[:, k - 1 : k] * 0.0 for p in power]
    row[0][:, 0, k - 1] = 1.0
    log_row, log_power = np.zeros(a.shape), np.zeros(a.shape)
    while True:
        if n & 1:
            row, log_row = _rescaled(_product(row, power), log_row + log_power)
        n >>= 1
        if not n:
            return log_row, np.array([r[:, 0, k - 1] for r in row])
        power, log_power = _rescaled(_product(power, power), 2 * log_power)


def _durbin(k: int, a: Numbers, order: int) -> list[Numbers]:
    """H: 1 / (i - j + 1)! up to the first superdiagonal, less powers of k - a in the first column and the last row."""
    size, gap = 2 * k - 1, (k - a)[:, None]
    i = np.arange(size)
    steps = i[:, None] - i + 1
    inverse = np.where(steps >= 0, np.exp(-gammaln(np.maximum(steps, 0) + 1.0)), 0.0)
    result = []
    for m in range(order + 1):
        h = np.tile(inverse if m == 0 else 0 * inverse, (len(a), 1, 1))
        lost = _binomials(i + 1, m) * (-1.0) ** m * gap ** np.maximum(i + 1 - m, 0) / np.exp(gammaln(i + 2.0))
        h[:, :, 0] -= lost
        h[:, -1, :] -= lost[:, ::-1]
        overlap = np.maximum(2 * gap[:, 0] - 1, 0.0)
        if m <= size:
            twice = math.comb(size, m) * (-2.0) ** m / math.factorial(size)
            h[:, -1, 0] += np.where(overlap > 0, twice * overlap ** (size - m), 0.0)
        result.append(h)
    return result


def _binomials(n: Numbers, k: int) -> Numbers:
    return np.array([float(math.comb(int(v), k)) for v in n])


def _product(left: list[Numbers], right: list[Numbers]) -> list[Numbers]:
    return [np.sum([left[i] @ right[k - i] for i in range(k + 1)], axis=0) for k in range(len(left))]


def _rescaled(series: list[Numbers], log_scale: Numbers) -> tuple[list[Numbers], Numbers]:
    top = np.max(series[0], axis=(1, 2))
    return [s / top[:, None, None] for s in series], log_scale + np.log(top)


def sum_beyond(n: Numbers, a: Numbers, order: int) -> Scaled:
    """P(D+ >= x) = Σ_j a / (a + j) C(n, j) ((a + j) / n)^j (1 - (a + j) / n)^(n - j) over 0 <= j < n - a."""
    log_scale, values = np.empty(n.shape), np.empty((order + 1, *n.shape))
    count = np.ceil(n - a)
    size = max(1, int(BLOCK / np.max(count)))
    for start in range(0, n.size, size):
        m, b = n[start : start + size], a[start : start + size]
        j, step = np.arange(np.max(count[start : start + size]))[:, None], np.ones(m.shape)
        if size < NODES and np.all(b > 0.3 * m):
            j, step = _around_largest(m, b)
        heights = log_term(j, m, b)
        top = np.max(heights, axis=0)
        rest = np.where(b + j < m, b + j - m, -1.0)
        moved = _moved(step * np.exp(heights - top), ((1.0, b), (j - 1, b + j), (m - j, rest)), order)
        log_scale[start : start + size], values[:, start : start + size] = top, moved
    return log_scale, values


def _around_largest(n: Numbers, a: Numbers) -> tuple[Numbers, Numbers]:
    """Evenly spaced nodes in place of whole j, where terms are smooth: all within exp(-DEPTH) of the largest."""
    even, end = np.linspace(0.0, 1.0, NODES)[:, None], n - a
    heights = log_term(even * end, n, a)
    inside = heights > np.max(heights, axis=0) - DEPTH
    low = np.maximum(np.argmax(inside, axis=0) - 1, 0) / (NODES - 1)
    high = 1 - np.maximum(np.argmax(inside[::-1], axis=0) - 1, 0) / (NODES - 1)
    return end * (low + (high - low) * even), end * (high - low) / (NODES - 1)


def log_term(j: Numbers, n: Numbers, a: Numbers) -> Numbers:
    """The log of a term of Smirnov's sum, -inf beyond the last."""
    rest, more = n - j - a, a + j
    some, m = np.maximum(j, 1e-300), n - j
    saddle = stirling_error(n) - stirling_error(some) - stirling_error(m) - deviance(some, more) - deviance(m, rest)
    inside = np.log(a / more) + saddle + 0.5 * (np.log(n) - np.log(some) - np.log(m)) - HALF_LOG_2PI
    return np.where(rest > 0, np.where(j == 0, n * np.log1p(-a / n), inside), -np.inf)


def few_within(n: Numbers, a: Numbers, order: int) -> Scaled:
    """P(D+ < x) = Σ_k (-1)^k a / n C(n, k) ((a - k) / n)^k (1 + (a - k) / n)^(n - k - 1) over k < a <= FEW."""
    k = np.arange(FEW)[:, None]
    gap = np.where(a > k, a - k, 1.0)
    choices = np.cumprod(np.where(k > 0, (n - k + 1) / (n * np.maximum(k, 1.0)), 1.0), axis=0)  # C(n, k) / n^k
    heights = np.log(a) + k * np.log(gap) + (n - k - 1) * np.log1p((a - k) / n)
    terms = np.where(a > k, (-1.0) ** k * choices * np.exp(heights - heights[0]), 0.0)
    return heights[0] - np.log(n), _moved(terms, ((1.0, a), (k, gap), (n - k - 1, n + a - k)), order)


def _moved(terms: Numbers, factors: tuple[tuple[Any, Numbers], ...], order: int) -> Numbers:
    """The sum over the first axis of terms Π b^c, over pairs (c, b), and its derivatives as all b move alike."""
    slopes = [(-1.0) ** i * math.factorial(i) * sum(c / b ** (i + 1) for c, b in factors) for i in range(order)]
    moved = [np.ones_like(terms)]
    for k in range(order):
        moved.append(sum(math.comb(k, i) * moved[k - i] * slopes[i] for i in range(k + 1)))
    return np.array([np.sum(np.where(terms == 0, 0.0, terms * each), axis=0) for each in moved])


def upper_sum(n: Numbers, a: Numbers, order: int) -> Scaled:
    """P(D+ >= x), by whichever method serves."""
    contour = (a >= FEWEST) & (a < 0.3 * n)
    log_scale, values = np.empty(n.shape), np.empty((order + 1, *n.shape))
    for here, method in ((contour, one_sided_beyond), (~contour, sum_beyond)):
        if np.any(here):
            log_scale[here], values[:, here] = method(n[here], a[here], order)
    return log_scale, values


def twice_upper_sum(n: Numbers, a: Numbers, order: int) -> Scaled:
    """P(D >= x) where no path is as far on both sides."""
    log_scale, values = upper_sum(n, a, order)
    return log_scale + math.log(2), values


def less_double_crossings(n: Numbers, a: Numbers, order: int) -> Scaled:
    """P(D >= x) as twice Smirnov's sum, less the small chance of both sides, which is good to exp(-2.09 a)."""
    log_scale, values = sum_beyond(n, a, order)
    log_rest, rest = beyond(n, a, order, first=2)
    return log_scale, 2 * values + rest * np.exp(log_rest - log_scale)


Method = tuple[bool, Callable[[Numbers, Numbers, int], Scaled]]  # whether of the upper tail
TWO_SIDED: tuple[Method, ...] = (
    (False, matrix_within),
    (True, less_double_crossings),
    (False, within),
    (True, beyond),
    (True, twice_upper_sum),
)
ONE_SIDED: tuple[Method, ...] = ((False, few_within), (False, one_sided_within), (True, upper_sum))
