"""HalfFlat: the improper prior that prefers no positive number."""

from __future__ import annotations

from probdiff.distributions.support import Support, positive
from probdiff.distributions.univariate.continuous.flat import Flat


class HalfFlat(Flat):
    """p(x) = 1,  x > 0: an improper density, `Flat(positive)`."""

    support: Support = positive
