"""IID: independent values of one distribution along new event axes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.tree import Array, register

__all__ = ["IID"]


@dataclass(frozen=True, eq=False, repr=False)
class IID(Distribution, abstract=True):
    """log p(x) = Σ_i log p(x_i) over the event axes.

    base   the distribution of one value
    sizes  the lengths of the event axes; a string is the name of a coordinate, which `resolve` turns into a length

    A value has shape batch_shape + sizes + base.event_shape. `support` is that of one value.
    """

    base: Any
    sizes: tuple[int | str, ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            if not isinstance(size, str) and (not isinstance(size, (int, np.integer)) or size < 0):
                raise ParameterError(f"iid: a size must be a nonnegative integer or a name, got {size!r}")

    def resolve(self, sizes: dict[str, int]) -> IID:
        """The same with lengths in place of the names found in `sizes`."""
        return replace(self, sizes=tuple(sizes.get(s, s) if isinstance(s, str) else s for s in self.sizes))

    @property
    def support(self) -> Any:
        return self.base.support

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return tuple(self.base.batch_shape)

    @property
    def event_shape(self) -> tuple[int, ...]:
        unknown = [size for size in self.sizes if isinstance(size, str)]
        if unknown:
            raise ShapeError(f"iid: the length of {unknown[0]!r} is not known. Give it as a coordinate of the model.")
        return tuple(int(size) for size in self.sizes) + tuple(self.base.event_shape)

    def logpdf(self, x: Array) -> Array:
        """The sum of the log-densities; the event axes of `x` must have the lengths of the distribution's."""
        count, inner = len(self.sizes), len(self.base.event_shape)
        x = x if hasattr(x, "shape") else np.asarray(x)
        axes = x.shape[x.ndim - count - inner : x.ndim - inner] if x.ndim >= count + inner else None
        if axes is None or any(s != a for s, a in zip(self.sizes, axes, strict=True) if not isinstance(s, str)):
            expected = ", ".join(["...", *map(str, (*self.sizes, *self.base.event_shape))])
            raise ShapeError(f"iid: a value must have shape ({expected}), got {x.shape}")
        if not self.batch_shape:
            return np.sum(self.base.logpdf(x), axis=tuple(range(-count, 0)))
        # The base's parameters line up with the trailing axes, so the event axes step aside to the front.
        source = tuple(range(x.ndim - count - inner, x.ndim - inner))
        return np.sum(self.base.logpdf(np.moveaxis(x, source, range(count))), axis=tuple(range(count)))

    def mean(self) -> Array:
        return self._spread(self.base.mean())

    def var(self) -> Array:
        return self._spread(self.base.var())

    def mode(self) -> Array:
        return self._spread(self.base.mode())

    def entropy(self) -> Array:
        count = math.prod(self.event_shape[: len(self.sizes)])
        return count * self.base.entropy()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        count, inner = len(self.sizes), len(self.base.event_shape)
        lead = self.event_shape[:count]
        drawn = np.asarray(self.base.draw(lead + shape, rng))
        return np.moveaxis(drawn, range(count), range(drawn.ndim - count - inner, drawn.ndim - inner))

    def _spread(self, value: Array) -> Array:
        """A value of the base, repeated along the event axes."""
        batch = self.batch_shape
        for _ in self.sizes:
            value = np.expand_dims(value, len(batch))
        return np.broadcast_to(value, batch + self.event_shape)

    def iid(self, *sizes: int | str) -> IID:
        raise UnsupportedError("iid: give all sizes at once, d.iid(m, n)")

    def __repr__(self) -> str:
        return f"{self.base!r}.iid({', '.join(repr(size) for size in self.sizes)})"


register(IID, ("base",), ("sizes",))
