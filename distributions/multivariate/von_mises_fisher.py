"""Von Mises-Fisher: directions around a mean direction."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from scipy.special import gammaln

from probdiff.ad.transforms import pushforward
from probdiff.distributions import noncentral
from probdiff.distributions.base import Multivariate
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.multivariate.uniform_direction import log_area
from probdiff.distributions.support import Nonnegative, unit_vector
from probdiff.errors import DataError
from probdiff.ops.dispatch import shape_of
from probdiff.tree import Array

Direction = Annotated[Any, unit_vector]


class VonMisesFisher(Multivariate):
    """p(x) = k^(K / 2 - 1) / ((2π)^(K / 2) I_{K / 2 - 1}(k)) exp(k loc · x),  |x| = 1,  k the concentration.

    loc            vector of K numbers and length one: the mean direction
    concentration  nonnegative  0 is uniform

    The density is by area on the sphere. Mardia & Jupp, Directional Statistics, section 9.3.2; drawn as in Wood,
    Simulation of the von Mises Fisher distribution (1994).
    """

    loc: Direction
    concentration: Nonnegative

    support = unit_vector
    statistic_names = ("x",)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        # 1 - loc · x as half a square does not cancel.
        chord = np.sum((x - self.loc) ** 2, axis=-1)
        dim = self.loc.shape[-1]
        return -0.5 * self.concentration * chord - log_normaliser(dim, self.concentration) - log_area(dim)

    def mean(self) -> Array:
        return np.expand_dims(self.resultant(), -1) * self.loc

    def var(self) -> Array:
        return np.linalg.diagonal(self.cov())

    def cov(self) -> Array:
        """The covariance matrix: A / k across the mean direction, along it 1 - (K - 1) A / k - A²."""
        dim, k, a = self.loc.shape[-1], self.concentration, self.resultant()
        across = np.where(k < 1e-9, 1 / dim, a / np.where(k < 1e-9, 1.0, k))
        along = 1 - (dim - 1) * across - a * a
        outer = np.expand_dims(self.loc, -1) * np.expand_dims(self.loc, -2)
        across, along = (np.expand_dims(v, (-2, -1)) for v in (across, along))
        return across * (np.eye(dim) - outer) + along * outer

    def resultant(self) -> Array:
        """A, the length of the mean: 1 + d/dk of the log-normaliser."""
        dim, k = self.loc.shape[-1], self.concentration
        return 1 + pushforward(lambda k: log_normaliser(dim, k), k)(np.ones(shape_of(k)))

    def entropy(self) -> Array:
        dim, k = self.loc.shape[-1], self.concentration
        return k * (1 - self.resultant()) + log_normaliser(dim, k) + log_area(dim)

    def mode(self) -> Array:
        return self.loc

    def exponential_form(self) -> ExponentialForm:
        dim, k = self.loc.shape[-1], self.concentration
        return ExponentialForm(
            lambda x: (x,), (np.expand_dims(k, -1) * self.loc,), k + log_normaliser(dim, k) + log_area(dim)
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        dim = self.loc.shape[-1]
        k = np.broadcast_to(np.asarray(self.concentration, float), shape)
        w = along(dim, k, rng)
        across = rng.standard_normal((*shape, dim))
        across = across - np.sum(across * self.loc, axis=-1, keepdims=True) * self.loc
        across = across / np.linalg.norm(across, axis=-1, keepdims=True)
        x = (1 - w)[..., None] * self.loc + np.sqrt(w * (2 - w))[..., None] * across
        return x / np.linalg.norm(x, axis=-1, keepdims=True)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The mean direction, and the concentration whose resultant is that of the observations."""
        inside = unit_vector.contains(x)
        if not np.all(inside):
            first = x[np.argmin(inside)].tolist()
            raise DataError(f"VonMisesFisher.fit: an observation must have length one, got {first}.")
        return cls.from_statistics(w @ x)

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        from scipy.optimize import brentq

        (mean,) = means
        length = float(np.linalg.norm(mean))
        if not 1e-12 < length < 1 - 1e-12:
            raise DataError(f"VonMisesFisher.fit found no maximum: the mean of the observations has length {length!r}.")
        loc = mean / length
        # Between bounds of Hornik & Grün (2014), generously.
        first = length * (len(loc) - 1) / (1 - length * length)
        k = brentq(lambda k: cls(loc, k).resultant() - length, 0.1 * first, 10 * first + 10, xtol=1e-13 * first)
        return cls(loc, float(k))


def log_normaliser(dim: int, k: Array) -> Array:
    """The log of the mean of exp(k (t - 1)) over uniform directions, t one coordinate: 0F1(dim / 2, k² / 4) exp(-k).

    It is Γ(b) (2 / k)^b k / 2 times the density of a noncentral chi-squared law (halved, with b = dim / 2) at its own
    noncentrality; for small k, where that is a ratio of small numbers, the power series.
    """
    b = 0.5 * dim
    half = 0.5 * np.where(k < 1, 1.0, k)
    large = noncentral.log_density(b, half, half) + float(gammaln(b)) - b * np.log(half)
    square = 0.25 * np.where(k < 1, k, 1.0) ** 2
    term: Array = 1.0
    for j in range(12, 0, -1):
        term = 1 + term * square / (j * (b + j - 1))
    return np.where(k < 1, np.log(term) - k, large)


def along(dim: int, k: Any, rng: np.random.Generator) -> Any:
    """1 - t for draws of t = loc · x, by rejection from a transformed beta variable."""
    n = dim - 1
    b = n / (2 * k + np.sqrt(4 * k * k + n * n))
    gap = 2 * b / (1 + b)  # one less the center of the envelope
    center = (1 - b) / (1 + b)
    w = np.empty(k.shape)
    todo = np.ones(k.shape, bool)
    while np.any(todo):
        z = rng.beta(0.5 * n, 0.5 * n, k.shape)
        candidate = 2 * b * z / (1 - (1 - b) * z)
        # log (1 - center t) - log (1 - center²), with t = 1 - candidate
        height = -k * (candidate - gap) + n * (np.log1p(center * (candidate - gap) / (1 - center * center)))
        accepted = todo & (height >= -rng.standard_exponential(k.shape))
        w[accepted] = candidate[accepted]
        todo &= ~accepted
    return w
