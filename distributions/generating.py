"""Moment generating and characteristic functions of families that have no formula of them.

Continuous: ∫ exp(c x) p(x) dx in pieces between a few quantiles and the kinks of the density. A piece with two ends
takes the double exponential rule (Takahasi & Mori 1974), a tail without end its form for half-lines, or for oscillating
integrands that of Ooura & Mori, A robust double exponential formula for Fourier-type integrals (1999), which hardly
needs the density to fall. Steps are halved until two results agree. Discrete: sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from probdiff.distributions.expectation import LARGEST_SUM, is_countable, plain_member
from probdiff.distributions.guards import plain
from probdiff.distributions.implicit import number
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted, shape_of
from probdiff.tree import Array, flatten

__all__ = ["characteristic", "moment_generating", "stretched_rate"]

LEVELS = (1e-18, 1e-3, 0.1)  # of the quantiles between pieces, in either tail, beside the median
WAVES = 30.0  # radians from the median to an outer quantile, above which the wave cuts the tail finely enough
CLOSEST = 1e-6  # of an end to the next knot, in the width between the quantiles
HALVINGS = 6  # of the first step
FINEST = 2.0**-12, 2.0**-7  # steps of a piece, and of a tail of waves
CLOSE, ENOUGH = 1e-12, 1e-9  # differences between two steps: to stop at, and to let pass in the end
REACH = 6.0  # of a rule, in its own variable
LEFT = 10.0  # of that for waves, whose nodes come slowly to the end
LENGTH = 1000.0  # of a sum, to begin with, above the median


class Piece(NamedTuple):
    """From `low` to `high`, of which one may be infinite; `scale` is the length of its neighbourhood."""

    low: Array
    high: Array
    scale: Array


def characteristic(d: Any, t: Array) -> Array:
    """E[exp(i t X)] for plain numbers t, in the shape of the batch and t; the error is absolute, at most 1e-9."""
    if is_countable(d):
        return _along(d, t, lambda one: d.expect(lambda x: np.exp(1j * one * x)))
    t = np.asarray(t, float)
    t = np.broadcast_to(t, np.broadcast_shapes(t.shape, d.batch_shape))
    pieces = _pieces(d, abs(t))
    # The first piece and the last have next to no mass.
    turns = [number(abs(t) * (piece.high - piece.low)) for piece in pieces[1:-1]]
    turning = max(float(np.max(turn, initial=0.0)) for turn in turns)

    def total(step: float) -> Array:
        real: Any = 0.0
        imaginary: Any = 0.0
        for piece in pieces:
            sign = _side(piece)
            if sign:
                end = piece.low if sign > 0 else piece.high
                cosine, sine = _waves(d, end, sign, abs(t), max(step, FINEST[1]))
                sine = sine * sign * np.sign(t)
                real = real + np.cos(t * end) * cosine - np.sin(t * end) * sine
                imaginary = imaginary + np.sin(t * end) * cosine + np.cos(t * end) * sine
            else:
                x, log_weight = _between(piece, np.ndim(t), step)
                mass = _mass(d, x, log_weight)
                real = real + np.sum(mass * np.cos(t * x), axis=0)
                imaginary = imaginary + np.sum(mass * np.sin(t * x), axis=0)
        return np.where(t == 0, 1.0, real) + 1j * np.where(t == 0, 0.0, imaginary)

    # Between nodes a wave may turn by two radians in the middle of a piece, to begin with.
    return plain(_settled(d, "cf", total, min(1 / 8, 2.0 ** -math.ceil(math.log2(max(turning / 2.5, 1.0))))))


def moment_generating(d: Any, t: Array) -> Array:
    """E[exp(t X)]; infinite where a tail does not fall faster than exp(-|t| x) does."""
    finite = _is_finite(d, t)
    slope = np.where(finite, t, 0.0)
    if is_countable(d):
        return plain(np.where(finite, _along(d, slope, lambda one: _sum(d, one)), np.inf))
    if any(is_lifted(number(leaf)) for leaf in (slope, *flatten(d)[0])) and all(_bounded(d)):
        return _along(d, slope, lambda one: d.expect(lambda x: np.exp(one * x)))  # without a choice of steps
    pieces = _pieces(d, 0.0)

    def total(step: float) -> Array:
        result: Any = 0.0
        for piece in pieces:
            rule = _beyond if _side(piece) else _between
            x, log_weight = rule(piece, len(shape_of(slope)), step)
            result = result + np.sum(_mass(d, x, log_weight + slope * x), axis=0)
        return result

    return plain(np.where(finite, _settled(d, "mgf", total, 1 / 8), np.inf))


def _is_finite(d: Any, t: Array) -> Array:
    """Whether exp(t x) grows more slowly than the density falls."""
    bounded = _bounded(d)
    if d.tail_rates is None:
        if not all(bounded):
            owner = type(d).__name__
            raise UnsupportedError(f"{owner} has no mgf: it does not say how fast its tails fall (tail_rates).")
        return abs(t) < np.inf
    lower, upper = (np.inf if b else rate for b, rate in zip(bounded, d.tail_rates, strict=True))
    return (t == 0) | ((-lower < t) & (t < upper))


def _bounded(d: Any) -> list[bool]:
    """Whether the support ends, below and above."""
    return [bool(np.all(np.isfinite(number(end)))) for end in (d.support.lower, d.support.upper)]


def _pieces(d: Any, rate: Array) -> list[Piece]:
    """The support, cut at quantiles and kinks: plain numbers, but for the ends."""
    member = plain_member(d, "the pieces of an integral, which mgf and cf without a formula are,")
    lower, upper = number(d.support.lower), number(d.support.upper)
    median = member.quantile(0.5)

    def inward(knot: Array, end: Array) -> Array:
        """The median instead, of a tail without end whose waves are short."""
        return np.where((abs(end) == np.inf) & (rate * abs(knot - median) > WAVES), median, knot)

    outer = [(member.quantile(p), member.cquantile(p)) for p in LEVELS]
    scale = outer[1][1] - outer[1][0]
    # Next to an end that is a parameter a piece would be too short to move with it.
    outer[0] = (
        np.where(outer[0][0] - lower < CLOSEST * scale, outer[1][0], outer[0][0]),
        np.where(upper - outer[0][1] < CLOSEST * scale, outer[1][1], outer[0][1]),
    )
    inner = [inward(low, lower) for low, _ in outer] + [inward(high, upper) for _, high in outer]
    inner += [median, *(np.clip(number(kink), lower, upper) for kink in d.kinks())]
    knots = np.sort(np.stack(np.broadcast_arrays(*inner)), axis=0)
    bounds = [d.support.lower, *knots, d.support.upper]
    return [Piece(low, high, scale) for low, high in zip(bounds[:-1], bounds[1:], strict=True)]


def _side(piece: Piece) -> float:
    """1 for a tail that goes up without end, -1 for one that goes down, 0 for a piece with two ends."""
    if np.all(np.isfinite(number(piece.high))):
        return 0.0 if np.all(np.isfinite(number(piece.low))) else -1.0
    return 1.0


def _nodes(ndim: int, step: float) -> Array:
    return np.arange(-REACH, REACH + 0.5 * step, step).reshape((-1,) + (1,) * ndim)


def _between(piece: Piece, ndim: int, step: float) -> tuple[Array, Array]:
    """Nodes that crowd at both ends, and the logs of their weights."""
    u = _nodes(max(ndim, np.ndim(piece.scale)), step)
    share = 1 / (1 + np.exp(math.pi * np.sinh(abs(u))))
    width = piece.high - piece.low
    x = np.where(u < 0, piece.low + width * share, piece.high - width * share)
    return x, np.log(step * math.pi * np.cosh(u) * share * (1 - share)) + np.log(width)


def _beyond(piece: Piece, ndim: int, step: float) -> tuple[Array, Array]:
    """Nodes from the end of a tail to far beyond it, and the logs of their weights."""
    u = _nodes(max(ndim, np.ndim(piece.scale)), step)
    distance = piece.scale * np.exp(0.5 * math.pi * np.sinh(u))
    sign = _side(piece)
    return (piece.low if sign > 0 else piece.high) + sign * distance, np.log(
        step * 0.5 * math.pi * np.cosh(u) * distance
    )


def _mass(d: Any, x: Array, log_weight: Array) -> Array:
    """Density times weight. At an end that it is rounded to, a density may be infinite: the rest is next to nothing."""
    height = d.logpdf(x) + log_weight
    return np.exp(np.where(abs(height) < np.inf, height, -np.inf))


def _waves(d: Any, end: Array, sign: float, rate: Array, step: float) -> tuple[Array, Array]:
    """∫_0^∞ p(end + sign u) cos(rate u) du and the same with the sine.

    u = M φ(v) / rate with φ(v) = v / (1 - exp(-2 v - α (1 - exp(-v)) - β (exp(v) - 1))): with M = π / step the nodes
    come close to the zeros of the wave, double exponentially.
    """
    many = math.pi / step
    beta = 0.25
    alpha = beta / math.sqrt(1 + many * math.log1p(many) / (4 * math.pi))
    k = np.arange(-round(LEFT / step), round(REACH / step) + 1).reshape((-1,) + (1,) * np.ndim(rate))
    rate = np.where(rate > 0, rate, 1.0)

    def rule(v: Array, wave: Any, shifted: Any) -> Array:
        g = -2 * v - alpha * -np.expm1(-v) - beta * np.expm1(v)
        slope = -2 - alpha * np.exp(-v) - beta * np.exp(v)
        rest = -np.expm1(g)
        at_zero = v == 0
        linear, square = 2 + alpha + beta, 0.5 * (alpha - beta)
        phi = np.where(at_zero, 1 / linear, v / np.where(at_zero, 1.0, rest))
        weight = (1 + phi * np.exp(g) * slope) / np.where(at_zero, 1.0, rest)
        weight = np.where(at_zero, (square + 0.5 * linear**2) / linear**2, weight)
        # Far out the argument is a multiple of π, or of half a π, and a little more.
        sines = np.where(v > 0, shifted(many * v * np.exp(g) / rest), wave(many * phi))
        height = d.pdf(end + sign * many * phi / rate)
        term = math.pi / rate * weight * sines * np.where(abs(height) < np.inf, height, 0.0)
        return np.sum(np.where(abs(weight) > 0, term, 0.0), axis=0)

    alternating = np.where(k % 2 == 0, 1.0, -1.0)
    sine = rule(k * step, np.sin, lambda rest: alternating * np.sin(rest))
    cosine = rule((k + 0.5) * step, np.cos, lambda rest: -alternating * np.sin(rest))
    return cosine, sine


def _settled(d: Any, name: str, total: Callable[[float], Array], step: float) -> Array:
    """The result of the first step whose half makes no difference to speak of."""
    owner = type(d).__name__
    error = np.inf
    with np.errstate(all="ignore"):
        coarse = total(step) if step > FINEST[0] else np.nan
        for _ in range(HALVINGS):
            step = 0.5 * step
            if step < FINEST[0]:
                break
            fine = total(step)
            if is_lifted(number(fine)):
                raise UnsupportedError(
                    f"{owner}.{name}: the steps of an integral hang on numbers; it cannot be compiled. Compute it "
                    "outside."
                )
            size = np.maximum(abs(number(fine)), 1.0)
            error = float(np.max(abs(number(fine) - number(coarse)) / size, initial=0.0))
            coarse = fine
            if error < CLOSE:
                break
    if not error < ENOUGH:
        raise UnsupportedError(
            f"{owner}.{name}: the integral did not settle (differences of {error:.1g}): t is too large for it, or the "
            "density too rough."
        )
    return coarse


def _along(d: Any, t: Array, value: Callable[[Array], Array]) -> Array:
    """One t after the other, unless they go with the batch."""
    shape = getattr(t, "shape", ())
    if shape and not d.batch_shape:
        return np.reshape(np.stack([value(one) for one in np.ravel(t)]), shape)
    return value(t)


def _sum(d: Any, t: Array) -> Array:
    """Σ exp(t k) P(k), until the terms have fallen."""
    member = plain_member(d, "the length of a sum, which a moment without a formula is,")
    steep = np.where(t == 0, -1.0, t)  # at zero the sum is one
    first = np.min(member.quantile(1e-20))
    last = min(np.max(member.cquantile(1e-20)), np.max(member.quantile(0.5)) + LENGTH)
    ndim = len(np.broadcast_shapes(d.batch_shape, shape_of(t)))
    while True:
        k = np.arange(first, last + 1).reshape((-1,) + (1,) * ndim)
        term = np.exp(d.logpdf(k) + steep * k)
        sizes = number(term)
        falls = 1e-18 * np.max(sizes, axis=0)
        down = np.any(sizes[0] > falls) and first > np.min(number(d.support.lower))
        up = np.any(sizes[-1] > falls) and last < np.max(number(d.support.upper))
        length = last - first + 1
        if not down and not up:
            return np.where(t == 0, 1.0, np.sum(term, axis=0))
        if length > LARGEST_SUM:
            raise UnsupportedError(f"{type(d).__name__}.mgf: a sum of more than {LARGEST_SUM} terms.")
        first, last = first - length * down, last + length * up


def stretched_rate(power: Array, scale: Array) -> Array:
    """The rate of a tail that falls like exp(-(x / scale)^power): 1 / scale for power 1, infinite above, zero below."""
    return np.where(power > 1, np.inf, np.where(power < 1, 0.0, 1 / scale))
