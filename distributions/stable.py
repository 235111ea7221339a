"""Building blocks of log-densities that neither cancel for large parameters nor overflow far out.

The saddle-point forms follow C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000): a log-mass is
written with `deviance`, small near the mode, and `stirling_error`, small for large arguments, in place of large terms
that cancel.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from probdiff.tree import Array

__all__ = [
    "HALF_LOG_2PI",
    "LOG_2",
    "binomial_log_mass",
    "deviance",
    "gamma_log_kernel",
    "log_beta",
    "log1p_square",
    "stirling_error",
]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
LOG_2 = math.log(2)

# From here on the series is exact to rounding, and a difference of log-gammas still is.
LARGE = 10.0


def stirling_error(a: Array) -> Array:
    """log Γ(a) - [(a - 1/2) log a - a + log(2π)/2], which tends to 1 / (12 a); a > 0."""
    w = 1 / a
    v = w * w
    series = w * (
        1 / 12 + v * (-1 / 360 + v * (1 / 1260 + v * (-1 / 1680 + v * (1 / 1188 + v * (-691 / 360360 + v / 156)))))
    )
    return np.where(a < LARGE, gammaln(a) - ((a - 0.5) * np.log(a) - a + HALF_LOG_2PI), series)


def deviance(x: Array, m: Array) -> Array:
    """x log(x / m) + m - x >= 0, without cancellation where x is near m; x > 0, m >= 0."""
    difference = x - m
    v = difference / (x + m)
    s = v * v
    # Twice the inverse hyperbolic tangent of v is log(x / m): its series less the first term, s < 0.01.
    tail = s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s * (1 / 13 + s / 15))))))
    near = difference * v + 2 * x * v * tail
    far = x * (np.log(x) - np.log(m)) - difference
    return np.where(abs(v) < 0.1, near, np.where(m == math.inf, math.inf, far))


def gamma_log_kernel(a: Array, z: Array) -> Array:
    """a log z - z - log Γ(a), for a >= 10."""
    return 0.5 * np.log(a) - deviance(a, z) - stirling_error(a) - HALF_LOG_2PI


def log_beta(a: Array, b: Array) -> Array:
    """log [Γ(a) Γ(b) / Γ(a + b)], also where one argument is much larger than the other."""
    n = a + b
    small: Array = np.where(a < b, a, b)
    large: Array = np.where(a < b, b, a)
    powers = small * np.log(small / n) + large * np.log1p(-small / n) - 0.5 * (np.log(small) + np.log1p(-small / n))
    return powers + stirling_error(a) + stirling_error(b) - stirling_error(n) + HALF_LOG_2PI


def binomial_log_mass(k: Array, m: Array, p: Array, q: Array, log_p: Array, log_q: Array) -> Array:
    """log [C(k + m, k) p^k q^m] for real k, m >= 0 and p + q = 1; the logs are given because p or q may round to 1."""
    n = k + m
    choose = np.where((k == 0) | (m == 0), 0.0, -log_beta(k + 1, m + 1) - np.log(n + 1))
    direct = choose + np.where(k == 0, 0.0, k * log_p) + np.where(m == 0, 0.0, m * log_q)
    corrections = stirling_error(n) - stirling_error(k) - stirling_error(m)
    saddle = corrections - deviance(k, n * p) - deviance(m, n * q) + 0.5 * np.log(n / k / m) - HALF_LOG_2PI
    return np.where((k < LARGE) | (m < LARGE), direct, saddle)


def log1p_square(u: Array) -> Array:
    """log(1 + u²), also where u² overflows."""
    return np.where(abs(u) < 1e100, np.log1p(u * u), 2 * np.log(abs(u)))
