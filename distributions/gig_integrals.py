"""Integrals of the generalised inverse Gaussian law over the log of its variable, centred at their maximum.

With p = b sinh m, the logarithm v of the variable, in units of exp(m), has the unnormalised log-density

    p v - b [cosh(m + v) - cosh m] = -1/2 [b exp(m) (exp(v) - 1 - v) + b exp(-m) (exp(-v) - 1 + v)],

whose integral is 2 K_p(b) exp(b cosh m - p m). It is concave, and nothing in it cancels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.log_sums import log_integral, log_smooth_integral
from probdiff.distributions.powers import exp_excess
from probdiff.distributions.stable import arcsinh
from probdiff.tree import Array

__all__ = ["center", "draw_log", "height", "log_bessel", "log_mass", "log_part"]


def center(p: Array, b: Array) -> Array:
    """m = asinh(p / b), a constant: it cancels in normalised densities."""
    return stop_gradient(arcsinh(p / b))


def height(v: Array, p: Array, b: Array, m: Array) -> Array:
    """The log-density of v, up to a constant."""
    grown, shrunk = b * np.exp(m), b * np.exp(-m)
    tilt = p - 0.5 * (grown - shrunk)  # nothing, but for its derivatives
    return -0.5 * (grown * exp_excess(v) + shrunk * exp_excess(-v)) + tilt * v


def log_mass(p: Array, b: Array, m: Array) -> Array:
    """log ∫ exp(height)."""
    return log_smooth_integral(height, _at_zero, p, b, m)


def _at_zero(p: Any, b: Any, m: Any) -> Any:
    return 0.0 * m


def log_part(v: Array, side: Array, p: Array, b: Array, m: Array) -> Array:
    """log ∫ exp(height) from -∞ to v where side is -1, from v to ∞ where it is 1."""
    return log_integral(_beyond, v, side, p, b, m)


def _beyond(w: Array, v: Array, side: Array, p: Array, b: Array, m: Array) -> Array:
    return height(v + side * np.exp(w), p, b, m) + w


def log_bessel(p: Array, b: Array) -> Array:
    """log [2 K_p(b) exp(b)]."""
    m = center(p, b)
    return log_mass(p, b, m) + p * m - 2 * b * np.sinh(0.5 * m) ** 2


def draw_log(p: Any, b: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Logs of draws, m + v, by rejection from a constant with two exponential tails.

    Devroye, Random variate generation for the generalized inverse Gaussian distribution, Stat. Comput. 24 (2014).
    """
    p, b = (np.broadcast_to(np.asarray(a, dtype=float), shape).ravel() for a in (p, b))
    m = np.arcsinh(p / b)
    right, left = _tail(1.0, p, b, m), _tail(-1.0, p, b, m)
    v = np.zeros(m.shape)
    todo = np.arange(m.size)
    while todo.size:
        (t, low_t, slope_t), (s, low_s, slope_s) = ([a[todo] for a in side] for side in (right, left))
        flat_t, flat_s = t + low_t / slope_t, s + low_s / slope_s
        areas = np.array([flat_t + flat_s, 1 / slope_t, 1 / slope_s])
        which = rng.random(todo.size) * np.sum(areas, axis=0)
        far = rng.standard_exponential(todo.size)
        across = rng.random(todo.size) * areas[0] - flat_s
        outside = np.where(which < areas[0] + areas[1], flat_t + far / slope_t, -flat_s - far / slope_s)
        tried = np.where(which < areas[0], across, outside)
        hat = np.minimum(0.0, np.where(tried > 0, -(tried - flat_t) * slope_t, (tried + flat_s) * slope_s))
        accepted = height(tried, p[todo], b[todo], m[todo]) - hat >= -rng.standard_exponential(todo.size)
        v[todo[accepted]] = tried[accepted]
        todo = todo[~accepted]
    return (m + v).reshape(shape)


def _tail(side: float, p: Any, b: Any, m: Any) -> tuple[Any, Any, Any]:
    """Where, on one side, the height is about -1, what it is there, and how fast it falls."""
    low, high = np.full(m.shape, -40.0), np.full(m.shape, 7.0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = height(side * np.exp(middle), p, b, m) > -1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    t = np.exp(low)
    grown, shrunk = b * np.exp(side * m), b * np.exp(-side * m)
    return t, height(side * t, p, b, m), 0.5 * (grown * np.expm1(t) - shrunk * np.expm1(-t))
