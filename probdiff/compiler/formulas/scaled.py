"""Functions whose derivatives are the next ones of their kind, as integrals of positive functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.compiler.formulas.quadrature import DEPTH, PANELS, integrals
from probdiff.tree import Array

SQRT_PI = math.sqrt(math.pi)


def ierfcx(n: int) -> Callable[..., Array]:
    """e^(x²) times the n-th repeated integral of erfc, n >= 1: 2 / (√π n!) ∫ t^n exp(-t² - 2 x t) dt, DLMF 7.18.2.

    Below 0 by 2 n y(n) = y(n - 2) - 2 x y(n - 1), DLMF 7.18.7, where all terms are positive.
    """

    def formula(x: Array) -> Array:
        left = np.minimum(x, 0.0)
        before, here = 2.0 / SQRT_PI, sp.erfcx(left)
        for k in range(1, n + 1):
            before, here = here, (before - 2.0 * left * here) / (2.0 * k)
        right = np.maximum(x, 0.0)
        depth = DEPTH + 6.0 * n
        end = depth / (right + np.sqrt(right * right + depth))

        def density(t: Array, end: Array, x: Array) -> tuple[Array]:
            s = end * t
            return (s**n * np.exp(-s * (s + 2.0 * x)),)

        scale = 2.0 / (SQRT_PI * math.factorial(n))
        on = (x >= 0.0) & (x < 1e100)
        area = scale * end * integrals(on, density, (end, right), PANELS)[0]
        far = (1.0 / SQRT_PI) / 2.0**n / x ** (n + 1)
        return np.where(x < 0.0, here, np.where(on, area, far))

    return formula


def exprel(n: int) -> Callable[..., Array]:
    """∫ t^n e^(x t) dt over [0, 1], n >= 1; by x y(n) = e^x - n y(n - 1) where that does not cancel."""

    def formula(x: Array) -> Array:
        inside = abs(x) < 8.0 + n
        far = np.where(inside, 1.0, x)
        power = np.exp(far)
        here: Any = np.expm1(far) / far
        for k in range(1, n + 1):
            here = (power - k * here) / far
        near = integrals(inside, lambda t, x: (t**n * np.exp(x * t),), (np.where(inside, x, 0.0),), PANELS)[0]
        edge = np.where(x == -np.inf, 0.0, x)
        return np.where(inside, near, np.where(abs(x) < np.inf, here, edge))

    return formula
