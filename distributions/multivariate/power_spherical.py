"""Power spherical: directions around a mean direction, with a normalisation in closed form."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from scipy.special import psi

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.uniform_direction import log_area
from probdiff.distributions.stable import LOG_2, log_beta
from probdiff.distributions.support import Nonnegative, unit_vector
from probdiff.tree import Array

Direction = Annotated[Any, unit_vector]


class PowerSpherical(Multivariate):
    """p(x) proportional to (1 + loc · x)^k,  |x| = 1,  k the concentration.

    loc            vector of K numbers and length one: the mean direction
    concentration  nonnegative  0 is uniform

    (1 + loc · x) / 2 is a Beta(b + k, b) variable, b = (K - 1) / 2. The density is by area on the sphere. De Cao &
    Aziz, The power spherical distribution (2020), arXiv:2006.04437.
    """

    loc: Direction
    concentration: Nonnegative

    support = unit_vector

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        # (1 + loc · x) / 2 = 1 - |x - loc|² / 4 does not cancel near loc, nor |x + loc|² / 4 opposite.
        chord = 0.25 * np.sum((x - self.loc) ** 2, axis=-1)
        opposite = 0.25 * np.sum((x + self.loc) ** 2, axis=-1)
        log_share = np.where(chord < 0.5, np.log1p(-np.minimum(chord, 0.5)), np.log(opposite))
        some = np.where(self.concentration > 0, self.concentration * log_share, 0.0)
        return some - self._log_normaliser()

    def mean(self) -> Array:
        a, b = self._beta()
        return np.expand_dims((a - b) / (a + b), -1) * self.loc

    def var(self) -> Array:
        return np.linalg.diagonal(self.cov())

    def cov(self) -> Array:
        """The covariance matrix: v along the mean direction, (1 - v - m²) / (K - 1) across, m the mean's length."""
        dim = self.loc.shape[-1]
        a, b = self._beta()
        m, along = (a - b) / (a + b), 4 * a * b / ((a + b) ** 2 * (a + b + 1))
        across = (4 * a * b / (a + b) ** 2 - along) / (dim - 1)
        outer = np.expand_dims(self.loc, -1) * np.expand_dims(self.loc, -2)
        across, along = (np.expand_dims(v + 0 * m, (-2, -1)) for v in (across, along))
        return across * (np.eye(dim) - outer) + along * outer

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        a, b = self._beta()
        return self._log_normaliser() - self.concentration * (psi(a) - psi(a + b))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        dim = self.loc.shape[-1]
        a, b = self._beta()
        up, down = rng.standard_gamma(a, shape), rng.standard_gamma(b, shape)
        share, rest = (v / (up + down) for v in (up, down))
        across = rng.standard_normal((*shape, dim))
        across = across - np.sum(across * self.loc, axis=-1, keepdims=True) * self.loc
        across = across / np.linalg.norm(across, axis=-1, keepdims=True)
        x = (share - rest)[..., None] * self.loc + 2 * np.sqrt(share * rest)[..., None] * across
        return x / np.linalg.norm(x, axis=-1, keepdims=True)

    def _beta(self) -> tuple[Array, float]:
        """The parameters of (1 + loc · x) / 2."""
        b = 0.5 * (self.loc.shape[-1] - 1)
        return b + self.concentration, b

    def _log_normaliser(self) -> Array:
        """The log of the integral of ((1 + loc · x) / 2)^k over the sphere: 2^(K - 2) times a beta function and the
        area of the sphere across.
        """
        dim = self.loc.shape[-1]
        a, b = self._beta()
        across = log_area(dim - 1) if dim > 2 else math.log(2)
        return across + (dim - 2) * LOG_2 + log_beta(a, b + 0 * a)
