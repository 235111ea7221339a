"""Building blocks of log-densities that neither cancel for large parameters nor overflow far out.

The saddle-point forms follow C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000): a log-mass is
written with `deviance`, small near the mode, and `stirling_error`, small for large arguments, in place of large terms
that cancel.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from probdiff.ops.either import either
from probdiff.ops.saddle import HALF_LOG_2PI, LARGE
from probdiff.ops.stirling import deviance, stirling_error
from probdiff.tree import Array

__all__ = [
    "HALF_LOG_2PI",
    "LARGE",
    "LOG_2",
    "arcsinh",
    "binomial_log_mass",
    "deviance",
    "either",
    "gamma_log_kernel",
    "log1mexpexp",
    "log_beta",
    "log_gamma_defect",
    "log_gamma_step",
    "log1p_square",
    "log_ratio",
    "share_deviance",
    "stirling_error",
    "waiting_log_mass",
]

LOG_2 = math.log(2)


def gamma_log_kernel(a: Array, z: Array) -> Array:
    """a log z - z - log Γ(a), for a >= 10."""
    return 0.5 * np.log(a) - deviance(a, z) - stirling_error(a) - HALF_LOG_2PI


def log_beta(a: Array, b: Array) -> Array:
    """log [Γ(a) Γ(b) / Γ(a + b)], also where one argument is much larger than the other."""
    n = a + b

    def by_stirling() -> Array:
        small, large = either(a < b, lambda: a, lambda: b), either(a < b, lambda: b, lambda: a)
        powers = (small - 0.5) * np.log(small / n) + (large - 0.5) * np.log1p(-small / n) - 0.5 * np.log(n)
        return powers + stirling_error(a) + stirling_error(b) - stirling_error(n) + HALF_LOG_2PI

    return either(n < LARGE, lambda: gammaln(a) + gammaln(b) - gammaln(n), by_stirling)


def binomial_log_mass(k: Array, m: Array, p: Array, q: Array, log_p: Array, log_q: Array) -> Array:
    """log [C(k + m, k) p^k q^m] for real k, m >= 0 and p + q = 1, given the logs because p or q may round to 0 or 1."""
    inside = type(k) is type(m) is type(p) is type(q) is np.float64 and k > 0 and m > 0
    if inside:
        k, m, p, q = float(k), float(m), float(p), float(q)  # Python's arithmetic takes a third of the time
    n = k + m

    def saddle() -> Array:
        corrections = stirling_error(n) - stirling_error(k) - stirling_error(m) - HALF_LOG_2PI
        deviances = share_deviance(k, n, p, log_p) + share_deviance(m, n, q, log_q)
        return corrections - deviances + 0.5 * np.log(n / k / m)

    if inside:
        return saddle()
    return either(k == 0, lambda: m * log_q, lambda: either(m == 0, lambda: k * log_p, saddle))


def share_deviance(k: Array, n: Array, p: Array, log_p: Array) -> Array:
    """The deviance of k from n p, where p may be too small for a number."""

    def far() -> Array:
        return k * (np.log(k) - np.log(n) - log_p) - k

    return either(p < 1e-300, far, lambda: deviance(k, n * p))


def waiting_log_mass(k: Array, r: Array, odds: Array) -> Array:
    """log [Γ(k + r) / (k! Γ(r)) p^r (1 - p)^k] for real r > 0, k >= 0 and odds = (1 - p) / p > 0."""
    inside = type(k) is type(r) is type(odds) is np.float64 and k > 0
    if inside:
        k, r, odds = float(k), float(r), float(odds)
    n, p = k + r, 1 / (1 + odds)

    def saddle() -> Array:
        corrections = stirling_error(n) - stirling_error(k) - stirling_error(r) - HALF_LOG_2PI
        return corrections + 0.5 * np.log(r / n / k) - deviance(k, n * (odds * p)) - deviance(r, n * p)

    return saddle() if inside else either(k == 0, lambda: -r * np.log1p(odds), saddle)


def log_gamma_defect(z: Array, a: Array, n: Array) -> Array:
    """log [Γ(z + a) Γ(z + n) / (Γ(z) Γ(z + a + n))] <= 0 to full relative accuracy, for z > 0 and a, n >= 0."""
    step, other = np.minimum(a, n), np.maximum(a, n)
    steps = log_gamma_step(z, step) - log_gamma_step(z + other, step)
    return steps - step * np.log1p(other / z)


def log_gamma_step(z: Array, a: Array) -> Array:
    """log [Γ(z + a) / Γ(z)] - a log z to full relative accuracy, for z > 0 and a >= 0."""
    far: Array = np.where(z < LARGE, z + LARGE, z)
    # The difference of two Stirling's errors, term by term: 1 - ratio^(2j + 1) is a sum of positive terms.
    ratio, lost, scale, series = far / (far + a), a / (far + a), 1 / far, 0.0
    power, step = ratio, lost * (1 + ratio)
    for coefficient in (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156):
        series = series - coefficient * scale * lost
        scale, lost, power = scale / (far * far), lost + power * step, power * ratio * ratio
    result = (a - 0.5) * np.log1p(a / far) - deviance(far, far + a) + series
    # Γ(z + 10) is ten factors away; the product of all 1 + a / (z + i), less one, is a sum of positive terms again.
    product = 0.0
    for i in range(int(LARGE)):
        factor = a / (z + i)
        product = product + factor + product * factor
    return np.where(z < LARGE, result + a * np.log1p(LARGE / z) - np.log1p(product), result)


def log1p_square(u: Array) -> Array:
    """log(1 + u²), also where u² overflows."""
    size = abs(u)
    large = size > 1e100
    log = np.log1p(either(large, lambda: size, lambda: size * size))
    return either(large, lambda: 2 * log, lambda: log)


def log1mexpexp(v: Array) -> Array:
    """log(1 - exp(-exp(v))): a log-probability from the log of a cumulated hazard, also where that underflows."""
    return np.where(v < -40, v, np.where(v < 0, np.log(-np.expm1(-np.exp(v))), np.log1p(-np.exp(-np.exp(v)))))


def log_ratio(x: Array, y: Array) -> Array:
    """log(x / y) for x, y >= 0, also where the ratio over- or underflows."""
    ratio = x / y
    return np.where((ratio > 1e-300) & (ratio < 1e300), np.log(ratio), np.log(x) - np.log(y))


def arcsinh(z: Array) -> Array:
    """log(z + sqrt(1 + z²)), of functions that compile to vector code: NumPy's own takes five times as long."""
    u = np.where(z < 0, -z, z)
    size = np.where(u < 1e100, np.log1p(u + u * (u / (1 + np.sqrt(1 + u * u)))), np.log(u) + LOG_2)
    return np.where(z < 0, -size, size)
