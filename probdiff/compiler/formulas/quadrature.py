"""Integrals of exp(φ) from a boundary where φ = 0 to where it is 40 lower, and of its products with powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.formulas.series import Power, Series, log
from probdiff.ops.control import QUADRATURE
from probdiff.tree import Array, flatten

DEPTH = 40.0  # φ at the end of the integral: what is left out is less than 4e-18 of the whole
PANELS = 3  # of sixteen nodes: what tails of exponential or normal decay need


def integrals(
    on: Array, integrand: Callable[..., tuple[Any, ...]], args: tuple[Array, ...], panels: int
) -> tuple[Array, ...]:
    """∫ f(x, *args) dx over [0, 1] of each function f that `integrand` returns; zero where not `on`."""
    from probdiff.ad.control import Body

    body = Body(integrand, flatten((0.0,) * (1 + len(args)))[1], [0.0, *args])
    return QUADRATURE.run(on, *args, *body.extra, body=body.program, panels=panels)


def log_integral(
    on: Array, phi: Callable[..., tuple[Any, ...]], end: Array, args: tuple[Array, ...], moments: list[Power]
) -> Series:
    """log ∫ exp(φ(s) + α l1(s) + β l2(s)) ds over 0 <= s <= end as a series, for phi(s, *args) = (φ, l1, l2)."""

    def terms(x: Array, end: Array, *args: Array) -> tuple[Array, ...]:
        height, l1, l2 = phi(end * x, *args)
        out: Series = {(0, 0): end * np.exp(height)}
        for i, j in moments[1:]:
            out[i, j] = out[i, j - 1] * l2 / j if j else out[i - 1, 0] * l1 / i
        return tuple(out.values())

    sums = dict(zip(moments, integrals(on, terms, (end, *args), PANELS), strict=True))
    return log(sums, np.log(sums[0, 0]))


def stretched(phi: Callable[[Array], tuple[Array, Array]], guess: Array, steps: int) -> Array:
    """Where a concave φ is about DEPTH below φ(0) = 0: steps of Newton's, which lead beyond the place from anywhere.

    `phi` gives φ and its slope.
    """
    from probdiff.ad.control import fori_loop

    def step(_: Array, s: Array) -> Array:
        height, slope = phi(s)
        return s - (height + DEPTH) / slope

    return fori_loop(0, steps, step, guess)
