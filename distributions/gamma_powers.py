"""Tails of powers and logs of gamma variables, whose own value may be too small for a number.

Below r = 1e-20 the regularised incomplete gamma function P(a, r) is its leading term r^a / Γ(a + 1), to rounding.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from probdiff.special import log1mexp, log_gammainc, log_gammaincc
from probdiff.tree import Array

__all__ = ["log_lower_gamma", "log_upper_gamma"]

SMALL = 1e-20


def log_lower_gamma(a: Array, r: Array, log_power: Array) -> Array:
    """log P(a, r), given also a log r, because r may have underflowed."""
    return np.where(r < SMALL, log_power - gammaln(a + 1), log_gammainc(a, r))


def log_upper_gamma(a: Array, r: Array, log_power: Array) -> Array:
    """log(1 - P(a, r)), given also a log r."""
    return np.where(r < SMALL, log1mexp(np.minimum(log_power - gammaln(a + 1), 0.0)), log_gammaincc(a, r))
