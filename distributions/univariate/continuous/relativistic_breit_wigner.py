"""Relativistic Breit–Wigner: the energy of a resonance."""

from __future__ import annotations

import math

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import log1p_square
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array

FAR = 2.0  # in units of q: beyond, the upper tail is a series


class RelativisticBreitWigner(Continuous):
    """p(x) ∝ 1 / ((x² - mass²)² + (mass width)²),  x >= 0.

    mass   positive  of the resonance, the mode
    width  positive  full width at half the maximum, where it is much smaller than the mass

    The denominator is |x² - (c / 2 + i e)²|², with (c / 2)² + e² = q² = mass sqrt(mass² + width²): partial fractions
    give the distribution function. Moments of order 3 and above are infinite. G. Breit & E. Wigner, Capture of slow
    neutrons, Physical Review 49 (1936); Particle Data Group, Review of Particle Physics, Resonances.
    """

    mass: Positive
    width: Positive

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        m, h = self.mass, self._hypot()
        t = (x - m) / self.width * ((x + m) / m)
        constant = math.log(math.sqrt(8) / math.pi) + np.log(h / self.width) - 0.5 * (np.log(m) + np.log(m + h))
        return constant - log1p_square(t)

    def cdf(self, x: Array) -> Array:
        angle, logarithm = self._parts(x)
        return np.minimum(angle + logarithm, math.pi) / math.pi

    def ccdf(self, x: Array) -> Array:
        angle, logarithm = self._parts(x)
        c, e, q = self._roots()
        far = np.maximum(x / q, FAR)
        # Σ U_n(mass² / q²) / ((2n + 3) far^(2n + 3)), U_n the Chebyshev polynomials of the second kind.
        v, cosine, last, now, power, series = 1 / far**2, self.mass / self._hypot(), 0.0, 1.0, 1.0, 0.0
        for n in range(32):
            series = series + now * power / (2 * n + 3)
            last, now, power = now, 2 * cosine * now - last, power * v
        tail = 4 * (e / q) * series / far**3
        return np.where(x < FAR * q, math.pi - angle - logarithm, tail) / math.pi

    def mean(self) -> Array:
        m, h = self.mass, self._hypot()
        return h * np.sqrt(2 * m / (h + m)) * (1 - self._share())

    def var(self) -> Array:
        m, h, share = self.mass, self._hypot(), self._share()
        # E[X²] is q²; h² - m² is width².
        return m * h / (h + m) * (2 * h * share * (2 - share) - self.width**2 / (h + m))

    def skewness(self) -> Array:
        return math.inf

    def kurtosis(self) -> Array:
        return math.inf

    def mode(self) -> Array:
        return self.mass

    def _hypot(self) -> Array:
        return np.hypot(self.mass, self.width)

    def _share(self) -> Array:
        return np.arctan2(self.width, self.mass) / math.pi

    def _roots(self) -> tuple[Array, Array, Array]:
        """c, e and q."""
        m, h = self.mass, self._hypot()
        root, other = np.sqrt(m), np.sqrt(h + m)
        return math.sqrt(2) * root * other, self.width * (root / other) / math.sqrt(2), root * np.sqrt(h)

    def _parts(self, x: Array) -> tuple[Array, Array]:
        """The angle of (c / 2 + i e)² - x² turned back, which grows from 0 to π, and the logarithm that remains."""
        c, e, q = self._roots()
        r, s, z = c / q, e / q, x / q
        closer = (self.mass - x) / q * ((self.mass + x) / q) + 2 * s * s
        angle = np.arctan2(2 * s * z, closer)
        distance = ((x - 0.5 * c) / q) ** 2 + s * s
        return angle, s / r * np.log1p(2 * r * z / distance)
