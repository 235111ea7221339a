"""Kolmogorov and Smirnov's distances of finite n, against exact sums and powers in high precision."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from probdiff import gradient
from probdiff.distributions import Kolmogorov, KolmogorovSmirnov, OneSidedKolmogorovSmirnov
from probdiff.distributions.kolmogorov_smirnov import matrix_within
from probdiff.distributions.poisson_paths import beyond, within
from tests.distributions.battery import CHECKS
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
COUNT = ("a positive integer", [0, -1, 0.5, nan])


def two_sided(x: Any, n: Any) -> Any:
    """P(D < x) by the power of Durbin's matrix, or 1 less twice Smirnov's sum."""
    n, a = int(n), n * x
    if 2 * x >= 1:
        return 1 - 2 * one_sided_beyond_exactly(x, n)
    k = int(mp.ceil(a))
    h, size = k - a, 2 * k - 1
    full = mp.matrix(size, size)
    for i in range(size):
        for j in range(min(i + 2, size)):
            full[i, j] = 1
    for i in range(size):
        full[i, 0] -= h ** (i + 1)
        full[size - 1, i] -= h ** (size - i)
    full[size - 1, 0] += max(2 * h - 1, 0) ** size
    for i in range(size):
        for j in range(min(i + 1, size)):
            full[i, j] /= mp.factorial(i - j + 1)
    return (full**n)[k - 1, k - 1] * mp.factorial(n) / mp.mpf(n) ** n


def one_sided_beyond_exactly(x: Any, n: Any) -> Any:
    n = int(n)
    terms = range(int(mp.floor(n * (1 - x))) + 1)
    return x * mp.fsum(
        mp.binomial(n, j) * (x + mp.mpf(j) / n) ** (j - 1) * (1 - x - mp.mpf(j) / n) ** (n - j) for j in terms
    )


TWO_SIDED = Case(
    KolmogorovSmirnov,
    settings=[{"n": 1}, {"n": 8}, {"n": 35}],
    invalid={"n": COUNT},
    naive=lambda x, n: mp.diff(lambda v: two_sided(v, n), x),
    outside=[-0.1, 0.01, 1.0000001],
)
ONE_SIDED = Case(
    OneSidedKolmogorovSmirnov,
    settings=[{"n": 8}, {"n": 35}],
    invalid={"n": COUNT},
    naive=lambda x, n: -mp.diff(lambda v: one_sided_beyond_exactly(v, n), x),
    outside=[-0.1, 1.0000001],
)
# The quadrature of these knows of no kinks, and of two laws one has them where the other is.
UNKINKED = ("moments", "normalisation", "divergences")


@pytest.mark.parametrize("case", [TWO_SIDED, ONE_SIDED], ids=["two_sided", "one_sided"])
@pytest.mark.parametrize("name", [name for name in CHECKS if name not in UNKINKED])
def test_finite_count(name: str, case: Case) -> None:
    CHECKS[name](case)


# Each method on either side of where it takes over: n x = 17, x = 1 / 2, x sqrt(n) = 0.8, 1.8 and 2.5.
PLACES = [(20, 0.3), (20, 0.402), (20, 0.403), (20, 0.499), (20, 0.501), (100, 0.1699), (100, 0.1701), (100, 0.2499)]
PLACES += [(100, 0.2501), (500, 0.03399), (500, 0.03401), (500, 0.0357), (500, 0.0359), (40, 0.0126), (40, 0.99)]


@pytest.mark.parametrize(("n", "x"), PLACES)
def test_tails(n: int, x: float) -> None:
    """Both tails of both laws, of exact formulas in as many digits as their cancellation takes."""
    with mp.workdps(400):
        above = one_sided_beyond_exactly(mp.mpf(x), n)
        pairs = [(OneSidedKolmogorovSmirnov(n), 1 - above, above)]
    with mp.workdps(120):
        below = two_sided(mp.mpf(x), n) if x < 0.5 else 1 - 2 * above
        pairs.append((KolmogorovSmirnov(n), below, 1 - below))
        for d, lower, upper in pairs:
            # Where a power of Durbin's matrix is subtracted from one, up to eps n of it is lost.
            assert d.logcdf(x) == pytest.approx(float(mp.log(lower)), rel=1e-12, abs=1e-13), d
            assert d.logccdf(x) == pytest.approx(float(mp.log(upper)), rel=1e-12, abs=5e-11), d


def test_methods_agree() -> None:
    """Where two of them serve, of counts that exact arithmetic cannot reach: both tails add up, and so do slopes."""
    for n in (1e4, 1e6):
        count, a = np.array([n]), np.array([0.9 * math.sqrt(n)])
        (below, lower), (above, upper) = within(count, a, 2), beyond(count, a, 2)
        lower, upper = np.exp(below) * lower, np.exp(above) * upper
        np.testing.assert_allclose([(lower + upper)[0], *(-upper / lower)[1:]], 1.0, rtol=1e-13)
        (first, modes), (second, power) = (method(count, np.array([17.3]), 1) for method in (within, matrix_within))
        # The log of a power has n times the rounding of one factor.
        assert (first + np.log(modes[0]))[0] == pytest.approx((second + np.log(power[0]))[0], abs=4e-16 * n)
        assert (modes[1] / modes[0])[0] == pytest.approx((power[1] / power[0])[0], rel=1e-12)


def test_one_draw() -> None:
    """Of one draw, D+ is uniform and D uniform from 1/2 to 1."""
    one, two = OneSidedKolmogorovSmirnov(1), KolmogorovSmirnov(1)
    x = np.array([0.1, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(one.logpdf(x), 0.0, atol=1e-15)
    np.testing.assert_allclose(one.cdf(x), x, rtol=1e-15)
    np.testing.assert_allclose(two.logpdf(x[1:]), math.log(2), rtol=1e-15)
    assert two.mean() == pytest.approx(0.75, rel=1e-14) and one.logpdf(0.0) == 0


@pytest.mark.parametrize("n", [10, 300, 20_000, 1_000_000])
def test_many_draws(n: int) -> None:
    """SciPy's tails; the limit, with an error that falls like 1 / n once x is moved by 1 / (6 n)."""
    z = np.array([0.4, 0.7, 1.0, 1.5, 2.2])
    x = z / math.sqrt(n)
    np.testing.assert_allclose(KolmogorovSmirnov(n).cdf(x), stats.kstwo(n).cdf(x), rtol=1e-6)
    np.testing.assert_allclose(OneSidedKolmogorovSmirnov(n).ccdf(x), stats.ksone(n).sf(x), rtol=1e-9)
    np.testing.assert_allclose(
        KolmogorovSmirnov(n).cdf(x - 1 / (6 * n)), Kolmogorov().cdf(z), rtol=0.8 / n, atol=0.05 / n
    )


def test_derivatives_of_every_order() -> None:
    """The slope of the slope, and its slope, by differences, where each method is."""

    def slope(d: Any, x: Any) -> Any:
        return gradient(lambda v: d.logpdf(v), x)[0]

    def curvature(d: Any, x: Any) -> Any:
        return gradient(lambda v: slope(d, v), x)[0]

    for d, places in ((KolmogorovSmirnov(50), (0.1, 0.28, 0.6)), (KolmogorovSmirnov(900), (0.022, 0.035, 0.2))):
        for x in places:
            h = 1e-4 * x
            assert slope(d, x) == pytest.approx((d.logpdf(x + h) - d.logpdf(x - h)) / (2 * h), rel=1e-6)
            assert curvature(d, x) == pytest.approx((slope(d, x + h) - slope(d, x - h)) / (2 * h), rel=1e-6)


def test_moments() -> None:
    """E[X^k] = k ∫ x^(k - 1) P(X > x) dx, from knot to knot."""
    for n in (2, 8, 35):
        for d in (KolmogorovSmirnov(n), OneSidedKolmogorovSmirnov(n)):
            low = float(d.support.lower)
            knots = np.unique([low, *(v for v in np.arange(1, 2 * n) / (2 * n) if low < v < 1), 1.0])
            pairs = list(zip(knots[:-1], knots[1:], strict=True))
            first = low + sum(quad(d.ccdf, a, b, epsrel=1e-11)[0] for a, b in pairs)
            second = low**2 + sum(quad(lambda x, d=d: 2 * x * d.ccdf(x), a, b, epsrel=1e-11)[0] for a, b in pairs)
            # Kinks of order 8 and higher are left in.
            assert d.mean() == pytest.approx(first, rel=2e-9), d
            assert d.var() == pytest.approx(second - first**2, rel=2e-8), d
