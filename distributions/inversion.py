"""Draws of small whole numbers, each the least k with P(X <= k) > u for a uniform u, from the ratios of their masses.

One draw adds masses up until they pass u; many share a table of the same sums, with a guide to where in it each cell
of the unit interval begins (Devroye, Non-Uniform Random Variate Generation, 1986, ch. III.2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.tree import Array

__all__ = ["by_inversion", "one_number"]

LEAST = 1e-30  # the mass at zero from which on sums of masses are tables, which do not grow long
CELLS = 4096  # of the guide, a power of two: u times it is exact
BLOCK = 8192  # draws at a time: what is computed on the way stays in the cache
NEGLIGIBLE = 2.0**-60  # masses beyond the mode that are left out


def one_number(value: Any) -> bool:
    """Whether a parameter is one number for all draws."""
    return type(value) is np.float64 or type(value) is float or type(value) is int


def by_inversion(
    zero: Any, ratio: Callable[[Array], Array], shape: tuple[int, ...], rng: np.random.Generator
) -> Any | None:
    """Draws of X = 0, 1, …; None if the mass at zero is too small.

    zero   P(X = 0)
    ratio  of a whole number k >= 1, or an array of these: P(X = k) / P(X = k - 1)
    """
    if not zero >= LEAST:
        return None
    u = rng.random(shape)
    if u.ndim == 0:
        return _one(float(zero), ratio, float(u))
    sums = _sums(float(zero), ratio)
    if u.size < CELLS:
        return np.searchsorted(sums, u, side="right")
    flat, out = u.ravel(), np.empty(u.size, np.int64)
    guide = np.searchsorted(sums, np.arange(CELLS) / CELLS, side="right")
    for start in range(0, flat.size, BLOCK):
        here, k = flat[start : start + BLOCK], out[start : start + BLOCK]
        np.take(guide, (here * CELLS).astype(np.intp), out=k, mode="clip")
        below = np.flatnonzero(np.take(sums, k) <= here)
        while below.size:
            k[below] += 1
            below = below[np.take(sums, k[below]) <= here[below]]
    return out.reshape(shape)


def _one(mass: float, ratio: Callable[[Array], Array], u: float) -> int:
    k, total = 0.0, mass
    while total <= u:
        change = ratio(k + 1.0)
        mass *= change
        if change < 1.0 and mass < NEGLIGIBLE:
            break
        k += 1.0
        total += mass
    return int(k)


def _sums(zero: float, ratio: Callable[[Array], Array]) -> Any:
    """P(X <= k) for k = 0, 1, … until the masses are negligible; the last one passes every u."""
    size, changes = 256, np.ones(1)
    masses = changes
    while not (changes[-1] < 1.0 and masses[-1] < NEGLIGIBLE):
        changes = np.concatenate([[zero], ratio(np.arange(1.0, size))])
        masses = np.multiply.accumulate(changes)
        size *= 2
    last = np.flatnonzero(masses >= NEGLIGIBLE)[-1]
    sums = np.add.accumulate(masses[: last + 1])
    sums[last] = np.inf
    return sums
