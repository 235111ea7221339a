"""Stick-breaking weights: proportions that are broken off what is left, one after the other."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.support import Positive, simplex
from probdiff.errors import DataError, ParameterError
from probdiff.tree import Array


class StickBreaking(Multivariate):
    """x_k = v_k (1 - v_1) … (1 - v_(k - 1)),  k < dim, with v_k independent Beta(1, alpha); x_dim is the rest.

    alpha  positive  the larger, the more proportions count
    dim    integer, at least 2: proportions; without end they are the weights of a Dirichlet process

    The density is that of any dim - 1 of the proportions. Ishwaran & James, Gibbs sampling methods for stick-breaking
    priors, JASA 96 (2001).
    """

    alpha: Positive
    dim: int

    support = simplex

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        if isinstance(self.dim, bool) or not isinstance(self.dim, (int, np.integer)) or self.dim < 2:
            raise ParameterError(f"StickBreaking.dim must be an integer of at least 2, got {self.dim!r}")

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.dim),)

    def logpdf(self, x: Array) -> Array:
        # Π_k alpha (1 - v_k)^(alpha - 1) / left_k, with left_k what step k found, has few factors that stay.
        left = np.flip(np.cumsum(np.flip(x, -1), axis=-1), -1)
        rest = np.log(x[..., -1])
        power = np.where(self.alpha == 1, 0.0, (self.alpha - 1) * rest)
        return (self.dim - 1) * np.log(self.alpha) + power - np.sum(np.log(left[..., 1:-1]), axis=-1)

    def mean(self) -> Array:
        return self._in_order(*self._steps(1))

    def var(self) -> Array:
        # The squares are products of independent squares as well.
        mean = self.mean()
        return self._in_order(*self._steps(2)) - mean * mean

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # 1 - v is U^(1 / alpha): its log is an exponential over alpha.
        waited = rng.standard_exponential((*shape, int(self.dim) - 1)) / np.expand_dims(self.alpha, -1)
        kept = np.cumsum(-waited, axis=-1)
        left = np.concatenate([np.zeros((*shape, 1)), kept], axis=-1)
        pieces = np.exp(left[..., :-1]) * -np.expm1(left[..., 1:] - left[..., :-1])
        return np.concatenate([pieces, np.exp(left[..., -1:])], axis=-1)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """alpha of largest likelihood: dim - 1 over the mean of -log x_dim."""
        if not np.all(simplex.contains(x) & (x[:, -1] > 0)):
            raise DataError("StickBreaking.fit: an observation must sum to one, with a positive last proportion.")
        log_rest = float(w @ np.log(x[:, -1]))
        if not log_rest < 0:
            raise DataError("StickBreaking.fit found no maximum: the last proportions are one.")
        return cls((x.shape[-1] - 1) / -log_rest, x.shape[-1])

    def _steps(self, order: int) -> tuple[Array, Array]:
        """E[v^order] and E[(1 - v)^order], of order 1 or 2."""
        a = np.expand_dims(self.alpha, -1)
        return (1 / (1 + a), a / (1 + a)) if order == 1 else (2 / ((1 + a) * (2 + a)), a / (2 + a))

    def _in_order(self, broken: Array, kept: Array) -> Array:
        k = np.arange(float(self.dim))
        return np.where(k < self.dim - 1, broken, 1.0) * kept**k
