"""Circular, noncentral and other hard continuous families against R, mpmath and themselves."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import pytest

from probdiff.distributions import (
    Kolmogorov,
    NoncentralChiSquared,
    NoncentralF,
    NoncentralT,
    NormalInverseGaussian,
    Rice,
    SkewT,
    VonMises,
)
from tests.distributions.battery import battery

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
NONNEGATIVE = ("nonnegative", [-1.0, nan])
REAL = ("finite", [inf, -inf, nan])


def noncentral_chi_squared(x: Any, df: Any, noncentrality: Any) -> Any:
    # The density of central chi-squared times a confluent limit function, DLMF 10.25.2.
    central = x ** (df / 2 - 1) * mp.exp(-x / 2) / (2 ** (df / 2) * mp.gamma(df / 2))
    return central * mp.exp(-noncentrality / 2) * mp.hyp0f1(df / 2, noncentrality * x / 4)


def noncentral_f(x: Any, df1: Any, df2: Any, noncentrality: Any) -> Any:
    a, b, ratio = df1 / 2, df2 / 2, df1 * x / df2
    central = ratio**a / (1 + ratio) ** (a + b) / mp.beta(a, b) / x
    share = noncentrality / 2 * ratio / (1 + ratio)
    return central * mp.exp(-noncentrality / 2) * mp.hyp1f1(a + b, a, share)


def kolmogorov(x: Any, scale: Any) -> Any:
    z = x / scale
    return sum((-1) ** (k - 1) * 8 * k * k * z * mp.exp(-2 * k * k * z * z) for k in range(1, 60)) / scale


def noncentral_t(x: Any, df: Any, noncentrality: Any, loc: Any, scale: Any) -> Any:
    t = (x - loc) / scale

    def joint(s: Any) -> Any:
        spread = 2 * (df / 2) ** (df / 2) / mp.gamma(df / 2) * s ** (df - 1) * mp.exp(-df * s * s / 2)
        return spread * s * mp.npdf(t * s - noncentrality)

    return mp.quad(joint, [0, 0.25, 0.5, 1, 2, 4, 8]) / scale


test_von_mises = battery(
    VonMises,
    settings=[{"loc": 0.0, "concentration": 1.0}, {"loc": -0.7, "concentration": 30.0}],
    invalid={"loc": REAL, "concentration": NONNEGATIVE},
    naive=lambda x, loc, concentration: (
        mp.exp(concentration * mp.cos(x - loc)) / (2 * mp.pi * mp.besseli(0, concentration))
    ),
    reference=("VonMises", {"mu": "loc", "kappa": "concentration"}),
    extreme={"VonMises": {"mu": "loc", "kappa": "concentration"}},
)
test_rice = battery(
    Rice,
    settings=[{"nu": 4.0, "scale": 0.5}],
    invalid={"nu": NONNEGATIVE, "scale": POSITIVE},
    naive=lambda x, nu, scale: (
        x / scale**2 * mp.exp(-(x * x + nu * nu) / (2 * scale**2)) * mp.besseli(0, x * nu / scale**2)
    ),
    outside=[-1e-300, -3.0],
    reference=("Rician", {"sigma": "scale"}),
)
test_noncentral_chi_squared = battery(
    NoncentralChiSquared,
    settings=[{"df": 3.0, "noncentrality": 7.0}],
    invalid={"df": POSITIVE, "noncentrality": NONNEGATIVE},
    naive=noncentral_chi_squared,
    outside=[-1e-300, -3.0],
    reference=("NoncentralChisq", {"nu": "df", "lambda": "noncentrality"}),
)
test_noncentral_t = battery(
    NoncentralT,
    settings=[{"df": 9.0, "noncentrality": 2.0, "loc": -1.0, "scale": 0.5}],
    invalid={"df": POSITIVE, "noncentrality": REAL, "loc": REAL, "scale": POSITIVE},
    naive=noncentral_t,
)
test_normal_inverse_gaussian = battery(
    NormalInverseGaussian,
    settings=[{"loc": -2.0, "alpha": 4.0, "beta": -1.5, "scale": 0.7}],
    invalid={"loc": REAL, "alpha": POSITIVE, "beta": REAL, "scale": POSITIVE},
    naive=lambda x, loc, alpha, beta, scale: (
        alpha
        * scale
        * mp.besselk(1, alpha * mp.hypot(scale, x - loc))
        / (mp.pi * mp.hypot(scale, x - loc))
        * mp.exp(scale * mp.sqrt(alpha**2 - beta**2) + beta * (x - loc))
    ),
)
test_skew_t = battery(
    SkewT,
    settings=[{"a": 3.0, "b": 2.5, "loc": 0.0, "scale": 1.0}, {"a": 4.0, "b": 20.0, "loc": 2.0, "scale": 0.1}],
    invalid={"a": POSITIVE, "b": POSITIVE, "loc": REAL, "scale": POSITIVE},
    naive=lambda x, a, b, loc, scale: (
        (1 + (x - loc) / scale / mp.sqrt(a + b + ((x - loc) / scale) ** 2)) ** (a + mp.mpf(1) / 2)
        * (1 - (x - loc) / scale / mp.sqrt(a + b + ((x - loc) / scale) ** 2)) ** (b + mp.mpf(1) / 2)
        / (2 ** (a + b - 1) * mp.beta(a, b) * mp.sqrt(a + b) * scale)
    ),
)
test_noncentral_f = battery(
    NoncentralF,
    settings=[{"df1": 3.0, "df2": 12.0, "noncentrality": 2.0}],
    invalid={"df1": POSITIVE, "df2": POSITIVE, "noncentrality": NONNEGATIVE},
    naive=noncentral_f,
    outside=[-1e-300, -3.0],
)
test_kolmogorov = battery(
    Kolmogorov,
    settings=[{"scale": 1.0}, {"scale": 0.1}],
    invalid={"scale": POSITIVE},
    naive=kolmogorov,
    outside=[0.0, -3.0],
)


def test_tails_are_integrals_of_the_naive_density() -> None:
    """In place of R, whose values of these distribution functions have 9 to 11 digits."""
    cases = [
        (NoncentralF, noncentral_f, {"df1": 2.0, "df2": 2.0, "noncentrality": 2.0}, [0, 0.01, 0.1, 0.2, 0.4]),
        (NoncentralF, noncentral_f, {"df1": 8.0, "df2": 10.0, "noncentrality": 5.0}, [0, 0.1, 0.4, 0.8, 1.4]),
    ]
    for family, naive, setting, knots in cases:
        with mp.workdps(25):
            exact = {k: mp.mpf(v) for k, v in setting.items()}
            expected = float(mp.log(mp.quad(lambda x, f=naive, e=exact: f(x, **e), knots)))
        assert family(**setting).logcdf(knots[-1]) == pytest.approx(expected, rel=1e-13), setting
    # P(T <= t) as a mean over the scale, which is concentrated where neither factor is at its maximum.
    for t, df, shift in ((0.5, 3.0, 20.0), (-50.0, 5.0, 2.0), (-2.0, 0.5, -1.0)):
        with mp.workdps(25):
            h = mp.mpf(df) / 2

            def joint(s: Any, h: Any = h, t: float = t, shift: float = shift) -> Any:
                spread = 2 * h**h / mp.gamma(h) * s ** (2 * h - 1) * mp.exp(-h * s * s)
                return spread * mp.erfc((shift - t * s) / mp.sqrt(2)) / 2

            expected = float(mp.log(mp.quad(joint, [0, 0.001, 0.01, 0.1, *mp.linspace(0.25, 12, 48)])))
        assert NoncentralT(df, shift).logcdf(t) == pytest.approx(expected, rel=1e-12), (t, df, shift)
