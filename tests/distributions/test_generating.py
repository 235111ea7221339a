"""Moment generating and characteristic functions without a formula: against formulas, mpmath and the tails."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import (
    AsymmetricLaplace,
    BetaPrime,
    BirnbaumSaunders,
    Cauchy,
    Chi,
    Continuous,
    ConwayMaxwellPoisson,
    CrystalBall,
    DiscreteWeibull,
    Distribution,
    DoubleGamma,
    DoubleWeibull,
    ExGaussian,
    Exponential,
    Frechet,
    Gamma,
    GeneralizedExtremeValue,
    GeneralizedHyperbolic,
    GeneralizedInverseGaussian,
    GeneralizedLogistic,
    GeneralizedNormal,
    GeneralizedPareto,
    GeneralizedPoisson,
    Gumbel,
    HalfLogistic,
    HyperbolicSecant,
    InverseGamma,
    InverseGaussian,
    Laplace,
    Levy,
    Logistic,
    LogNormal,
    LogSeries,
    Moyal,
    Normal,
    Pareto,
    PolyaGamma,
    Rayleigh,
    Rice,
    SinhArcsinh,
    StudentT,
    Uniform,
    Weibull,
    Wiener,
    YuleSimon,
    Zipf,
)
from probdiff.distributions.support import Real, real
from probdiff.errors import UnsupportedError

inf = math.inf
T = np.array([0.0, 1e-8, 1e-3, 0.1, 1.0, -3.0, 10.0, 100.0])
FORMULAS = [
    Normal(1.0, 2.0),
    Normal(1e3, 1.0),
    Cauchy(5.0, 2.0),
    StudentT(0.5),
    StudentT(3.0),
    Laplace(1.0, 1.0),
    AsymmetricLaplace(0.0, 1.0, 2.0),
    Exponential(1.0),
    Gamma(0.3, 1.0),
    Gamma(3.0, 1.0),
    Gumbel(),
    HyperbolicSecant(0.3, 2.0),
    Logistic(),
    InverseGaussian(1.0, 2.0),
    Levy(3.0, 1.0),
    Moyal(),
    Rayleigh(1.0),
    ExGaussian(0.0, 1.0, 2.0),
]


@pytest.mark.parametrize("d", FORMULAS, ids=lambda d: type(d).__name__)
def test_integrals_are_the_formulas(d):
    np.testing.assert_allclose(Distribution.cf(d, T), d.cf(T), atol=1e-12)  # the mean of 1e3 costs three digits
    assert isinstance(Distribution.cf(d, 1.0), complex)
    batch = type(d)(**{name: np.array([value, value]) for name, value in d.parameters().items()})
    np.testing.assert_allclose(Distribution.cf(batch, 1.0), [d.cf(1.0)] * 2, atol=1e-12)


def test_characteristic_functions_of_mpmath():
    j = mp.mpc(0, 1)
    for t in (-2.5, 0.01, 0.7, 30.0):
        expected = {
            Pareto(1.5, 2.0): 1.5 * (-2 * j * t) ** 1.5 * mp.gammainc(-1.5, -2 * j * t),
            InverseGamma(2.0, 3.0): 2 * (-3 * j * t) * mp.besselk(2, mp.sqrt(-12 * j * t)) / mp.gamma(2),
            GeneralizedLogistic(0.0, 1.0, 2.5): mp.gamma(2.5 + j * t) * mp.gamma(1 - j * t) / mp.gamma(2.5),
            BetaPrime(2.0, 3.5): mp.gamma(5.5) / mp.gamma(3.5) * mp.hyperu(2, 1 - 3.5, -j * t),
            GeneralizedInverseGaussian(0.5, 2.0): (
                (1 - j * t) ** -0.25 * mp.besselk(0.5, 2 * mp.sqrt(1 - j * t)) / mp.besselk(0.5, 2)
            ),
        }
        for d, value in expected.items():
            assert d.cf(t) == pytest.approx(complex(value), abs=1e-12), (d, t)
    u = Uniform(-1.0, 2.0)
    np.testing.assert_allclose(u.cf(500.0), (np.exp(1000j) - np.exp(-500j)) / 1500j, atol=1e-13)


def test_moment_generating_functions_of_mpmath():
    for t in (-1.5, -0.1, 0.2, 0.45):
        expected = {
            Chi(2.5): mp.hyp1f1(1.25, 0.5, t * t / 2)
            + t * mp.sqrt(2) * mp.gamma(1.75) / mp.gamma(1.25) * mp.hyp1f1(1.75, 1.5, t * t / 2),
            GeneralizedLogistic(0.0, 1.0, 2.5): mp.gamma(2.5 + t) * mp.gamma(1 - t) / mp.gamma(2.5),
            GeneralizedInverseGaussian(0.5, 2.0): (
                (1 - t) ** -0.25 * mp.besselk(0.5, 2 * mp.sqrt(1 - t)) / mp.besselk(0.5, 2)
            ),
            HalfLogistic(1.0): 2 * mp.quad(lambda x, t=t: mp.exp((t - 1) * x) / (1 + mp.exp(-x)) ** 2, [0, 5, 40, 400]),
            PolyaGamma(1.0, 0.5): mp.cosh(0.25) / mp.cosh(mp.sqrt(mp.mpc(0.125 - t) / 2)),
            Weibull(2.0, 1.0): mp.quad(lambda x, t=t: 2 * x * mp.exp(t * x - x * x), [0, 1, 3, 12]),
            DiscreteWeibull(0.6, 1.0): mp.mpf(0.4) / (1 - 0.6 * mp.exp(t)),
            LogSeries(0.4): mp.log(1 - 0.4 * mp.exp(t)) / mp.log(0.6),
        }
        for d, value in expected.items():
            assert d.mgf(t) == pytest.approx(float(mp.re(value)), rel=1e-12), (d, t)
    # Next to where it is infinite, and beyond.
    secant = HyperbolicSecant(0.0, 1.0)
    np.testing.assert_allclose(Distribution.cf(secant, 2.0), 1 / math.cosh(math.pi), atol=1e-15)
    double = DoubleGamma(0.0, 1.0, 2.5)
    near = 0.5 * (0.01**-2.5 + 1.99**-2.5)
    np.testing.assert_allclose(double.mgf([0.99, 1.0, -1.2]), [near, inf, inf], rtol=1e-12)


RATES = [
    BirnbaumSaunders(0.7, 2.0),
    Chi(2.5),
    CrystalBall(0.0, 1.0, 1.5, 3.0),
    DoubleGamma(0.0, 2.0, 2.5),
    DoubleWeibull(0.0, 2.0, 1.0),
    Frechet(2.0, 1.0),
    GeneralizedExtremeValue(0.0, 2.0, 0.0),
    GeneralizedExtremeValue(0.0, 2.0, -1.0),
    GeneralizedExtremeValue(0.0, 2.0, -2.0),
    GeneralizedHyperbolic(0.0, 2.0, 0.5, 1.0, 0.7),
    GeneralizedInverseGaussian(0.5, 2.0, 1.7),
    GeneralizedLogistic(0.0, 2.0, 3.0),
    GeneralizedNormal(0.0, 2.0, 1.0),
    GeneralizedPareto(0.0, 2.0, 0.0),
    HalfLogistic(2.0),
    LogNormal(),
    PolyaGamma(1.0, 0.5),
    Rice(1.0, 1.0),
    SinhArcsinh(0.0, 2.0, 0.3, 0.5),
    SinhArcsinh(0.0, 2.0, 0.3, 0.8),
    StudentT(3.0),
    Weibull(0.8, 2.0),
    Weibull(1.0, 2.0),
    Wiener(1.5, 0.5, 0.5, 0.2),
    ConwayMaxwellPoisson(3.0, 1.5),
    DiscreteWeibull(0.6, 1.0),
    GeneralizedPoisson(2.0, 0.4),
    YuleSimon(2.5),
]


@pytest.mark.parametrize("d", RATES, ids=lambda d: type(d).__name__)
def test_tail_rates_are_those_of_the_tails(d):
    """The slope of log P between two far points: a rate is good to a per cent; the others lie aside of the chord."""
    ends = (d.support.lower, d.support.upper)
    for end, rate, inverse in zip(ends, d.tail_rates, (d.invlogcdf, d.invlogccdf), strict=True):
        if not np.isinf(end):
            continue
        near, far = (abs(inverse(lp)) for lp in (-300.0, -600.0))
        slope = 300.0 / (far - near)
        if rate == 0:
            assert slope < 0.99 * 300.0 / near
        elif rate == inf:
            assert slope > 1.01 * 300.0 / near
        else:
            assert slope == pytest.approx(rate, rel=0.02)


def test_infinite():
    assert LogNormal().mgf(1e-300) == Cauchy().mgf(-1e-3) == StudentT(4.0).mgf(0.1) == inf
    assert LogNormal().mgf(0.0) == Zipf(1.5).mgf(0.0) == 1.0
    np.testing.assert_allclose(Zipf(1.5).mgf(-0.5), float(mp.polylog(1.5, mp.exp(-0.5)) / mp.zeta(1.5)), rtol=1e-12)


def test_slopes():
    """The integral moves with the parameters as differences say, an end of the support included."""
    for d, t in (
        (Pareto(2.5, 1.3), -0.7),
        (GeneralizedNormal(0.2, 1.1, 1.5), 1.7),
        (GeneralizedPoisson(2.0, 0.4), 0.1),
    ):
        names, values = zip(*d.parameters().items(), strict=True)

        def value(t, *at, d=d, names=names):
            return type(d)(**dict(zip(names, at, strict=True))).mgf(t)

        at = (t, *values)
        for i, bar in enumerate(gradient(value, *at)):
            moved = [value(*(v + h * (k == i) for k, v in enumerate(at))) for h in (-1e-4, 1e-4)]
            assert bar == pytest.approx((moved[1] - moved[0]) / 2e-4, rel=1e-6), (d, i)
    for d in (Normal(), Pareto(2.5, 1.3)):
        with pytest.raises(UnsupportedError, match="cf is complex, and cannot be differentiated or compiled"):
            gradient(lambda t, d=d: np.real(d.cf(t)), 1.0)


def test_refused():
    class Unknown(Continuous):
        loc: Real
        support = real

        def logpdf(self, x):
            return Normal().logpdf(x - self.loc)

        def cdf(self, x):
            return Normal().cdf(x - self.loc)

    np.testing.assert_allclose(Unknown(0.5).cf(1.0), np.exp(0.5j - 0.5), atol=1e-14)
    with pytest.raises(UnsupportedError, match="Unknown has no mgf: it does not say how fast its tails fall"):
        Unknown(0.5).mgf(1.0)
    with pytest.raises(UnsupportedError, match="Chi.cf: the integral did not settle"):
        Chi(1e6).cf(1e5)
