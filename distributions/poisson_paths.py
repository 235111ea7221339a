"""Chances that an empirical distribution function keeps within a distance, by the roots of a Lévy exponent.

n uniform points are a Poisson process N on [0, n] given N(n) = n, and a distance of a / n from their distribution
function is one of a between N and its mean. The process t - N(t) has the exponent ψ(φ) = φ + exp(-φ) - 1, and what
keeps within bounds has a Laplace transform in terms of the scale function W(x) = Σ exp(φ x) / ψ'(φ), over the roots of
ψ(φ) = q (Kyprianou, Fluctuations of Lévy Processes with Applications, 2014, ch. 8). All but two of them leave a
relative error of exp(-2.09 x): here a is at least FEWEST. Those two are α ± w, and so that all is in terms of w:

    α = log(sinh w / w),  α' = coth w - 1 / w,  q = α + w coth w - 1,  E = exp(-2 a w),  κ = (1 - α') / (1 + α').

Each function gives the derivatives of orders 0 to `order` in a along the first axis, less a common factor, of which it
gives the log. n and a are flat arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import zeta

from probdiff.ad.transforms import pushforward
from probdiff.ops.stirling import stirling_error
from probdiff.tree import Array

__all__ = ["FEWEST", "beyond", "log_total", "one_sided_beyond", "one_sided_within", "within"]

Numbers = np.ndarray[Any, Any]
Scaled = tuple[Numbers, Numbers]
FEWEST = 17.0
STEP, REACH = 0.25, 10.0  # of the trapezoidal rule, in standard deviations
TERMS = 16  # in powers of E, which is at most exp(-2.5)
MODES = 6
SERIES = 18  # terms for |w| < 1
_k = np.arange(1, SERIES + 1)
SLOPE = 2 * zeta(2 * _k) / math.pi ** (2 * _k)  # α' = Σ (-1)^(k - 1) SLOPE_k w^(2 k - 1)
EXPONENT = SLOPE * (1 + 0.5 / _k)  # q = Σ (-1)^(k - 1) EXPONENT_k w^(2 k)


def beyond(n: Numbers, a: Numbers, order: int, first: int = 1) -> Scaled:
    """That the distance is a / n or more on either side: C ∫ exp(n q) (1 - α') Σ_j c_j E^j dw / (2π i) for j >= first.

    c_j = 2, -(1 + κ), 2 κ, -(1 + κ) κ, …; C = n! exp(n) / n^n. For a >= 0.8 sqrt(n).
    """
    log_scale, w, slope, weight = _line(n, a, first)
    kappa = (1 - slope) / (1 + slope)
    total = np.zeros((order + 1, *w.shape), complex)
    power, factor = np.exp(-2j * first * a * w.imag), np.exp(-2 * a * w)
    for j in range(first, TERMS + 1):
        c = (2.0 if j % 2 else -(1 + kappa)) * kappa ** ((j - 1) // 2)
        for k in range(order + 1):
            total[k] += c * (-2 * j * w) ** k * power
        power = power * factor
    return log_scale, np.sum((weight * total).real, axis=1)


def one_sided_beyond(n: Numbers, a: Numbers, order: int) -> Scaled:
    """That it is a / n or more on one side: the same integral of E alone. For a < 0.3 n."""
    log_scale, w, _, weight = _line(n, a, 1)
    total = np.array([(-2 * w) ** k for k in range(order + 1)])
    return log_scale, np.sum((weight * np.exp(-2j * a * w.imag) * total).real, axis=1)


def _line(n: Numbers, a: Numbers, first: int) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Log of the factor, nodes w on the upper half of a line through the saddle point of exp(n q) E^first, α', and
    weights; the factor takes |E|^first along.
    """
    target = 2 * first * a / n
    place = target
    for _ in range(8):
        cotangent = 1 / np.tanh(place)
        place = place + target - (2 * cotangent - 1 / place - place * (cotangent**2 - 1))
    q, _ = exponent(place + 0j)
    step = STEP / np.sqrt(n)
    w = place + 1j * step * (np.arange(REACH / STEP)[:, None] + 0.5)
    values, slope = exponent(w)
    log_scale = log_total(n) + n * q.real - 2 * first * a * place
    return log_scale, w, slope, step / math.pi * np.exp(n * (values - q.real)) * (1 - slope)


def within(n: Numbers, a: Numbers, order: int) -> Scaled:
    """That the distance is less than a / n: C Σ_m exp(-n r(β)) (1 - (-1)^m sec τ) / (2 a + τ'), where w = i β,
    r = -q, tan τ = 1 / β - cot β, and 2 a β + τ = m π. For a < sqrt(n).
    """
    m = np.arange(1.0, MODES + 1)[:, None]
    b = m * math.pi / (2 * a + 1 / 3)
    for _ in range(4):
        b = _toward(b, m, a)
    lowest = n * rate(b[0])

    def total(a: Array) -> Array:
        root = _toward(_toward(b + 0 * a, m, a), m, a)
        g = tangent(root)
        height = np.where(m % 2 == 1, 1 + np.sqrt(1 + g * g), -g * g / (1 + np.sqrt(1 + g * g)))
        return np.sum(np.exp(lowest - n * rate(root)) * height / (2 * a + turning(root)), axis=0)

    return log_total(n) - lowest, derivatives(total, a, order)


def _toward(b: Array, m: Numbers, a: Array) -> Array:
    """A step of Newton's towards 2 a β + τ(β) = m π."""
    return b - (2 * a * b + np.arctan(tangent(b)) - math.pi * m) / (2 * a + turning(b))


def one_sided_within(n: Numbers, a: Numbers, order: int) -> Scaled:
    """That it is less than a / n on one side: C / π ∫ exp(-n r(β)) (1 - cos 2 a β + γ sin 2 a β) dβ over β > 0,
    γ = 1 / β - cot β. For a < sqrt(n).
    """
    step = STEP / np.sqrt(n)
    b = step * (np.arange(REACH / STEP)[:, None] + 0.5)
    weight = step / math.pi * np.exp(-n * rate(b))
    g, z = tangent(b), a * b
    values = [2 * np.sin(z) * (np.sin(z) + g * np.cos(z))]
    for k in range(1, order + 1):
        turn = 2 * z + 0.5 * math.pi * k
        values.append((2 * b) ** k * (g * np.sin(turn) - np.cos(turn)))
    return log_total(n), np.sum(weight * np.array(values), axis=1)


def log_total(n: Numbers) -> Numbers:
    """log C: one over the chance that N(n) = n."""
    total: Numbers = 0.5 * np.log(2 * math.pi * n) + stirling_error(n)
    return total


def exponent(w: Numbers) -> tuple[Numbers, Numbers]:
    """q and α' of complex w."""
    small = abs(w) < 1
    near, far = np.where(small, w, 0.5), np.where(small, 1.0, w)
    cotangent = 1 / np.tanh(far)
    square = -near * near
    q = np.where(small, -square * polynomial(EXPONENT, square), np.log(np.sinh(far) / far) + far * cotangent - 1)
    return q, np.where(small, near * polynomial(SLOPE, square), cotangent - 1 / far)


def rate(b: Array) -> Array:
    """r = -q for w = i β, β < 1."""
    return b * b * polynomial(EXPONENT, b * b)


def tangent(b: Array) -> Array:
    """γ = 1 / β - cot β, β < 1."""
    return b * polynomial(SLOPE, b * b)


def turning(b: Array) -> Array:
    """τ', the derivative of arctan γ."""
    return polynomial(SLOPE * (2 * _k - 1), b * b) / (1 + tangent(b) ** 2)


def polynomial(coefficients: Numbers, x: Array) -> Array:
    """Σ_k coefficients_k x^k."""
    total: Array = 0.0
    for c in coefficients[::-1]:
        total = total * x + c
    return total


def derivatives(f: Any, x: Numbers, order: int) -> Numbers:
    """The derivatives of f, which acts element by element, of orders 0 to `order`."""
    values = [f(x)]
    for _ in range(order):
        f = _slope(f)
        values.append(f(x))
    return np.array(values)


def _slope(f: Any) -> Any:
    return lambda x: pushforward(f, x)(np.ones_like(x))
