"""Chi-squared with noncentrality, as a Poisson mixture of central ones: log-density and both log-tails.

With a = df / 2, m = noncentrality / 2 and y = x / 2, Y = X / 2 is a gamma variable of shape a + J, J ~ Poisson(m).
Summed by parts, with t_i = y^(a + i) exp(-y) / Γ(a + i + 1),

    P(Y <= y) = Σ_i t_i P(J <= i),    P(Y > y) = Q(a, y) + Σ_i t_i P(J > i),

in which the degrees of freedom appear in elementary terms only, and all terms are positive.

Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 29.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, xlogy

from probdiff.distributions.log_sums import log_series
from probdiff.distributions.stable import LARGE, gamma_log_kernel
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.ops.incomplete import log_gamma_tail
from probdiff.special import log1mexp, log_gammaincc
from probdiff.tree import Array

__all__ = ["log_density", "log_poisson", "log_tails"]

TINY = 1e-300  # in place of a mean of zero: the terms of J > 0 vanish, their derivatives do not


def log_kernel(a: Array, y: Array) -> Array:
    """log [y^a exp(-y) / Γ(a + 1)], a >= 0."""
    far = np.where(a < LARGE, LARGE, a)
    return np.where(a < LARGE, xlogy(a, y) - y - gammaln(a + 1), gamma_log_kernel(far, y) - np.log(far))


def log_poisson(j: Array, m: Array) -> Array:
    """log [m^j exp(-m) / j!], also at m = 0, where the derivatives are those of the limit."""
    return log_kernel(j, m + TINY)


def _poisson_tail(i: Any, m: Any, below: Any) -> Any:
    """log P(J <= i) where `below`, else log P(J > i)."""
    shape = np.broadcast_shapes(np.shape(i), np.shape(m), np.shape(below))
    i, m, below = (np.broadcast_to(v, shape) for v in (i + 1.0, m + TINY, below))
    result = np.empty(shape, np.result_type(i, m))
    for chosen, function, upper in ((below, gammaincc, True), (~below, gammainc, False)):
        tail = np.asarray(function(i[chosen], m[chosen]))
        log_tail = np.log(tail)
        small = tail < 1e-280
        log_tail[small] = log_gamma_tail(0, upper, i[chosen][small], m[chosen][small])
        result[chosen] = log_tail
    return result


def _poisson_slope(i: Array, m: Array, below: Array, z: Array) -> Array:
    share = np.exp(log_poisson(i, m) - z)
    return np.where(below, -share, share)


POISSON_TAIL = Elementwise("log_poisson_tail", _poisson_tail, (None, _poisson_slope, None))


def log_density(a: Array, m: Array, y: Array) -> Array:
    """The log-density of Y times y; y > 0."""
    return log_series(_density_term, _largest, a, m, y)


def log_tails(a: Array, m: Array, y: Array) -> tuple[Array, Array]:
    """log P(Y <= y) and log P(Y > y); y > 0. The one on whose side of the mean y lies is summed."""
    below = y < a + m
    series = log_series(_tail_term, _largest, a, m, y)
    tail = np.where(below, series, np.logaddexp(np.where(below, 0.0, log_gammaincc(a, y)), series))
    rest = log1mexp(tail)
    return np.where(below, tail, rest), np.where(below, rest, tail)


def _density_term(j: Array, a: Array, m: Array, y: Array) -> Array:
    return log_poisson(j, m) + log_kernel(a + j, y) + np.log(a + j)


def _tail_term(i: Array, a: Array, m: Array, y: Array) -> Array:
    return log_kernel(a + i, y) + apply(POISSON_TAIL, i, m, y < a + m)


def _largest(a: Array, m: Array, y: Array) -> Array:
    """j with j (a + j) = m y: the largest term of the density, and about that of the tails."""
    return 2 * m * y / (a + np.sqrt(a * a + 4 * m * y))
