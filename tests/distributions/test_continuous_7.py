"""Families that a single library has, of physics and of lifetimes, against R, mpmath, SciPy and themselves."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import (
    Anglit,
    Argus,
    Bradford,
    CrystalBall,
    DoubleCrystalBall,
    DoubleGamma,
    DoubleWeibull,
    GeneralizedHalfLogistic,
    Lindley,
    NoncentralBeta,
    RelativisticBreitWigner,
    SinhArcsinh,
    SkewCauchy,
)
from tests.distributions.battery import CHECKS, battery
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
NONNEGATIVE = ("nonnegative", [-1.0, nan])
REAL = ("finite", [inf, -inf, nan])
ABOVE_ONE = ("greater than 1", [1.0, 0.5, nan])


def noncentral_beta(x, alpha, beta, noncentrality):
    m = noncentrality / 2
    kernel = x ** (alpha - 1) * (1 - x) ** (beta - 1) / mp.beta(alpha, beta)
    return kernel * mp.exp(-m) * mp.hyp1f1(alpha + beta, alpha, m * x)


def argus(x, chi, scale):
    z, psi = x / scale, mp.ncdf(chi) - chi * mp.npdf(chi) - mp.mpf(1) / 2
    kernel = z * mp.sqrt(1 - z**2) * mp.exp(-(chi**2) * (1 - z**2) / 2)
    return chi**3 / (mp.sqrt(2 * mp.pi) * psi) * kernel / scale


def power_side(t, alpha, n):
    a, b = (n / alpha) ** n * mp.exp(-(alpha**2) / 2), n / alpha - alpha
    return mp.exp(-(t**2) / 2) if t < alpha else a * (b + t) ** -n


def double_crystal_ball(x, loc, scale, lower_alpha, lower_n, upper_alpha, upper_n):
    z, sides = (x - loc) / scale, ((lower_alpha, lower_n), (upper_alpha, upper_n))
    total = sum(mp.sqrt(mp.pi / 2) * mp.erf(a / mp.sqrt(2)) + n / a / (n - 1) * mp.exp(-(a**2) / 2) for a, n in sides)
    return power_side(abs(z), *sides[int(z > 0)]) / (total * scale)


def crystal_ball(x, loc, scale, alpha, n):
    z = (x - loc) / scale
    total = n / alpha / (n - 1) * mp.exp(-(alpha**2) / 2) + mp.sqrt(2 * mp.pi) * mp.ncdf(alpha)
    return (power_side(-z, alpha, n) if z < 0 else mp.exp(-(z**2) / 2)) / (total * scale)


def breit_wigner(x, mass, width):
    gamma = mp.sqrt(mass**2 * (mass**2 + width**2))
    k = 2 * mp.sqrt(2) * mass * width * gamma / (mp.pi * mp.sqrt(mass**2 + gamma))
    return k / ((x**2 - mass**2) ** 2 + (mass * width) ** 2)


NONCENTRAL_BETA = Case(
    NoncentralBeta,
    settings=[{"alpha": 2.0, "beta": 6.0, "noncentrality": 5.0}],
    invalid={"alpha": POSITIVE, "beta": POSITIVE, "noncentrality": NONNEGATIVE},
    naive=noncentral_beta,
    outside=[-1e-300, 1.0000001],
    reference=("NoncentralBeta", {"lambda": "noncentrality"}),
)


# Quadrature over a search over a series takes ten seconds; the expectations of the base see mean and variance, too.
@pytest.mark.parametrize("name", [name for name in CHECKS if name != "moments"])
def test_noncentral_beta(name: str) -> None:
    CHECKS[name](NONCENTRAL_BETA)


test_lindley = battery(
    Lindley,
    settings=[{"theta": 0.5}, {"theta": 3.0}],
    invalid={"theta": POSITIVE},
    naive=lambda x, theta: theta**2 / (1 + theta) * (1 + x) * mp.exp(-theta * x),
    outside=[-1e-300, -3.0],
    reference=("Lindley", {}),
)
test_argus = battery(
    Argus,
    settings=[{"chi": 1.7, "scale": 5.3}],
    invalid={"chi": NONNEGATIVE, "scale": POSITIVE},
    naive=argus,
    outside=[-1e-300, 5.4],
)
test_crystal_ball = battery(
    CrystalBall,
    settings=[{"loc": 3.0, "scale": 0.2, "alpha": 1.3, "n": 6.5}],
    invalid={"loc": REAL, "scale": POSITIVE, "alpha": POSITIVE, "n": ABOVE_ONE},
    naive=crystal_ball,
)
test_double_crystal_ball = battery(
    DoubleCrystalBall,
    settings=[
        {"loc": -1.0, "scale": 2.0, "lower_alpha": 1.3, "lower_n": 7.0, "upper_alpha": 1.9, "upper_n": 12.0},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "lower_alpha": POSITIVE, "upper_n": ABOVE_ONE},
    naive=double_crystal_ball,
)
test_relativistic_breit_wigner = battery(
    RelativisticBreitWigner,
    settings=[{"mass": 2.0, "width": 0.7}, {"mass": 80.4, "width": 21.0}],
    invalid={"mass": POSITIVE, "width": POSITIVE},
    naive=breit_wigner,
    outside=[-1e-300, -3.0],
)


test_sinh_arcsinh = battery(
    SinhArcsinh,
    settings=[{"loc": -1.0, "scale": 2.0, "epsilon": 0.4, "delta": 0.8}],
    invalid={"loc": REAL, "scale": POSITIVE, "epsilon": REAL, "delta": POSITIVE},
    naive=lambda x, loc, scale, epsilon, delta: (
        delta
        * mp.cosh(delta * mp.asinh((x - loc) / scale) - epsilon)
        * mp.npdf(mp.sinh(delta * mp.asinh((x - loc) / scale) - epsilon))
        / (scale * mp.sqrt(1 + ((x - loc) / scale) ** 2))
    ),
)
test_bradford = battery(
    Bradford,
    settings=[{"shape": 2.5, "low": -1.0, "high": 3.0}],
    invalid={"shape": POSITIVE, "low": REAL, "high": REAL},
    naive=lambda x, shape, low, high: shape / (mp.log(1 + shape) * (high - low + shape * (x - low))),
    outside=[-1.1, 3.1],
)
test_double_gamma = battery(
    DoubleGamma,
    settings=[{"loc": 0.3, "scale": 0.7, "shape": 1.0}],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": POSITIVE},
    naive=lambda x, loc, scale, shape: (
        (abs(x - loc) / scale) ** (shape - 1) * mp.exp(-abs(x - loc) / scale) / (2 * scale * mp.gamma(shape))
    ),
)
test_double_weibull = battery(
    DoubleWeibull,
    settings=[{"loc": 0.3, "scale": 0.7, "shape": 1.0}],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": POSITIVE},
    naive=lambda x, loc, scale, shape: (
        shape * (abs(x - loc) / scale) ** (shape - 1) * mp.exp(-((abs(x - loc) / scale) ** shape)) / (2 * scale)
    ),
)
TWO_PEAKS = [
    replace(test.case, settings=[{"loc": 0.3, "scale": 0.7, "shape": 2.4}])
    for test in (test_double_gamma, test_double_weibull)
]


# Where the density is zero, at the median, quantiles move by the root of a rounding: no two programs agree there.
@pytest.mark.parametrize("name", [name for name in CHECKS if name != "compiled"])
@pytest.mark.parametrize("case", TWO_PEAKS, ids=lambda case: case.family.__name__)
def test_two_peaks(name: str, case: Case) -> None:
    CHECKS[name](case)


test_anglit = battery(
    Anglit,
    settings=[{"loc": -1.0, "scale": 2.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.cos(2 * (x - loc) / scale) / scale,
    outside=[-2.6, 0.58],
)
test_skew_cauchy = battery(
    SkewCauchy,
    settings=[{"loc": -1.0, "scale": 2.0, "skew": 0.3}],
    invalid={"loc": REAL, "scale": POSITIVE, "skew": ("in (-1, 1)", [-1.0, 1.0, nan])},
    naive=lambda x, loc, scale, skew: (
        1 / (mp.pi * scale * (1 + ((x - loc) / scale / (1 + skew * mp.sign(x - loc))) ** 2))
    ),
)
test_generalized_half_logistic = battery(
    GeneralizedHalfLogistic,
    settings=[{"shape": 0.3, "scale": 2.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: (
        2 * (1 - shape * x / scale) ** (1 / shape - 1) / (scale * (1 + (1 - shape * x / scale) ** (1 / shape)) ** 2)
    ),
    outside=[-1e-300, 6.7],
)


def test_noncentral_beta_ends() -> None:
    """The density at the ends of the interval; tails beyond the rounding of x, and none of the numerator's."""
    assert NoncentralBeta(1.0, 3.0, 2.0).logpdf(0.0) == pytest.approx(math.log(3.0) - 1.0, rel=1e-14)
    assert NoncentralBeta(3.0, 1.0, 2.0).logpdf(1.0) == pytest.approx(math.log(4.0), rel=1e-14)
    assert NoncentralBeta(0.5, 2.0, 2.0).logpdf(0.0) == inf == -NoncentralBeta(2.0, 2.0, 2.0).logpdf(1.0)
    assert NoncentralBeta(2.0, 3.0, 0.0).logccdf(0.3) == pytest.approx(stats.beta(2, 3).logsf(0.3), rel=1e-13)
    # P(X <= x) tends to exp(-m) x^alpha / (alpha B(alpha, beta)).
    d = NoncentralBeta(2.0, 6.0, 5.0)
    assert d.logcdf(1e-100) == pytest.approx(-2.5 - 200 * math.log(10) - math.log(2 / 42), rel=1e-13)
    weights = stats.poisson(2.5).pmf(np.arange(60))
    assert d.mean() == pytest.approx(np.sum(weights * (2 + np.arange(60)) / (8 + np.arange(60))), rel=1e-11)


@pytest.mark.parametrize("chi", [0.0, 1e-6, 0.3, 1.42, 4.0, 40.0])
def test_argus_tails(chi: float) -> None:
    """Both tails of mpmath, for curvatures from none to a needle; without one, p(x) = 3 x sqrt(1 - x²)."""
    d = Argus(chi)
    with mp.workdps(40):
        h, shape = mp.mpf(chi) ** 2 / 2, mp.mpf(3) / 2

        def room_above(room: mp.mpf) -> mp.mpf:
            """∫ sqrt(s) exp(-h s) ds over s from 0."""
            return room**shape * mp.hyp1f1(shape, shape + 1, -h * room) / shape

        mp.mp.dps = 800 if chi > 30 else 40
        for x in (1e-9, 0.01, 0.4, 0.71, 0.95, 1 - 1e-9):
            upper = room_above(1 - mp.mpf(x) ** 2) / room_above(mp.mpf(1))
            assert d.logccdf(x) == pytest.approx(float(mp.log(upper)), rel=1e-12), x
            assert d.logcdf(x) == pytest.approx(float(mp.log1p(-upper)), rel=1e-12), x
    if chi == 0:
        assert d.pdf(0.6) == pytest.approx(3 * 0.6 * 0.8, rel=1e-14) and d.mode() == pytest.approx(math.sqrt(0.5))


def test_crystal_ball_moments_and_junction() -> None:
    """SciPy's moments; infinite ones; a power law that begins 50 scales out, where its mass is no number."""
    ours, theirs = CrystalBall(0.3, 2.0, 0.8, 7.5), stats.crystalball(0.8, 7.5, loc=0.3, scale=2.0)
    expected = theirs.stats("mvsk")
    np.testing.assert_allclose([ours.mean(), ours.var(), ours.skewness(), ours.kurtosis()], expected, rtol=1e-11)
    heavy = CrystalBall(0.0, 1.0, 1.0, 2.5)
    assert np.isfinite(heavy.mean()) and heavy.var() == inf
    far = CrystalBall(0.0, 1.0, 50.0, 3.0)
    np.testing.assert_allclose(far.logcdf([-1.0, -30.0]), stats.norm.logcdf([-1.0, -30.0]), rtol=1e-13)
    tail = -1250 + math.log(3 / 50 / 2 / math.sqrt(2 * math.pi)) - 2 * math.log1p(50 / 3 * 10)
    assert far.logcdf(-60.0) == pytest.approx(tail, rel=1e-14)


@pytest.mark.parametrize("width", [1e-6, 0.1, 1.0, 30.0])
def test_breit_wigner_tails(width: float) -> None:
    """Both tails are integrals of the density, from a needle to a resonance wider than its mass."""
    d = RelativisticBreitWigner(1.0, width)
    with mp.workdps(40):
        w = mp.mpf(width)
        for x in (1e-5, 0.5, 1.0, 1.5, 5.0, 1e6):
            scale = max(w, 1)
            below = [mp.mpf(0), *(v for v in (1 - 9 * w, 1, 1 + 9 * w) if 0 < v < x), mp.mpf(x)]
            above = [mp.mpf(x), *(v for v in (1 + w, 1 + 9 * w, 20 * scale) if v > x), mp.inf]
            for tail, knots in (("logcdf", below), ("logccdf", above)):
                expected = mp.quad(lambda t: breit_wigner(t, mp.mpf(1), w), knots)
                assert getattr(d, tail)(x) == pytest.approx(float(mp.log(expected)), rel=1e-9, abs=1e-13), (tail, x)
