"""Projected normal: the direction of a normal vector."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.log_sums import log_smooth_integral
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import RealVector, unit_vector
from probdiff.tree import Array


class ProjectedNormal(Multivariate):
    """p(x) = ∫_0^∞ r^(K - 1) Normal(r x; loc, 1) dr,  |x| = 1: the law of Z / |Z|, Z normal of mean loc, variances 1.

    loc  vector of K numbers: its direction is the mean direction, its length the concentration; 0 is uniform

    The density is by area on the sphere. Mardia & Jupp, Directional Statistics, section 3.5.6.
    """

    loc: RealVector

    support = unit_vector

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        # |r x - loc|² = (r - t)² + |loc - t x|² with t = x · loc.
        t = np.sum(x * self.loc, axis=-1)
        across = self.loc - np.expand_dims(t, -1) * x
        dim = self.loc.shape[-1]
        lengths = log_smooth_integral(height, peak, dim + 0 * t, t)
        return lengths - 0.5 * np.sum(across * across, axis=-1) - dim * HALF_LOG_2PI

    def mode(self) -> Array:
        length = np.sqrt(np.sum(self.loc * self.loc, axis=-1, keepdims=True))
        return np.where(length > 0, self.loc / np.where(length > 0, length, 1.0), math.nan)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = self.loc + rng.standard_normal((*shape, *self.event_shape))
        return z / np.linalg.norm(z, axis=-1, keepdims=True)


def height(v: Array, power: Array, t: Array) -> Array:
    """The log-density of v = 2 log r: r^power exp(-(r - t)² / 2), which ends like exp(-exp(v))."""
    return 0.5 * power * v - 0.5 * (np.exp(0.5 * v) - t) ** 2 - LOG_2


def peak(power: Any, t: Any) -> Any:
    """Where r² - t r = power."""
    root = np.hypot(t, 2 * np.sqrt(power))
    return 2 * np.log(np.where(t < 0, 2 * power / (root - t), 0.5 * (root + t)))
