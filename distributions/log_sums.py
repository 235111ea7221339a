"""Logs of integrals and series of positive terms, differentiable in every parameter to any order.

Only a window of them counts: around the largest, as far as the log of a term is DEPTH below it, so that what is left
out is less than 1e-16 of the whole. What remains is a fixed number of terms, all positive: full relative accuracy
however small the total. Derivatives are forward derivatives of the sum, each a row of its own: it is elementwise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.transforms import pushforward
from probdiff.ops.dispatch import apply, is_lifted
from probdiff.ops.elementwise import Elementwise
from probdiff.special import log1mexp, logsumexp
from probdiff.tree import Array

__all__ = [
    "DEPTH",
    "NODES",
    "WEIGHTS",
    "log_integral",
    "log_series",
    "log_smooth_integral",
    "near_maximum",
    "plain_numbers",
    "row_of_total",
    "smaller_first",
]

DEPTH = 38.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
SHARES = np.array([0.0, 1 / 64, 1 / 16, 1 / 6, 1 / 3, 0.6, 1.0])  # ends of panels between the maximum and an end
KNEE = np.array([-27.0, -9.0, -3.0, -1.0, 1.0, 3.0, 9.0, 27.0])  # ends of panels around a bend, in its widths
TERMS = 128
STEPS = 64  # of a smooth integrand between its ends: for a normal density, 0.3 standard deviations each
LONGEST = 0.25  # step where an integrand ends like exp(-exp(u))
WIDEST = 750.0  # exp does not overflow before

Function = Callable[..., Any]


def log_integral(height: Function, *args: Array, peak: Function | None = None, knees: Function | None = None) -> Array:
    """log ∫ exp(height(u, *args)) du over the real line, for a height with one maximum at |u| < 750.

    `height` is a function of the module level, of traceable operations. `peak(*args)` is the place of the maximum,
    searched if not given; `knees(*args)` the place and the width of a bend away from the maximum.
    """
    return apply(_integral_row(height, peak, knees), *args)


def log_smooth_integral(height: Function, peak: Function, *args: Array) -> Array:
    """log ∫ exp(height(u, *args)) du over the real line, for a smooth height with one maximum, near peak(*args).

    The trapezoidal rule: its error is that of Poisson's formula, exp(-2 (π width / step)²) for a normal density and
    exp(-π² / step) for an end like exp(-exp(u)), as long as the integrand has no narrower bends. Less than half the
    work of `log_integral`.
    """
    return apply(_smooth_row(height, peak), *args)


def near_maximum(at: Function, low: Any, high: Any) -> Any:
    """The place of the maximum of `at` between two arrays, to a thousandth of their distance."""
    columns = np.arange(low.size)
    for _ in range(5):
        grid = low + (high - low) * np.linspace(0.0, 1.0, 9)[:, None]
        best = np.argmax(at(grid), axis=0)
        low, high = grid[np.maximum(best - 1, 0), columns], grid[np.minimum(best + 1, 8), columns]
    return 0.5 * (low + high)


def log_series(height: Function, largest: Function, *args: Array) -> Array:
    """log Σ exp(height(j, *args)) over j = 0, 1, 2, …, whose largest term is near largest(*args), and which falls from
    there at least as fast as a Poisson distribution does.

    The terms must be smooth between the integers: more than TERMS are summed in longer steps. By Poisson's formula for
    sums the error is exp(-2 (π width / step)²), and a series that is cut off at zero is short enough to sum it whole.
    """
    return apply(_series_row(height, largest), *args)


def smaller_first(log_p: Array, log_q: Array) -> Array:
    """log p, from log (1 - p) where p is the larger one."""
    return np.where(log_q < -math.log(2), log1mexp(log_q), log_p)


@functools.cache
def _integral_row(height: Function, peak: Function | None, knees: Function | None) -> Elementwise:
    def total(*args: Array) -> Array:
        bounds = _panels(height, peak, knees, plain_numbers(args))
        half, middle = 0.5 * (bounds[1:] - bounds[:-1]), 0.5 * (bounds[1:] + bounds[:-1])
        u = middle + half * _leading(NODES, half)
        return logsumexp(height(u, *args) + np.log(half) + _leading(np.log(WEIGHTS), half), axis=(0, 1))

    return row_of_total(f"log_integral_of_{height.__name__}", total, (0,) * (height.__code__.co_argcount - 1))


@functools.cache
def _smooth_row(height: Function, peak: Function) -> Elementwise:
    def total(*args: Array) -> Array:
        numbers = plain_numbers(args)
        flat = [np.asarray(a, np.float64).ravel() for a in numbers]
        low, high = peak(*flat) + _reach(_finite(height, flat), peak(*flat))
        kind, shape = np.result_type(*numbers), numbers[0].shape
        width = np.max(np.where(high - low < WIDEST, high - low, WIDEST), initial=0.0)
        steps = max(STEPS, math.ceil(width / LONGEST))
        low, step = (v.reshape(shape).astype(kind) for v in (low, (high - low) / steps))
        u = low + step * _leading(np.arange(1.0, steps), step)
        return logsumexp(height(u, *args), axis=0) + np.log(step)

    return row_of_total(f"log_smooth_integral_of_{height.__name__}", total, (0,) * (height.__code__.co_argcount - 1))


@functools.cache
def _series_row(height: Function, largest: Function) -> Elementwise:
    def total(*args: Array) -> Array:
        center = largest(*plain_numbers(args))
        reach = 9.7 * np.sqrt(center)
        low = np.floor(np.maximum(center - reach, 0.0))
        width = center + reach + 14 - low
        count = int(min(np.max(np.where(width > 1, width, 1.0), initial=1.0) + 2, TERMS))
        step = np.maximum(width / (count - 1), 1.0)
        j = low + step * _leading(np.arange(float(count)), step)
        return logsumexp(height(j, *args), axis=0) + np.log(step)

    return row_of_total(f"log_series_of_{height.__name__}", total, (0,) * (height.__code__.co_argcount - 1))


@functools.cache
def row_of_total(name: str, total: Function, orders: tuple[int, ...], constants: int = 0) -> Elementwise:
    """The derivative of `total` of these orders in its arguments; the first are `constants`, without derivatives."""
    derivative = total
    for i, order in enumerate(orders):
        for _ in range(order):
            derivative = functools.partial(_slope, derivative, i)

    def evaluate(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return derivative(*(np.asarray(a) for a in args))

    def partial(i: int) -> Function:
        raised = tuple(order + (k == i) for k, order in enumerate(orders))
        return lambda *args: apply(row_of_total(name, total, raised, constants), *args[:-1])  # the last is the value

    suffix = "_".join(map(str, orders)) if any(orders) else ""
    partials = tuple(None if i < constants else partial(i) for i in range(len(orders)))
    return Elementwise(name + suffix, evaluate, partials)


def _slope(f: Function, i: int, *args: Array) -> Array:
    return pushforward(f, *args)(*(np.ones_like(a) if k == i else None for k, a in enumerate(args)))


def plain_numbers(args: tuple[Array, ...]) -> list[Any]:
    """The numbers under arguments that are being differentiated, in one shape."""
    numbers: list[Any] = []
    for a in args:
        while is_lifted(a):
            a = a.value
        numbers.append(a)
    return list(np.broadcast_arrays(*numbers))


def _leading(values: Any, like: Any) -> Any:
    """`values` along a new first axis, in the precision of `like`."""
    return values.astype(like.dtype).reshape((-1,) + (1,) * np.ndim(like))


# Where an integrand lives.


def _panels(height: Function, peak: Function | None, knees: Function | None, args: list[Any]) -> Any:
    """Ends of the panels along a new first axis."""

    flat = [np.asarray(a, np.float64).ravel() for a in args]
    at = _finite(height, flat)
    top = _search(at, flat[0].size) if peak is None else peak(*flat)
    ends = top + _reach(at, top)
    bounds = [top + (ends[0] - top) * SHARES[:0:-1, None], top + (ends[1] - top) * SHARES[:, None]]
    if knees is not None:
        place, width = knees(*flat)
        around = np.clip(place + width * KNEE[:, None], ends[0], ends[1])
        bounds.append(np.where(np.isnan(around), top, around))
    full = np.sort(np.concatenate(bounds), axis=0)
    return full.reshape(len(full), *args[0].shape).astype(np.result_type(*args))


def _finite(height: Function, flat: list[Any]) -> Function:
    """The height as a function of u alone, -inf where it is no number."""

    def at(u: Any) -> Any:
        value = height(u, *flat)
        return np.where(np.isnan(value), -np.inf, value)

    return at


def _search(at: Function, count: int) -> Any:
    """The maximum, by grids of which each covers the best two cells of the one before."""
    a, b = np.full(count, -WIDEST), np.full(count, WIDEST)
    columns = np.arange(count)
    for points in (65, *(9,) * 13):
        grid = a + (b - a) * np.linspace(0.0, 1.0, points)[:, None]
        best = np.argmax(at(grid), axis=0)
        a, b = grid[np.maximum(best - 1, 0), columns], grid[np.minimum(best + 1, points - 1), columns]
    return 0.5 * (a + b)


def _reach(at: Function, peak: Any) -> Any:
    """How far to the left and right the height has fallen by DEPTH, to a few per cent, rounded up."""
    floor = at(peak) - DEPTH
    sides = np.array([[-1.0], [1.0]])
    low, high = np.full((2, peak.size), math.log(1e-9)), np.full((2, peak.size), math.log(2 * WIDEST))
    for _ in range(10):
        middle = 0.5 * (low + high)
        inside = at(peak + sides * np.exp(middle)) > floor
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return sides * np.exp(high)
