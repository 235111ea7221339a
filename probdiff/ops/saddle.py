"""Functions of large arguments that do not cancel, of plain or lifted arrays.

The saddle-point forms follow C. Loader, Fast and Accurate Computation of Binomial Probabilities (2000).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sp

__all__ = [
    "HALF_LOG_2PI",
    "LARGE",
    "beta_kernel",
    "expm1_less",
    "gamma_kernel",
    "large_beta_kernel",
    "large_gamma_kernel",
    "log1p_less",
    "log_less_psi",
    "log_less_psi_series",
    "stirling_error",
    "stirling_series",
]

LARGE = 10.0  # Stirling's series is exact to rounding from here on, and a difference of log-gammas still is
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def expm1_less(e: Any) -> Any:
    """exp(e) - 1 - e."""
    small = np.minimum(np.maximum(e, -0.5), 0.5)
    series: Any = 1.0 / math.factorial(15)
    for k in range(14, 1, -1):
        series = series * small + 1.0 / math.factorial(k)
    return np.where(abs(e) <= 0.5, series * (small * small), np.expm1(e) - e)


def log1p_less(y: Any) -> Any:
    """log(1 + y) - y: twice the inverse hyperbolic tangent of v = y / (2 + y) is log(1 + y)."""
    v = np.clip(y, -0.4, 0.5) / (2.0 + np.clip(y, -0.4, 0.5))
    w = v * v
    series = w / 27.0
    for k in range(25, 1, -2):
        series = (series + 1.0 / k) * w
    return np.where((y >= -0.4) & (y <= 0.5), 2.0 * v * series - y * v, np.log1p(y) - y)


def _deviance(x: Any, m: Any, difference: Any) -> Any:
    """x log(x / m) + m - x, given the difference x - m."""
    return np.where(abs(difference) < 0.9 * m, m * _bend(difference / m), x * (np.log(x) - np.log(m)) - difference)


def _bend(d: Any) -> Any:
    """(1 + d) log(1 + d) - d."""
    return (1.0 + d) * log1p_less(d) + d * d


def stirling_series(a: Any) -> Any:
    """log Γ(a) - [(a - 1/2) log a - a + log(2π)/2] for a >= LARGE."""
    w = 1.0 / a
    v = w * w
    terms = -1 / 1680 + v * (1 / 1188 + v * (-691 / 360360 + v / 156))
    return w * (1 / 12 + v * (-1 / 360 + v * (1 / 1260 + v * terms)))


def stirling_error(a: Any) -> Any:
    """log Γ(a) - [(a - 1/2) log a - a + log(2π)/2]."""
    return np.where(a < LARGE, sp.gammaln(a) - ((a - 0.5) * np.log(a) - a + HALF_LOG_2PI), stirling_series(a))


def log_less_psi_series(a: Any) -> Any:
    """log a - ψ(a) for a >= LARGE."""
    w = 1.0 / a
    v = w * w
    terms = 1 / 12 + v * (-1 / 120 + v * (1 / 252 + v * (-1 / 240 + v * (1 / 132 + v * (-691 / 32760 + v / 12)))))
    return w * (0.5 + w * terms)


def log_less_psi(a: Any) -> Any:
    """log a - ψ(a), which tends to 1 / (2 a)."""
    return np.where(a < LARGE, np.log(a) - sp.psi(a), log_less_psi_series(a))


def large_gamma_kernel(a: Any, x: Any) -> Any:
    """log [x^a exp(-x) / Γ(a)] for a >= LARGE."""
    return 0.5 * np.log(a) - _deviance(a, x, a - x) - stirling_series(a) - HALF_LOG_2PI


def gamma_kernel(a: Any, x: Any) -> Any:
    """log [x^a exp(-x) / Γ(a)]."""
    return np.where(a < LARGE, sp.xlogy(a, x) - x - sp.gammaln(a), large_gamma_kernel(a, x))


def large_beta_kernel(a: Any, b: Any, t: Any, q: Any) -> Any:
    """log [t^a q^b / B(a, b)], q = 1 - t, for a, b >= LARGE."""
    n = a + b
    rest = a * q - b * t  # a - n t
    corrections = stirling_series(n) - stirling_series(a) - stirling_series(b) - HALF_LOG_2PI
    return corrections + 0.5 * np.log(a * (b / n)) - _deviance(a, n * t, rest) - _deviance(b, n * q, -rest)


def beta_kernel(a: Any, b: Any, t: Any, q: Any, log_t: Any, log_q: Any) -> Any:
    """log [t^a q^b / B(a, b)], q = 1 - t."""
    n = a + b
    small, large = np.minimum(a, b), np.maximum(a, b)
    fraction = small / n
    powers = (small - 0.5) * np.log(fraction) + (large - 0.5) * np.log1p(-fraction) - 0.5 * np.log(n)
    log_beta = powers + stirling_error(a) + stirling_error(b) - stirling_error(n) + HALF_LOG_2PI
    return np.where(small < LARGE, a * log_t + b * log_q - log_beta, large_beta_kernel(a, b, t, q))
