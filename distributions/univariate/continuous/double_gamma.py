"""Double gamma: a gamma variable with either sign."""

from __future__ import annotations

from probdiff.distributions.support import Positive, Real
from probdiff.distributions.two_sided import TwoSided
from probdiff.distributions.univariate.continuous.gamma import Gamma
from probdiff.tree import Array


class DoubleGamma(TwoSided):
    """p(x) = z^(shape - 1) exp(-z) / (2 scale Γ(shape)),  z = |x - loc| / scale.

    loc    real
    scale  positive
    shape  positive  two peaks above 1, a pole at loc below

    Documentation of SciPy, dgamma.
    """

    loc: Real
    scale: Positive
    shape: Positive

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return 1 / self.scale, 1 / self.scale

    def var(self) -> Array:
        return self.scale**2 * self.shape * (self.shape + 1)

    def kurtosis(self) -> Array:
        return (self.shape + 2) * (self.shape + 3) / (self.shape * (self.shape + 1)) - 3

    def _size(self) -> Gamma:
        return Gamma(self.shape, self.scale, check=False)
