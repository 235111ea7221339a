"""Domains of the matrices that describe series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from probdiff.distributions.bijectors import Bijector, Identity
from probdiff.distributions.support import Support
from probdiff.tree import Array

__all__ = ["RealMatrix", "StochasticMatrix", "real_matrix"]


@dataclass(frozen=True, repr=False)
class Matrices(Support):
    """Matrices (last two axes) of finite numbers."""

    event_ndim: ClassVar[int] = 2

    def contains(self, x: Array) -> Array:
        return np.all(abs(x) < np.inf, axis=(-2, -1))

    def bijector(self) -> Bijector:
        """The identity."""
        return Identity()


@dataclass(frozen=True, repr=False)
class StochasticMatrices(Support):
    """Matrices (last two axes) whose rows are probabilities."""

    event_ndim: ClassVar[int] = 2
    tolerance: ClassVar[float] = 1e-5

    def contains(self, x: Array) -> Array:
        rows = np.all(abs(np.sum(x, axis=-1) - 1) <= self.tolerance, axis=-1)
        return rows & np.all(x >= 0, axis=(-2, -1))


real_matrix = Matrices("real_matrix", "finite")
stochastic_matrix = StochasticMatrices("stochastic_matrix", "a matrix whose rows are probabilities")

RealMatrix = Annotated[Any, real_matrix]
StochasticMatrix = Annotated[Any, stochastic_matrix]
