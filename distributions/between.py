"""Laws between two parameters: what families with ends `low` and `high` derive from."""

from __future__ import annotations

from typing import Any

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, interval
from probdiff.tree import Array

__all__ = ["Between"]


class Between(Continuous, abstract=True):
    """The support from `low` to `high`, fields that each family declares with their domains."""

    low: Any
    high: Any

    relation = "low < high"

    def related(self) -> Array:
        return self.low < self.high

    @property
    def support(self) -> Interval:
        return interval(self.low, self.high)
