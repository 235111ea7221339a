"""Log-mass and log-tails of the difference of two Poisson variables, without cancellation."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.special import gammaln

from probdiff.distributions.stable import HALF_LOG_2PI, deviance
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.tree import Array

__all__ = ["log_mass", "log_tail"]

Numbers = np.ndarray[Any, Any]
FAR = 40.0  # from here on twelve terms of Debye's expansion are exact to rounding
CHUNK = 1_000_000


def log_mass(k: Array, m1: Array, m2: Array) -> Array:
    """log P(X1 - X2 = k), X1 and X2 being Poisson with means m1 and m2.

    Given the difference, the two are likely to be near a and b, with a - b = k and a b = m1 m2. By Debye's expansion of
    the Bessel function (DLMF 10.41.3), with h = a + b and p = |k| / h, the mass is
    exp(-deviance(a, m1) - deviance(b, m2)) Σ_j u_j(p²) / h^j / √(2π h).
    """
    order = abs(k)
    h = np.hypot(order, 2 * np.sqrt(m1) * np.sqrt(m2))
    more = 0.5 * (h + order)
    fewer = m1 * m2 / more
    a, b = np.where(k < 0, fewer, more), np.where(k < 0, more, fewer)
    square = (order / h) ** 2
    expansion: Any = 0.0
    for polynomial in reversed(_debye()):
        expansion = expansion / h + functools.reduce(lambda total, c: total * square + c, reversed(polynomial))
    far = np.log(expansion) - deviance(a, m1) - deviance(b, m2) - 0.5 * np.log(h) - HALF_LOG_2PI
    # Else the sum over the smaller of the two, whose terms are positive.
    near = h < FAR
    product: Array = np.where(near, m1 * m2, 1.0)
    term: Any = 1.0
    total: Any = 0.0  # but for the first term, which is one
    for j in range(1, 65):
        term = term * (product / (j * (order + j)))
        total = total + term
    series = order * np.log(np.where(k < 0, m2, m1)) - gammaln(order + 1) - m1 - m2 + np.log1p(total)
    return np.where(near, series, far)


@functools.cache
def _debye() -> tuple[tuple[float, ...], ...]:
    """The coefficients of u_j in p²: U_j(p) = p^j u_j(p²) (DLMF 10.41.9), j = 0, …, 12."""
    U = np.polynomial.Polynomial([1.0])
    found = []
    for j in range(13):
        found.append(tuple(float(c) for c in U.coef[j::2]))
        p2 = np.polynomial.Polynomial([0.0, 0.0, 1.0])
        U = 0.5 * p2 * (1 - p2) * U.deriv() + ((1 - 5 * p2) * U).integ() / 8
    return tuple(found)


def log_tail(side: str, k: Array, m1: Array, m2: Array) -> Array:
    """log P(X1 - X2 <= k), the "lower", or log P(X1 - X2 > k), the "upper" tail.

    One more event of X1 moves P(X <= k) by -P(X = k), one of X2 by P(X = k + 1): the derivatives in the means.
    """
    return apply(_tail(side), k, m1, m2)


@functools.cache
def _tail(side: str) -> Elementwise:
    sign = 1.0 if side == "lower" else -1.0

    def evaluate(k: Any, m1: Any, m2: Any) -> Any:
        return _sums(side, k, m1, m2)

    def dm1(k: Array, m1: Array, m2: Array, z: Array) -> Array:
        return -sign * np.exp(log_mass(k, m1, m2) - z)

    def dm2(k: Array, m1: Array, m2: Array, z: Array) -> Array:
        return sign * np.exp(log_mass(k + 1, m1, m2) - z)

    return Elementwise(f"skellam_{side}", evaluate, (None, dm1, dm2))


def _sums(side: str, k: Any, m1: Any, m2: Any) -> Any:
    k, m1, m2 = np.broadcast_arrays(k, m1, m2)
    shape, dtype = k.shape, np.result_type(k, m1, m2)
    k, m1, m2 = (np.ravel(v).astype(float) for v in (k, m1, m2))
    result = np.empty(k.shape)
    with np.errstate(all="ignore"):
        spread = np.sqrt(m1 + m2)
        # The tail on the side of k away from the mean; its terms fall from the first on.
        below = k < m1 - m2
        terms = int(12 * np.max(spread, initial=0.0, where=np.isfinite(spread))) + 100
        rows = max(1, CHUNK // terms)
        for i in range(0, k.size, rows):
            part = slice(i, i + rows)
            steps = np.arange(float(terms))
            at = np.where(below[part, None], k[part, None] - steps, k[part, None] + 1 + steps)
            logs = log_mass(at, m1[part, None], m2[part, None])
            top = np.max(logs, axis=-1)
            result[part] = top + np.log(np.sum(np.exp(logs - top[:, None]), axis=-1))
        result = np.where(np.isnan(k) | np.isnan(spread), np.nan, np.where(np.isinf(k), -np.inf, result))
        rest = np.where(result > -0.7, np.log(-np.expm1(result)), np.log1p(-np.exp(result)))
        value = np.where(below == (side == "lower"), result, rest)
    return value.reshape(shape).astype(dtype)[()]
