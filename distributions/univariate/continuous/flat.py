"""Flat: the improper prior that prefers nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Support, real
from probdiff.errors import ParameterError
from probdiff.tree import Array


class Flat(Continuous):
    """p(x) = 1 on the support: an improper density, with nothing to draw or integrate.

    support  any continuous support, the real line unless given; its bounds may be other variables
    size     K, for a support of vectors of K numbers or of K by K matrices

    No term is added for the width of the support: with bounds that are variables, this is not `Uniform`.
    """

    support: Support = real
    size: Any = None

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        vectors = self.support.event_ndim > 0
        if vectors != (self.size is not None):
            rule = "must be the number of coordinates" if vectors else "is for vectors and matrices"
            fix = "" if vectors else " Use iid for several numbers."
            raise ParameterError(f"Flat.size {rule} for the support {self.support.name}, got {self.size!r}.{fix}")
        if vectors and (isinstance(self.size, bool) or not isinstance(self.size, (int, np.integer)) or self.size < 1):
            raise ParameterError(f"Flat.size must be a positive integer, got {self.size!r}")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        bounds = (getattr(bound, "shape", ()) for bound in (self.support.lower, self.support.upper))
        return np.broadcast_shapes(*bounds)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.size),) * self.support.event_ndim if self.size is not None else ()

    def logpdf(self, x: Array) -> Array:
        return 0.0
