"""Transformed: a smooth, one-to-one function of a random value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Affine, Bijector, Positive, Shape, bijector_for
from probdiff.distributions.parameters import parameter
from probdiff.distributions.support import Interval, Support, positive, real
from probdiff.distributions.wrappers.combined import Combined, name_of
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten, map_leaves

__all__ = ["Image", "Inverse", "Negated", "Transformed", "affine", "exp_of", "log_of", "negated"]


@dataclass(frozen=True)
class Inverse(Bijector):
    """The way back of a bijector: x = b⁻¹(u)."""

    bijector: Bijector

    def forward(self, u: Array) -> Array:
        return self.bijector.inverse(u)

    def inverse(self, x: Array) -> Array:
        return self.bijector.forward(x)

    def log_jacobian(self, u: Array) -> Array:
        return -self.bijector.log_jacobian(self.bijector.inverse(u))


@dataclass(frozen=True)
class Negated(Bijector):
    """x = -u."""

    rises = False

    def forward(self, u: Array) -> Array:
        return -u

    def inverse(self, x: Array) -> Array:
        return -x

    def log_jacobian(self, u: Array) -> Array:
        return np.zeros_like(u)


@dataclass(frozen=True)
class Chain(Bijector):
    """One bijector after another, of vectors: x = second(first(u))."""

    first: Bijector
    second: Bijector

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return self.first.unconstrained_shape(self.second.unconstrained_shape(shape))

    def forward(self, u: Array) -> Array:
        return self.second.forward(self.first.forward(u))

    def inverse(self, x: Array) -> Array:
        return self.first.inverse(self.second.inverse(x))

    def log_jacobian(self, u: Array) -> Array:
        middle = self.first.forward(u)
        first, second = self.first.log_jacobian(u), self.second.log_jacobian(middle)
        return per_vector(first, u) + per_vector(second, middle)


def per_vector(volume: Array, u: Array) -> Array:
    """The log-Jacobian of a vector: the sum of those of its entries, where the bijector is one of numbers."""
    return np.sum(volume, axis=-1) if volume.ndim == u.ndim else volume


@dataclass(frozen=True, repr=False)
class Image(Support):
    """The vectors or matrices that a bijector makes of those in another set; of one kind with the bijector's range."""

    base: Any = None
    through: Any = None

    @property
    def event_ndim(self) -> int:  # type: ignore[override]
        return int(self.base.event_ndim)

    def contains(self, x: Array) -> Array:
        u = self.through.inverse(x)
        return self.base.contains(np.where(abs(u) < np.inf, u, np.nan))

    def bijector(self) -> Chain:
        """From unconstrained vectors through the other set to this one."""
        return Chain(bijector_for(self.base), self.through)


class Transformed(Combined):
    """p(x) = q(u) |du/dx|,  x = b(u).

    base      the distribution of u, of numbers or vectors; its density is q
    bijector  b, of `probdiff.distributions.bijectors` or with the same methods; one that falls says `rises = False`

    Distribution function, inverses and median are there for numbers.
    """

    base: Any
    bijector: Any

    def check_parts(self) -> None:
        if not isinstance(self.base, Distribution):
            raise UnsupportedError(f"Transformed takes a distribution, got {type(self.base).__name__}.")
        if self.base.support.discrete:
            raise UnsupportedError(f"Transformed: {name_of(self.base)} is discrete, and has no density.")

    def valid(self) -> Array:
        ok = super().valid()
        moved = isinstance(self.bijector, Affine) and is_lifted(self.bijector.scale)
        return (self.bijector.scale > 0) & ok if moved else ok

    @property
    def batch_shape(self) -> tuple[int, ...]:
        shapes = [getattr(leaf, "shape", ()) for leaf in flatten(self.bijector)[0]]
        event = len(self.base.event_shape)
        return np.broadcast_shapes(self.base.batch_shape, *(s[: len(s) - event] for s in shapes))

    @property
    def event_shape(self) -> tuple[int, ...]:
        if not self.base.event_shape:
            return ()
        return np.shape(self.bijector.forward(np.zeros(self.base.event_shape)))

    @property
    def support(self) -> Support:
        ends = self.base.support
        if ends.event_ndim:
            return Image("image", "in the range of the bijector", base=ends, through=self.bijector)
        first, last = self._end(ends.lower), self._end(ends.upper)
        lower, upper = (first, last) if self._rises() else (last, first)
        return Interval("interval", "in the interval", lower, upper)

    def logpdf(self, x: Array) -> Array:
        u = self.bijector.inverse(x)
        volume = self.bijector.log_jacobian(u)
        event = len(self.base.event_shape)
        if event and getattr(volume, "ndim", 0) == getattr(u, "ndim", 0):
            volume = np.sum(volume, axis=tuple(range(-event, 0)))
        height = self.base.logpdf(u)
        # Where u has overflowed there is no density left, whatever the volume.
        return np.where(height > -np.inf, height - volume, -np.inf)

    def cdf(self, x: Array) -> Array:
        return self._tail("cdf", "ccdf")(self._source(x))

    def ccdf(self, x: Array) -> Array:
        return self._tail("ccdf", "cdf")(self._source(x))

    def logcdf(self, x: Array) -> Array:
        return self._tail("logcdf", "logccdf")(self._source(x))

    def logccdf(self, x: Array) -> Array:
        return self._tail("logccdf", "logcdf")(self._source(x))

    def quantile(self, p: Array) -> Array:
        return self.bijector.forward(self._tail("quantile", "cquantile")(p))

    def cquantile(self, p: Array) -> Array:
        return self.bijector.forward(self._tail("cquantile", "quantile")(p))

    def kinks(self) -> tuple[Array, ...]:
        return tuple(self.bijector.forward(kink) for kink in self.base.kinks())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.bijector.forward(self.base.draw(shape, rng))

    def _rises(self) -> bool:
        return getattr(self.bijector, "rises", True)

    def _source(self, x: Array) -> Array:
        if self.base.event_shape:
            raise self._unsupported("distribution function")
        return self.bijector.inverse(x)

    def _tail(self, rising: str, falling: str) -> Any:
        return getattr(self.base, rising if self._rises() else falling)

    def _end(self, bound: Any) -> Any:
        """The image of an end of the support of u; a plain infinity where it is one whatever the parameters."""
        with np.errstate(all="ignore"):
            if not is_lifted(bound) and np.ndim(bound) == 0:
                # Whether an end goes to infinity hangs on no parameter of a bijector: ones will do to see it.
                sample = self.bijector.forward(np.float64(bound))
                if is_lifted(sample):
                    sample = map_leaves(lambda leaf: 1.0, self.bijector).forward(np.float64(bound))
                if np.ndim(sample) == 0 and np.isinf(sample):
                    return float(sample)
            return self.bijector.forward(bound)


def affine(base: Distribution, loc: Any = 0.0, scale: Any = 1.0) -> Transformed:
    """The law of loc + scale X, X having the law of `base`; ParameterError unless scale is positive."""
    loc, scale = parameter("affine", "loc", loc, real), parameter("affine", "scale", scale, positive)
    return Transformed(base, Affine(loc, scale))


def negated(base: Distribution) -> Transformed:
    """The law of -X."""
    return Transformed(base, Negated())


def exp_of(base: Distribution) -> Transformed:
    """The law of exp(X)."""
    return Transformed(base, Positive())


def log_of(base: Distribution) -> Transformed:
    """The law of log(X), for a distribution of positive numbers."""
    if not is_lifted(base.support.lower) and np.any(np.asarray(base.support.lower) < 0):
        raise UnsupportedError(f"log_of: {name_of(base)} is not a distribution of positive numbers.")
    return Transformed(base, Inverse(Positive()))
