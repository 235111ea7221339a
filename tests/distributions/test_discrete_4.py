"""Discrete families of counts that are over- or underdispersed, and of whole numbers around zero, against mpmath."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from probdiff import compile, gradient
from probdiff.distributions import (
    ConwayMaxwellPoisson,
    DiscreteLaplace,
    GeneralizedPoisson,
    Poisson,
    PoissonLogNormal,
    StoppingRatioLogistic,
)
from probdiff.errors import DataError, ParameterError
from tests.distributions.battery import CHECKS, battery
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
FINITE = ("finite", [inf, nan])


def discrete_laplace(x, scale):
    return mp.tanh(1 / (2 * scale)) * mp.exp(-abs(x) / scale)


def consul(x, rate, dispersion):
    """As its authors have it: not divided by its sum."""
    r = rate + dispersion * x
    return rate * r ** (x - 1) * mp.exp(-r) / mp.factorial(x)


def generalized_poisson(x, rate, dispersion):
    total = 1
    if dispersion < 0:
        total = mp.fsum(consul(k, rate, dispersion) for k in range(int(mp.ceil(-rate / dispersion))))
    return consul(x, rate, dispersion) / total


def conway_maxwell_poisson(x, shape, rate=None, mu=None):
    rate = mu**shape if rate is None else rate
    total = mp.fsum(rate**k / mp.factorial(k) ** shape for k in range(400))
    return rate**x / mp.factorial(x) ** shape / total


def poisson_log_normal(x, loc, scale):
    def integrand(u):
        return mp.exp(x * u - mp.exp(u) - (u - loc) ** 2 / (2 * scale**2))

    # Most of it is within a few standard deviations of the rate's log, or of the count's.
    peaks = [loc + 2 * j * scale for j in range(-7, 8)] + [mp.log(x + 1) + mp.mpf(j) / 10 for j in range(-12, 13)]
    ends = sorted(v for v in peaks if abs(v - loc) <= 14 * scale)
    return mp.quad(integrand, ends) / (mp.factorial(x) * scale * mp.sqrt(2 * mp.pi))


LAPLACE = Case(
    DiscreteLaplace,
    settings=[{"scale": 2.5}, {"scale": 0.4}],
    invalid={"scale": POSITIVE},
    naive=discrete_laplace,
)
# The battery adds up masses from zero on; a law of both signs has sums of its own below.
SUMS = ("normalisation", "moments", "divergences")
test_generalized_poisson = battery(
    GeneralizedPoisson,
    settings=[{"rate": 3.0, "dispersion": 0.4}, {"rate": 12.3, "dispersion": -0.5}],
    invalid={"rate": POSITIVE, "dispersion": ("in [-1, 1)", [1.0, -1.5, nan])},
    naive=generalized_poisson,
    outside=[-1.0],
)
test_conway_maxwell_poisson = battery(
    ConwayMaxwellPoisson,
    settings=[{"rate": 6.0, "shape": 1.7}, {"rate": 0.8, "shape": 0.3}, {"shape": 0.6, "mu": 4.5}],
    invalid={"rate": POSITIVE, "shape": POSITIVE, "mu": POSITIVE},
    naive=conway_maxwell_poisson,
    outside=[-1.0],
)
test_poisson_log_normal = battery(
    PoissonLogNormal,
    settings=[{"loc": 1.0, "scale": 0.5}],
    invalid={"loc": FINITE, "scale": POSITIVE},
    naive=poisson_log_normal,
    outside=[-1.0],
)


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in SUMS])
def test_discrete_laplace(name):
    CHECKS[name](LAPLACE)


def test_discrete_laplace_sums():
    p, q = LAPLACE.members()
    k = np.arange(-400.0, 401)
    mass = p.pdf(k)
    np.testing.assert_allclose(np.cumsum(mass), p.cdf(k), rtol=1e-12, atol=1e-60)
    np.testing.assert_allclose(np.sum(mass * k**2), p.var(), rtol=1e-13)
    np.testing.assert_allclose(np.sum(mass * k**4), (p.kurtosis() + 3) * p.var() ** 2, rtol=1e-12)
    np.testing.assert_allclose(-np.sum(mass * p.logpdf(k)), p.entropy(), rtol=1e-13)
    np.testing.assert_allclose(p.kl_divergence(q), np.sum(mass * (p.logpdf(k) - q.logpdf(k))), rtol=1e-12)
    np.testing.assert_allclose(p.mgf(0.3), np.sum(mass * np.exp(0.3 * k)), rtol=1e-12)
    np.testing.assert_allclose(p.cf(0.7), np.sum(mass * np.cos(0.7 * k)), rtol=1e-12)
    np.testing.assert_allclose(p.logpdf(k), stats.dlaplace(0.4).logpmf(k), rtol=1e-12)
    assert DiscreteLaplace(rate=0.4) == p and p.mgf(0.4) == inf
    x = p.rand(500, rng=np.random.default_rng(4))
    fitted = DiscreteLaplace.fit(x)
    np.testing.assert_allclose(1 / np.sinh(1 / fitted.scale), np.mean(abs(x)), rtol=1e-14)
    with pytest.raises(DataError, match="all observations are zero"):
        DiscreteLaplace.fit([0, 0])


@pytest.mark.parametrize(
    ("family", "params", "naive", "points"),
    [
        (DiscreteLaplace, (1e8,), discrete_laplace, [0, 3, -(10**9), 10**10]),
        (DiscreteLaplace, (0.01,), discrete_laplace, [0, 1, -20]),
        (GeneralizedPoisson, (1e4, 0.999), consul, [9_000_000, 10_000_000, 12_000_000]),
        (GeneralizedPoisson, (1e-3, 0.9), consul, [0, 1, 500]),
        (GeneralizedPoisson, (4.0, -1.0), generalized_poisson, [0, 2, 3]),
        (GeneralizedPoisson, (300.0, -0.7), generalized_poisson, [0, 180, 420]),
        (PoissonLogNormal, (-2.0, 0.01), poisson_log_normal, [0, 1, 30]),
        (PoissonLogNormal, (3.0, 2.5), poisson_log_normal, [0, 1000]),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_extremes(family, params, naive, points):
    """Large and small parameters, against forty digits."""
    with mp.workdps(40):
        expected = [float(mp.log(naive(mp.mpf(k), *map(mp.mpf, params)))) for k in points]
    np.testing.assert_allclose(family(*params).logpdf(points), expected, rtol=1e-12, atol=1e-12)


def test_far_tails():
    """Sums of masses in forty digits, both tails."""
    for d, naive, k in (
        (GeneralizedPoisson(5.0, 0.9), consul, 2000),
        (GeneralizedPoisson(900.0, 0.5), consul, 700),
        (GeneralizedPoisson(0.2, 0.9), consul, 3),
        (ConwayMaxwellPoisson(50.0**0.05, 0.05), conway_weight, 5),
        (ConwayMaxwellPoisson(0.5, 0.01), conway_weight, 90),
    ):
        params = [mp.mpf(float(v)) for v in d.parameters().values()]
        with mp.workdps(40):
            terms = [naive(mp.mpf(j), *params) for j in range(9000)]
            total, lower, upper = mp.fsum(terms), mp.fsum(terms[: k + 1]), mp.fsum(terms[k + 1 :])
            expected = [float(mp.log(v / total)) for v in (terms[k], lower, upper)]
        # What is beyond 9000 terms is below 1e-14 of the upper tail of the slowest.
        np.testing.assert_allclose([d.logpdf(k), d.logcdf(k), d.logccdf(k)], expected, rtol=1e-11, atol=1e-15)


def conway_weight(x, rate, shape):
    """Not normalised."""
    return rate**x / mp.factorial(x) ** shape


def test_special_cases():
    k = np.arange(60.0)
    plain = Poisson(7.5)
    for d in (GeneralizedPoisson(7.5), ConwayMaxwellPoisson(7.5), PoissonLogNormal(math.log(7.5), 1e-9)):
        for method in ("logpdf", "logcdf", "logccdf"):
            np.testing.assert_allclose(getattr(d, method)(k), getattr(plain, method)(k), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        ConwayMaxwellPoisson(81.0, 2.0).logpdf(k), ConwayMaxwellPoisson(mu=9.0, shape=2.0).logpdf(k), rtol=1e-12
    )
    large = ConwayMaxwellPoisson(mu=1e9, shape=4.0)
    # Two terms of the mean's expansion in 1 / mu (Gaunt et al. 2019).
    np.testing.assert_allclose(large.mean(), 1e9 - 3 / 8, rtol=1e-15)
    np.testing.assert_allclose(large.var(), 1e9 / 4, rtol=1e-9)
    with pytest.raises(ParameterError, match="GeneralizedPoisson needs dispersion >= -rate / 4"):
        GeneralizedPoisson(1.0, -0.5)
    # The sum that the negative law is divided by is one to 0.5 %.
    assert abs(GeneralizedPoisson(4.0, -1.0).logpdf(0) + 4) < 0.005


def test_stopping_ratio():
    """Products of the chances of each step, their slopes, far tails and draws."""
    cuts, eta = np.array([-0.5, 1.0, 0.2]), 0.7
    d = StoppingRatioLogistic(eta, cuts)
    k = np.arange(4.0)
    stop = 1 / (1 + np.exp(eta - cuts))
    expected = [stop[0], (1 - stop[0]) * stop[1], (1 - stop[0]) * (1 - stop[1]) * stop[2], np.prod(1 - stop)]
    np.testing.assert_allclose(d.pdf(k), expected, rtol=1e-14)
    np.testing.assert_allclose(d.cdf(k), np.cumsum(expected), rtol=1e-14)
    np.testing.assert_allclose(StoppingRatioLogistic(-800.0, cuts).logccdf(1), 2 * -800.0 - 0.5, rtol=1e-14)
    np.testing.assert_array_equal(d.quantile(d.cdf(k)), k)
    np.testing.assert_array_equal(d.logpdf([-1.0, 0.5, 4.0, nan]), -inf)
    x = d.rand(20_000, rng=np.random.default_rng(7))
    # Five standard errors of a frequency.
    np.testing.assert_allclose(np.bincount(x, minlength=4) / 20_000, expected, atol=5 * math.sqrt(0.25 / 20_000))

    def total(eta, cuts):
        return np.sum(StoppingRatioLogistic(eta, cuts).logpdf(k))

    bars = gradient(total, eta, cuts)
    # Each step that is passed adds -stop, each that stops 1 - stop.
    steps = np.array([1.0, 1.0, 1.0]) - np.array([4.0, 3.0, 2.0]) * stop
    np.testing.assert_allclose(bars[1], steps, rtol=1e-13)
    np.testing.assert_allclose(bars[0], -np.sum(steps), rtol=1e-13)
    for native, bar in zip(compile(lambda *at: gradient(total, *at))(eta, cuts), bars, strict=True):
        np.testing.assert_allclose(native, bar, rtol=1e-13)
    batch = StoppingRatioLogistic(np.array([0.7, -2.0]), cuts)
    np.testing.assert_allclose(batch.logpdf([1.0, 3.0])[0], d.logpdf(1), rtol=1e-14)


def test_draws_at_extremes():
    """Means of draws of narrow, wide, tiny and huge counts, within five standard errors."""
    for d in (
        ConwayMaxwellPoisson(1e-3, 3.0),
        ConwayMaxwellPoisson(0.999, 0.01),
        ConwayMaxwellPoisson(mu=1e8, shape=10.0),
        GeneralizedPoisson(1e-2, 0.9),
        GeneralizedPoisson(1e8, 0.5),
        DiscreteLaplace(1e12),
        PoissonLogNormal(-9.0, 0.1),
    ):
        x = d.rand(20_000, rng=np.random.default_rng(5))
        assert abs(np.mean(x) - d.mean()) < 5 * d.std() / math.sqrt(20_000), d


@pytest.mark.parametrize(
    "d", [GeneralizedPoisson(12.3, -0.5), ConwayMaxwellPoisson(6.0, 1.7), PoissonLogNormal(3.0, 0.8)], ids=str
)
def test_fit(d):
    """The slope of the mean log-likelihood vanishes at the fit."""
    x = d.rand(300, rng=np.random.default_rng(2))
    fitted = type(d).fit(x)
    names, values = zip(*fitted.parameters().items(), strict=True)
    slopes = gradient(lambda *at: np.mean(type(d)(**dict(zip(names, at, strict=True))).logpdf(x)), *values)
    assert np.max(np.abs(slopes)) < 1e-6
