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


def choose_series(
    condition: Array, true: Callable[..., Any], false: Callable[..., Any], *operands: Any
) -> tuple[Series, ...]:
    """`choose` of branches that return some series."""
    keys: list[Any] = []

    def flat(f: Callable[..., Any]) -> Callable[..., Any]:
        def branch(*operands: Any) -> Any:
            many = f(*operands)
            keys[:] = many[0]
            return tuple(tuple(series[k] for k in keys) for series in many)

        return branch

    found = choose(condition, flat(true), flat(false), *operands)
    return tuple(dict(zip(keys, values, strict=True)) for values in found)


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


def fraction(on: Array, first: Array, four: Callable[[Array], list[tuple[Array, Array]]]) -> Array:
    """The continued fraction first + a(1) / (b(1) + a(2) / (b(2) + …)), for the four (a, b) from n on.

    By the recurrence of numerators p and denominators q, two steps at once so that they do not wait for one another.
    What a step changes is known without rounding, from the product of all a. The caller scales b to about one.
    """
    from probdiff.ad.control import while_loop

    def going(carry: Any) -> Array:
        n, change, p, q, p_before, q_before = carry
        return on & (abs(change) > EPS * abs(p * q_before)) & (n < LONGEST)

    def body(carry: Any) -> Any:
        n, change, p, q, p_before, q_before = carry
        terms = four(n)
        for (a, b), (c, d) in (terms[:2], terms[2:]):
            both, skipped = d * b + c, d * a
            p, p_before = both * p + skipped * p_before, b * p + a * p_before
            q, q_before = both * q + skipped * q_before, b * q + a * q_before
            change = change * (a * c)
        return n + 4.0, change, p, q, p_before, q_before

    _, _, p, q, _, _ = while_loop(going, body, (1.0, 1.0, first, 1.0, 1.0, 0.0))
    return p / q


def simple_fraction(on: Array, four: Callable[[Array], list[tuple[Array, Array]]]) -> Array:
    """The continued fraction 1 + a(1) / (1 + b(1) / (1 + a(2) / (1 + b(2) / …))), for the four (a, b) from n on.

    Where a and b are positive nothing cancels, so that long ones keep their digits.
    """
    from probdiff.ad.control import while_loop

    def going(carry: Any) -> Array:
        n, change, p, q, p_before, q_before = carry
        return on & (abs(change) > EPS * abs(p * q_before)) & (n < LONGEST)

    def body(carry: Any) -> Any:
        n, change, p, q, p_before, q_before = carry
        for a, b in four(n):
            p_before, q_before = p + a * p_before, q + a * q_before
            p, q = p_before + b * p, q_before + b * q
            change = change * (a * b)
        return n + 4.0, change, p, q, p_before, q_before

    _, _, p, q, _, _ = while_loop(going, body, (1.0, 1.0, 1.0, 1.0, 1.0, 0.0))
    return p / q


def summed_series(on: Array, first: Series, factor: Callable[[Array], Series]) -> Series:
    """The sum of the terms first, first f(1), first f(1) f(2), …"""

    def step(n: Array, terms: Any, sums: Any) -> Any:
        term = product(dict(zip(first, terms, strict=True)), factor(n))
        return tuple(term.values()), tuple(s + t for s, t in zip(sums, term.values(), strict=True))

    start = tuple(first.values())
    return dict(zip(first, summed(on, step, start, start), strict=True))
