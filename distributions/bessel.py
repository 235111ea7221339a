"""Logs of scaled Bessel functions, whose derivatives keep their digits for large arguments."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import i0e, k1e

from probdiff.distributions.stable import HALF_LOG_2PI, either
from probdiff.tree import Array

__all__ = ["log_i0e", "log_k1e"]

FAR = 20.0  # the asymptotic series leaves out exp(-2 FAR) from here on


def _coefficients(order: int) -> list[float]:
    """a_k(v) = Π (4 v² - (2 i - 1)²) / (k! 8^k), i = 1 … k (DLMF 10.17.1)."""
    a = [1.0]
    for k in range(1, 25):
        a.append(a[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return a


I0 = [(-1) ** k * a for k, a in enumerate(_coefficients(0))]
K1 = _coefficients(1)


def log_i0e(x: Array) -> Array:
    """log [exp(-x) I_0(x)], x >= 0 (DLMF 10.40.1)."""

    def series() -> Array:
        far = np.where(x < FAR, FAR, x)
        return np.log1p(_tail(I0, 1 / far)) - 0.5 * np.log(far) - HALF_LOG_2PI

    return either(x < FAR, lambda: np.log(i0e(x)), series)


def log_k1e(x: Array) -> Array:
    """log [exp(x) K_1(x)], x > 0 (DLMF 10.40.2)."""

    def series() -> Array:
        far = np.where(x < FAR, FAR, x)
        return np.log1p(_tail(K1, 1 / far)) - 0.5 * np.log(far) + 0.5 * math.log(math.pi / 2)

    return either(x < FAR, lambda: np.log(k1e(x)), series)


def _tail(coefficients: list[float], w: Array) -> Array:
    """Σ a_k w^k without its first term."""
    total: Array = 0.0
    for a in reversed(coefficients[1:]):
        total = (total + a) * w
    return total
