"""Golden cases 22-34 and 38-44: nested derivatives, Hessians, edges of powers, rounding.

26 (the Legendre half), 31 (the inverse) and 35-37 wait for linear algebra. 27 in chunks: all partials are one chunk
here. 32: where the source raises a domain error, NumPy's NaN holds. 39: a complex argument is a clear error, not a
derivative. 40: `hash` and `iseven` of a dual have no counterpart. 42: mutation of a captured array has no counterpart.
Structured matrix types of 41 are plain arrays here.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from probdiff import fwddiff, gradient, hessian, hvp, jacobian, pullback, pushforward, stop_gradient, unthunk
from probdiff.errors import ProbdiffError, ShapeError
from tests.golden.modes import EAGER, assert_gradient, gradient_by

pairs = pytest.mark.parametrize(("outer", "inner"), [(o, i) for o in EAGER for i in EAGER])


def derivative(f: Any, x: Any, mode: str = "forward") -> Any:
    """The derivative of a function of one number, by the named mode, which may be traced from outside."""
    if mode == "reverse":
        return gradient(f, x)[0]
    if mode == "forward":
        return pushforward(f, x)(1.0)
    _, back = pullback(fwddiff(f, mode=mode), x)
    return unthunk(back(1.0)[0])


@pairs
def test_case_22_inner_sum(outer: str, inner: str) -> None:
    assert derivative(lambda x: x * derivative(lambda y: x + y, 1.0, inner), 1.0, outer) == 1.0


@pairs
def test_case_22_inner_product(outer: str, inner: str) -> None:
    assert derivative(lambda x: x * derivative(lambda y: x * y, 1.0, inner), 4.0, outer) == 8.0


@pairs
def test_case_22_inner_constant(outer: str, inner: str) -> None:
    assert derivative(lambda x: derivative(lambda y: x, x, inner), 1.0, outer) == 0.0


@pytest.mark.parametrize("inner", EAGER)
def test_case_23_inner_derivative_of_a_norm(inner: str) -> None:
    def f(v: Any) -> Any:
        return np.sum(v) * derivative(lambda y: y * np.linalg.norm(v), 1.0, inner)

    assert_gradient(f, np.array([1.0]), expected=(np.array([2.0]),))
    assert_gradient(lambda v: np.sum(v) * np.linalg.norm(v), np.array([1.0]), expected=(np.array([2.0]),))


class Confusing:
    """One class at both levels: the outer instance differentiates an inner one that captured its x."""

    def __init__(self, mode: str, captured: Any = None) -> None:
        self.mode, self.captured = mode, captured

    def __call__(self, x: Any) -> Any:
        if self.captured is not None:
            return self.captured + x
        return x * derivative(Confusing(self.mode, x), 1.0, self.mode)


@pairs
def test_case_24_one_functor_at_two_levels(outer: str, inner: str) -> None:
    assert derivative(Confusing(inner), 1.0, outer) == 1.0


def test_case_25_jacobian_of_a_gradient() -> None:
    rng = np.random.default_rng(25)
    a, x0, y0 = rng.normal(size=(10, 8)), rng.normal(size=8), rng.normal(size=10)
    got = jacobian(lambda x: gradient(lambda y: y @ (a @ x), y0)[0])(x0)
    np.testing.assert_allclose(got, a, rtol=1e-14)


def test_case_26_mixed_block_of_a_lagrangian() -> None:
    def lagrangian(q: Any, v: Any) -> Any:
        return 0.5 * np.sum(v * v) - 9.8 * q[1]

    v0 = np.array([3.0, 4.0])
    block = jacobian(lambda q: gradient(lambda v: lagrangian(q, v), v0)[0])(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(block, np.zeros((2, 2)))


def rosenbrock(x: Any) -> Any:
    return np.sum((1.0 - x[:-1]) ** 2 + 100.0 * (x[1:] - x[:-1] ** 2) ** 2)


ROSENBROCK_AT = np.array([0.1, 0.2, 0.3])


def test_case_27_rosenbrock_gradient() -> None:
    assert_gradient(rosenbrock, ROSENBROCK_AT, expected=(np.array([-9.4, 15.6, 52.0]),))


def test_case_27_rosenbrock_hessian() -> None:
    expected = [[-66.0, -40.0, 0.0], [-40.0, 130.0, -80.0], [0.0, -80.0, 200.0]]
    np.testing.assert_allclose(hessian(rosenbrock)(ROSENBROCK_AT), expected, rtol=1e-12, atol=1e-12)


def test_case_28_third_derivatives() -> None:
    expected = np.zeros((3, 3, 3))
    expected[0, 0, 0], expected[1, 1, 1] = 240.0, 480.0
    for i, j, k in set(permutations((0, 0, 1))) | set(permutations((1, 1, 2))):
        expected[i, j, k] = -400.0
    np.testing.assert_allclose(jacobian(hessian(rosenbrock))(ROSENBROCK_AT), expected, rtol=1e-12, atol=1e-11)


def test_case_29_jacobian() -> None:
    def f(x: Any) -> Any:
        y1 = x[0] * x[1] * np.sin(x[2] ** 2)
        y2 = y1 + x[2]
        return np.stack([y1, y2, y1 / y2, x[2]])

    expected = [
        [0.824237, 0.412118, -10.933563],
        [0.824237, 0.412118, -9.933563],
        [0.169077, 0.084538, -2.299174],
        [0.0, 0.0, 1.0],
    ]
    got = jacobian(f)(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(got, expected, atol=5e-7)  # the golden numbers have six decimals


def mixed(x: Any) -> Any:
    return np.sin(x[0]) + x[1] * x[2] * x[3]


MIXED_AT = np.array([np.pi / 4, 2.0, 3.0, 4.0])


def test_case_30_gradient() -> None:
    assert_gradient(mixed, MIXED_AT, expected=(np.array([np.sqrt(0.5), 12.0, 8.0, 6.0]),))


def test_case_30_hessian() -> None:
    expected = np.zeros((4, 4))
    expected[0, 0] = -np.sqrt(0.5)
    expected[1, 2] = expected[2, 1] = 4.0
    expected[1, 3] = expected[3, 1] = 3.0
    expected[2, 3] = expected[3, 2] = 2.0
    np.testing.assert_allclose(hessian(mixed)(MIXED_AT), expected, rtol=1e-12, atol=1e-14)


def test_case_31_vector_of_a_number() -> None:
    got = jacobian(lambda x: np.stack([np.sin(x), np.cos(x), np.tan(x)]))(np.pi / 4)
    np.testing.assert_allclose(got, [np.sqrt(0.5), -np.sqrt(0.5), 2.0], rtol=1e-14)


def test_case_31_nested_jacobian() -> None:
    x = np.array([1.0, 2.0, 3.0])
    expected = np.zeros((3, 3, 3))
    expected[range(3), range(3), range(3)] = -np.sin(x)
    np.testing.assert_allclose(jacobian(jacobian(np.sin))(x), expected, rtol=1e-14, atol=1e-15)


POWERS = [
    (0.0, 1.5, 0.0, 0.0),
    (0.0, 0.5, np.inf, 0.0),
    (1.0, 1.0, 1.0, 0.0),
]


@pytest.mark.parametrize(("x", "y", "x_bar", "y_bar"), POWERS)
def test_case_32_powers_at_the_edge(x: float, y: float, x_bar: float, y_bar: float) -> None:
    with np.errstate(all="ignore"):
        assert_gradient(np.power, x, y, expected=(x_bar, y_bar))


@pytest.mark.parametrize(("y", "expected"), [(-0.5, -np.inf), (0.0, -np.inf), (0.5, 0.0), (1.5, 0.0)])
def test_case_32_exponent_of_zero(y: float, expected: float) -> None:
    with np.errstate(all="ignore"):
        assert_gradient(lambda y: np.power(0.0, y), y, expected=(expected,))


def test_case_32_negative_base_with_fraction_is_nan() -> None:
    with np.errstate(all="ignore"):
        assert_gradient(np.power, -1.0, 0.5, expected=(np.nan, np.nan))


def test_case_32_constant_exponents() -> None:
    assert_gradient(lambda x: x**2.0, 2.0, expected=(4.0,))
    assert_gradient(lambda x: x**2.0, -2.0, expected=(-4.0,))
    assert_gradient(lambda x: x**2, -2.0, expected=(-4.0,))


def test_case_33_log_of_an_unused_and_a_zero() -> None:
    with np.errstate(all="ignore"):
        assert_gradient(
            lambda x: np.log(np.zeros_like(x[0]) + x[1]), np.array([1.0, 0.0]), expected=(np.array([0.0, np.inf]),)
        )


def test_case_33_overflowing_product() -> None:
    with np.errstate(all="ignore"):
        assert_gradient(
            lambda a: a[0] * np.exp(-a[1]), np.array([1.0, -1000.0]), expected=(np.array([np.inf, -np.inf]),)
        )


def test_case_34_constant() -> None:
    assert_gradient(lambda x: 1.0, np.array([1.0]), expected=(np.array([0.0]),))


def test_case_34_empty() -> None:
    assert_gradient(np.sum, np.zeros(0), expected=(np.zeros(0),))
    assert hessian(np.sum)(np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize("f", [lambda x: x, lambda x: np.outer(x, x)], ids=["vector", "matrix"])
def test_case_34_gradient_needs_a_scalar(f: Any) -> None:
    with pytest.raises(ProbdiffError, match="scalar"):
        gradient(f, np.array([1.0, 2.0]))


def test_case_38_sum_of_a_range() -> None:
    steps = np.arange(200.0)

    def total(p: Any) -> Any:
        return np.sum(np.where(p[0] * steps <= p[1], p[0] * steps, 0.0))

    assert_gradient(total, np.array([0.3, 25.0]), expected=(np.array([3486.0, 0.0]),))


@pytest.mark.parametrize("x", [1 + 2j, np.array([1j, 2.0])], ids=["number", "array"])
def test_case_39_complex_arguments_are_refused(x: Any) -> None:
    with pytest.raises(ProbdiffError, match="complex"):
        gradient(lambda x: np.sum(np.real(x)), x)


def test_case_39_scaled_constants_at_zero() -> None:
    a, b = np.array([1.0, 2.0]), np.array([3.0, -5.0])
    assert_gradient(lambda x: np.sum(x * a * b), 0.0, expected=(-7.0,))


def test_case_39_hypot_hessian() -> None:
    x, y = 3.0, 4.0
    got = hessian(lambda v: np.hypot(v[0], v[1]))(np.array([x, y]))
    # By hand; the listed off-diagonal of zero does not hold for hypot(x, y).
    np.testing.assert_allclose(got, np.array([[y * y, -x * y], [-x * y, x * x]]) / 5.0**3, rtol=1e-13)


@pytest.mark.parametrize(
    "f", [np.floor, np.ceil, np.rint, np.trunc, lambda x: x // 1.0], ids=["floor", "ceil", "rint", "trunc", "//"]
)
def test_case_40_rounding_is_flat(f: Any) -> None:
    assert_gradient(lambda x: f(x) + 0.0 * x, 2.3, expected=(0.0,))


def test_case_40_int_of_a_dual() -> None:
    with pytest.raises(ProbdiffError, match="derivative"):
        pushforward(lambda x: x * int(x), 2.3)(1.0)


def test_case_40_predicates_look_at_the_value() -> None:
    assert pushforward(lambda x: np.where(np.isnan(x), 0.0, 3.0 * x), 2.0)(1.0) == 3.0


def test_case_40_abs_at_zero() -> None:
    assert_gradient(np.abs, 0.0, expected=(0.0,))
    assert_gradient(np.abs, -0.0, expected=(0.0,))


def test_case_40_remainder() -> None:
    assert_gradient(lambda x: x % (2 * np.pi), 7.0, expected=(1.0,))


def test_case_41_triangle() -> None:
    x = np.arange(16.0).reshape(4, 4)
    assert_gradient(lambda x: np.sum(np.tril(x)), x, expected=(np.tril(np.ones((4, 4))),))


def test_case_41_one_evaluation() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.sum(np.tril(x))

    gradient(f, np.ones((20, 20)))
    assert calls == [1]


def test_case_42_chain() -> None:
    assert_gradient(lambda x: np.sin(np.cos(x)), 0.5, expected=(-0.306358909,), rtol=2e-9)  # nine digits given


@pairs
def test_case_42_second_derivative(outer: str, inner: str) -> None:
    got = derivative(lambda x: derivative(np.cos, x, inner), 0.5, outer)
    assert got == pytest.approx(-0.877582562, rel=1e-9)


def test_case_42_loop() -> None:
    def cube(x: Any) -> Any:
        r = 1.0
        for _ in range(3):
            r = r * x
        return r

    assert_gradient(cube, 2.0, expected=(12.0,))


def test_case_42_matrix_product() -> None:
    corner = np.zeros((5, 5))
    corner[0, 0] = 1.0

    def f(x: Any) -> Any:
        a = x * corner
        return (a @ a)[0, 0]

    assert_gradient(f, 3.0, expected=(6.0,))


def powers(x: Any) -> Any:
    return x[0] ** x[1] + x[2] ** 3 + x[0] * x[1] * x[2]


POWERS_AT = np.array([1.0, 2.0, 3.0])


def test_case_43_hessian() -> None:
    expected = [[2.0, 4.0, 2.0], [4.0, 0.0, 1.0], [2.0, 1.0, 18.0]]
    np.testing.assert_allclose(hessian(powers)(POWERS_AT), expected, rtol=1e-13, atol=1e-13)


def test_case_43_hessian_times_vector() -> None:
    np.testing.assert_allclose(hvp(powers)(POWERS_AT, np.array([1.0, 2.0, 3.0])), [16.0, 7.0, 58.0], rtol=1e-13)


def test_case_43_jacobian() -> None:
    got = jacobian(lambda x: np.stack([x[0] ** x[1], x[2] ** 3, x[0] * x[1] * x[2]]))(POWERS_AT)
    np.testing.assert_allclose(got, [[2.0, 0.0, 0.0], [0.0, 0.0, 27.0], [6.0, 3.0, 2.0]], rtol=1e-13, atol=1e-14)


def test_case_43_vector_of_a_number() -> None:
    np.testing.assert_allclose(pushforward(lambda x: np.stack([x, x**2]), 3.0)(1.0), [1.0, 6.0])


@pytest.mark.parametrize("v", [[1.0, 2.0, 3.0], [1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
def test_case_43_cumsum_forward(v: list[float]) -> None:
    np.testing.assert_allclose(pushforward(np.cumsum, np.ones(3))(np.array(v)), np.cumsum(v))


def test_case_43_wrong_seed() -> None:
    with pytest.raises(ShapeError):
        pushforward(np.cumsum, np.ones(3))(np.ones(4))


def speed(x: Any) -> Any:
    return np.tanh(np.log(x * np.sin(1.0)) + np.cos(np.exp(x + 1.0)))


def test_case_44_speed_function_value() -> None:
    assert speed(2.0) == pytest.approx(0.690618972, rel=2e-9)  # nine digits given
    value, _ = pullback(fwddiff(speed), 2.0)
    assert value == pytest.approx(0.690618972, rel=2e-9)


def test_case_44_speed_function_slope() -> None:
    assert_gradient(speed, 0.7, expected=(5.253442,), rtol=1e-6)  # seven digits, by finite difference


def test_stop_gradient_holds_in_every_mode() -> None:
    assert_gradient(lambda x: x * stop_gradient(x), 3.0, expected=(3.0,))


def test_pushforward_of_integers() -> None:
    assert pushforward(pow, 2, 3)(1, 0) == 12


@pytest.mark.parametrize("mode", EAGER)
def test_two_inner_derivatives_in_a_row_do_not_add(mode: str) -> None:
    def f(x: Any) -> Any:
        first = derivative(lambda y: x * y, 1.0, mode)
        second = derivative(lambda y: x * y, 1.0, mode)
        return first * second

    assert gradient_by(mode, f, 3.0) == (6.0,)
