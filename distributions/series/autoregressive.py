"""AR: a series whose values are linear functions of those before, plus noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.series.series import Series
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, RealVector, Support, real_vector
from probdiff.distributions.wrappers.iid import IID
from probdiff.errors import ParameterError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

__all__ = ["AR"]


class AR(Series):
    """x_t = constant + Σ_i φ_i x_{t-i} + scale ε_t,  i = 1, …, p,  ε_t standard normal.

    coefficients  φ, along the last axis
    scale         positive  standard deviation of the noise
    length        how many x there are, at least p
    constant      real
    start         the distribution of each of the first p values; by default they are those of the stationary series

    Hamilton, Time Series Analysis, ch. 3; the stationary covariance solves Γ = F Γ F' + Q (ch. 10).
    """

    coefficients: RealVector
    scale: Positive
    length: Any
    constant: Real = 0.0
    start: Any = None

    def check_parts(self) -> None:
        self.check_length(self._order())
        if self.start is not None:
            self.refuse_unless(self.start, discrete=False)
        elif not is_lifted(self.coefficients):
            radius = np.max(abs(np.linalg.eigvals(self._companion())))
            if not radius < 1:
                raise ParameterError(
                    f"AR.coefficients must be those of a stationary series, got {self.coefficients.tolist()}, whose "
                    f"deviations grow by {radius:.6g} a step. Give the distribution `start`."
                )

    @property
    def support(self) -> Support:
        return real_vector

    def logpdf(self, x: Array) -> Array:
        p, n = self._order(), self.length
        scale, constant = (np.expand_dims(v, -1) for v in (self.scale, self.constant))
        predicted = constant + sum(self.coefficients[..., i : i + 1] * x[..., p - 1 - i : n - 1 - i] for i in range(p))
        z = (x[..., p:] - predicted) / scale
        noise = np.sum(-0.5 * z * z, axis=-1) - (n - p) * (np.log(self.scale) + HALF_LOG_2PI)
        return noise + self._first().logpdf(x[..., :p])

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        p = self._order()
        x = np.empty((*shape, self.length))
        x[..., :p] = self._first().draw(shape, rng)
        noise = self.constant + self.scale * np.moveaxis(rng.standard_normal((*shape, self.length)), -1, 0)
        for t in range(p, self.length):
            x[..., t] = noise[t] + np.sum(self.coefficients * x[..., t - p : t][..., ::-1], axis=-1)
        return x

    def _first(self) -> Distribution:
        """The distribution of the first p values."""
        p = self._order()
        if self.start is not None:
            return IID(self.start, (p,))
        F = self._companion()
        both = F[..., :, None, :, None] * F[..., None, :, None, :]
        noise = np.zeros((p * p, 1))
        noise[0] = 1.0
        # vec Γ = (1 - F ⊗ F)⁻¹ vec Q; time runs backwards in the companion form, and Γ is the same both ways.
        gamma = np.linalg.solve(np.eye(p * p) - np.reshape(both, (*F.shape[:-2], p * p, p * p)), noise)
        factor = np.linalg.cholesky(np.reshape(gamma, F.shape)) * np.expand_dims(self.scale, (-2, -1))
        mean = self.constant / (1 - np.sum(self.coefficients, axis=-1))
        return MvNormal(np.expand_dims(mean, -1) * np.ones(p), factor, check=False)

    def _companion(self) -> Array:
        """F, which moves (x_t, …, x_{t-p+1}) a step on."""
        p = self._order()
        shift = np.broadcast_to(np.eye(p)[:-1], (*self.coefficients.shape[:-1], p - 1, p))
        return np.concatenate([np.expand_dims(self.coefficients, -2), shift], axis=-2)

    def _order(self) -> int:
        return int(self.coefficients.shape[-1])
