"""Pólya-gamma variables and the studentized range, against series and quadrature of mpmath, SciPy and themselves."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from probdiff import gradient
from probdiff.distributions import Normal, PolyaGamma, StudentizedRange, StudentT
from tests.distributions.battery import CHECKS, battery
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])


def polya_gamma(x, h, z):
    """The alternating series of Polson, Scott & Windle, in so many digits that its terms may cancel."""
    with mp.workdps(80):
        total = mp.fsum(
            (-1) ** n * mp.gamma(n + h) / mp.factorial(n) * (2 * n + h) * mp.exp(-((2 * n + h) ** 2) / (8 * x))
            for n in range(120)
        )
        return (2 * mp.cosh(z / 2)) ** h * mp.exp(-z * z * x / 2) / 2 / mp.gamma(h) * total / mp.sqrt(2 * mp.pi * x**3)


test_polya_gamma = battery(
    PolyaGamma,
    settings=[{"h": 2.0, "z": 1.5}],
    invalid={"h": POSITIVE, "z": REAL},
    naive=polya_gamma,
    outside=[-1e-300, -3.0],
)


def test_polya_gamma_of_any_shape():
    """Shapes far from one and strong tilts: the series below the mean, and the law of the sum above."""
    for h in (0.01, 0.3, 2.5, 12.0, 60.0):
        for z in (0.0, 1.5, 20.0):
            d = PolyaGamma(h, z)
            x = d.mean() * np.array([0.03, 0.3, 1.0])
            expected = [float(mp.log(polya_gamma(*map(mp.mpf, (v, h, z))))) for v in x]
            np.testing.assert_allclose(d.logpdf(x), expected, rtol=1e-12, atol=1e-12)
    # Far out the nearest pole is all: P(X > x) of h = 1 tends to (4 / π) exp(-π² x / 2).
    x = np.array([10.0, 1e3, 1e6])
    np.testing.assert_allclose(PolyaGamma().logccdf(x), math.log(4 / math.pi) - 0.5 * math.pi**2 * x, rtol=1e-14)


def test_polya_gamma_draws():
    """Whole shapes are drawn as sums, others by inversion; both have the mean and the variance of the law."""
    rng = np.random.default_rng(4)
    for h, z, count in ((1.0, 0.0, 40000), (3.0, 7.0, 40000), (2.0, 40.0, 40000), (0.6, 1.0, 400)):
        d = PolyaGamma(h, z)
        x = d.rand(count, rng=rng)
        assert abs(np.mean(x) - d.mean()) < 5 * d.std() / math.sqrt(count)
        spread = math.sqrt((d.kurtosis() + 2) / count)
        assert abs(np.var(x) / d.var() - 1) < 5 * spread
    assert PolyaGamma(1.0, np.array([0.0, 2.0, 500.0])).rand((2,), rng=rng).shape == (2, 3)


STUDENTIZED = Case(
    StudentizedRange,
    settings=[{"groups": 3.0, "df": 10.0}],
    invalid={"groups": ("greater than 1", [1.0, -2.0, nan]), "df": POSITIVE},
    naive=lambda x, groups, df: nan,
    outside=[-1e-300, -3.0],
)
# A value is a double integral that takes milliseconds: checks of thousands of them are replaced by closed forms below.
QUICK = ("container", "gradient", "gradient_outside", "invalid", "outside", "tails", "reference")


@pytest.mark.parametrize("name", QUICK)
def test_studentized_range(name):
    CHECKS[name](STUDENTIZED)


def test_studentized_range_of_two():
    """The range of two is sqrt(2) times a half t variable: density, both tails, inverses and their slopes."""
    x = np.array([1e-3, 1.0, 5.0, 50.0, 1e6])
    for df in (0.5, 4.0, 1e5):
        d, t = StudentizedRange(2.0, df), StudentT(df)
        z = x / math.sqrt(2)
        np.testing.assert_allclose(d.logpdf(x), t.logpdf(z) + 0.5 * math.log(2), rtol=1e-12)
        np.testing.assert_allclose(d.logccdf(x[:4]), (t.logccdf(z) + math.log(2))[:4], rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(d.cdf(x[:2]), t.cdf(z[:2]) - t.ccdf(z[:2]), rtol=1e-11)

    def ours(df, x):
        return StudentizedRange(2.0, df).logccdf(x)

    def theirs(df, x):
        return StudentT(df).logccdf(x / math.sqrt(2))

    assert gradient(ours, 4.0, 3.0) == pytest.approx(gradient(theirs, 4.0, 3.0), rel=1e-11)
    deep = StudentizedRange(2.0, 4.0).invlogccdf(-700.0)
    assert deep == pytest.approx(math.sqrt(2) * StudentT(4.0).invlogccdf(-700.0 - math.log(2)), rel=1e-12)
    normal = StudentizedRange(2.0, inf)
    np.testing.assert_allclose(normal.logccdf(x[:4]), Normal().logccdf(x[:4] / math.sqrt(2)) + math.log(2), rtol=1e-12)
    assert normal.mean() == pytest.approx(2 / math.sqrt(math.pi), rel=1e-13)


def test_studentized_range_of_many():
    """SciPy's double quadrature, good to about ten digits; the slope in groups; draws; moments that do not exist."""
    x = np.array([0.5, 3.0, 5.0])
    for groups, df in ((3.0, 10.0), (8.0, 40.0), (2.5, 12.0)):
        ours, theirs = StudentizedRange(groups, df), stats.studentized_range(groups, df)
        np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-9)
        np.testing.assert_allclose(ours.pdf(x), theirs.pdf(x), rtol=1e-9)

    def upper(groups):
        return StudentizedRange(groups, 10.0).logccdf(3.0)

    assert gradient(upper, 3.0)[0] == pytest.approx((upper(3.001) - upper(2.999)) / 0.002, rel=1e-6)
    d = StudentizedRange(4.5, 12.0)
    drawn = d.rand(100_000, rng=np.random.default_rng(3))
    assert abs(np.mean(drawn) - d.mean()) < 5 * d.std() / math.sqrt(drawn.size)
    assert abs(np.var(drawn) / d.var() - 1) < 5 * math.sqrt((d.kurtosis() + 2) / drawn.size)
    single = StudentizedRange(np.float32(3.0), np.float32(10.0))
    for method in ("logpdf", "logcdf", "logccdf"):
        got = getattr(single, method)(np.float32(2.5))
        assert got.dtype == np.float32
        assert got == pytest.approx(getattr(StudentizedRange(3.0, 10.0), method)(2.5), rel=1e-5)
    assert StudentizedRange(3.0, 1.0).mean() == inf == StudentizedRange(3.0, 2.0).var()
