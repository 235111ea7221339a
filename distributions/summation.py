"""Distribution functions of discrete families as sums of their masses, in logs and from the side that is small."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.implicit import number
from probdiff.distributions.quantiles import LOG_HALF
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.special import logsumexp
from probdiff.tree import Array, map_leaves

__all__ = ["log_lower", "log_upper", "masses", "pick", "tails"]


def masses(d: Any, log_mass: Any, first: Array, last: Array) -> tuple[Array, Array]:
    """The numbers first, …, last along a new last axis, and `log_mass(member, k)` there; -inf beyond `last`.

    UnsupportedError where the bounds are traced: they say how long the sum is.
    """
    first, last = number(first), number(last)
    if is_lifted(first) or is_lifted(last):
        raise UnsupportedError(
            f"{type(d).__name__}: a sum over its values is as long as the counts say, which must be plain numbers, "
            "not compiled arguments."
        )
    count = int(np.max(last - first, initial=0)) + 1
    k = np.expand_dims(first, -1) + np.arange(float(count))
    member = map_leaves(lambda leaf: np.expand_dims(leaf, -1), d)
    return k, np.where(k <= np.expand_dims(last, -1), log_mass(member, k), -np.inf)


def tails(k: Array, mass: Array, x: Array) -> tuple[Array, Array]:
    """log P(X <= x) and log P(X > x) from the log-masses at the values `k` along the last axis."""
    beyond = k > np.expand_dims(x, -1)
    lower = logsumexp(np.where(beyond, -np.inf, mass), axis=-1)
    upper = logsumexp(np.where(beyond, mass, -np.inf), axis=-1)
    below = lower < LOG_HALF
    return np.where(below, lower, np.log1p(-np.exp(upper))), np.where(below, np.log1p(-np.exp(lower)), upper)


def log_lower(d: Any, x: Array) -> Array:
    """log P(X <= x) of a family with bounded support, by the sum of its masses."""
    return tails(*_all_masses(d), x)[0]


def log_upper(d: Any, x: Array) -> Array:
    """log P(X > x) of a family with bounded support, by the sum of its masses."""
    return tails(*_all_masses(d), x)[1]


def _all_masses(d: Any) -> tuple[Array, Array]:
    return masses(d, lambda member, k: member.logpdf(k), d.support.lower, d.support.upper)


def pick(values: Array, k: Array) -> Array:
    """`values` along the last axis, each at its own whole number `k`; 0 where there is none."""
    count = values.shape[-1]
    if not is_lifted(k) and values.ndim == 1:
        # Plain labels make a gather; those being traced cannot index.
        return values[np.clip(np.nan_to_num(k), 0, count - 1).astype(np.intp)]
    return np.sum(np.where(np.expand_dims(k, -1) == np.arange(count), values, 0.0), axis=-1)
