"""Bradford: a density that falls like 1 / (1 + shape x), of the productivity of sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.between import Between
from probdiff.distributions.support import Positive, Real
from probdiff.tree import Array


class Bradford(Between):
    """p(x) = shape / (log(1 + shape) (1 + shape z) (high - low)),  z = (x - low) / (high - low) in [0, 1].

    shape  positive
    low    real
    high   real      greater than low

    Documentation of SciPy, bradford.
    """

    shape: Positive
    low: Real = 0.0
    high: Real = 1.0

    def logpdf(self, x: Array) -> Array:
        z = (x - self.low) / (self.high - self.low)
        return np.log(self.shape / np.log1p(self.shape)) - np.log1p(self.shape * z) - np.log(self.high - self.low)

    def cdf(self, x: Array) -> Array:
        return np.log1p(self.shape * (x - self.low) / (self.high - self.low)) / np.log1p(self.shape)

    def ccdf(self, x: Array) -> Array:
        return -np.log1p(-self._rate() * (self.high - x) / (self.high - self.low)) / np.log1p(self.shape)

    def quantile(self, p: Array) -> Array:
        return self.low + (self.high - self.low) * (np.expm1(p * np.log1p(self.shape)) / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.high + (self.high - self.low) * (np.expm1(-p * np.log1p(self.shape)) / self._rate())

    def mode(self) -> Array:
        return self.low

    def entropy(self) -> Array:
        k = np.log1p(self.shape)
        return 0.5 * k - np.log(self.shape / k) + np.log(self.high - self.low)

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        return {"low": np.min(x), "high": np.max(x)}

    def _rate(self) -> Array:
        """shape / (1 + shape): 1 + shape z is (1 + shape) (1 - rate (1 - z))."""
        return self.shape / (1 + self.shape)
