"""Tails of the gamma and beta laws: log-probabilities and their derivatives in the shapes, to any order.

The incomplete integrals become ∫ exp(φ(s)) ds over the distance s >= 0 from the boundary, measured in u = log x (gamma)
or u = logit x (beta), where φ is concave and φ(0) = 0. The smaller tail is integrated, by Gauss and Legendre's rule on
panels that reach to where φ is 40 below its maximum: what is left out is less than 4e-18 of the whole. All terms are
positive, so the result has full relative accuracy however small it is. A derivative in a shape multiplies the integrand
by log x (or log(1 - x)): derivatives of the log of the integral are cumulants of these under the truncated law.

The larger tail is one minus the smaller. The value itself, where it does not underflow, is the log of SciPy's.
Cancellation of large shapes is avoided in φ, by expm1(s) - s and log1p(y) - y, and in the factor in front, by the
saddle-point forms of C. Loader (2000).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.ops import power_series
from probdiff.ops.power_series import Series
from probdiff.ops.saddle import beta_kernel, expm1_less, gamma_kernel, log1p_less, log_less_psi

Array = np.ndarray
DEPTH = 40.0  # φ at the end of the integral, relative to its maximum
WIDE = 3.0  # beyond this length the integrand has structure on the scale of one (of e^u) and on its own
CHUNK = 2048
# Where SciPy's functions agree with the integral to a few roundings: probabilities from here on, shapes up to there.
SAFE, TRUSTED = 1e-280, 1e6


def log_gamma_tail(order: int, upper: bool, a: Any, x: Any) -> Any:
    """The derivative of `order` in a of log Q(a, x) if `upper`, else of log P(a, x); a > 0, x >= 0.

    NaN outside the domain. At x = 0 and x = ∞ the value is its limit, and derivatives are zero.
    """
    return _over_elements(functools.partial(_gamma_elements, order, upper), (a, x), order == 0, upper, math.inf)


def log_beta_tail(order: tuple[int, int], upper: bool, a: Any, b: Any, x: Any) -> Any:
    """The derivative of `order` in (a, b) of log (1 - I_x(a, b)) if `upper`, else of log I_x(a, b); a, b > 0.

    NaN outside the domain. At x = 0 and x = 1 the value is its limit, and derivatives are zero.
    """
    return _over_elements(functools.partial(_beta_elements, order, upper), (a, b, x), order == (0, 0), upper, 1.0)


def _over_elements(inner: Callable[..., Array], args: tuple[Any, ...], value: bool, upper: bool, end: float) -> Any:
    """`inner` at the elements inside the domain, in pieces that fit the cache; limits at x = 0 and x = `end`."""
    # Python's numbers say nothing about precision.
    strong = [a.dtype for a in args if isinstance(a, np.ndarray | np.generic)] or [np.dtype(np.float64)]
    kind = np.float32 if all(k in (np.float32, np.float16) for k in strong) else np.float64
    with np.errstate(all="ignore"):
        full = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in args))
        shape = full[0].shape
        flat = [a.ravel() for a in full]
        *shapes, x = flat
        valid = np.all([(0 < a) & (a < math.inf) for a in shapes], axis=0) & (x >= 0) & (x <= end)
        never = x == (end if upper else 0)
        result = np.where(valid, np.where(never & value, -math.inf, 0.0), math.nan)
        places = np.flatnonzero(valid & (x > 0) & (x < end))
        for start in range(0, places.size, CHUNK):
            chosen = places[start : start + CHUNK]
            result[chosen] = inner(*(a[chosen] for a in flat))
    return result.reshape(shape).astype(kind)[()]


# The two laws


def _gamma_elements(order: int, upper: bool, a: Array, x: Array) -> Array:
    left, right = sp.gammainc(a, x), sp.gammaincc(a, x)
    lower = left < 0.5
    result, safe = _plain_log(left, right, upper, (a < TRUSTED) & (order == 0))
    for down in (True, False):
        chosen = (lower if down else ~lower) & ~safe
        if np.any(chosen):
            series = _gamma_series(order, down, a[chosen], x[chosen])
            result[chosen] = (series if down != upper else power_series.log1mexp(series))[order, 0]
    return result * math.factorial(order)


def _gamma_series(order: int, down: bool, a: Array, x: Array) -> Series:
    """log P(a + α, x) if `down`, else log Q(a + α, x), as a series in α."""
    sign = -1.0 if down else 1.0

    def phi(s: Array, a: Array, x: Array) -> tuple[Array, Array, Array]:
        near = -sign * s * (x - a) - x * expm1_less(sign * s)
        far = sign * a * s - x * np.expm1(sign * s)
        return np.where(s < 0.5, near, far), sign * s, np.zeros_like(s)

    start = np.maximum(sign * np.log(a / x), 0.0)  # from the boundary to the maximum
    z = np.where(start > 0, a, x)
    reach = DEPTH / a if down else np.log1p(DEPTH / z)
    s = start + np.maximum(reach, np.minimum(np.sqrt(2.0 * DEPTH / z), 1.0))
    top = phi(start, a, x)[0]
    for _ in range(12):
        slope = sign * (a - x * np.exp(sign * s))
        s = np.maximum(s - (phi(s, a, x)[0] - top + DEPTH) / slope, start)
    series = _integral(phi, s, (-sign * np.log(x),), (order, 0), (a, x))
    series[0, 0] += gamma_kernel(a, x)
    if order:
        series[1, 0] += log_less_psi(a) + np.where(abs(x - a) < 0.5 * a, np.log1p((x - a) / a), np.log(x) - np.log(a))
    for k in range(2, order + 1):
        series[k, 0] -= _polygamma(k - 1, a) / math.factorial(k)
    return series


def _beta_elements(order: tuple[int, int], upper: bool, a: Array, b: Array, x: Array) -> Array:
    left, right = sp.betainc(a, b, x), sp.betaincc(a, b, x)
    lower = left < 0.5
    result, safe = _plain_log(left, right, upper, (np.maximum(a, b) < TRUSTED) & (order == (0, 0)))
    for down in (True, False):
        chosen = (lower if down else ~lower) & ~safe
        if np.any(chosen):
            p, q, t = a[chosen], b[chosen], x[chosen]
            if down:
                series = _beta_series(order, p, q, t, 1.0 - t, np.log(t), np.log1p(-t))
            else:  # the upper tail is the lower one of 1 - x
                mirrored = _beta_series(order[::-1], q, p, 1.0 - t, t, np.log1p(-t), np.log(t))
                series = np.swapaxes(mirrored, 0, 1)
            result[chosen] = (series if down != upper else power_series.log1mexp(series))[order]
    return result * math.factorial(order[0]) * math.factorial(order[1])


def _beta_series(order: tuple[int, int], a: Array, b: Array, t: Array, q: Array, log_t: Array, log_q: Array) -> Series:
    """log I_t(a + α, b + β) as a series in α and β; q = 1 - t."""
    n = a + b

    def phi(s: Array, a: Array, b: Array, t: Array, q: Array) -> tuple[Array, Array, Array]:
        # The side of one half that t lies on decides which of t and q carries the digits.
        left = t <= 0.5
        r = np.where(left, t, q)
        e = np.where(left, -s, s)
        y = r * np.expm1(np.minimum(e, 709.0))
        log_1y = np.where(e < 709.0, np.log1p(y), e + np.log(r))
        near = -s * (a * q - b * t) - (a + b) * (log1p_less(y) + r * expm1_less(e))
        far = np.where(left, -a, b) * s - (a + b) * log_1y
        l2 = np.where(left, 0.0, s) - log_1y
        return np.where(s < 0.5, near, far), l2 - s, l2

    start = np.maximum(log_t - log_q - np.log(a) + np.log(b), 0.0)
    start = np.where(a * q >= b * t, 0.0, start)
    past = start > 0
    t_top, q_top = np.where(past, a / n, t), np.where(past, b / n, q)
    width = np.sqrt(2.0 * DEPTH / (n * t_top * q_top))
    s = start + np.maximum(np.maximum(DEPTH / a, np.log1p(DEPTH / (n * q_top))), np.minimum(width, 1.0))
    top = phi(start, a, b, t, q)[0]
    for _ in range(12):
        share = 1.0 / (1.0 + np.exp(np.minimum(log_q - log_t + s, 700.0)))  # t at the distance s
        slope = -a + n * share
        s = np.maximum(s - (phi(s, a, b, t, q)[0] - top + DEPTH) / slope, start)
    bend = np.log(np.maximum(n, 1.0))  # where n t or n (1 - t) is one
    middle = log_t - log_q
    series = _integral(phi, s, (middle, middle - bend, middle + bend), order, (a, b, t, q))
    series[0, 0] += beta_kernel(a, b, t, q, log_t, log_q)
    for i, j in list(np.ndindex(series.shape[:2]))[1:]:
        if i + j > 1:
            total = _polygamma(i + j - 1, n)
            own = _polygamma(i - 1, a) if j == 0 else _polygamma(j - 1, b) if i == 0 else 0.0
            series[i, j] += (total - own) / (math.factorial(i) * math.factorial(j))
    rest = a * q - b * t
    if order[0]:
        ratio = np.where(abs(rest) < 0.5 * a, np.log1p(-rest / a), log_t - np.log(a) + np.log(n))
        series[1, 0] += ratio + log_less_psi(a) - log_less_psi(n)
    if order[1]:
        ratio = np.where(abs(rest) < 0.5 * b, np.log1p(rest / b), log_q - np.log(b) + np.log(n))
        series[0, 1] += ratio + log_less_psi(b) - log_less_psi(n)
    return series


def _plain_log(left: Array, right: Array, upper: bool, wanted: Array) -> tuple[Array, Array]:
    """The log of a tail from SciPy's values, and where these are far enough from underflow to have all their digits."""
    own, other = (right, left) if upper else (left, right)
    safe = (np.minimum(left, right) > SAFE) & wanted
    return np.where(own < 0.5, np.log(own), np.log1p(-other)), safe


# The integral


def _integral(
    phi: Any, end: Array, knees: tuple[Array, ...], order: tuple[int, int], args: tuple[Array, ...]
) -> Series:
    """log ∫ exp(φ + α l1 + β l2) ds from 0 to `end` as a series; φ bends on the scale of one around `knees`."""
    series = np.empty((order[0] + 1, order[1] + 1, end.size))
    short = end <= WIDE
    if np.any(short):
        bounds = end[short] * np.array([0.0, 0.25, 1.0])[:, None]
        series[..., short] = _panels(phi, bounds, 20, order, tuple(a[short] for a in args))
    if not np.all(short):
        long, length = ~short, end[~short]
        own = length * np.array([0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0])[:, None]
        steps = np.array([1.0, 3.0, 9.0, 27.0, 81.0, 243.0])
        offsets = np.concatenate([-steps, [0.0], steps])[:, None]
        around = [np.clip(knee[long] + offsets, 0.0, length) for knee in knees]
        bounds = np.sort(np.concatenate([own, *around]), axis=0)
        series[..., long] = _panels(phi, bounds, 16, order, tuple(a[long] for a in args))
    return series


def _panels(phi: Any, bounds: Array, count: int, order: tuple[int, int], args: tuple[Array, ...]) -> Series:
    nodes, weights = _legendre(count)
    half = 0.5 * np.diff(bounds, axis=0)[:, None]
    s = bounds[:-1, None] + half * (nodes[:, None] + 1.0)
    height, l1, l2 = (v.reshape(-1, bounds.shape[1]) for v in phi(s, *args))
    mass = (half * weights[:, None]).reshape(height.shape) * np.exp(height)
    total = np.sum(mass, axis=0)
    series = np.zeros((order[0] + 1, order[1] + 1, total.size))
    series[0, 0] = np.log(total)
    if order == (0, 0):
        return series
    share = mass / total
    m1, m2 = np.sum(share * l1, axis=0), np.sum(share * l2, axis=0)
    if sum(order) > 1:
        c1, c2 = l1 - m1, l2 - m2
        moments = np.empty_like(series)
        for i, j in np.ndindex(series.shape[:2]):
            scale = math.factorial(i) * math.factorial(j)
            moments[i, j] = np.sum(share * c1**i * c2**j, axis=0) / scale
        moments[0, 0] = 1.0
        series = power_series.log(moments)
        series[0, 0] = np.log(total)
    if order[0]:
        series[1, 0] = m1
    if order[1]:
        series[0, 1] = m2
    return series


@functools.cache
def _legendre(count: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def _polygamma(order: int, a: Any) -> Any:
    if order == 0:
        return sp.psi(a)
    return (-1.0) ** (order + 1) * math.factorial(order) * sp.zeta(order + 1.0, a)
