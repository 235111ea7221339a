"""The decompositions of elementary and special functions against mpmath, within the stated error."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from numpy import inf, nan

from probdiff.compiler.native.vectormath import ULP, decompositions
from probdiff.compiler.native.vectormath.bits import fma, from_bits, to_bits, to_float, to_int

MAX = np.finfo(float).max
MIN = np.finfo(float).tiny
rng = np.random.default_rng(20)


def spread(low, high, n=200):
    """Points of all magnitudes between two positive numbers."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def signed(x):
    return np.concatenate([x, -x])


def evaluate(name, *args):
    """The decomposition in NumPy, which computes all sides of every selection and may warn in those not taken."""
    with np.errstate(all="ignore"):
        return decompositions[name](*args)


def error_in_ulp(name, exact, *args):
    """Largest |y - exact| in units of the last place of the exact value."""
    y = evaluate(name, *args)
    worst = 0.0
    with mp.workprec(160):
        for i, point in enumerate(zip(*args, strict=True)):
            z = exact(*(mp.mpf(float(v)) for v in point))
            if abs(z) >= mp.mpf(2) ** 1024 - mp.mpf(2) ** 970:
                assert y[i] == float(mp.sign(z)) * inf, (name, point)
                continue
            error = float(abs(mp.mpf(float(y[i])) - z) / mp.mpf(float(np.spacing(abs(float(z))))))
            assert error <= ULP[name], (name, point, y[i], float(z), error)
            worst = max(worst, error)
    return worst


def real_log_gamma(x):
    return mp.log(abs(mp.gamma(x))) if abs(x) < 150 else mp.re(mp.loggamma(x))


def power(x, y):
    return mp.sign(x) ** (int(y) % 2) * abs(x) ** y if y == mp.floor(y) else x**y


def ierfcx(x):
    """1 / sqrt(pi) - x erfcx(x), by its asymptotic series where the difference would need more digits."""
    if x < 1e4:
        return 1 / mp.sqrt(mp.pi) - x * erfcx(x)
    r = 1 / (2 * x * x)
    return r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r))) / mp.sqrt(mp.pi)


def in_mpmath(x):
    with mp.workprec(300):
        return float(ierfcx(mp.mpf(float(x))))


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 1e4 else mp.hyp2f0(1, 0.5, -1 / x**2) / (x * mp.sqrt(mp.pi))


def ndtri(p):
    """SciPy's value, and two steps of Newton's method on the logarithm of the nearer tail."""
    tail, sign = (p, 1) if p < 0.5 else (1 - p, -1)
    x = mp.mpf(float(scipy.special.ndtri(float(tail))))
    for _ in range(2):
        y = mp.ncdf(x)
        x -= mp.log(y / tail) * y * mp.exp(x * x / 2) * mp.sqrt(2 * mp.pi)
    return sign * x


def erfinv(y):
    """SciPy's value, and two steps of Newton's method."""
    x = mp.mpf(float(scipy.special.erfinv(float(y))))
    for _ in range(2):
        x -= (mp.erf(x) - y) * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
    return x


def bessel(n, x):
    return mp.exp(-abs(x)) * mp.besseli(n, x)


small = signed(spread(1e-300, 1e-3, 60))
unit = rng.uniform(-1, 1, 300)
positive = np.concatenate([spread(5e-324, MAX, 400), spread(0.4, 3, 400), 1 + small])
real = np.concatenate([small, unit, rng.uniform(-30, 30, 300)])
ends = np.concatenate([rng.uniform(-746, -707, 200), rng.uniform(709.4, 709.9, 60)])
exponent = np.concatenate([real, rng.uniform(-745, 710, 400), ends])
probability = np.concatenate([spread(5e-324, 1, 400), rng.uniform(0, 1, 600)])
gamma_points = np.concatenate([spread(1e-300, 1e300, 300), rng.uniform(0, 6, 500), 1 + small[:20], 2 + small[:20]])
between_poles = -np.concatenate([k + rng.uniform(0.05, 0.4, 10) for k in range(0, 30)])
angles = np.concatenate([real, rng.uniform(-1e6, 1e6, 300), signed(spread(1, 2.0**45)), np.arange(200) * np.pi / 2])
bessel_points = np.concatenate([small, rng.uniform(-12, 12, 500), signed(spread(8, 1e6, 100))])
bases = spread(1e-3, 1e3, 600)
POINTS = {
    "exp": (mp.exp, exponent),
    "exp2": (lambda x: mp.mpf(2) ** x, exponent * 1.4426950408889634),
    "expm1": (mp.expm1, exponent),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), exponent),
    "log_expit": (lambda x: -mp.log1p(mp.exp(-x)), exponent),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), exponent),
    "logit": (lambda p: mp.log(p) - mp.log1p(-p), probability),
    "log": (mp.log, positive),
    "log2": (lambda x: mp.log(x) / mp.log(2), positive),
    "log10": (mp.log10, positive),
    "log1p": (mp.log1p, np.concatenate([small, unit, positive, -1 + spread(1e-15, 1)])),
    "power": (
        power,
        np.concatenate([bases, bases, -bases[:100]]),
        np.concatenate(
            [rng.uniform(-740, 709, 600) / np.log(bases), rng.uniform(-3, 3, 600), rng.integers(-90, 90, 100)]
        ),
    ),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), signed(positive[:600])),
    "sinh": (mp.sinh, exponent),
    "cosh": (mp.cosh, exponent),
    "tanh": (mp.tanh, np.concatenate([real, rng.uniform(-3, 3, 300)])),
    "arcsinh": (mp.asinh, np.concatenate([real, signed(spread(1, MAX))])),
    "arccosh": (mp.acosh, np.concatenate([1 + spread(1e-15, 10, 400), spread(1, MAX)])),
    "arctanh": (mp.atanh, np.concatenate([small, unit, signed(1 - spread(1e-15, 1))])),
    "gammaln": (real_log_gamma, gamma_points),
    "gammaln_positive": (real_log_gamma, gamma_points),
    "psi": (lambda x: mp.psi(0, x), gamma_points),
    "psi_positive": (lambda x: mp.psi(0, x), gamma_points),
    "trigamma": (lambda x: mp.psi(1, x), gamma_points),
    "trigamma_positive": (lambda x: mp.psi(1, x), gamma_points),
    "sin": (mp.sin, angles),
    "cos": (mp.cos, angles),
    "tan": (mp.tan, angles),
    "arcsin": (mp.asin, np.concatenate([small, unit, signed(1 - spread(1e-15, 1))])),
    "arccos": (mp.acos, np.concatenate([small, unit, signed(1 - spread(1e-15, 1))])),
    "arctan": (mp.atan, np.concatenate([real, signed(spread(1, MAX)), rng.uniform(-4, 4, 300)])),
    "arctan2": (
        mp.atan2,
        np.concatenate([rng.normal(size=600), signed(spread(1e-300, 1e307))]),
        np.concatenate([rng.normal(size=600), spread(1e-300, 1e307), -spread(1e-300, 1e307)]),
    ),
    "erf": (mp.erf, np.concatenate([small, rng.uniform(-7, 7, 800)])),
    "erfc": (mp.erfc, np.concatenate([small, rng.uniform(-7, 28, 800)])),
    "erfcx": (erfcx, np.concatenate([small, rng.uniform(-26, 28, 800), spread(1, 1e300)])),
    "ierfcx1": (ierfcx, np.concatenate([small, rng.uniform(-26, 28, 800), spread(1, 1e70)])),
    "erfinv": (erfinv, np.concatenate([small, unit, signed(1 - spread(1e-15, 1))])),
    "ndtr": (mp.ncdf, np.concatenate([small, rng.uniform(-39, 9, 800)])),
    "log_ndtr": (
        lambda x: mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x)),
        np.concatenate([small, rng.uniform(-60, 39, 800)]),
    ),
    "ndtri": (ndtri, np.concatenate([probability, 0.5 + small, 1 - spread(1e-15, 1)])),
    "i0e": (lambda x: bessel(0, x), bessel_points),
    "i1e": (lambda x: bessel(1, x), bessel_points),
}


@pytest.mark.parametrize("name", decompositions)
def test_error_is_within_the_stated_bound(name):
    exact, *args = POINTS[name]
    assert error_in_ulp(name, exact, *args) > 0.0


def test_every_decomposition_states_its_error():
    assert list(ULP) == list(decompositions)


REFERENCE = {name: getattr(np, name, None) or getattr(scipy.special, name, None) for name in decompositions}
REFERENCE["softplus"] = lambda x: np.logaddexp(0.0, x)
REFERENCE["trigamma"] = lambda x: scipy.special.polygamma(1, x)
REFERENCE["erfinv"] = lambda x: np.copysign(scipy.special.erfinv(x), x)  # SciPy loses the sign of a zero
REFERENCE["ierfcx1"] = np.vectorize(lambda x: x if x != x else 0.0 if x > 1e150 else inf if x < -30 else in_mpmath(x))
REFERENCE["i1e"] = lambda x: np.copysign(scipy.special.i1e(x), x)
for name in ("gammaln", "psi", "trigamma"):
    REFERENCE[f"{name}_positive"] = lambda x, f=REFERENCE[name]: np.where(x < 0, nan, f(x))
EDGES = signed(np.array([0.0, 1e-300, MIN, 1e-20, 0.5, 1.0, 2.0, 3.0, 40.0, 710.0, 745.2, 1e5, 1e12, MAX, inf, nan]))
PERIODIC = {"sin", "cos", "tan"}


def assert_same(y, expected):
    """Equal NaNs, infinities and signed zeros, and numbers to 1e-13, where the reference itself may be off."""
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(y[number]), np.signbit(expected[number]))
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-308)


@pytest.mark.parametrize("name", [name for name in decompositions if name not in ("power", "arctan2")])
def test_special_values(name):
    x = EDGES[~(np.abs(EDGES) == MAX)] if name in PERIODIC else EDGES
    with np.errstate(all="ignore"):
        expected = REFERENCE[name](x)
    assert_same(evaluate(name, x), expected)


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_special_pairs(name):
    x, y = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
    with np.errstate(all="ignore"):
        expected = REFERENCE[name](x, y)
    assert_same(evaluate(name, x, y), expected)


@pytest.mark.parametrize("name", sorted(PERIODIC))
def test_an_angle_too_large_to_reduce_is_nan(name):
    assert np.isnan(evaluate(name, signed(np.array([2.0**45, 1e20, MAX])))).all()


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "expm1", "tanh"])
def test_scalars_give_scalars(name):
    assert np.shape(evaluate(name, 0.5)) == ()


@pytest.mark.parametrize("name", ["gammaln", "psi", "trigamma"])
def test_reflection(name):
    """Negative arguments: 1e-14 relative to the size of the terms, since the sum has zeros between the poles."""
    exact = POINTS[name][0]
    y = evaluate(name, between_poles)
    with mp.workprec(160):
        z = np.array([float(exact(mp.mpf(float(x)))) for x in between_poles])
    scale = np.abs(z) + (np.abs(scipy.special.gammaln(1 - between_poles)) if name == "gammaln" else 4.0)
    assert np.max(np.abs(y - z) / scale) < 1e-14


def test_the_zeros_of_gammaln_are_exact():
    np.testing.assert_array_equal(evaluate("gammaln", np.array([1.0, 2.0])), [0.0, 0.0])


def test_fma_rounds_once():
    x, y, z = rng.normal(size=(3, 300))
    z = np.where(rng.random(300) < 0.5, -x * y, z)  # cancellation leaves the rounding error of the product
    with mp.workprec(200):
        exact = [float(mp.mpf(float(a)) * float(b) + float(c)) for a, b, c in zip(x, y, z, strict=True)]
    np.testing.assert_array_equal(fma(x, y, z), exact)


def test_bits_round_trip():
    np.testing.assert_array_equal(from_bits(to_bits(EDGES)), EDGES)
    assert to_bits(1.0) == 1023 << 52
    assert to_float(to_int(np.float64(-3.0))) == -3.0
