"""Flat: the improper prior that prefers nothing."""

from __future__ import annotations

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Support, real
from probdiff.tree import Array


class Flat(Continuous):
    """p(x) = 1 on the support: an improper density, with nothing to draw or integrate.

    support  any support, the real line unless given
    """

    support: Support = real

    def logpdf(self, x: Array) -> Array:
        return 0.0
