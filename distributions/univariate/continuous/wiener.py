"""Wiener first passage (drift-diffusion): which of two boundaries evidence reaches first, and when."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Nonnegative, OpenUnit, Positive, Real, real
from probdiff.tree import Array

SWITCH = 0.2  # in units of boundary²: both series have converged, to rounding
EARLY = (-3, -2, -1, 1, 2, 3)
LATE = tuple(range(1, 9))


class Wiener(Continuous):
    """First passage of a Brownian path of unit variance a second: x > 0 is a passage of the upper boundary, at time x;
    x < 0 one of the lower boundary, at time -x. No time is shorter than the delay.

    boundary  positive     distance of the boundaries
    drift     real         a second, towards the upper boundary where positive
    bias      in (0, 1)    where the path starts, as a share of the distance from the lower boundary
    delay     nonnegative  time that is added, of encoding and of the response

    With t = (|x| - delay) / boundary² and w the share of the distance to the boundary passed, the density is
    exp(-w v - v² t / 2) / boundary² times Σ_k (w + 2k) exp(-(w + 2k)² / (2t)) / sqrt(2π t³), or its equal
    π Σ_k k exp(-k² π² t / 2) sin(k π w), v the drift away from that boundary, times its distance. A passage probability
    that is tiny because the drift is more than 30 / boundary is right to an absolute error of 1e-15 only.

    Feller, An Introduction to Probability Theory and Its Applications 1, ch. XIV.6; Navarro & Fuss, Fast and accurate
    calculations for first-passage times in Wiener diffusion models, J. Math. Psych. 53 (2009).
    """

    boundary: Positive
    drift: Real
    bias: OpenUnit = 0.5
    delay: Nonnegative = 0.0

    support = real

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        rate = 0.5 * ((np.pi / self.boundary) ** 2 + self.drift**2)
        return rate, rate

    def logpdf(self, x: Array) -> Array:
        t, passed, (v, w) = self._time(x), abs(x) > self.delay, self._towards(x > 0)
        inside = log_passage(t, w) - w * v - 0.5 * v * v * t - 2 * np.log(self.boundary)
        return np.where(passed, inside, -np.inf)

    def cdf(self, x: Array) -> Array:
        return self._below(x, False)

    def ccdf(self, x: Array) -> Array:
        return self._below(x, True)

    def _below(self, x: Array, mirrored: bool) -> Array:
        """P(X <= x), or of the mirrored path: P(X > x)."""
        near = x > 0 if mirrored else x < 0  # a passage of the nearer boundary that comes later
        t = self._time(x)
        lower, upper = self._towards(mirrored), self._towards(not mirrored)
        # A sum may round to more than one.
        return np.minimum(np.where(near, later(t, *lower), probability(*lower) + sooner(t, *upper)), 1.0)

    def kinks(self) -> tuple[Array, ...]:
        return (-self.delay, self.delay)

    def _time(self, x: Array) -> Array:
        """t, and a tiny one within the delay."""
        return np.maximum(abs(x) - self.delay, 1e-30) / self.boundary**2

    def _towards(self, upper: Any) -> tuple[Array, Array]:
        """v and w, for the upper or the lower boundary."""
        v, w = self.boundary * self.drift, self.bias
        return np.where(upper, -v, v), np.where(upper, 1 - w, w)


def log_passage(t: Array, w: Array) -> Array:
    """The log of the sum, for no drift."""
    early_t, late_t = np.minimum(t, SWITCH), np.maximum(t, SWITCH)
    others = sum((1 + 2 * k / w) * np.exp(-2 * k * (w + k) / early_t) for k in EARLY)
    early = np.log(w) - 0.5 * w * w / early_t - 1.5 * np.log(early_t) - 0.5 * math.log(2 * math.pi) + np.log1p(others)
    waves = sum(k * np.sin(k * math.pi * w) * np.exp(-0.5 * (k * k - 1) * math.pi**2 * late_t) for k in LATE)
    late = math.log(math.pi) - 0.5 * math.pi**2 * late_t + np.log(waves)
    return np.where(t < SWITCH, early, late)


def probability(v: Array, w: Array) -> Array:
    """P that this boundary is the one: exp(-v w) sinh(v (1 - w)) / sinh v."""
    small = np.clip(v, -1.0, 1.0)
    near = (1 - w) * np.exp(-small * w) * _sinh_over(small * (1 - w)) / _sinh_over(small)
    size = np.maximum(abs(v), 1.0)
    far = np.exp(-(v + abs(v)) * w) * np.expm1(-2 * size * (1 - w)) / np.expm1(-2 * size)
    return np.where(abs(v) < 1, near, far)


def _sinh_over(z: Array) -> Array:
    """sinh z / z for |z| <= 1, by its series."""
    total: Array = 1.0
    for k in range(9, 0, -1):
        total = 1 + z * z / (2 * k * (2 * k + 1)) * total
    return total


def later(t: Array, v: Array, w: Array) -> Array:
    """P that this boundary is passed, after t."""
    return np.where(t < SWITCH, probability(v, w) - _early(np.minimum(t, SWITCH), v, w), _late(t, v, w))


def sooner(t: Array, v: Array, w: Array) -> Array:
    """P that this boundary is passed, by t."""
    return np.where(t < SWITCH, _early(np.minimum(t, SWITCH), v, w), probability(v, w) - _late(t, v, w))


def _late(t: Array, v: Array, w: Array) -> Array:
    """The second series, integrated from t on."""
    t = np.maximum(t, SWITCH)
    total: Array = 0.0
    for k in LATE:
        rate = 0.5 * (v * v + (k * math.pi) ** 2)
        total = total + k * np.sin(k * math.pi * w) * np.exp(-rate * t - v * w) / rate
    return math.pi * total


def _early(t: Array, v: Array, w: Array) -> Array:
    """The first series, integrated up to t: distribution functions of inverse Gaussian variables."""
    root, total = np.sqrt(t), 0.0
    for k in (0, *EARLY):
        b = abs(w + 2 * k)
        one = log_ndtr(v * root - b / root) - b * v
        other = log_ndtr(-v * root - b / root) + b * v
        total = total + (1 if k >= 0 else -1) * (np.exp(one - v * w) + np.exp(other - v * w))
    return total
