"""Combined distributions of one number: the checks of the battery that ask nothing of a constructor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff.distributions import Gamma, Normal, Poisson
from probdiff.distributions.wrappers import (
    Circular,
    Discretised,
    Folded,
    Hurdle,
    Mixture,
    OrderStatistic,
    ZeroInflated,
    affine,
    log_of,
    negated,
)
from tests.distributions.battery import CHECKS
from tests.distributions.case import Case

# What a function that makes a distribution is not held to: the errors and the text of a constructor.
OF_CLASSES = {"container", "invalid", "reference", "extreme", "extreme_slopes", "extreme_tails"}
# A mixture has an array of weights, which a kernel of single numbers cannot make.
OF_NUMBERS = {"modes"}
MATHEMATICS = {name: check for name, check in CHECKS.items() if name not in OF_CLASSES}


def normal(x: Any, loc: Any, scale: Any) -> Any:
    return mp.npdf(x, loc, scale)


def folded(loc: Any, scale: Any) -> Any:
    return Folded(Normal(loc, scale))


def two_normals(w: Any, a: Any, b: Any) -> Any:
    return Mixture((Normal(a, 0.5), Normal(b, 1.5)), weights=np.stack([w, 1 - w], axis=-1))


def turned_gamma(shape: Any, loc: Any, scale: Any) -> Any:
    return affine(negated(Gamma(shape, 1.0)), loc, scale)


def log_of_gamma(shape: Any, scale: Any) -> Any:
    return log_of(Gamma(shape, scale))


def third_of_five(loc: Any, scale: Any) -> Any:
    return OrderStatistic(Normal(loc, scale), 5, 3)


def angle(loc: Any, scale: Any) -> Any:
    return Circular(Normal(loc, scale), turns=3)


def inflated(rate: Any, p: Any) -> Any:
    return ZeroInflated(Poisson(rate), p)


def hurdle(rate: Any, p: Any) -> Any:
    return Hurdle(Poisson(rate), p)


def rounded(shape: Any, scale: Any) -> Any:
    return Discretised(Gamma(shape, scale), "down")


def gamma(x: Any, shape: Any, scale: Any) -> Any:
    return x ** (shape - 1) * mp.exp(-x / scale) / (mp.gamma(shape) * scale**shape)


def poisson(k: Any, rate: Any) -> Any:
    return rate**k * mp.exp(-rate) / mp.gamma(k + 1)


CASES = [
    Case(
        folded,
        settings=[{"loc": 0.7, "scale": 1.2}],
        invalid={},
        naive=lambda x, loc, scale: normal(x, loc, scale) + normal(-x, loc, scale),
        outside=[-1e-300, -2.0],
    ),
    Case(
        two_normals,
        settings=[{"w": 0.3, "a": -1.0, "b": 2.0}],
        invalid={},
        naive=lambda x, w, a, b: w * normal(x, a, mp.mpf(0.5)) + (1 - w) * normal(x, b, mp.mpf(1.5)),
    ),
    Case(
        turned_gamma,
        settings=[{"shape": 2.5, "loc": 1.0, "scale": 3.0}],
        invalid={},
        naive=lambda x, shape, loc, scale: gamma((loc - x) / scale, shape, 1) / scale,
        outside=[1.5],
    ),
    Case(
        log_of_gamma,
        settings=[{"shape": 4.0, "scale": 1.5}],
        invalid={},
        naive=lambda x, shape, scale: gamma(mp.exp(x), shape, scale) * mp.exp(x),
    ),
    Case(
        third_of_five,
        settings=[{"loc": 0.7, "scale": 1.2}],
        invalid={},
        naive=lambda x, loc, scale: (
            30 * mp.ncdf(x, loc, scale) ** 2 * mp.ncdf(2 * loc - x, loc, scale) ** 2 * normal(x, loc, scale)
        ),
    ),
    Case(
        angle,
        settings=[{"loc": 0.5, "scale": 0.8}],
        invalid={},
        naive=lambda x, loc, scale: mp.fsum(normal(x + 2 * mp.pi * k, loc, scale) for k in range(-20, 21)),
        outside=[3.2, -4.0],
    ),
    Case(
        inflated,
        settings=[{"rate": 2.5, "p": 0.3}],
        invalid={},
        naive=lambda x, rate, p: (p if x == 0 else 0) + (1 - p) * poisson(x, rate),
        outside=[-1.0, 0.5],
    ),
    Case(
        hurdle,
        settings=[{"rate": 2.5, "p": 0.3}],
        invalid={},
        naive=lambda x, rate, p: p if x == 0 else (1 - p) * poisson(x, rate) / (1 - mp.exp(-rate)),
        outside=[-1.0, 0.5],
    ),
    Case(
        rounded,
        settings=[{"shape": 2.5, "scale": 3.0}],
        invalid={},
        naive=lambda x, shape, scale: mp.gammainc(shape, x / scale, (x + 1) / scale, regularized=True),
        outside=[-1.0, 0.5],
    ),
]


TESTS = [
    pytest.param(check, case, id=f"{case.family.__name__}-{name}")
    for case in CASES
    for name, check in MATHEMATICS.items()
    if not (case.family is two_normals and name in OF_NUMBERS)
]


@pytest.mark.parametrize(("check", "case"), TESTS)
def test_battery(check: Callable[[Case], None], case: Case) -> None:
    check(case)
