"""Uniform direction: points on the sphere that favour no direction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.support import unit_vector
from probdiff.errors import ParameterError
from probdiff.tree import Array


class UniformDirection(Multivariate):
    """p(x) = Γ(dim / 2) / (2 π^(dim / 2)),  |x| = 1: one over the area of the sphere.

    dim  integer, at least 2: coordinates of x

    Mardia & Jupp, Directional Statistics, section 9.3.1.
    """

    dim: int

    support = unit_vector

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        if isinstance(self.dim, bool) or not isinstance(self.dim, (int, np.integer)) or self.dim < 2:
            shown = self.dim.item() if isinstance(self.dim, np.generic) else self.dim
            raise ParameterError(f"UniformDirection.dim must be an integer of at least 2, got {shown!r}")

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.dim),)

    def logpdf(self, x: Array) -> Array:
        return -log_area(self.dim)

    def mean(self) -> Array:
        return 0.0

    def var(self) -> Array:
        return 1 / self.dim

    def entropy(self) -> Array:
        return log_area(self.dim)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = rng.standard_normal((*shape, int(self.dim)))
        return z / np.linalg.norm(z, axis=-1, keepdims=True)


def log_area(dim: int) -> float:
    """The log of the area of the unit sphere in `dim` dimensions."""
    return math.log(2) + 0.5 * dim * math.log(math.pi) - math.lgamma(0.5 * dim)
