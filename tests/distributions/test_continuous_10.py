"""Families that a single library has, of shapes, sums and lifetimes, against textbook densities and SciPy."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import (
    PERT,
    Alpha,
    Argus,
    Bates,
    Bradford,
    DoubleMaxwell,
    ExponentialPower,
    GeneralizedExtremeValue,
    GeneralizedHalfLogistic,
    GeneralizedPareto,
    Horseshoe,
    IrwinHall,
    Kappa4,
    Logistic,
    LogLaplace,
    PowerNormal,
    Trapezoidal,
    Triangular,
    TukeyLambda,
    Uniform,
    kappa3,
)
from tests.distributions.battery import CHECKS, battery
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])


COUNT = ("a positive integer", [0, -1, 0.5, nan])


def kappa4(x, loc, scale, h, k):
    power = (1 - k * (x - loc) / scale) ** (1 / k)
    return power ** (1 - k) * (1 - h * power) ** (1 / h - 1) / scale


test_trapezoidal = battery(
    Trapezoidal,
    settings=[{"low": -1.0, "left": 0.3, "right": 1.1, "high": 4.0}],
    invalid={"low": REAL, "left": REAL, "right": REAL, "high": REAL},
    naive=lambda x, low, left, right, high: (
        2 / (high + right - left - low) * min(1, (x - low) / (left - low), (high - x) / (high - right))
    ),
    outside=[-1.1, 4.1],
)
test_kappa4 = battery(
    Kappa4,
    settings=[{"loc": 0.3, "scale": 2.0, "h": 0.4, "k": -0.15}, {"loc": 0.3, "scale": 2.0, "h": -0.7, "k": 0.2}],
    invalid={"loc": REAL, "scale": POSITIVE, "h": REAL, "k": REAL},
    naive=kappa4,
    outside=[],
)
test_pert = battery(
    PERT,
    settings=[{"low": -1.0, "high": 3.0, "peak": 0.4, "concentration": 3.5}],
    invalid={"low": REAL, "high": REAL, "peak": REAL, "concentration": POSITIVE},
    naive=lambda x, low, high, peak, concentration: (
        (x - low) ** (concentration * (peak - low) / (high - low))
        * (high - x) ** (concentration * (high - peak) / (high - low))
        / mp.beta(1 + concentration * (peak - low) / (high - low), 1 + concentration * (high - peak) / (high - low))
        / (high - low) ** (concentration + 1)
    ),
    outside=[-1.1, 3.1],
)
test_alpha = battery(
    Alpha,
    settings=[{"shape": 1.3, "scale": 2.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: scale * mp.npdf(shape - scale / x) / (x**2 * mp.ncdf(shape)),
    outside=[0.0, -1.0],
)
test_exponential_power = battery(
    ExponentialPower,
    settings=[{"shape": 2.3, "scale": 2.0}, {"shape": 1.4, "scale": 0.3}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: (
        shape / x * (x / scale) ** shape * mp.exp(1 + (x / scale) ** shape - mp.exp((x / scale) ** shape))
    ),
    outside=[-1e-300, -1.0],
)
test_log_laplace = battery(
    LogLaplace,
    settings=[{"shape": 9.0, "scale": 2.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: shape / (2 * x) * min(x / scale, scale / x) ** shape,
    outside=[-1e-300, -1.0],
)
test_power_normal = battery(
    PowerNormal,
    settings=[{"loc": 0.3, "scale": 2.0, "power": 4.5}, {"loc": 0.3, "scale": 2.0, "power": 0.7}],
    invalid={"loc": REAL, "scale": POSITIVE, "power": POSITIVE},
    naive=lambda x, loc, scale, power: (
        power / scale * mp.npdf((x - loc) / scale) * mp.ncdf((loc - x) / scale) ** (power - 1)
    ),
)


def irwin_hall(x, n):
    terms = (mp.mpf(-1) ** k * mp.binomial(n, k) * (x - k) ** (n - 1) for k in range(int(mp.floor(x)) + 1))
    return mp.fsum(terms) / mp.factorial(n - 1)


test_irwin_hall = battery(
    IrwinHall,
    settings=[{"n": 12}, {"n": 41}],
    invalid={"n": COUNT},
    naive=irwin_hall,
    outside=[-1e-300, 41.1],
)
test_bates = battery(
    Bates,
    settings=[{"n": 9, "low": -1.0, "high": 3.0}],
    invalid={"n": COUNT, "low": REAL, "high": REAL},
    naive=lambda x, n, low, high: irwin_hall(n * (x - low) / (high - low), n) * n / (high - low),
    outside=[-1.1, 3.1],
)


HORSESHOE = Case(
    Horseshoe,
    settings=[{"scale": 2.0}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: mp.exp((x / scale) ** 2 / 2) * mp.e1((x / scale) ** 2 / 2) / (mp.sqrt(2 * mp.pi**3) * scale),
)


# The median is at the pole, where a rounding of x has no weight.
@pytest.mark.parametrize("name", [name for name in CHECKS if name not in ("quantiles", "divergences")])
def test_horseshoe(name: str) -> None:
    CHECKS[name](HORSESHOE)


def test_horseshoe_tails() -> None:
    """Mixtures by quadrature of mpmath, near the pole and far out;"""
    d = Horseshoe(2.0)
    for z in (1e-8, 0.01, 0.7, 3.0, 200.0):
        knots = [0, z / 9, z / 3, z, 3 * z, 9 * z, 100 * z, 1e4 * z, mp.inf]
        tail = mp.quad(lambda v, z=z: mp.ncdf(-z / v) * 2 / (mp.pi * (1 + v * v)), knots)
        assert d.logccdf(2 * z) == pytest.approx(float(mp.log(tail)), rel=1e-10), z
        assert d.logcdf(-2 * z) == d.logccdf(2 * z)
    assert d.cdf(d.quantile(0.3)) == pytest.approx(0.3, rel=1e-12) and d.quantile(0.5) == 0 and d.logpdf(0.0) == inf


def test_uniform_sum() -> None:
    """Of one and two variables uniform and triangular; tails of a thousand near the normal law's, and far out."""
    x = np.array([0.0, 0.2, 0.99])
    np.testing.assert_allclose(IrwinHall(1).logpdf(x), 0.0, atol=1e-15)
    np.testing.assert_allclose(IrwinHall(2).cdf(x), 0.5 * x * x, rtol=1e-14)
    assert IrwinHall(2).logpdf(0.0) == -inf and IrwinHall(1).logccdf(0.25) == pytest.approx(math.log(0.75))
    d = IrwinHall(1000)
    assert d.cdf(500.0) == pytest.approx(0.5, rel=1e-12)
    # The first correction of Edgeworth's is in the kurtosis, -1.2 / n.
    z = (480.0 - 500.0) / math.sqrt(1000 / 12)
    expected = stats.norm.cdf(z) + 1.2 / 1000 / 24 * (z**3 - 3 * z) * stats.norm.pdf(z)
    assert d.cdf(480.0) == pytest.approx(expected, rel=1e-5)
    assert d.logcdf(0.5) == pytest.approx(1000 * math.log(0.5) - math.lgamma(1001), rel=1e-13)


def tukey_lambda(x, loc, scale, shape):
    """The slope of the level at which x is the quantile."""
    z = (x - loc) / scale
    ends = (mp.mpf(10) ** -40, 1 - mp.mpf(10) ** -40)
    p = mp.findroot(lambda p: (p**shape - (1 - p) ** shape) / shape - z, ends, solver="anderson")
    return 1 / (scale * (p ** (shape - 1) + (1 - p) ** (shape - 1)))


test_tukey_lambda = battery(
    TukeyLambda,
    settings=[{"loc": 0.3, "scale": 2.0, "shape": 0.3}, {"loc": 0.3, "scale": 2.0, "shape": -0.15}],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": REAL},
    naive=tukey_lambda,
)


def test_tukey_lambda_members() -> None:
    """The logistic law and two uniform ones; SciPy's at others."""
    x = np.array([-0.9, 0.0, 0.3, 0.97])
    for name in ("logpdf", "logcdf", "logccdf"):
        pairs = [(0.0, Logistic()), (1.0, Uniform(-1.0, 1.0))]
        for shape, theirs in pairs:
            ours = getattr(TukeyLambda(shape=shape), name)(x)
            np.testing.assert_allclose(ours, getattr(theirs, name)(x), rtol=1e-12, atol=1e-14)
    for shape in (-1.5, -0.2, 0.14, 0.8):
        np.testing.assert_allclose(TukeyLambda(shape=shape).cdf(x), stats.tukeylambda(shape).cdf(x), rtol=1e-9)


DOUBLE_MAXWELL = Case(
    DoubleMaxwell,
    settings=[{"loc": 0.3, "scale": 2.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: ((x - loc) / scale) ** 2 * mp.npdf((x - loc) / scale) / scale,
)


# Where the density is zero, at the median, quantiles move by the root of a rounding: no two programs agree there.
@pytest.mark.parametrize("name", [name for name in CHECKS if name != "compiled"])
def test_double_maxwell(name: str) -> None:
    CHECKS[name](DOUBLE_MAXWELL)


def test_trapezoidal_members() -> None:
    """Triangular and uniform laws; both slopes may be steep."""
    x = np.array([-0.9, 0.0, 0.7, 2.5])
    for name in ("logpdf", "logcdf", "logccdf"):
        ours, theirs = Trapezoidal(-1.0, 0.4, 0.4, 3.0), Triangular(-1.0, 3.0, 0.4)
        np.testing.assert_allclose(getattr(ours, name)(x), getattr(theirs, name)(x), rtol=1e-13)
        steep = getattr(Trapezoidal(-1.0, -1.0, 3.0, 3.0), name)(x)
        np.testing.assert_allclose(steep, getattr(stats.uniform(-1, 4), name.replace("ccdf", "sf"))(x), rtol=1e-13)
    d, theirs = Trapezoidal(-1.0, 0.3, 1.1, 4.0), stats.trapezoid(1.3 / 5, 2.1 / 5, -1, 5)
    np.testing.assert_allclose([d.mean(), d.var()], theirs.stats("mv"), rtol=1e-12)


@pytest.mark.parametrize("k", [-0.3, 0.0, 0.25])
def test_kappa4_members(k: float) -> None:
    """h = 0 and h = 1 are the laws of extremes and of exceedances; SciPy's at others."""
    x = np.array([0.1, 0.4, 1.7, 2.2])
    for h, theirs in ((0.0, GeneralizedExtremeValue(0.0, 1.0, -k)), (1.0, GeneralizedPareto(0.0, 1.0, -k))):
        for name in ("logpdf", "logcdf", "logccdf"):
            np.testing.assert_allclose(getattr(Kappa4(0.0, 1.0, h, k), name)(x), getattr(theirs, name)(x), rtol=1e-12)
    for h in (-0.5, 0.3, 2.0):
        np.testing.assert_allclose(Kappa4(0.0, 1.0, h, k).cdf(x), stats.kappa4(h, k).cdf(x), rtol=1e-9, atol=1e-15)


def test_scipy() -> None:
    x = np.array([0.05, 0.4, 1.7, 2.2])
    pairs = [
        (Alpha(1.3), stats.alpha(1.3)),
        (ExponentialPower(0.7), stats.exponpow(0.7)),
        (LogLaplace(0.7), stats.loglaplace(0.7)),
        (kappa3(1.7), stats.kappa3(1.7)),
        (PowerNormal(power=3.3), stats.powernorm(3.3)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-10)
        np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-10)
        np.testing.assert_allclose(ours.ccdf(x), theirs.sf(x), rtol=1e-10)


FITTED = [
    Argus(1.7, 5.3),
    Bradford(2.5, -1.0, 3.0),
    GeneralizedHalfLogistic(0.3, 2.0),
    Kappa4(0.3, 2.0, 0.4, -0.15),
    TukeyLambda(0.3, 2.0, -0.15),
]


@pytest.mark.parametrize("d", FITTED, ids=lambda d: type(d).__name__)
def test_fits(d: Any) -> None:
    """The likelihood of a fit is larger than the truth's, by half a chi-squared variable of 4 or fewer degrees."""
    x = d.rand(1000, rng=np.random.default_rng(3))
    gain = np.sum(type(d).fit(x).logpdf(x) - d.logpdf(x))
    assert 0 < gain < 18, (d, type(d).fit(x))
