"""Loops and branches of formulas, with a switch: an element that is switched off runs no step, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probdiff.compiler.formulas.series import Series, product
from probdiff.tree import Array

EPS = 2.0**-53
LONGEST = 1e5  # steps; series that are taken need some hundred


def choose(condition: Array, true: Callable[..., Any], false: Callable[..., Any], *operands: Any) -> Any:
    """true(*operands) or false(*operands): one of them in machine code, both where the condition is an array."""
    from probdiff.ad.control import cond

    return cond(condition, true, false, *operands)


def choose_series(condition: Array, true: Callable[..., Any], false: Callable[..., Any], *operands: Any) -> Any:
    """`choose` of branches that return a number and a series."""
    keys: list[Any] = []

    def flat(f: Callable[..., Any]) -> Callable[..., Any]:
        def branch(*operands: Any) -> Any:
            number, series = f(*operands)
            keys[:] = series
            return number, tuple(series.values())

        return branch

    number, values = choose(condition, flat(true), flat(false), *operands)
    return number, dict(zip(keys, values, strict=True))


def summed(on: Array, step: Callable[..., Any], terms: Any, sums: Any) -> Any:
    """The sums after n, terms, sums -> step(n, terms, sums) for n = 1, 2, …, until the first term is negligible."""
    from probdiff.ad.control import while_loop

    def going(carry: Any) -> Array:
        n, terms, sums = carry
        return on & (abs(terms[0]) > EPS * abs(sums[0])) & (n < LONGEST)

    def body(carry: Any) -> Any:
        n, terms, sums = carry
        return (n + 1.0, *step(n, terms, sums))

    return while_loop(going, body, (1.0, tuple(terms), tuple(sums)))[2]


def summed_series(on: Array, first: Series, factor: Callable[[Array], Series]) -> Series:
    """The sum of the terms first, first f(1), first f(1) f(2), …"""

    def step(n: Array, terms: Any, sums: Any) -> Any:
        term = product(dict(zip(first, terms, strict=True)), factor(n))
        return tuple(term.values()), tuple(s + t for s, t in zip(sums, term.values(), strict=True))

    start = tuple(first.values())
    return dict(zip(first, summed(on, step, start, start), strict=True))
