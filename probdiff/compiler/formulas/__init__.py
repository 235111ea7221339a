"""Special functions as formulas of one element in traced operations: what machine code and XLA are made from.

A formula takes float64 numbers, inside and outside its domain, and may hold loops and branches. Rows of the table of
operations have the formula of their own name; their derivatives are those of the table.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.graph.program import Program
from probdiff.graph.trace import capture
from probdiff.tree import flatten

# SciPy's own routines for these are as accurate, and faster or of a wider range; XLA has none.
XLA_ONLY = ("j0", "j1", "y0", "y1", "kve", "ive")
# Those that search for a solution, which takes some evaluations of a tail.
SEARCHES = ("gammaincinv", "gammainccinv", "betaincinv", "betainccinv", "beta_odds", "beta_oddsc", "student_inverse")
_tail = re.compile(r"log_(gamma|beta)inc(c?)(\d*)")
_ordered = re.compile(r"(polygamma|ierfcx|exprel)(\d+)")


def is_tail(name: str) -> bool:
    """Whether the row with that name is a tail of a gamma or beta law, or the log of one or a derivative of that."""
    return name in ("stdtr", "gammainc", "gammaincc", "betainc", "betaincc") or _tail.fullmatch(name) is not None


@functools.cache
def formula(name: str) -> Callable[..., Any] | None:
    """The formula of the row with that name; "polygamma2" is the one of order 2."""
    from probdiff.compiler.formulas import (
        bessel,
        dawson,
        incomplete_beta,
        incomplete_gamma,
        incomplete_inverse,
        polynomials,
        scaled,
    )

    tail = _tail.fullmatch(name)
    if tail is not None:
        law, upper, digits = tail.groups()
        if law == "gamma":
            return incomplete_gamma.log_tail(int(digits or 0), bool(upper))
        i, j = divmod(int(digits or 0), 10)
        return incomplete_beta.log_tail((i, j), bool(upper))
    ordered = _ordered.fullmatch(name)
    if ordered is not None:
        families = {"polygamma": polynomials.high_polygamma, "ierfcx": scaled.ierfcx, "exprel": scaled.exprel}
        return families[ordered[1]](int(ordered[2]))
    table: dict[str, Callable[..., Any]] = {
        "gammainc": incomplete_gamma.tail(False),
        "gammaincc": incomplete_gamma.tail(True),
        "betainc": incomplete_beta.tail(False),
        "betaincc": incomplete_beta.tail(True),
        "stdtr": incomplete_beta.stdtr,
        "gammaincinv": incomplete_inverse.gammaincinv,
        "gammainccinv": incomplete_inverse.gammainccinv,
        "betaincinv": incomplete_inverse.betaincinv,
        "betainccinv": incomplete_inverse.betainccinv,
        "beta_odds": incomplete_inverse.beta_odds,
        "beta_oddsc": incomplete_inverse.beta_oddsc,
        "student_inverse": incomplete_inverse.student_inverse,
        "j0": bessel.j0,
        "j1": bessel.j1,
        "y0": bessel.y0,
        "y1": bessel.y1,
        "k0e": bessel.k0e,
        "k1e": bessel.k1e,
        "kve": bessel.kve,
        "ive": bessel.ive,
        "dawsn": dawson.dawsn,
    }
    return table.get(name)


def native_formula(name: str) -> Callable[..., Any] | None:
    """The formula that machine code calls."""
    return None if name in XLA_ONLY else formula(name)


@functools.cache
def recorded(name: str) -> Program:
    """The formula of that name as a program of scalars."""
    f = formula(name)
    assert f is not None
    n = len(inspect.signature(f).parameters)
    return capture(f, flatten((0.0,) * n)[1], [((), np.dtype(float))] * n, list(range(n))).program
