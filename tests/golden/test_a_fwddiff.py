"""Golden cases 1-21: what `fwddiff` promises, one behaviour a test.

Choices: entries of a lazy pullback are thunks, cached (forced twice is one evaluation). A constant output gives
zeros of the argument's shape. A static vector of the source is an array here. Several floats in one argument are
one dual evaluation. Arguments without a tangent (int, bool, str, None) get None.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from probdiff import Ref, Thunk, broadcast, fwddiff, gradient, is_traced, pullback, tree, unthunk
from probdiff.distributions import Exponential, Normal, logpdf
from probdiff.errors import ShapeError
from tests.golden.modes import (
    EAGER,
    assert_equal_structure,
    assert_gradient,
    finite_difference,
    flatten_values,
    gradient_by,
)

A, B, C = 2.0, (3.0, 4.0), np.array([5.0, 6.0, 7.0])
OUT = (10.0, 20.0, 30.0)
EXPECTED = (280.0, (600.0, 1040.0), np.array([1600.0, 2280.0, 3080.0]))

INPUTS = {
    "scalar": 1.1,
    "tuple": (1.1, 2.2),
    "vector": np.array([1.1, 2.2, 3.3]),
    "nested": {"k": 1.1, "l": {"c": np.array([2.2, 3.3]), "m": (4.4, 5.5)}},
}
each_input = pytest.mark.parametrize("x", INPUTS.values(), ids=INPUTS.keys())
each_mode = pytest.mark.parametrize("mode", ["lazy", "single_pass"])


def f(a: Any, b: Any, c: Any) -> Any:
    """Sum of squares, sum of cubes, a constant."""
    squares = a**2 + b[0] ** 2 + b[1] ** 2 + np.sum(c**2)
    cubes = a**3 + b[0] ** 3 + b[1] ** 3 + np.sum(c**3)
    return squares, cubes, 42.0


def f_vector(a: Any, b: Any, c: Any) -> Any:
    squares, cubes, constant = f(a, b, c)
    return np.stack([squares, cubes, constant])


def counted(function: Any) -> tuple[Any, list[bool]]:
    """The function and a list with one entry per call: were its arguments duals?"""
    calls: list[bool] = []

    def counting(*args: Any) -> Any:
        calls.append(any(is_traced(leaf) for leaf in tree.flatten(args)[0]))
        return function(*args)

    return counting, calls


def vjp(function: Any, *args: Any, out: Any, mode: str = "lazy") -> tuple[Any, ...]:
    _, back = pullback(fwddiff(function, mode=mode), *args)
    return tuple(unthunk(entry) for entry in back(out))


def close(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert_equal_structure(got, expected, "", rtol, 1e-12)


def flat(x: Any) -> Any:
    """The leaves of x as one vector, traceable."""
    return np.concatenate([np.reshape(leaf, (-1,)) for leaf in tree.flatten(x)[0]])


def palindrome(x: Any) -> Any:
    """<v, reversed v> <v, v> of the flattened x."""
    v = flat(x)
    return np.sum(v * v[::-1]) * np.sum(v * v)


def nested_output(x: Any) -> Any:
    v, s = flat(x), palindrome(x)
    return {"a": s, "b": {"c": {0: [np.sum(v * v[::-1]), 4.2]}, "d": (s**2, s**3)}, "e": 42.0}


def test_case_01_plain_call_is_the_function() -> None:
    assert fwddiff(f)(A, B, C) == (139.0, 783.0, 42.0)


def test_case_01_value_of_the_pullback() -> None:
    value, _ = pullback(fwddiff(f), A, B, C)
    close(value, (139.0, 783.0, 42.0))


@each_mode
def test_case_02_vector_jacobian_product(mode: str) -> None:
    close(vjp(f, A, B, C, out=OUT, mode=mode), EXPECTED)


@each_mode
def test_case_03_vector_output(mode: str) -> None:
    close(vjp(f_vector, A, B, C, out=np.array(OUT), mode=mode), EXPECTED)


@each_mode
def test_case_04_first_output_alone(mode: str) -> None:
    close(vjp(f, A, B, C, out=(1.0, 0.0, 0.0), mode=mode), (4.0, (6.0, 8.0), np.array([10.0, 12.0, 14.0])))


@each_mode
def test_case_05_constant_output_alone_gives_zeros(mode: str) -> None:
    close(vjp(f, A, B, C, out=(0.0, 0.0, 1.0), mode=mode), (0.0, (0.0, 0.0), np.zeros(3)))


@each_mode
def test_case_06_dtypes_do_not_widen(mode: str) -> None:
    a, _, c = vjp(f, np.float32(A), B, C.astype(np.float32), out=OUT, mode=mode)
    assert np.asarray(a).dtype == np.float32
    assert c.dtype == np.float32
    np.testing.assert_allclose(c, EXPECTED[2], rtol=1e-6)  # float32 has 24 bits


def test_case_07_lazy_evaluation_counts() -> None:
    function, calls = counted(f)
    _, back = pullback(fwddiff(function, mode="lazy"), A, B, C)
    assert calls == [False]
    thunks = back(OUT)
    assert all(isinstance(entry, Thunk) for entry in thunks)
    assert calls == [False]
    unthunk(thunks[1])
    assert calls == [False, True]
    for entry in thunks:
        unthunk(entry)
    assert calls == [False, True, True, True]


def test_case_07_direct_pullback_is_lazy_by_default() -> None:
    function, calls = counted(f)
    _, back = pullback(fwddiff(function), A, B, C)
    assert all(isinstance(entry, Thunk) for entry in back(OUT))
    assert calls == [False]


def test_case_07_thunks_are_cached() -> None:
    function, calls = counted(f)
    _, back = pullback(fwddiff(function, mode="lazy"), A, B, C)
    first = back(OUT)[0]
    assert unthunk(first) == first.force() == 280.0
    assert len(calls) == 2


def test_case_07_single_pass_is_one_evaluation() -> None:
    function, calls = counted(f)
    _, back = pullback(fwddiff(function, mode="single_pass"), A, B, C)
    close(tuple(unthunk(entry) for entry in back(OUT)), EXPECTED)
    assert calls == [True]


def test_case_08_lazy_cotangent() -> None:
    asked: list[int] = []

    def cotangent() -> Any:
        asked.append(1)
        return OUT

    _, back = pullback(fwddiff(f, mode="lazy"), A, B, C)
    thunks = back(Thunk(cotangent))
    assert asked == []
    close(tuple(unthunk(entry) for entry in thunks), EXPECTED)
    assert asked == [1]


@each_mode
@each_input
def test_case_09_constant_function(x: Any, mode: str) -> None:
    (x_bar,) = vjp(lambda x: 42.0, x, out=1.0, mode=mode)
    leaves, _ = tree.flatten(x)
    close(tree.flatten(x_bar)[0], [0.0 * leaf for leaf in leaves])


def test_case_09_constant_function_of_two() -> None:
    x, y = INPUTS["nested"], INPUTS["vector"]
    x_bar, y_bar = vjp(lambda x, y: 42.0, x, y, out=1.0)
    close((x_bar, y_bar), ({"k": 0.0, "l": {"c": np.zeros(2), "m": (0.0, 0.0)}}, np.zeros(3)))


@each_input
def test_case_10_scalar_of_structures(x: Any) -> None:
    leaves, spec = tree.flatten(x)
    expected, parts, start = finite_difference(palindrome, x)[0], [], 0
    for leaf in leaves:
        parts.append(expected[start : start + np.size(leaf)].reshape(np.shape(leaf)))
        start += np.size(leaf)
    # Central differences are right to about eps**2 * third derivative: 1e-6 relative here.
    assert_gradient(palindrome, x, expected=(spec.unflatten(parts),), rtol=1e-6)


def test_case_10_by_hand() -> None:
    assert_gradient(palindrome, 1.1, expected=(5.324,))


@each_mode
@each_input
def test_case_11_nested_output_with_constants(x: Any, mode: str) -> None:
    rng = np.random.default_rng(11)
    leaves, spec = tree.flatten(nested_output(x))
    out = rng.normal(size=len(leaves))
    (x_bar,) = vjp(nested_output, x, out=spec.unflatten([float(o) for o in out]), mode=mode)
    # Central differences of s**3 (up to 1e11 here) keep about six digits.
    expected = out @ finite_difference(nested_output, x)
    np.testing.assert_allclose(flatten_values(x_bar), expected, rtol=1e-5)


@each_input
def test_case_12_flatten_round_trip(x: Any) -> None:
    leaves, spec = tree.flatten(x)
    again, spec_again = tree.flatten(spec.unflatten(leaves))
    assert spec == spec_again
    close(again, leaves)


@each_input
def test_case_12_ravel_round_trip(x: Any) -> None:
    flat_x, back = tree.ravel(x)
    close(tree.flatten(back(flat_x))[0], tree.flatten(x)[0])


def test_case_12_degrees_of_freedom() -> None:
    assert [tree.ravel(x)[0].size for x in INPUTS.values()] == [1, 2, 3, 5]


def test_case_12_wrong_length() -> None:
    flat_x, back = tree.ravel(INPUTS["nested"])
    with pytest.raises(ShapeError, match="length 5"):
        back(flat_x[:-1])


@dataclass
class Point:
    x: Any
    y: Any


@dataclass(frozen=True)
class FrozenPoint:
    x: Any
    y: Any


@pytest.mark.parametrize("kind", [Point, FrozenPoint])
def test_case_13_dataclass_round_trip(kind: Any) -> None:
    point = kind(1.5, np.array([2.0, 3.0]))
    leaves, spec = tree.flatten(point)
    again = spec.unflatten(leaves)
    assert isinstance(again, kind)
    assert again.x == 1.5
    np.testing.assert_array_equal(again.y, point.y)


@pytest.mark.parametrize("mode", EAGER)
@pytest.mark.parametrize("kind", [Point, FrozenPoint])
def test_case_13_dataclass_gradient_has_the_fields(kind: Any, mode: str) -> None:
    (bar,) = gradient_by(mode, lambda p: p.x * np.sum(p.y**2), kind(1.5, np.array([2.0, 3.0])))
    np.testing.assert_allclose(bar.x, 13.0)
    np.testing.assert_allclose(bar.y, [6.0, 9.0])


def test_case_14_constructor_as_function_one_parameter() -> None:
    scale, data = np.array([0.5, 1.0, 2.0]), np.array([0.3, 1.2, 2.5])

    def plain(scale: Any, data: Any) -> Any:
        return np.sum(broadcast(logpdf)(broadcast(Exponential)(scale), data))

    def seam(scale: Any, data: Any) -> Any:
        return np.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Exponential))(scale), data))

    expected = (-1 / scale + data / scale**2, -1 / scale)
    assert_gradient(plain, scale, data, expected=expected)
    assert_gradient(seam, scale, data, expected=expected)


def test_case_14_constructor_as_function_two_parameters() -> None:
    loc, scale, data = np.array([0.1, -0.2, 0.3]), np.array([0.5, 1.0, 2.0]), np.array([0.3, 1.2, 2.5])

    def seam(loc: Any, scale: Any, data: Any) -> Any:
        return np.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Normal))(loc, scale), data))

    z = (data - loc) / scale
    assert_gradient(seam, loc, scale, data, expected=(z / scale, (z**2 - 1) / scale, -z / scale))


def test_case_14_constructor_called_plainly() -> None:
    assert fwddiff(Normal)(1.0, 2.0) == Normal(1.0, 2.0)


@each_mode
def test_case_15_arguments_without_tangent(mode: str) -> None:
    label, k, x = vjp(lambda label, k, x: x**k, "label", 3, 2.0, out=1.0, mode=mode)
    assert (label, k) == (None, None)
    assert x == 12.0


@each_mode
def test_case_15_none_as_output_contributes_nothing(mode: str) -> None:
    assert vjp(lambda x: (x**2, None), 3.0, out=(1.0, None), mode=mode) == (6.0,)


@each_mode
def test_case_15_wrt_keeps_duals_out_of_the_other_arguments(mode: str) -> None:
    seen: list[bool] = []

    def difference(p: Any, q: Any, x: Any) -> Any:
        seen.extend(is_traced(leaf) for leaf in tree.flatten((p, q))[0])
        return logpdf(p, x) - logpdf(q, x)

    _, back = pullback(fwddiff(difference, mode=mode, wrt=(2,)), Normal(0.0, 1.0), Normal(1.0, 2.0), 0.5)
    assert unthunk(back(1.0)[2]) == pytest.approx(-0.5 + (0.5 - 1.0) / 4.0)
    assert not any(seen)


ELEMENTARY = {
    "exp": (np.exp, np.exp),
    "expm1": (np.expm1, np.exp),
    "log": (np.log, lambda x: 1 / x),
    "log1p": (np.log1p, lambda x: 1 / (1 + x)),
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "tanh": (np.tanh, lambda x: 1 / np.cosh(x) ** 2),
    "sinh": (np.sinh, np.cosh),
    "x**x": (lambda x: x**x, lambda x: x**x * (1 + np.log(x))),
}


@pytest.mark.parametrize(("function", "slope"), ELEMENTARY.values(), ids=ELEMENTARY.keys())
def test_case_16_kernels_of_elementary_functions(function: Any, slope: Any) -> None:
    x = np.linspace(0.1, 3.0, 33)
    value, back = pullback(lambda x: broadcast(fwddiff(function))(x), x)
    np.testing.assert_allclose(value, function(x), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(back(np.ones(33))[0], slope(x), rtol=1e-13)  # 1 - tanh**2 cancels one digit


def test_case_16_integer_exponents_stay_integers() -> None:
    x, k = np.array([0.3, 0.8, 1.4]), np.array([1, 2, 3])
    x_bar, k_bar = gradient(lambda x, k: np.sum(broadcast(fwddiff(lambda x, k: x**k))(x, k)), x, k)
    np.testing.assert_allclose(x_bar, [1.0, 1.6, 5.88], rtol=1e-14)
    assert k_bar is None


def test_case_16_a_constant_partial() -> None:
    x = np.array([0.3, 0.8, 1.4])
    assert_gradient(lambda x: np.sum(broadcast(fwddiff(lambda x: 2.0 * x))(x)), x, expected=(np.full(3, 2.0),))


def test_case_16_a_constant_among_several_outputs() -> None:
    def total(x: Any) -> Any:
        return sum(np.sum(y) for y in broadcast(fwddiff(lambda x: (x, x * x, 1.0)))(x))

    x = np.array([0.3, 0.8, 1.4])
    assert_gradient(total, x, expected=(1 + 2 * x,))
    assert pullback(total, x)[0] == pytest.approx(np.sum(x + x * x + 1))


@pytest.mark.parametrize("kernel", [lambda f: f, fwddiff], ids=["plain", "fwddiff"])
def test_case_17_a_scalar_returned_as_it_is_counts_once_per_element(kernel: Any) -> None:
    second = broadcast(kernel(lambda x, y: y))
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(second(x, 2.0), [2.0, 2.0, 2.0])
    assert_gradient(lambda x, y: np.sum(second(x, y)), x, 2.0, expected=(np.zeros(3), 3.0))


SIGNATURE = "(),(),(n)->()"
OUT5 = tuple(o * np.ones(5) for o in OUT)
C5 = np.tile(C, (5, 1))


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_16_broadcast(mode: str | None) -> None:
    a, b = np.full(5, A), (np.full(5, B[0]), np.full(5, B[1]))
    value, back = pullback(broadcast(fwddiff(f, mode=mode), signature=SIGNATURE), a, b, C5)
    close(value, (np.full(5, 139.0), np.full(5, 783.0), np.full(5, 42.0)))
    expected = (np.full(5, 280.0), (np.full(5, 600.0), np.full(5, 1040.0)), np.tile(EXPECTED[2], (5, 1)))
    close(tuple(unthunk(entry) for entry in back(OUT5)), expected)


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_17_broadcast_of_scalar_held_and_array(mode: str | None) -> None:
    kernel = broadcast(fwddiff(f, mode=mode), signature=SIGNATURE)
    _, back = pullback(lambda a, b, c: kernel(a, Ref(b), c), A, B, C5)
    expected = (1400.0, (3000.0, 5200.0), np.tile(EXPECTED[2], (5, 1)))
    close(tuple(unthunk(entry) for entry in back(OUT5)), expected)


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_18_broadcast_without_dimensions(mode: str | None) -> None:
    kernel = broadcast(fwddiff(f, mode=mode))
    _, back = pullback(lambda a, b, c: kernel(a, Ref(b), Ref(c)), A, B, C)
    close(tuple(unthunk(entry) for entry in back(OUT)), EXPECTED)


def squared_ratio(x: Any, y: Any) -> Any:
    return (x / y) ** 2


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_19_broadcast_scalar_with_array(mode: str | None) -> None:
    def total(x: Any, y: Any) -> Any:
        return np.sum(broadcast(fwddiff(squared_ratio, mode=mode))(x, y))

    expected = (np.array([0.125, 0.25, 0.375]), -0.4375)
    assert_gradient(total, np.array([1.0, 2.0, 3.0]), 4.0, expected=expected)


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_20_closures_count(mode: str | None) -> None:
    def total(x: Any, y: Any) -> Any:
        return np.sum(broadcast(fwddiff(lambda element: (element / y) ** 2, mode=mode))(x))

    expected = (np.array([0.125, 0.25, 0.375]), -0.4375)
    assert_gradient(total, np.array([1.0, 2.0, 3.0]), 4.0, expected=expected)


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_20_closures_count_without_broadcast(mode: str | None) -> None:
    def total(x: Any, y: Any) -> Any:
        return fwddiff(lambda x: np.sum((x / y) ** 2), mode=mode)(x)

    expected = (np.array([0.125, 0.25, 0.375]), -0.4375)
    assert_gradient(total, np.array([1.0, 2.0, 3.0]), 4.0, expected=expected)


def branching() -> tuple[Any, list[bool]]:
    """x**2 with a branch in Python, so that it cannot be captured; counts the calls that got past the branch."""
    calls: list[bool] = []

    def abs2(x: Any) -> Any:
        y = x * x if x > 0 else (-x) * (-x)
        calls.append(is_traced(x))
        return y

    return abs2, calls


@pytest.mark.parametrize(("mode", "primal", "dual"), [("lazy", 3, 3), ("single_pass", 0, 3)])
def test_case_21_evaluation_counts_in_broadcast(mode: str, primal: int, dual: int) -> None:
    abs2, calls = branching()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the kernel cannot be captured is said once
        value, back = pullback(broadcast(fwddiff(abs2, mode=mode)), np.array([1.0, 2.0, 3.0]))
        np.testing.assert_array_equal(value, [1.0, 4.0, 9.0])
        np.testing.assert_array_equal(unthunk(back(np.ones(3))[0]), [2.0, 4.0, 6.0])
    assert (calls.count(False), calls.count(True)) == (primal, dual)


def test_case_21_a_kernel_that_can_be_captured_is_called_at_most_twice() -> None:
    function, calls = counted(lambda x: x * x)
    x = np.arange(1.0, 101.0)
    (x_bar,) = gradient(lambda x: np.sum(broadcast(fwddiff(function))(x)), x)
    np.testing.assert_array_equal(x_bar, 2 * x)
    assert len(calls) <= 2
