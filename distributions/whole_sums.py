"""Logs of sums over consecutive whole numbers of positive terms, from few of them, differentiable to any order.

The numbers are cut into blocks that double in length away from both ends. In each, SIZE numbers with weights stand for
all: Gauss's rule for whole numbers, exact where the terms are a polynomial of degree 2 SIZE - 1, which smooth terms are
to rounding on a block no longer than its distance from the end. Blocks whose terms are below 1e-17 of the largest are
left out. The sum is elementwise; derivatives are those of the terms.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.distributions.log_sums import DEPTH, plain_numbers, row_of_total
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.special import logsumexp
from probdiff.tree import Array

__all__ = ["log_sum"]

SINGLE = 32  # numbers next to an end, each a term of its own
SIZE = 16
LONGEST = 48  # doublings: 2^53 is the last whole number
CHECKED = np.array([0.0, 0.5, 1.0])  # of a block

Function = Callable[..., Any]


def log_sum(height: Function, first: Array, last: Array, *args: Array) -> Array:
    """log Σ_k exp(height(k, *args)) over whole k from `first` to `last`, which may be infinite; -inf if there is none.

    `height` is a function of the module level, of traceable operations, smooth in k, without a maximum that is narrow
    and far from both ends: cut the sum there. No derivative in the ends.
    """
    return apply(_row(height), first, last, *args)


@functools.cache
def _row(height: Function) -> Elementwise:
    def total(first: Array, last: Array, *args: Array) -> Array:
        first, last, *numbers = (np.asarray(v, float) for v in plain_numbers((first, last, *args)))
        k, log_weight = _terms(lambda k: height(k, *numbers), first, last)
        # In double precision, as the whole numbers may need it.
        terms = height(k, *(a * np.float64(1) for a in args))
        return logsumexp(np.where(log_weight > -np.inf, terms + log_weight, -np.inf), axis=0)

    return row_of_total(f"log_sum_of_{height.__name__}", total, (0,) * (height.__code__.co_argcount + 1), constants=2)


def _terms(at: Function, first: Any, last: Any) -> tuple[Any, Any]:
    """Whole or real numbers along a new first axis, and the logs of their weights."""
    count = np.maximum(last - first + 1, 0.0)
    endless = np.isinf(last)
    upper = np.where(endless, np.inf, np.ceil(0.5 * count))
    lower = np.where(endless, 0.0, count - upper)
    offset, weight = _offsets(at, first, 1.0, upper)
    back, back_weight = _offsets(at, np.where(endless, first, last), -1.0, lower)
    k = np.concatenate([first + offset, np.where(endless, first, last) - back])
    log_weight = np.log(np.concatenate([weight, back_weight]))
    return np.where(log_weight > -np.inf, k, first), log_weight


def _offsets(at: Function, end: Any, sign: float, count: Any) -> tuple[Any, Any]:
    """Distances from `end` and weights that stand for `count` numbers."""
    column = (-1,) + (1,) * end.ndim
    single = np.arange(float(min(SINGLE, np.max(count, initial=0.0)))).reshape(column) + 0 * end
    offsets, weights = [single], [np.where(single < count, 1.0, 0.0)]
    top = np.max(at(end + sign * single), axis=0, initial=-np.inf, where=single < count)
    for doubling in range(LONGEST):
        start = float(SINGLE * 2**doubling)
        length = np.clip(count - start, 0.0, start)
        some = length > 0
        checked = at(end + sign * (start + CHECKED.reshape(column) * np.maximum(length - 1, 0.0)))
        highest = np.max(np.where(some & ~np.isnan(checked), checked, -np.inf), axis=0)
        top = np.maximum(top, highest)
        if not np.any(some & (highest + np.log(start) > top - DEPTH)):
            break
        sizes, which = np.unique(length, return_inverse=True)
        rules = np.array([_rule(int(size)) for size in sizes])[which.reshape(length.shape)]
        offsets.append(start + np.moveaxis(rules[..., 0, :], -1, 0))
        weights.append(np.moveaxis(rules[..., 1, :], -1, 0))
    return np.concatenate(offsets), np.concatenate(weights)


@functools.lru_cache(10_000)
def _rule(count: int) -> Any:
    """Nodes among 0, …, count - 1 and weights: Gauss's rule by the Jacobi matrix of the discrete Chebyshev polynomials
    (DLMF 18.22, Golub & Welsch 1969).
    """
    nodes, weights = np.zeros((2, SIZE))
    if count <= SIZE:
        nodes[:count], weights[:count] = np.arange(count), 1.0
        return nodes, weights
    j = np.arange(1.0, SIZE)
    beside = j * np.sqrt((count - j) * (count + j) / (4 * (4 * j * j - 1)))
    shift, vectors = np.linalg.eigh(np.diag(beside, 1) + np.diag(beside, -1))
    return 0.5 * (count - 1) + shift, count * vectors[0] ** 2
