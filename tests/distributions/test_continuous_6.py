"""Generalised inverse Gaussian and hyperbolic families, against mpmath, SciPy and their special cases."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from probdiff import gradient
from probdiff.distributions import (
    GeneralizedHyperbolic,
    GeneralizedInverseGaussian,
    InverseGaussian,
    NormalInverseGaussian,
)
from tests.distributions.battery import CHECKS, battery
from tests.distributions.case import Case, measure

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])


def inverse_gaussian(x, order, concentration, scale):
    z = x / scale
    kernel = z ** (order - 1) * mp.exp(-concentration * (z + 1 / z) / 2)
    return kernel / (2 * scale * mp.besselk(order, concentration))


def hyperbolic(x, loc, alpha, beta, scale, order):
    gamma, r = mp.sqrt(alpha**2 - beta**2), mp.hypot(scale, x - loc)
    constant = (gamma / scale) ** order / (mp.sqrt(2 * mp.pi) * mp.besselk(order, scale * gamma))
    return constant * mp.besselk(order - 0.5, alpha * r) * (r / alpha) ** (order - 0.5) * mp.exp(beta * (x - loc))


test_generalized_inverse_gaussian = battery(
    GeneralizedInverseGaussian,
    settings=[{"order": 1.7, "concentration": 2.0, "scale": 0.7}],
    invalid={"order": REAL, "concentration": POSITIVE, "scale": POSITIVE},
    naive=inverse_gaussian,
    outside=[0.0, -3.0],
)
HYPERBOLIC = Case(
    GeneralizedHyperbolic,
    settings=[{"loc": -2.0, "alpha": 4.0, "beta": -1.5, "scale": 0.7, "order": 1.3}],
    invalid={"loc": REAL, "alpha": POSITIVE, "beta": REAL, "scale": POSITIVE, "order": REAL},
    naive=hyperbolic,
)
# Thousands of integrals within integrals: slopes of the tails are compared with those of closed forms below instead.
SLOW = ("moments", "peaks", "quantile_slopes", "tail_slopes")


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in SLOW])
def test_generalized_hyperbolic(name):
    CHECKS[name](HYPERBOLIC)


def test_extreme_orders():
    """Orders and concentrations that are tiny, huge and unlike: densities of mpmath, in its error measure."""
    for order, b in ((0.0, 1e-6), (-30.0, 0.2), (1e4, 3.0), (2.0, 1e6), (-0.3, 1e-3), (500.0, 500.0)):
        d = GeneralizedInverseGaussian(order, b)
        for x in d.rand(2, rng=np.random.default_rng(1)):
            at = (float(x), order, b)
            with mp.workdps(40):
                value = mp.log(inverse_gaussian(*map(mp.mpf, at), 1))
            slopes = gradient(lambda x, p, b: GeneralizedInverseGaussian(p, b).logpdf(x), *at)
            cond = sum(abs(u * bar) for u, bar in zip(at, slopes, strict=True))
            assert measure(d.logpdf(x), value, cond) < 300, (order, b, x)


def test_special_cases():
    """Order -1/2, which has closed forms; rates in place of concentration and scale; SciPy's draws and moments."""
    x = np.array([0.01, 0.5, 1.3, 6.0, 200.0])
    ours, theirs = GeneralizedInverseGaussian(-0.5, chi=3.0, psi=0.75), InverseGaussian(2.0, 3.0)
    for method in ("logpdf", "logcdf", "logccdf"):
        np.testing.assert_allclose(getattr(ours, method)(x), getattr(theirs, method)(x), rtol=1e-12)
    y = np.array([-40.0, -3.0, 0.2, 1.0, 60.0])
    ours, theirs = GeneralizedHyperbolic(0.3, 2.0, 0.7, 1.5, -0.5), NormalInverseGaussian(0.3, 2.0, 0.7, 1.5)
    for method in ("logpdf", "logcdf", "logccdf"):
        np.testing.assert_allclose(getattr(ours, method)(y), getattr(theirs, method)(y), rtol=1e-12)

    def slopes(family, order, x):
        return gradient(lambda *parameters: family(*parameters, *order).logcdf(x), 0.3, 2.0, 0.7, 1.5)

    for x in (-3.0, 1.0, 6.0):
        closed = slopes(NormalInverseGaussian, (), x)
        assert slopes(GeneralizedHyperbolic, (-0.5,), x) == pytest.approx(closed, rel=1e-9)
    assert ours.var() == pytest.approx(theirs.var(), rel=1e-12)
    for order, b in ((2.5, 0.3), (-4.0, 10.0), (0.0, 0.01), (50.0, 1.0)):
        d = GeneralizedInverseGaussian(order, b)
        assert d.mean() == pytest.approx(stats.geninvgauss(order, b).mean(), rel=1e-10)
        drawn = np.sort(d.rand(4000, rng=np.random.default_rng(5)))
        gap = np.max(abs(d.cdf(drawn) - (np.arange(4000) + 0.5) / 4000))
        assert math.sqrt(4000) * gap < 2.69  # a false alarm in a million
