"""Special functions that SciPy has but whose SciPy versions do not dispatch on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ops.functions import reductions
from probdiff.ops.incomplete_rows import log_betainc, log_betaincc, log_gammainc, log_gammaincc
from probdiff.ops.protocol import array
from probdiff.ops.special import polygamma
from probdiff.tree import Array


def logsumexp(a: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """log(sum(exp(a))) over axis, without overflow; -inf for an empty sum."""
    with np.errstate(divide="ignore"):
        return reductions.logsumexp(a if hasattr(a, "shape") else array(a), axis, keepdims)


def log_softmax(x: Array, axis: Any = None) -> Array:
    """log of softmax(x): x - logsumexp(x)."""
    return x - logsumexp(x, axis, keepdims=True)


def softmax(x: Array, axis: Any = None) -> Array:
    """exp(x) / sum(exp(x)) over axis, without overflow."""
    return np.exp(log_softmax(x, axis))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.logaddexp(0.0, x)


def log1mexp(x: Array) -> Array:
    """log(1 - exp(x)) for x <= 0, accurate at both ends (Maechler 2012)."""
    near = x > -0.6931471805599453
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(near, np.log(0.0 - np.expm1(x)), np.log1p(-np.exp(x)))


__all__ = [
    "log1mexp",
    "log_betainc",
    "log_betaincc",
    "log_gammainc",
    "log_gammaincc",
    "log_softmax",
    "logsumexp",
    "polygamma",
    "softmax",
    "softplus",
]
