"""Logs of the incomplete gamma and beta functions and their derivatives in the shapes, against mpmath."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special as sp

from probdiff import check_gradient, gradient, hessian
from probdiff.ops.incomplete import log_beta_tail, log_gamma_tail
from probdiff.special import log_betainc, log_betaincc, log_gammainc, log_gammaincc

EPS = 2.2e-16
GAMMA = [
    *[(1e-3, 1e-200), (1e-3, 0.3), (1e-3, 40.0), (0.2, 1e-3), (0.7, 2.0), (1.5, 700.0), (3.0, 1e-8)],
    *[(25.0, 3.0), (25.0, 26.0), (25.0, 400.0), (180.0, 150.0), (180.0, 181.0)],
]
BETA = [
    *[(1e-3, 1e-3, 0.4), (1e-3, 50.0, 1e-5), (0.3, 0.2, 1e-40), (0.3, 0.2, 1 - 1e-12), (0.6, 30.0, 0.9)],
    *[(2.0, 3.0, 0.5), (2.0, 3.0, 1e-90), (40.0, 3.0, 0.2), (40.0, 60.0, 0.41), (40.0, 60.0, 0.99)],
]
# log P and log Q for shapes where mpmath's functions give up: its quadrature of the density at 40 digits, each split
# where the density has its weight.
LARGE = [(1e6, 1e6 - 5e3), (1e6, 1e6 + 5e3), (1e8, 1e8 - 3e5), (1e8, 1e8 + 2e4)]


def gamma_tails(a: Any, x: Any) -> list[Any]:
    return [mp.log(mp.gammainc(a, 0, x, regularized=True)), mp.log(mp.gammainc(a, x, mp.inf, regularized=True))]


def beta_tails(a: Any, b: Any, x: Any) -> list[Any]:
    lower = mp.betainc(a, b, 0, x, regularized=True)
    return [mp.log(lower), mp.log(mp.betainc(b, a, 0, 1 - x, regularized=True))]


@pytest.mark.parametrize(("a", "x"), GAMMA)
def test_gamma(a: float, x: float) -> None:
    with mp.workdps(300):
        h = mp.mpf(10) ** -40
        values = [gamma_tails(a + k * h, mp.mpf(x)) for k in (-1, 0, 1)]
        moved = gamma_tails(mp.mpf(a), mp.mpf(x) * (1 + h))
        for upper in (False, True):
            below, here, above = (v[upper] for v in values)
            expected = [here, (above - below) / (2 * h), (above - 2 * here + below) / h**2]
            got = [float(log_gamma_tail(n, upper, a, x)) for n in range(3)]
            conditions = [abs(a * got[1]) + abs(float((moved[upper] - here) / h)), abs(a * got[2]), a**-2]
            for n in range(3):
                # The second derivative is a variance less trigamma(a), both near 1 / a² for small shapes.
                bound = 100 * EPS * (abs(float(expected[n])) + conditions[n]) + 1e-300
                assert abs(got[n] - float(expected[n])) <= bound, (upper, n, got[n], expected[n])


@pytest.mark.parametrize(("a", "b", "x"), BETA)
def test_beta(a: float, b: float, x: float) -> None:
    with mp.workdps(300):
        h = mp.mpf(10) ** -40
        x_exact = mp.mpf(x)
        at = {(i, j): beta_tails(a + i * h, b + j * h, x_exact) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        moved = beta_tails(mp.mpf(a), mp.mpf(b), x_exact * (1 + h))
        for upper in (False, True):
            here = at[0, 0][upper]
            da = (at[1, 0][upper] - at[-1, 0][upper]) / (2 * h)
            db = (at[0, 1][upper] - at[0, -1][upper]) / (2 * h)
            mixed = (at[1, 1][upper] - at[1, -1][upper] - at[-1, 1][upper] + at[-1, -1][upper]) / (4 * h**2)
            twice = (at[1, 0][upper] - 2 * here + at[-1, 0][upper]) / h**2
            slope = abs(a * da) + abs(b * db) + abs((moved[upper] - here) / h)
            rows = [((0, 0), here, slope), ((1, 0), da, a * abs(twice) + b * abs(mixed)), ((0, 1), db, abs(db) + 1 / b)]
            for order, expected, condition in [*rows, ((2, 0), twice, a**-2), ((1, 1), mixed, 1 / a + 1 / b)]:
                got = float(log_beta_tail(order, upper, a, b, x))
                bound = 100 * EPS * float(abs(expected) + condition) + 1e-300
                assert abs(got - float(expected)) <= bound, (upper, order, got, expected)


@pytest.mark.parametrize(("a", "x"), LARGE)
def test_gamma_of_large_shapes(a: float, x: float) -> None:
    with mp.workdps(40):
        shape, at, width = mp.mpf(a), mp.mpf(x), mp.sqrt(mp.mpf(a))
        top = (shape - 1) * mp.log(at) - at

        def density(t: Any) -> Any:
            return mp.exp((shape - 1) * mp.log(t) - t - top)

        # The tail that starts at x and goes away from the mode.
        sign = 1 if x > a else -1
        knots = [at + sign * width * k for k in (0, 0.3, 1, 2, 4, 8, 16, 30)]
        area = sum(abs(mp.quad(density, [p, q])) for p, q in zip(knots[:-1], knots[1:], strict=True))
        expected = float(mp.log(area) + top - mp.loggamma(shape))
    got = float((log_gammaincc if x > a else log_gammainc)(a, x))
    # x dlogP/dx is the condition number: the density times x over the tail.
    condition = abs(expected) + float(at / area)
    assert abs(got - expected) <= 30 * EPS * condition


def test_far_beyond_underflow() -> None:
    """log P(a, x) tends to a log x - log Γ(a + 1) for small x, log Q(a, x) to the log of the density for large x."""
    assert log_gammainc(5.0, 1e-200) == pytest.approx(5 * math.log(1e-200) - math.lgamma(6), rel=1e-15)
    assert log_gammaincc(5.0, 1e6) == pytest.approx(4 * math.log(1e6) - 1e6 - math.lgamma(5) + 4e-6, rel=1e-15)
    assert log_betainc(300.0, 2.0, 1e-20) == pytest.approx(300 * math.log(1e-20) + math.log(301), rel=1e-15)
    assert log_betaincc(2.0, 300.0, 1 - 1e-14) == pytest.approx(
        300 * math.log(1 - (1 - 1e-14)) + math.log(301), rel=1e-14
    )


def test_edges() -> None:
    assert log_gammainc(2.0, 0.0) == -math.inf and log_gammaincc(2.0, 0.0) == 0.0
    assert log_gammainc(2.0, math.inf) == 0.0 and log_gammaincc(2.0, math.inf) == -math.inf
    assert log_betainc(2.0, 3.0, 0.0) == -math.inf and log_betaincc(2.0, 3.0, 0.0) == 0.0
    assert log_betainc(2.0, 3.0, 1.0) == 0.0 and log_betaincc(2.0, 3.0, 1.0) == -math.inf
    for bad in (
        log_gammainc(-1.0, 2.0),
        log_gammainc(2.0, -1.0),
        log_betainc(2.0, 0.0, 0.5),
        log_betainc(2.0, 3.0, 1.5),
    ):
        assert math.isnan(bad)
    assert log_gammainc(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    assert log_gammainc(np.float32(2.0), np.float32(3.0)).dtype == np.float32
    assert log_gammainc(np.zeros((0, 3)), 1.0).shape == (0, 3)


def test_derivatives_of_scipys_own_functions() -> None:
    """Those in the shapes, of the functions and of their inverses; d/da of P(1.5, 2) is mpmath's."""
    with mp.workdps(40):
        expected = float(mp.diff(lambda a: mp.gammainc(a, 0, 2, regularized=True), 1.5))
    assert gradient(sp.gammainc, 1.5, 2.0)[0] == pytest.approx(expected, rel=1e-13)
    for f, *at in (
        (sp.gammainc, 1.5, 2.0),
        (sp.gammaincc, 40.0, 30.0),
        (sp.betainc, 0.7, 3.0, 0.4),
        (sp.betaincc, 20.0, 3.0, 0.9),
        (sp.gammaincinv, 1.5, 0.3),
        (sp.gammainccinv, 0.4, 0.2),
        (sp.betaincinv, 0.7, 3.0, 0.4),
        (sp.betainccinv, 20.0, 3.0, 0.3),
        (sp.stdtr, 3.5, -1.2),
        (sp.stdtr, 3.5, 0.4),
    ):
        check_gradient(f, *at)
    # The mixed derivative of a quantile in the shape and the probability, both orders of differentiation.
    h = hessian(lambda v: sp.gammaincinv(v[0], v[1]))(np.array([1.5, 0.3]))
    assert h[0, 1] == pytest.approx(h[1, 0], rel=1e-10)
