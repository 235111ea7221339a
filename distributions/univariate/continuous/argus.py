"""Argus: masses of pairs in the combinatorial background below a kinematic limit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import NODES, WEIGHTS
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Interval, Nonnegative, Positive, interval
from probdiff.special import log1mexp, log_gammainc, log_gammaincc
from probdiff.tree import Array

LOG_GAMMA = math.lgamma(1.5)


class Argus(Continuous):
    """p(x) ∝ z sqrt(1 - z²) exp(-chi² (1 - z²) / 2),  z = x / scale,  0 <= z <= 1.

    chi    nonnegative  curvature
    scale  positive     the limit, upper end of the support

    H. Albrecht et al. (ARGUS), Search for hadronic b → u decays, Physics Letters B 241 (1990). chi² (1 - z²) / 2 is a
    gamma variable of shape 3/2, cut off at h = chi² / 2.
    """

    chi: Nonnegative
    scale: Positive = 1.0

    @property
    def support(self) -> Interval:
        return interval(0.0, self.scale)

    def logpdf(self, x: Array) -> Array:
        h, z, room = self._terms(x)
        return LOG_2 + np.log(z) + 0.5 * np.log(room) - h * room - log_mass(h) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def guess(self, lower: Array, lp: Array) -> Array:
        h = 0.5 * self.chi**2 + 1e-30
        total = gammainc(1.5, h)
        p = np.exp(lp)
        room = np.where(lower, gammaincinv(1.5, -np.expm1(lp) * total), gammaincinv(1.5, p * total)) / h
        near_zero = np.exp(0.5 * (lp + log_mass(h) + h))
        return self.scale * np.where(lower & (near_zero < 0.1), near_zero, np.sqrt(np.maximum(1 - room, 0.0)))

    def mode(self) -> Array:
        c = self.chi**2
        root = np.hypot(c, 2.0)
        square = np.where(c < 2, 2 / (root + 2 - c), (root + c - 2) / (2 * np.where(c < 2, 2.0, c)))
        return self.scale * np.sqrt(square)

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        return {"scale": 1.02 * np.max(x)}

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails, each from the smaller one."""
        h, z, room = self._terms(x)
        s, y = z * z, h * room
        upper = 1.5 * np.log(room) + log_mass(y) - log_mass(h)
        above, beyond = log_gammaincc(1.5, y), log_gammaincc(1.5, h)
        far = above + log1mexp(np.minimum(beyond - above, -1e-300)) - log_gammainc(1.5, h)
        near = log_near_zero(h, np.minimum(s, 0.5)) - log_mass(h)
        lower = np.where((s < 0.5) & (h * s < 1), near, far)
        high = upper < -LOG_2
        return np.where(high, log1mexp(upper), lower), np.where(high, upper, log1mexp(lower))

    def _terms(self, x: Array) -> tuple[Array, Array, Array]:
        """h, z and 1 - z²."""
        z = x / self.scale
        return 0.5 * self.chi**2, z, (self.scale - x) / self.scale * (1 + z)


def log_mass(h: Array) -> Array:
    """log ∫ sqrt(s) exp(-h s) ds over s from 0 to 1, which is γ(3/2, h) h^(-3/2)."""
    small = np.minimum(h, 1.0)
    series = 1.0
    for n in range(18, 0, -1):
        series = 1 + small / (n + 1.5) * series
    large = np.maximum(h, 1.0)
    return np.where(h < 1, np.log(series / 1.5) - small, log_gammainc(1.5, large) + LOG_GAMMA - 1.5 * np.log(large))


def log_near_zero(h: Array, s: Array) -> Array:
    """log ∫ sqrt(1 - t) exp(h (t - 1)) dt over t from 0 to s <= 1/2, h s < 1."""
    total = 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        t = 0.5 * s * (1 + node)
        total = total + 0.5 * weight * np.sqrt(1 - t) * np.exp(np.minimum(h * t, 1.0))
    return np.log(s) + np.log(total) - h
