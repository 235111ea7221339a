"""Product: independent values of different distributions, side by side in a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from probdiff.distributions.bijectors import Bijector, bijector_for
from probdiff.distributions.support import Support
from probdiff.distributions.wrappers.combined import Combined, check_components
from probdiff.tree import Array

__all__ = ["Product", "SideBySide"]


@dataclass(frozen=True, repr=False)
class Sets(Support):
    """Vectors (last axis) each of whose entries is in a set of its own; one set with arrays of bounds, or several."""

    event_ndim: ClassVar[int] = 1
    parts: tuple[Support, ...] = ()

    def contains(self, x: Array) -> Array:
        if len(self.parts) == 1:
            return np.all(self.parts[0].contains(x), axis=-1)
        inside = self.parts[0].contains(x[..., 0])
        for j, part in enumerate(self.parts[1:], start=1):
            inside = inside & part.contains(x[..., j])
        return inside

    def bijector(self) -> Bijector:
        """The bijectors of the entries."""
        if len(self.parts) == 1:
            return Summed(bijector_for(self.parts[0]))
        return SideBySide(tuple(bijector_for(part) for part in self.parts))


@dataclass(frozen=True)
class Summed(Bijector):
    """A bijector of numbers as one of vectors."""

    bijector: Bijector

    def forward(self, u: Array) -> Array:
        return self.bijector.forward(u)

    def inverse(self, x: Array) -> Array:
        return self.bijector.inverse(x)

    def log_jacobian(self, u: Array) -> Array:
        return np.sum(self.bijector.log_jacobian(u), axis=-1)


@dataclass(frozen=True)
class SideBySide(Bijector):
    """Bijectors of numbers, one for each entry of a vector."""

    parts: tuple[Bijector, ...]

    def forward(self, u: Array) -> Array:
        return np.stack([part.forward(u[..., j]) for j, part in enumerate(self.parts)], axis=-1)

    def inverse(self, x: Array) -> Array:
        return np.stack([part.inverse(x[..., j]) for j, part in enumerate(self.parts)], axis=-1)

    def log_jacobian(self, u: Array) -> Array:
        return sum(part.log_jacobian(u[..., j]) for j, part in enumerate(self.parts))


class DiscreteSets(Sets):
    """The same, of whole numbers, or of some whole and some real numbers."""

    discrete: ClassVar[bool] = True


class Product(Combined):
    """p(x) = Π_j p_j(x_j).

    components  a distribution whose last batch axis becomes the axis of the vector; or a tuple of distributions
    """

    components: Any

    trailing = {"components": 1}

    def check_parts(self) -> None:
        check_components("Product", self.components)
        for part in self.components if isinstance(self.components, tuple) else (self.components,):
            self.refuse_unless(part)

    @property
    def event_shape(self) -> tuple[int, ...]:
        tuples = isinstance(self.components, tuple)
        return (len(self.components),) if tuples else self.components.batch_shape[-1:]

    @property
    def support(self) -> Support:
        whole = self.components if isinstance(self.components, tuple) else (self.components,)
        parts = tuple(part.support for part in whole)
        kind = DiscreteSets if any(part.discrete for part in parts) else Sets
        return kind("sets", ", ".join(dict.fromkeys(part.rule for part in parts)), parts=parts)

    def logpdf(self, x: Array) -> Array:
        if not isinstance(self.components, tuple):
            return np.sum(self.components.logpdf(x), axis=-1)
        return sum(part.logpdf(x[..., j]) for j, part in enumerate(self.components))

    def mean(self) -> Array:
        return self._each("mean")

    def var(self) -> Array:
        return self._each("var")

    def mode(self) -> Array:
        return self._each("mode")

    def entropy(self) -> Array:
        if not isinstance(self.components, tuple):
            return np.sum(self.components.entropy(), axis=-1)
        return sum(part.entropy() for part in self.components)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        if not isinstance(self.components, tuple):
            return self.components.draw(shape + self.event_shape, rng)
        return np.stack([np.asarray(part.draw(shape, rng)) for part in self.components], axis=-1)

    def _each(self, name: str) -> Array:
        if not isinstance(self.components, tuple):
            return getattr(self.components, name)()
        return np.stack([np.broadcast_to(getattr(part, name)(), self.batch_shape) for part in self.components], axis=-1)
