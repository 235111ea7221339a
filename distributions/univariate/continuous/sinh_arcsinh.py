"""Sinh-arcsinh: a normal variable with skewness and with tails of any weight, lighter ones too."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.from_normal import FromNormal
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.stable import HALF_LOG_2PI, arcsinh, log1p_square
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array


class SinhArcsinh(FromNormal):
    """p(x) = delta cosh(v) exp(-sinh(v)² / 2) / (scale sqrt(2π (1 + z²))),  v = delta asinh z - epsilon.

    loc      real      z = (x - loc) / scale
    scale    positive
    epsilon  real      skewed to the right where positive
    delta    positive  heavier tails than a normal density below 1, lighter ones above

    Jones & Pewsey, Sinh-arcsinh distributions, Biometrika 96 (2009).
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    epsilon: Real = 0.0
    delta: Positive = 1.0

    support = real

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        # P(X > x) falls like exp(-2^(2 delta - 3) exp(-2 epsilon) z^(2 delta)).
        power, skew = 2 * self.delta, np.exp(2 * self.epsilon)
        c = 2 ** (power - 3) / self.scale
        return stretched_rate(power, 1 / (c * skew)), stretched_rate(power, skew / c)

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        w = np.sinh(self.delta * arcsinh(z) - self.epsilon)
        jacobian = np.log(self.delta) - np.log(self.scale) + 0.5 * (log1p_square(w) - log1p_square(z))
        return jacobian - 0.5 * w * w - HALF_LOG_2PI

    def _normal(self, x: Array) -> Array:
        return np.sinh(self.delta * arcsinh((x - self.loc) / self.scale) - self.epsilon)

    def _from_normal(self, w: Array) -> Array:
        return self.loc + self.scale * np.sinh((arcsinh(w) + self.epsilon) / self.delta)
