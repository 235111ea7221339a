"""Formulas in machine code against mpmath, on random arguments of all magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special as sp

import probdiff
from probdiff import gradient, hessian
from probdiff.compiler.formulas import formula, recorded
from probdiff.compiler.formulas.gamma_tail import D
from probdiff.compiler.interpret import interpret
from probdiff.compiler.native.kernel import elementwise_kernel
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import rows
from probdiff.ops.incomplete import log_beta_tail, log_gamma_tail
from probdiff.special import log_betainc, log_betaincc, log_gammainc, log_gammaincc, polygamma

EPS = 2.0**-52
rng = np.random.default_rng(3)


def compiled(name: str, *args: Any) -> Any:
    return probdiff.compile(lambda *xs: apply(rows[name], *xs))(*args)


def magnitudes(low: float, high: float, n: int) -> np.ndarray:
    return 10.0 ** rng.uniform(low, high, n)


def worst(found: Any, exact: Callable[..., Any], condition: Callable[..., float], *args: np.ndarray) -> float:
    """The largest error in units of a rounding of the value and of each argument."""
    errors = []
    for k, got in enumerate(found):
        point = [mp.mpf(float(a[k])) for a in args]
        value = exact(*point)
        scale = abs(value) * EPS * (1.0 + condition(*(float(a[k]) for a in args)))
        errors.append(float(abs(mp.mpf(float(got)) - value) / scale))
    return max(errors)


def log_steepness(f: Callable[..., Any]) -> Callable[..., float]:
    """The sum of |x f'(x) / f(x)| over the arguments, by differences."""

    def condition(*xs: float) -> float:
        h = mp.mpf(10) ** -20
        value = f(*map(mp.mpf, xs))
        moved = [f(*(mp.mpf(x) * (1 + h if i == j else 1) for j, x in enumerate(xs))) for i in range(len(xs))]
        return float(sum(abs((m - value) / value) for m in moved) / h)

    return condition


def test_tails_of_small_and_ordinary_shapes() -> None:
    """Both tails and their logs: shapes 1e-8 to 100."""
    n = 8
    with mp.workdps(90):
        a = np.concatenate([magnitudes(-8, 0, n), magnitudes(0, 2, n)])
        x = np.concatenate([magnitudes(-12, 2, n), a[n:] * magnitudes(-1, 0.6, n)])
        for upper, name in ((False, "gammainc"), (True, "gammaincc")):
            f = [lambda a, x: mp.gammainc(a, 0, x, regularized=True), lambda a, x: mp.gammainc(a, x, regularized=True)]
            plain = f[upper]
            keep = np.array([plain(mp.mpf(p), mp.mpf(q)) > 1e-60 for p, q in zip(a, x, strict=True)])
            p, q = a[keep], x[keep]
            assert worst(compiled(name, p, q), plain, log_steepness(plain), p, q) < 12
            log = lambda a, x, f=plain: mp.log(f(a, x))  # noqa: E731
            assert worst((log_gammainc, log_gammaincc)[upper](p, q), log, log_steepness(log), p, q) < 12
        b, y = magnitudes(-8, 1.5, 2 * n), rng.uniform(size=2 * n)
        y[::4] = magnitudes(-40, 0, n // 2)
        a = np.minimum(a, 30.0)
        upper_tail = lambda a, b, x: mp.betainc(b, a, 0, 1 - x, regularized=True)  # noqa: E731
        for found, plain in (
            (log_betainc, lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)),
            (log_betaincc, upper_tail),
        ):
            log = lambda a, b, x, f=plain: mp.log(f(a, b, x))  # noqa: E731
            logs = [log(*map(mp.mpf, point)) for point in zip(a, b, y, strict=True)]
            keep = np.array([abs(v) > 1e-60 for v in logs])  # mpmath has digits for these
            points = a[keep], b[keep], y[keep]
            assert worst(found(*points), log, log_steepness(log), *points) < 12


def test_tails_of_large_shapes() -> None:
    """Where SciPy 1.17 loses digits, by the integral of the density at 40 digits."""
    with mp.workdps(40):
        for a, x in ((5718966.119371558, 5708010.019494052), (603524.5450339006, 599410.4845539569)):
            width, top = mp.sqrt(a), (mp.mpf(a) - 1) * mp.log(x) - x
            knots = [x - width * k / 2 for k in range(40)]
            area = sum(
                mp.quad(lambda t, a=a, top=top: mp.exp((mp.mpf(a) - 1) * mp.log(t) - t - top), [q, p])
                for p, q in zip(knots[:-1], knots[1:], strict=True)
            )
            exact = float(mp.log(area) + top - mp.loggamma(a))
            condition = float(x / area)  # of the log in x
            assert abs(log_gammainc(a, x) - exact) < 3 * EPS * (abs(exact) + condition)


def test_tails_where_expansions_meet() -> None:
    """Both sides of where one expansion of a value takes over from another."""
    a = np.array([9.99, 10.01, 15.99, 16.01, 16.01, 16.01, 40.0, 40.0, 300.0, 300.0, 0.999, 1.001, 0.3, 0.3])
    ratio = np.array([1.3, 0.8, 0.7, 0.401, 0.399, 2.09, 2.11, 1.0, 0.61, 1.39, 1.1, 1.1, 3.3, 3.4])
    p = np.array([0.499, 0.501, 0.51, 0.6, 4.9, 5.1, 5.1, 9.9, 10.1, 11.0, 2100.0, 2100.0, 1990.0])
    q = np.array([2.0, 2.0, 0.05, 0.99, 0.9, 0.9, 1.01, 12.0, 12.0, 900.0, 2050.0, 2050.0, 2100.0])
    t = np.array([0.1, 0.1, 0.79, 0.3, 0.81, 0.9, 0.81, 0.4, 0.4, 0.012, 0.5, 0.47, 0.49])
    with mp.workdps(60):
        for found, plain in (
            (log_gammainc, lambda a, x: mp.log(mp.gammainc(a, 0, x, regularized=True))),
            (log_gammaincc, lambda a, x: mp.log(mp.gammainc(a, x, regularized=True))),
        ):
            assert worst(found(a, a * ratio), plain, log_steepness(plain), a, a * ratio) < 8
        for found, plain in (
            (log_betainc, lambda a, b, x: mp.log(mp.betainc(a, b, 0, x, regularized=True))),
            (log_betaincc, lambda a, b, x: mp.log(mp.betainc(b, a, 0, 1 - x, regularized=True))),
        ):
            assert worst(found(p, q, t), plain, log_steepness(plain), p, q, t) < 8


def test_coefficients_of_the_uniform_expansion() -> None:
    """The first ones as Temme gives them."""
    np.testing.assert_allclose(D[:5], [-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835], rtol=1e-15)


def test_student_far_out_and_in_the_middle() -> None:
    """Closed forms of one and of two degrees of freedom, where the square of t is no number, too."""
    t = np.concatenate([-magnitudes(-3, 300, 60), magnitudes(-3, 3, 20)])
    with mp.workdps(700):
        one = [float(mp.atan2(1, -mp.mpf(x)) / mp.pi) for x in t]
        two = [float((1 + x / mp.sqrt(2 + mp.mpf(x) ** 2)) / 2) for x in t]
    # The tail is a power of t, whose exponent has a rounding: its size is that of the log.
    rtol = 8 * EPS * (1.0 - np.log(np.maximum(np.array(one), 1e-300)).min())
    np.testing.assert_allclose(compiled("stdtr", np.ones(80), t), one, rtol=rtol)
    np.testing.assert_allclose(compiled("stdtr", np.full(80, 2.0), t), two, rtol=2 * rtol, atol=1e-307)


@pytest.mark.parametrize("order", [(1, 1), (1, 0), (0, 1)])
def test_derivatives_in_small_shapes_of_the_beta_tails(order: tuple[int, int]) -> None:
    """No digits are lost where a shape is small: differences at 100 digits."""
    n = 40
    a, b, x = magnitudes(-8, 0, n), magnitudes(-8, 0.5, n), rng.uniform(size=n)
    with mp.workdps(100):
        h = mp.mpf(10) ** -25
        for upper in (False, True):

            def log(a: Any, b: Any, x: Any, upper: bool = upper) -> Any:
                return mp.log(mp.betainc(*((b, a, 0, 1 - x) if upper else (a, b, 0, x)), regularized=True))

            found = log_beta_tail(order, upper, a, b, x)
            for k in range(n):
                p, q, y = mp.mpf(a[k]), mp.mpf(b[k]), mp.mpf(x[k])
                steps = [(i, j) for i in ((1, -1) if order[0] else (0,)) for j in ((1, -1) if order[1] else (0,))]
                moved = [(i or 1) * (j or 1) * log(p * (1 + i * h), q * (1 + j * h), y) for i, j in steps]
                exact = sum(moved) / (2 * h * p) ** order[0] / (2 * h * q) ** order[1]
                assert found[k] == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("name", ["gammaincinv", "gammainccinv", "betaincinv", "betainccinv"])
def test_inverses(name: str) -> None:
    """The tail at the solution is what was asked for: to a few roundings of x, and of the logarithm of the tail."""
    n, upper = 400, name.endswith("ccinv")
    a, b = magnitudes(-3, 7, n), magnitudes(-3, 7, n)
    p = np.where(rng.uniform(size=n) < 0.3, magnitudes(-300, 0, n), rng.uniform(size=n))
    shapes = (a,) if name.startswith("gamma") else (a, b)
    x = compiled(name, *shapes, p)
    inside = (x > 1e-290) & (x < 1.0 - 1e-9 if len(shapes) == 2 else x < np.inf)
    tail = (log_gamma_tail, log_beta_tail)[len(shapes) - 1]
    order: Any = 0 if len(shapes) == 1 else (0, 0)
    shapes, x, p = tuple(v[inside] for v in shapes), x[inside], p[inside]
    found = tail(order, upper, *shapes, x)
    beside = [tail(order, upper, *shapes, np.nextafter(x, to)) for to in (0.0, np.inf)]
    rounding = np.maximum(abs(beside[0] - found), abs(beside[1] - found))
    # Errors of the log of the tail itself are roundings of it, and of the factor in front, whose log has that size too.
    own = EPS * (1.0 + abs(np.log(p)) + sum(abs(np.log(v)) for v in shapes))
    assert np.all(abs(found - np.log(p)) <= 4 * rounding + 8 * own)


def test_inverses_in_closed_form() -> None:
    """Student's t of one and of two degrees of freedom, and the odds of powers: far out, too."""
    p = np.concatenate([magnitudes(-300, -1, 100), rng.uniform(0.0, 0.5, 100)])
    cauchy = np.where(p < 0.1, -1.0 / np.tan(np.pi * p), -np.tan(np.pi * (0.5 - p)))  # with the digits of both
    two = (2.0 * p - 1.0) / np.sqrt(2.0 * p * (1.0 - p))
    # The log of a tail has errors of its roundings; a tail of 1/v-th power carries them over.
    rtol = 4 * EPS * (2.0 - np.log(p))
    assert np.all(abs(compiled("student_inverse", np.ones(200), p) / cauchy - 1.0) <= rtol)
    assert np.all(abs(compiled("student_inverse", np.full(200, 2.0), p) / two - 1.0) <= rtol)
    for shape in (0.7, 3.0, 40.0):
        odds = np.expm1(-np.log1p(-p) / shape)
        ours = np.full(200, shape), p
        np.testing.assert_allclose(compiled("beta_odds", np.ones(200), *ours), odds, rtol=np.max(rtol))
        np.testing.assert_allclose(compiled("beta_oddsc", ours[0], np.ones(200), p), 1.0 / odds, rtol=np.max(rtol))


def test_inverses_at_the_ends() -> None:
    assert compiled("gammaincinv", 2.0, 0.0) == 0.0 and compiled("gammaincinv", 2.0, 1.0) == np.inf
    assert compiled("gammainccinv", 2.0, 0.0) == np.inf and compiled("gammainccinv", 2.0, 1.0) == 0.0
    assert compiled("betaincinv", 2.0, 3.0, 0.0) == 0.0 and compiled("betaincinv", 2.0, 3.0, 1.0) == 1.0
    bad = [("gammaincinv", -1.0, 0.5), ("gammaincinv", 2.0, 1.5), ("betaincinv", 2.0, 3.0, np.nan)]
    assert all(np.isnan(compiled(*case)) for case in bad)


X = np.concatenate([magnitudes(-6, 2.3, 60), -magnitudes(-6, 1.3, 30)])


@pytest.mark.parametrize(
    ("name", "exact", "points"),
    [
        ("k0e", lambda x: mp.exp(x) * mp.besselk(0, x), X[:60]),
        ("k1e", lambda x: mp.exp(x) * mp.besselk(1, x), X[:60]),
        ("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), X),
    ],
)
def test_by_polynomials(name: str, exact: Any, points: np.ndarray) -> None:
    with mp.workdps(40):
        assert worst(compiled(name, points), exact, lambda x: 0.0, points) < 4


def test_polygamma_of_all_orders() -> None:
    x = np.concatenate([magnitudes(-3, 9, 60), -magnitudes(-2, 1, 20)])
    with mp.workdps(60):
        for n in (2, 3, 7):
            exact = lambda x, n=n: mp.psi(n, x)  # noqa: E731
            found = probdiff.compile(lambda x, n=n: polygamma(n, x))(x)
            assert worst(found, exact, log_steepness(exact), x) < 8


def scaled_integral_of_erfc(n: int, x: Any) -> Any:
    with mp.workdps(200):
        before, here = 2 / mp.sqrt(mp.pi), mp.exp(x * x) * mp.erfc(x)
        for k in range(1, n + 1):
            before, here = here, (before - 2 * x * here) / (2 * k)
        return here


def test_derivatives_of_erfcx_do_not_cancel() -> None:
    """d/dx erfcx(x) is -2 times the integral of erfc, times exp(x²); 2 x erfcx(x) - 2 / √π has no digit left at 1e8."""
    x = np.array([-3.0, -0.2, 0.0, 0.7, 5.0, 300.0, 1e8])
    first = probdiff.compile(lambda x: gradient(lambda x: np.sum(sp.erfcx(x)), x)[0])(x)
    second = np.diag(hessian(lambda x: np.sum(sp.erfcx(x)))(x))
    for v, one, two in zip(x, first, second, strict=True):
        assert one == pytest.approx(float(-2 * scaled_integral_of_erfc(1, mp.mpf(v))), rel=4e-15)
        assert two == pytest.approx(float(8 * scaled_integral_of_erfc(2, mp.mpf(v))), rel=4e-15)
    assert gradient(sp.erfcx, 1e8)[0] == pytest.approx(-1.0 / (np.sqrt(np.pi) * 1e16), rel=1e-15)


def test_derivatives_of_exprel_next_to_zero() -> None:
    """Those at zero are 1 / 2 and 1 / 3, and (e^x - y) / x loses all digits next to it."""
    assert gradient(sp.exprel, 0.0)[0] == pytest.approx(0.5, rel=4e-16)
    assert hessian(sp.exprel)(0.0) == pytest.approx(1 / 3, rel=4e-16)
    for x in (1e-9, -0.3, 7.9, 12.0, -40.0, 600.0):
        with mp.workdps(60):
            v = mp.mpf(x)
            expected = float((mp.exp(v) * (v - 1) + 1) / v**2)
        assert gradient(sp.exprel, x)[0] == pytest.approx(expected, rel=2e-15)


@pytest.mark.parametrize("name", ["log_gammainc1", "log_betaincc11", "kve"])
def test_the_interpreter_is_a_reference(name: str) -> None:
    """Branches, loops and quadratures evaluated on arrays by NumPy, and element by element in machine code."""
    program = recorded(name)
    args = [magnitudes(-2, 2, 50) for _ in program.inputs]
    args[-1] = rng.uniform(size=50) if "beta" in name else args[-1]
    with np.errstate(all="ignore"):
        (by_numpy,) = interpret(program, args)
    (native,) = elementwise_kernel(program)(*args)
    np.testing.assert_allclose(by_numpy, native, rtol=1e-12)


def test_what_is_no_formula() -> None:
    assert formula("exp") is None and formula("polygamma") is None and formula("log_gammainc12x") is None
