"""Continuous families against R, mpmath and themselves."""

from __future__ import annotations

import math

import mpmath as mp

from probdiff.distributions import (
    Beta,
    Cauchy,
    ChiSquared,
    Exponential,
    Gamma,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Laplace,
    Logistic,
    LogNormal,
    Normal,
    StudentT,
    Uniform,
    Weibull,
)
from tests.distributions.battery import battery

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])
LOC_SCALE = {"mu": "loc", "sigma": "scale"}
LOC_SCALES = [{"loc": 0.0, "scale": 1.0}, {"loc": -3.5, "scale": 0.2}, {"loc": 40.0, "scale": 7.0}]

test_normal = battery(
    Normal,
    settings=LOC_SCALES,
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.npdf(x, loc, scale),
    reference=("Normal", LOC_SCALE),
    extreme={"Normal": LOC_SCALE},
)
test_half_normal = battery(
    HalfNormal,
    settings=[{"scale": 1.0}, {"scale": 0.3}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: 2 * mp.npdf(x, 0, scale),
    outside=[-1e-300, -3.0],
    extreme={"HalfNormal": {"sigma": "scale"}},
)
test_student_t = battery(
    StudentT,
    settings=[{"df": 5.0, "loc": 0.0, "scale": 1.0}, {"df": 30.0, "loc": 2.0, "scale": 0.1}],
    invalid={"df": POSITIVE, "loc": REAL, "scale": POSITIVE},
    naive=lambda x, df, loc, scale: (
        (1 + ((x - loc) / scale) ** 2 / df) ** (-(df + 1) / 2) / (mp.beta(df / 2, mp.mpf(1) / 2) * mp.sqrt(df) * scale)
    ),
    reference=("TDist", {"nu": "df"}),
    extreme={"StudentT": {"nu": "df", **LOC_SCALE}},
    # For df = 1e12 the slope in df is 5e-25, what is left of terms of 1e-12: four digits of it are right.
    slope_slack=1e-21,
)
test_cauchy = battery(
    Cauchy,
    settings=LOC_SCALES,
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: 1 / (mp.pi * scale * (1 + ((x - loc) / scale) ** 2)),
    reference=("Cauchy", LOC_SCALE),
    extreme={"Cauchy": LOC_SCALE},
)
test_half_cauchy = battery(
    HalfCauchy,
    settings=[{"scale": 1.0}, {"scale": 25.0}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: 2 / (mp.pi * scale * (1 + (x / scale) ** 2)),
    outside=[-1e-300, -3.0],
    extreme={"HalfCauchy": {"sigma": "scale"}},
)
test_exponential = battery(
    Exponential,
    settings=[{"scale": 1.0}, {"scale": 0.3}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: mp.exp(-x / scale) / scale,
    outside=[-1e-300, -3.0],
    reference=("Exponential", {}),
    extreme={"Exponential": {}},
)
test_gamma = battery(
    Gamma,
    settings=[{"shape": 2.0, "scale": 1.0}, {"shape": 0.9, "scale": 0.5}, {"shape": 40.0, "scale": 3.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: x ** (shape - 1) * mp.exp(-x / scale) / (mp.gamma(shape) * scale**shape),
    outside=[-1e-300, -1.0],
    reference=("Gamma", {}),
    extreme={"Gamma": {}},
)
test_chi_squared = battery(
    ChiSquared,
    settings=[{"df": 4.0}, {"df": 31.0}],
    invalid={"df": POSITIVE},
    naive=lambda x, df: x ** (df / 2 - 1) * mp.exp(-x / 2) / (mp.gamma(df / 2) * 2 ** (df / 2)),
    outside=[-1e-300, -1.0],
    reference=("Chisq", {"nu": "df"}),
    extreme={"Chi2": {"nu": "df"}},
)
test_inverse_gamma = battery(
    InverseGamma,
    settings=[{"shape": 6.0, "scale": 1.0}, {"shape": 40.0, "scale": 3.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: scale**shape / mp.gamma(shape) * x ** (-shape - 1) * mp.exp(-scale / x),
    outside=[-1e-300, -1.0, 0.0],
    reference=("InverseGamma", {}),
    extreme={"InverseGamma": {}},
)
test_beta = battery(
    Beta,
    settings=[{"alpha": 1.0, "beta": 1.0}, {"alpha": 2.5, "beta": 0.9}, {"alpha": 30.0, "beta": 45.0}],
    invalid={"alpha": POSITIVE, "beta": POSITIVE},
    naive=lambda x, alpha, beta: x ** (alpha - 1) * (1 - x) ** (beta - 1) / mp.beta(alpha, beta),
    outside=[-1e-300, -1.0, 1.5],
    reference=("Beta", {}),
    extreme={"Beta": {}},
)
test_uniform = battery(
    Uniform,
    settings=[{"low": 0.0, "high": 1.0}, {"low": -2.0, "high": 5.0}],
    invalid={"low": REAL, "high": REAL},
    naive=lambda x, low, high: 1 / (high - low),
    outside=[-2.5, 6.0],
    reference=("Uniform", {"a": "low", "b": "high"}),
    extreme={"Uniform": {"a": "low", "b": "high"}},
)
test_log_normal = battery(
    LogNormal,
    settings=[{"loc": 0.0, "scale": 0.5}, {"loc": -2.0, "scale": 0.1}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.npdf(mp.log(x), loc, scale) / x,
    outside=[0.0, -1.0],
    reference=("LogNormal", LOC_SCALE),
    extreme={"LogNormal": LOC_SCALE},
)
test_laplace = battery(
    Laplace,
    settings=LOC_SCALES,
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.exp(-abs(x - loc) / scale) / (2 * scale),
    reference=("Laplace", LOC_SCALE),
    extreme={"Laplace": LOC_SCALE},
)
test_logistic = battery(
    Logistic,
    settings=LOC_SCALES,
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.sech((x - loc) / (2 * scale)) ** 2 / (4 * scale),
    reference=("Logistic", LOC_SCALE),
    extreme={"Logistic": LOC_SCALE},
)
test_gumbel = battery(
    Gumbel,
    settings=LOC_SCALES,
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.exp(-(x - loc) / scale - mp.exp(-(x - loc) / scale)) / scale,
    reference=("Gumbel", LOC_SCALE),
    extreme={"Gumbel": LOC_SCALE},
)
test_weibull = battery(
    Weibull,
    settings=[{"shape": 2.0, "scale": 1.0}, {"shape": 1.0, "scale": 3.0}, {"shape": 1.3, "scale": 0.5}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: shape / scale * (x / scale) ** (shape - 1) * mp.exp(-((x / scale) ** shape)),
    outside=[-1e-300, -3.0],
    reference=("Weibull", {}),
    extreme={"Weibull": {}},
)
