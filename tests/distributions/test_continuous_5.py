"""Lifetimes, logistic relatives and generalised gammas, against mpmath and themselves."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from probdiff.distributions import (
    BirnbaumSaunders,
    DiscreteWeibull,
    ExponentiatedWeibull,
    GeneralizedGamma,
    GeneralizedLogistic,
    HalfLogistic,
    HyperbolicSecant,
    LogSeries,
    nakagami,
    scaled_inverse_chi_squared,
)
from tests.distributions.battery import battery

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])
OPEN = ("in (0, 1)", [0.0, 1.0, nan])
BELOW = [-1e-300, -3.0]


def birnbaum_saunders(x, shape, scale):
    z = x / scale
    w = (mp.sqrt(z) - 1 / mp.sqrt(z)) / shape
    return (mp.sqrt(z) + 1 / mp.sqrt(z)) / (2 * shape * x) * mp.npdf(w)


test_half_logistic = battery(
    HalfLogistic,
    settings=[{"scale": 1.0}, {"scale": 0.3}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: 2 * mp.exp(-x / scale) / (scale * (1 + mp.exp(-x / scale)) ** 2),
    outside=BELOW,
)
test_hyperbolic_secant = battery(
    HyperbolicSecant,
    settings=[{"loc": 0.0, "scale": 1.0}, {"loc": -2.0, "scale": 0.3}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.sech((x - loc) / scale) / (mp.pi * scale),
)
test_birnbaum_saunders = battery(
    BirnbaumSaunders,
    settings=[{"shape": 0.5, "scale": 2.0}, {"shape": 1.5, "scale": 0.7}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=birnbaum_saunders,
    outside=[0.0, *BELOW],
)
test_exponentiated_weibull = battery(
    ExponentiatedWeibull,
    settings=[{"exponent": 2.0, "shape": 1.5, "scale": 2.0}, {"exponent": 0.7, "shape": 3.0, "scale": 0.5}],
    invalid={"exponent": POSITIVE, "shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, exponent, shape, scale: (
        exponent
        * (1 - mp.exp(-((x / scale) ** shape))) ** (exponent - 1)
        * shape
        / scale
        * (x / scale) ** (shape - 1)
        * mp.exp(-((x / scale) ** shape))
    ),
    outside=BELOW,
)
test_generalized_logistic = battery(
    GeneralizedLogistic,
    settings=[{"loc": 0.0, "scale": 1.0, "shape": 2.5}, {"loc": -2.0, "scale": 0.3, "shape": 0.6}],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": POSITIVE},
    naive=lambda x, loc, scale, shape: (
        shape / scale * mp.exp(-(x - loc) / scale) * (1 + mp.exp(-(x - loc) / scale)) ** (-shape - 1)
    ),
)
test_generalized_gamma = battery(
    GeneralizedGamma,
    settings=[{"shape": 2.0, "power": 1.5, "scale": 2.0}, {"shape": 13.0, "power": 0.8, "scale": 0.5}],
    invalid={"shape": POSITIVE, "power": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, power, scale: (
        power / scale / mp.gamma(shape) * (x / scale) ** (shape * power - 1) * mp.exp(-((x / scale) ** power))
    ),
    outside=BELOW,
)
test_discrete_weibull = battery(
    DiscreteWeibull,
    settings=[{"q": 0.7, "beta": 1.2}, {"q": 0.4, "beta": 0.8}],
    invalid={"q": OPEN, "beta": POSITIVE},
    naive=lambda x, q, beta: q ** (x**beta) - q ** ((x + 1) ** beta),
    outside=[-1.0],
)
test_log_series = battery(
    LogSeries,
    settings=[{"p": 0.3}, {"p": 0.9}],
    invalid={"p": OPEN},
    naive=lambda x, p: -(p**x) / (x * mp.log(1 - p)),
    outside=[0.0, -1.0],
)


def test_special_names():
    """Nakagami's density and the scaled inverse chi-squared one, as textbooks have them."""
    x = 1.3
    m, spread = 1.7, 2.0
    log_nakagami = (
        math.log(2) + m * math.log(m / spread) - math.lgamma(m) + (2 * m - 1) * math.log(x) - m * x * x / spread
    )
    assert nakagami(m, spread).logpdf(x) == pytest.approx(log_nakagami, rel=1e-14)
    df, s = 5.0, 0.8
    log_inverse = 0.5 * df * math.log(0.5 * df) - math.lgamma(0.5 * df) + df * math.log(s)
    log_inverse = log_inverse - (0.5 * df + 1) * math.log(x) - 0.5 * df * s * s / x
    assert scaled_inverse_chi_squared(df, s).logpdf(x) == pytest.approx(log_inverse, rel=1e-13)
    plain = -0.5 * df * math.log(2) - math.lgamma(0.5 * df) - (0.5 * df + 1) * math.log(x) - 0.5 / x
    assert scaled_inverse_chi_squared(df).logpdf(x) == pytest.approx(plain, rel=1e-13)
