"""Rice: the length of a normal vector in the plane, the amplitude of a signal in noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import i0e, i1e

from probdiff.distributions import noncentral
from probdiff.distributions.base import Continuous
from probdiff.distributions.bessel import log_i0e
from probdiff.distributions.support import Nonnegative, Positive, nonnegative
from probdiff.tree import Array


class Rice(Continuous):
    """p(x) = x / scale² exp(-(x² + nu²) / (2 scale²)) I_0(x nu / scale²),  x >= 0.

    nu     nonnegative  distance of the mean from the origin; 0 is the Rayleigh distribution
    scale  positive     standard deviation of each coordinate

    (X / scale)² is noncentral chi-squared with two degrees of freedom. Johnson, Kotz & Balakrishnan, Continuous
    Univariate Distributions 1, ch. 18.
    """

    nu: Nonnegative
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, np.inf)

    def logpdf(self, x: Array) -> Array:
        z, m = x / self.scale, self.nu / self.scale
        return np.log(z) - 0.5 * (z - m) ** 2 + log_i0e(z * m) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return noncentral.log_tails(*self._halves(x))[0]

    def logccdf(self, x: Array) -> Array:
        return noncentral.log_tails(*self._halves(x))[1]

    def _halves(self, x: Array) -> tuple[Array, Array, Array]:
        """Shape, mean of the Poisson mixture and argument of the chi-squared distribution."""
        return 1.0, 0.5 * (self.nu / self.scale) ** 2, 0.5 * (x / self.scale) ** 2

    def mean(self) -> Array:
        t = (0.5 * self.nu / self.scale) ** 2
        laguerre = (1 + 2 * t) * i0e(t) + 2 * t * i1e(t)
        return self.scale * math.sqrt(math.pi / 2) * laguerre

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        along, across = rng.standard_normal((2, *shape))
        return np.hypot(self.nu + self.scale * along, self.scale * across)
