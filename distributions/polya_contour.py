"""Density and tails of Pólya-gamma variables: the Laplace transform inverted along a path of steepest descent.

With L(τ) = log cosh sqrt(τ / 2), the transform of the law with tilt c = z² / 2 is exp(-h [L(c + s) - L(c)]), analytic
but for negative τ = c + s from -π² / 2 on. For the density and, with a pole at s = 0, both tails,

    N(p, j) = 1 / (2πi) ∫ s^p (-D)^j exp(s x - h D) ds,  D = L(c + s) - L(c),

p = 0 and -1, is taken over a hyperbola through the saddle point of the integrand, where nothing cancels. Derivatives
are such integrals again: dN/dx = N(p + 1, j), dN/dh = N(p, j + 1), and dN/dc = -p N(p - 1, j) + L'(c) j N(p, j - 1) +
(h L'(c) - x) N(p, j).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.tree import Array

__all__ = ["log_inversion", "slope"]

FIRST = 0.5 * math.pi**2  # -τ of the singularity nearest to zero
NODES = 80
BEND = (
    0.8  # slope of the hyperbola's ends; as steep as can be near the vertex were 2/3 for a pole, 1/2 for exp(-sqrt τ)
)
DEPTH = 38.0
FARTHEST = 300.0  # along the path, in a coordinate that grows like the logarithm of its length
# tanh(sqrt r) / sqrt r = Σ (-1)^n r^n 2 λ(2n + 2) (2 / π)^(2n + 2), λ the sum over odd numbers; for |r| < 1.
SERIES = [
    (-1) ** n * 2 * (1 - 0.25 ** (n + 1)) * float(sp.zeta(2 * n + 2)) * (2 / math.pi) ** (2 * n + 2) for n in range(42)
]


def log_inversion(kind: str, x: Array, h: Array, c: Array) -> Array:
    """The log of the "density", or of the "tail" on whose side of the mean x is: P(X <= x) or P(X > x)."""
    return apply(_value(kind), x, h, c)


def slope(r: Array, order: int = 0) -> Array:
    """T(r) = tanh(sqrt r) / sqrt r, or a derivative up to the third, for r >= 0; L'(c) is T(c / 2) / 4."""
    near: Array = 0.0
    low = np.minimum(r, 1.0)
    for n in range(len(SERIES) - 1, order - 1, -1):
        near = near * low + SERIES[n] * math.perm(n, order)
    far = np.maximum(r, 1.0)
    # 2 r T' + T = 1 - r T², and its derivatives.
    t = np.tanh(np.sqrt(far)) / np.sqrt(far)
    t1 = (1 - far * t * t - t) / (2 * far)
    t2 = -(t * t + 2 * far * t * t1 + 3 * t1) / (2 * far)
    t3 = -(4 * t * t1 + 2 * far * (t1 * t1 + t * t2) + 5 * t2) / (2 * far)
    return np.where(r < 1, near, (t, t1, t2, t3)[order])


@functools.cache
def _value(kind: str) -> Elementwise:
    base = 0 if kind == "density" else -1

    def evaluate(x: Any, h: Any, c: Any) -> Any:
        top, total = _integrals(kind, [(base, 0)], x, h, c)
        return (top + np.log(abs(total[0]))).astype(_kind(x, h, c))[()]

    def in_c(x: Array, h: Array, c: Array, z: Array) -> Array:
        return h * (0.25 * slope(0.5 * c)) - x - (base * apply(_ratio(kind, base - 1, 0), x, h, c) if base else 0.0)

    partials = (
        lambda *args: apply(_ratio(kind, base + 1, 0), *args[:3]),
        lambda *args: apply(_ratio(kind, base, 1), *args[:3]),
        in_c,
    )
    return Elementwise(f"polya_gamma_{kind}", evaluate, partials)


@functools.cache
def _ratio(kind: str, p: int, j: int) -> Elementwise:
    """N(p, j) over that of the value."""
    base = 0 if kind == "density" else -1

    def evaluate(x: Any, h: Any, c: Any) -> Any:
        _, (own, whole) = _integrals(kind, [(p, j), (base, 0)], x, h, c)
        return (own / whole).astype(_kind(x, h, c))[()]

    def of(power: int, order: int, *args: Array) -> Array:
        return apply(_ratio(kind, power, order), *args)

    def in_x(*args: Array) -> Array:
        *at, z = args
        return of(p + 1, j, *at) - z * of(base + 1, 0, *at)

    def in_h(*args: Array) -> Array:
        *at, z = args
        return of(p, j + 1, *at) - z * of(base, 1, *at)

    def in_c(*args: Array) -> Array:
        *at, z = args
        own = -p * of(p - 1, j, *at) if p else 0.0
        lifted = j * 0.25 * slope(0.5 * at[2]) * of(p, j - 1, *at) if j else 0.0
        return own + lifted + (base * z * of(base - 1, 0, *at) if base else 0.0)

    return Elementwise(f"polya_gamma_{kind}_{p}_{j}", evaluate, (in_x, in_h, in_c))


def _kind(*args: Any) -> Any:
    return np.result_type(np.float32, *(v.dtype for v in map(np.asarray, args) if v.dtype.kind == "f"))


def _integrals(kind: str, orders: list[tuple[int, int]], x: Any, h: Any, c: Any) -> tuple[Any, list[Any]]:
    """The log of a common scale, and the integrals N(p, j) in units of it."""
    with np.errstate(all="ignore"):
        x, h, c = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (x, h, c)))
        pole = 0 if kind == "density" else -1
        s0, gap = _saddle(kind, x, h, c)
        unit = np.minimum(gap, abs(s0)) if pole else gap
        top = s0 * x - h * _drop(s0 + 0j, c).real

        def path(w: Any) -> tuple[Any, Any, Any]:
            """s, L(c + s) - L(c), and the log of the integrand in units of that at the saddle."""
            s = s0 + unit * (1j * np.sinh(w) - BEND * (np.cosh(w) - 1))
            drop = _drop(s, c)
            return s, drop, s * x - h * drop - top

        end = _end(lambda w: path(w)[2].real + pole * np.log(abs(path(w)[0] / s0)), x)
        w = end * np.expand_dims(np.arange(NODES) / NODES, tuple(range(1, x.ndim + 1)))
        s, drop, height = path(w)
        # The other half of the path is the conjugate, and its middle counts half.
        step = unit * (1j * np.cosh(w) - BEND * np.sinh(w)) * (end / NODES / math.pi)
        step[0] *= 0.5
        weight = step * np.exp(height)
        return top, [np.sum((weight * s**p * (-drop) ** j).imag, axis=0) for p, j in orders]


def _end(height: Any, like: Any) -> Any:
    """How far along the path the integrand has fallen by exp(-DEPTH), to a few per cent, rounded up."""
    low, high = np.full(like.shape, math.log(1e-9)), np.full(like.shape, math.log(FARTHEST))
    for _ in range(10):
        middle = 0.5 * (low + high)
        inside = height(np.exp(middle)) > -DEPTH
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.exp(high)


def _drop(s: Any, c: Any) -> Any:
    """L(c + s) - L(c), analytic from s = 0 on."""
    a, b = np.sqrt(0.5 * (c + s)), np.sqrt(0.5 * c)
    half = np.where(s == 0, 0.0, s / (4 * (a + b)))  # (a - b) / 2
    near = sp.log1p(2 * np.sinh(half) * (np.cosh(half) * np.tanh(b) + np.sinh(half)))
    far = 2 * half + sp.log1p(np.exp(-2 * a)) - np.log1p(np.exp(-2 * b))
    return np.where(abs(half) < 0.5, near, far)


def _saddle(kind: str, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """s where the integrand is least along the real axis, and how far that is from the singularities of L."""
    span = c + FIRST
    upper = x > 0.25 * h * slope(0.5 * c)
    pole = 0.0 if kind == "density" else 1.0

    def place(w: Any) -> tuple[Any, Any]:
        grown = np.exp(w)
        if kind == "density":
            return grown - span, grown
        # The path passes the pole at 0 on the right for the lower tail, on the left for the upper one.
        return np.where(upper, -span / (1 + grown), grown), np.where(upper, span / (1 + 1 / grown), grown + span)

    low, high = np.full(x.shape, -300.0), np.full(x.shape, 300.0)
    for _ in range(30):
        w = 0.5 * (low + high)
        s, gap = place(w)
        rising = x - 0.25 * h * _slope_at(gap) - pole / s > 0
        low, high = np.where(rising, low, w), np.where(rising, w, high)
    return place(0.5 * (low + high))


def _slope_at(gap: Any) -> Any:
    """T(r) at r = (gap - π² / 2) / 2, which is negative where the gap is small, to a few digits."""
    r = 0.5 * (gap - FIRST)
    root = np.sqrt(abs(r))
    t = np.where(r > 0, np.tanh(root), np.tan(root)) / root
    # Next to the singularity the first term of its partial fractions is all that counts.
    return np.where(gap < 1e-3, 4 / gap, np.where(abs(r) < 1e-6, 1.0, t))
