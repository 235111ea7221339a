"""Masked: a distribution, some of whose values do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Bijector, bijector_for
from probdiff.distributions.support import Support, boolean
from probdiff.distributions.wrappers.combined import Combined
from probdiff.errors import UnsupportedError
from probdiff.tree import Array

__all__ = ["Masked"]


@dataclass(frozen=True, repr=False)
class Unless(Support):
    """A set, and whatever is where the mask is false."""

    base: Any = None
    mask: Any = True

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        return bool(self.base.discrete)

    @property
    def event_ndim(self) -> int:  # type: ignore[override]
        return int(self.base.event_ndim)

    def contains(self, x: Array) -> Array:
        return self.base.contains(x) | (self.mask == 0)

    def bijector(self) -> Bijector:
        """That of the set."""
        return bijector_for(self.base)


class Masked(Combined):
    """log p(x) where the mask is true, and 0 where it is false, whatever is there.

    base  any distribution
    mask  true or false for each value of the batch; broadcast against it

    Draws and moments are those of `base`.
    """

    base: Any
    mask: Annotated[Any, boolean]

    def check_parts(self) -> None:
        if not isinstance(self.base, Distribution):
            raise UnsupportedError(f"Masked takes a distribution, got {type(self.base).__name__}.")

    @property
    def event_shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.base.event_shape
        return shape

    @property
    def support(self) -> Support:
        ends = self.base.support
        return Unless("masked", ends.rule, ends.lower, ends.upper, ends, self.mask)

    def logpdf(self, x: Array) -> Array:
        return np.where(self.mask != 0, self.base.logpdf(x), 0.0)

    def mean(self) -> Array:
        return self.base.mean()

    def var(self) -> Array:
        return self.base.var()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.base.draw(shape, rng)
