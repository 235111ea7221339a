"""The layout of a model's random variables in one flat vector of unconstrained coordinates."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.models.dimensions import Coords, dimensions_of, family, shape_of
from probdiff.models.transport import bijector_of
from probdiff.tree import Array

Shape = tuple[int, ...]
# A label longer than this makes a table of coordinates unreadable; the index stands in.
LONGEST_LABEL = 12


@dataclass(frozen=True)
class Slot:
    """One random variable: what it is, and which coordinates of the flat vector are its own."""

    name: str
    family: str
    support: str
    discrete: bool
    shape: Shape
    dims: tuple[str | None, ...]
    unconstrained_shape: Shape
    start: int

    @property
    def size(self) -> int:
        """Number of coordinates in `q`."""
        return math.prod(self.unconstrained_shape)

    @property
    def stop(self) -> int:
        """The coordinate after its last."""
        return self.start + self.size

    def read(self, q: Array) -> Array:
        """This variable's part of `q` (coordinates along the last axis of a vector), in its own shape."""
        if self.unconstrained_shape == ():
            return q[self.start]
        part = q[self.start : self.stop]
        return part if len(self.unconstrained_shape) == 1 else np.reshape(part, self.unconstrained_shape)

    def coordinate_names(self, coords: Coords) -> list[str]:
        """`tau`, `theta[3]`, or `theta[Choate]` where the dimension has short labels that are text."""
        if self.unconstrained_shape == ():
            return [self.name]
        whole = self.unconstrained_shape == self.shape
        axes = [
            labels(coords.get(dim or "") if whole else None, length)
            # A matrix has fewer axes of coordinates than of entries.
            for dim, length in zip(self.dims, self.unconstrained_shape, strict=False)
        ]
        return [f"{self.name}[{','.join(index)}]" for index in itertools.product(*axes)]


class Layout:
    """Slots in the order in which variables are evaluated."""

    def __init__(self) -> None:
        self.slots: dict[str, Slot] = {}
        self.dim = 0

    def add(self, name: str, distribution: Distribution, dims: tuple[str | None, ...] | None = None) -> None:
        """Append a variable. A discrete one takes no coordinates: nothing moves it."""
        shape = shape_of(distribution)
        discrete = bool(distribution.support.discrete)
        unconstrained = (0,) if discrete else bijector_of(distribution).unconstrained_shape(shape)
        slot = Slot(
            name=name,
            family=family(distribution),
            support=distribution.support.name,
            discrete=discrete,
            shape=shape,
            dims=dimensions_of(distribution) if dims is None else dims,
            unconstrained_shape=unconstrained,
            start=self.dim,
        )
        self.slots[name] = slot
        self.dim = slot.stop


def labels(given: np.ndarray | None, length: int) -> list[str]:
    """Short text labels as they are, otherwise indices from zero."""
    texts = [] if given is None or given.dtype.kind not in "US" else [str(label) for label in given]
    short = bool(texts) and all(len(text) <= LONGEST_LABEL for text in texts)
    return texts if short else [str(index) for index in range(length)]
