"""Rising functions of a standard normal variable: what families made by one derive from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from probdiff.distributions.base import Continuous
from probdiff.tree import Array

__all__ = ["FromNormal"]


class FromNormal(Continuous, abstract=True):
    """X = `_from_normal(W)` of a standard normal W = `_normal(X)`, both rising."""

    def cdf(self, x: Array) -> Array:
        return ndtr(self._normal(x))

    def ccdf(self, x: Array) -> Array:
        return ndtr(-self._normal(x))

    def logcdf(self, x: Array) -> Array:
        return log_ndtr(self._normal(x))

    def logccdf(self, x: Array) -> Array:
        return log_ndtr(-self._normal(x))

    def quantile(self, p: Array) -> Array:
        return self._from_normal(ndtri(p))

    def cquantile(self, p: Array) -> Array:
        return self._from_normal(-ndtri(p))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._from_normal(rng.standard_normal(shape))

    def _normal(self, x: Array) -> Array:
        raise NotImplementedError

    def _from_normal(self, w: Array) -> Array:
        raise NotImplementedError
