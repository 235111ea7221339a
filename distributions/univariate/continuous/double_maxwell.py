"""Double Maxwell: Maxwell's law of speeds with either sign, a prior that keeps away from its centre."""

from __future__ import annotations

from probdiff.distributions.support import Positive, Real
from probdiff.distributions.two_sided import TwoSided
from probdiff.distributions.univariate.continuous.maxwell import Maxwell
from probdiff.tree import Array


class DoubleMaxwell(TwoSided):
    """p(x) = z² exp(-z² / 2) / (sqrt(2π) scale),  z = (x - loc) / scale.

    loc    real
    scale  positive  the peaks are sqrt(2) scales off loc

    Documentation of TensorFlow Probability, DoublesidedMaxwell.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    def var(self) -> Array:
        return 3 * self.scale**2

    def kurtosis(self) -> Array:
        return 5 / 3 - 3 + 0.0 * self.scale

    def _size(self) -> Maxwell:
        return Maxwell(self.scale, check=False)
