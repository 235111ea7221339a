"""Golden cases 45-65: the reverse host, its structures, checkpoints, and kernels of mixed-mode papers.

Choices: an unused float argument gets zeros of its shape (47), and None is for arguments without a tangent. `abs`,
`norm` have slope 0 at 0 (54). Thunks are cached (60). An integer has no tangent (62); a complex cotangent and a
struct with derived fields (61) have no counterpart. 46: aux is `(loss, aux)`, with any structure in aux. 58 (number
of instructions) and 63 (number of residuals) are properties of the source's tape, not of results.
"""

from __future__ import annotations

import enum
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from probdiff import (
    Ref,
    Thunk,
    broadcast,
    checkpoint,
    fwddiff,
    gradient,
    hessian,
    pullback,
    unthunk,
    value_and_grad,
)
from probdiff import compile as compile_program
from probdiff.errors import ProbdiffError, ShapeError
from tests.golden.modes import COMPILED, EAGER, assert_gradient, gradient_by


def test_case_45_product_of_three() -> None:
    assert_gradient(lambda x, y, z: x * y * z, 2.0, 3.0, 5.0, expected=(15.0, 10.0, 6.0))


def test_case_45_sum_of_squares() -> None:
    assert_gradient(lambda x: np.sum(x**2), np.array([7.0, 11.0, 13.0]), expected=(np.array([14.0, 22.0, 26.0]),))


@pytest.mark.parametrize("mode", EAGER)
def test_case_45_integer_argument(mode: str) -> None:
    x_bar, y_bar, axis_bar = gradient_by(
        mode, lambda x, y, axis: np.sum(x ** x.shape[axis] + y), np.array([7.0, 11.0]), 0.0, 0
    )
    np.testing.assert_allclose(x_bar, [14.0, 22.0])
    assert (y_bar, axis_bar) == (2.0, None)


def test_case_46_aux_array() -> None:
    x = np.array([1.0, 2.0, 4.0])
    (value, aux), x_bar = value_and_grad(lambda x: (np.sum(1 / x), 1 / x), has_aux=True)(x)
    assert value == 1.75
    np.testing.assert_array_equal(aux, [1.0, 0.5, 0.25])
    assert type(aux) is np.ndarray
    np.testing.assert_array_equal(x_bar, [-1.0, -0.25, -0.0625])


def test_case_46_two_arguments() -> None:
    call = value_and_grad(lambda x, y: (x / y, x * y), argnums=(0, 1), has_aux=True)
    (value, aux), bars = call(3.0, 4.0)
    assert (value, aux) == (0.75, 12.0)
    assert bars == (0.25, -0.1875)


def test_case_46_aux_dict() -> None:
    (value, aux), x_bar = value_and_grad(lambda x: (x**2, {"aux": 1 / x}), has_aux=True)(2.0)
    assert (value, aux, x_bar) == (4.0, {"aux": 0.5}, 4.0)


def test_case_46_compiled() -> None:
    x = np.array([1.0, 2.0, 4.0])
    call = compile_program(value_and_grad(lambda x: (np.sum(1 / x), 1 / x), has_aux=True))
    (value, aux), x_bar = call(x)
    assert value == 1.75
    np.testing.assert_allclose(aux, [1.0, 0.5, 0.25])
    np.testing.assert_allclose(x_bar, [-1.0, -0.25, -0.0625])


def test_case_47_unused_argument_gets_zeros() -> None:
    assert_gradient(lambda x, y: x**2, 3.0, np.ones((2, 3)), expected=(6.0, np.zeros((2, 3))))


def test_case_47_dict_keeps_its_structure() -> None:
    assert_gradient(lambda d: d["a"] ** 2, {"a": 3.0, "b": 2.0}, expected=({"a": 6.0, "b": 0.0},))


class Kind(enum.Enum):
    SQUARE = 1


@pytest.mark.parametrize("label", ["square", True, 7, None, Kind.SQUARE], ids=str)
@pytest.mark.parametrize("mode", ["reverse", "lazy", "single_pass"])
def test_case_47_labels_are_tolerated(mode: str, label: Any) -> None:
    x_bar, label_bar = gradient_by(mode, lambda x, label: x**2, 3.0, label)
    assert x_bar == 6.0
    assert label_bar is None


@pytest.mark.parametrize("kernel", [lambda f: f, fwddiff], ids=["reverse", "fwddiff"])
def test_case_48_broadcast_closure(kernel: Any) -> None:
    def total(xs: Any, y: Any) -> Any:
        return np.sum(broadcast(kernel(lambda z: z**2 + y[0]))(xs))

    expected = (np.array([2.0, 4.0, 6.0]), np.array([3.0, 0.0]))
    assert_gradient(total, np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0]), expected=expected)


@pytest.mark.parametrize(("x", "expected"), [((1.0, 2.0), (2.0, 2.0)), ((1.0,), (4.0,))])
def test_case_49_tuple_with_matrix(x: Any, expected: Any) -> None:
    assert_gradient(lambda x: np.sum(np.stack(x) + np.ones((2, 2))), x, expected=(expected,))


def test_case_49_held_argument() -> None:
    def total(x0: Any, xs: Any) -> Any:
        return np.sum(broadcast(lambda x, held: x + held[0])(xs, Ref(x0)))

    expected = (np.array([4.0, 0.0]), np.ones(4))
    assert_gradient(total, np.array([1.0, 2.0]), np.arange(4.0), expected=expected)


@pytest.mark.parametrize("kernel", [lambda f: f, fwddiff], ids=["reverse", "fwddiff"])
def test_case_50_branch_of_another_type(kernel: Any) -> None:
    def total(xs: Any) -> Any:
        return np.sum(broadcast(kernel(lambda x: False if x < 2 else x**2))(xs))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the kernel cannot be captured is said once
        value, back = pullback(total, np.array([1.0, 2.0, 3.0]))
        assert value == 13.0
        assert isinstance(value, (float, np.ndarray))
        np.testing.assert_array_equal(unthunk(back(1.0)[0]), [0.0, 4.0, 6.0])


def test_case_51_array_exponents() -> None:
    p = np.array([1.0, -1.0, 2.0])
    assert_gradient(lambda x: np.sum(x**p), np.array([1.0, 2.0, 4.0]), expected=(np.array([1.0, -0.25, 8.0]),))


def test_case_51_scalar_exponent() -> None:
    assert_gradient(lambda x: np.sum(x**-1), np.array([1.0, 2.0, 4.0]), expected=(np.array([-1.0, -0.25, -0.0625]),))


def test_case_52_comparison_has_no_gradient() -> None:
    assert_gradient(lambda x: np.sum(1.0 * (x > 3)), np.arange(1.0, 10.0), expected=(np.zeros(9),))


def test_case_52_count_as_a_constant() -> None:
    x = np.arange(1.0, 10.0)
    assert_gradient(lambda x: np.sum(x**3) / np.sum(x > 3), x, expected=(x**2 / 2,))


def test_case_52_mask_times_value() -> None:
    x = np.arange(1.0, 6.0)
    assert_gradient(lambda x: np.sum((x > 3) * x**2), x, expected=(np.array([0.0, 0.0, 0.0, 8.0, 10.0]),))


def test_case_53_second_order_squares() -> None:
    def f(x: Any) -> Any:
        return np.sum(gradient(lambda y: np.sum(y**2), x)[0])

    assert_gradient(f, np.array([1.0, 2.0]), expected=(np.array([2.0, 2.0]),))


def test_case_53_second_order_sine() -> None:
    def f(x: Any) -> Any:
        return np.sum(gradient(lambda y: np.sum(np.sin(y)), x)[0])

    assert_gradient(f, np.array([1.0, 2.0]), expected=(-np.sin([1.0, 2.0]),))


@pytest.mark.parametrize(("x", "expected"), [(-2.0, -1.0), (0.0, 0.0), (2.0, 1.0)])
def test_case_54_root_of_a_square(x: float, expected: float) -> None:
    with np.errstate(all="ignore"):
        assert_gradient(lambda x: np.sqrt(x**2), x, expected=(expected,))


def test_case_54_abs_and_norm_at_zero() -> None:
    assert_gradient(np.abs, 0.0, expected=(0.0,))
    assert_gradient(np.linalg.norm, np.zeros(3), expected=(np.zeros(3),))


@pytest.mark.parametrize("n", [2, 3])
def test_case_54_ties_are_split_evenly(n: int) -> None:
    expected = (np.full(n, 1 / n),)
    assert_gradient(np.max, np.ones(n), expected=expected)
    assert_gradient(np.min, np.ones(n), expected=expected)


def test_case_54_elementwise_ties_are_split_evenly() -> None:
    assert_gradient(np.maximum, 1.0, 1.0, expected=(0.5, 0.5))
    assert_gradient(np.minimum, 1.0, 1.0, expected=(0.5, 0.5))


@pytest.mark.parametrize(("x", "expected"), [(-0.1, 0.0), (0.0, 1.0), (0.5, 1.0), (1.0, 1.0), (1.1, 0.0)])
def test_case_54_clip_passes_on_the_closed_interval(x: float, expected: float) -> None:
    assert_gradient(lambda x: np.clip(x, 0.0, 1.0), x, expected=(expected,))


def test_case_55_forward_seam() -> None:
    assert gradient(fwddiff(lambda x: x**2), 5.0) == (10.0,)


@pytest.mark.parametrize("n", [1, 11, 31, 91])
def test_case_55_many_partials(n: int) -> None:
    x = np.arange(float(n))
    np.testing.assert_array_equal(gradient(fwddiff(lambda x: x @ x), x)[0], 2 * x)


def test_case_55_captured_variable() -> None:
    assert_gradient(lambda x, y: fwddiff(lambda x: x * y)(x), 3.0, 5.0, expected=(5.0, 3.0))


def test_case_56_hessian() -> None:
    np.testing.assert_array_equal(hessian(lambda x: x[0] * x[1])(np.array([1.0, 2.0])), [[0.0, 1.0], [1.0, 0.0]])


def test_case_56_hessian_diagonals() -> None:
    angle = hessian(lambda v: np.arctan2(v[0], v[1]))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(np.diag(angle), [-0.16, 0.16], rtol=1e-13)
    product = hessian(lambda v: v[0] * v[1] ** 2)(np.array([1.0, np.pi]))
    np.testing.assert_allclose(np.diag(product), [0.0, 2.0], rtol=1e-13, atol=1e-13)


class Stage:
    """A function that counts its calls."""

    def __init__(self, f: Any) -> None:
        self.f, self.calls = f, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return self.f(x)


def stages() -> tuple[Stage, Stage, Stage]:
    return Stage(np.sin), Stage(lambda x: x**2), Stage(np.exp)


CHAIN_SLOPE = np.exp(np.sin(0.5) ** 2) * 2 * np.sin(0.5) * np.cos(0.5)


def test_case_57_plain_pullback_evaluates_once() -> None:
    f, g, h = stages()
    _, back = pullback(lambda x: h(g(f(x))), 0.5)
    assert back(1.0)[0] == pytest.approx(CHAIN_SLOPE)
    back(1.0)
    assert [s.calls for s in (f, g, h)] == [1, 1, 1]


def test_case_57_checkpoint_evaluates_again() -> None:
    f, g, h = stages()
    _, back = pullback(checkpoint(lambda x: h(g(f(x)))), 0.5)
    assert [s.calls for s in (f, g, h)] == [1, 1, 1]
    assert back(1.0)[0] == pytest.approx(CHAIN_SLOPE)
    assert [s.calls for s in (f, g, h)] == [2, 2, 2]
    assert back(1.0)[0] == pytest.approx(CHAIN_SLOPE)
    assert [s.calls for s in (f, g, h)] == [3, 3, 3]


def test_case_57_partly_checkpointed() -> None:
    f, g, h = stages()
    inner = checkpoint(lambda x: h(g(x)))
    _, back = pullback(lambda x: inner(f(x)), 0.5)
    assert back(1.0)[0] == pytest.approx(CHAIN_SLOPE)
    assert [s.calls for s in (f, g, h)] == [1, 2, 2]


def test_case_57_nested_checkpoints() -> None:
    f, g, h = stages()
    innermost = checkpoint(f)
    middle = checkpoint(lambda x: g(innermost(x)))
    outermost = checkpoint(lambda x: h(middle(x)))
    _, back = pullback(outermost, 0.5)
    assert back(1.0)[0] == pytest.approx(CHAIN_SLOPE)
    assert [s.calls for s in (h, g, f)] == [2, 3, 4]


@pytest.mark.parametrize("mode", EAGER + COMPILED)
def test_case_57_checkpoint_in_every_mode(mode: str) -> None:
    f, g, h = stages()
    (slope,) = gradient_by(mode, checkpoint(lambda x: h(g(f(x)))), 0.5)
    assert slope == pytest.approx(CHAIN_SLOPE, rel=1e-13)


@pytest.mark.parametrize("mode", [None, "lazy", "single_pass"])
def test_case_58_any_mix_of_differentiated_arguments(mode: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.exp(-x) * np.sin(x * y)

    seam = fwddiff(f, mode=mode)
    x, y = 0.3, 0.7
    x_bar, y_bar = gradient(f, x, y)
    assert gradient(seam, x, y) == pytest.approx((x_bar, y_bar))
    assert gradient(lambda x: seam(x, y), x) == pytest.approx((x_bar,))
    assert gradient(lambda y: seam(x, y), y) == pytest.approx((y_bar,))
    assert seam(x, y) == f(x, y)


def test_case_58_one_argument() -> None:
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    s = sigmoid(0.4)
    assert_gradient(lambda x: fwddiff(sigmoid)(x), 0.4, expected=(s * (1 - s),))


def test_case_59_zeros_are_absorbed() -> None:
    def f(x: Any, y: Any) -> Any:
        return 0.0 * x + y * 5.0

    assert_gradient(f, 2.0, 3.0, expected=(0.0, 5.0))
    assert_gradient(lambda x: np.linalg.norm(np.zeros_like(x)), np.ones(2), expected=(np.zeros(2),))


def test_case_60_thunk_is_evaluated_once() -> None:
    calls: list[int] = []
    thunk = Thunk(lambda: calls.append(1) or 3)
    assert (unthunk(thunk), unthunk(thunk), thunk.force()) == (3, 3, 3)
    assert calls == [1]


def test_case_60_unthunk_of_a_plain_value() -> None:
    assert unthunk(3.0) == 3.0


def test_case_60_arithmetic_forces() -> None:
    assert Thunk(lambda: 3) + 4 == 7
    assert 4 * Thunk(lambda: 3) == 12
    assert np.exp(Thunk(lambda: 0.0)) == 1.0
    np.testing.assert_array_equal(np.add(Thunk(lambda: np.ones(2)), 1.0), [2.0, 2.0])


def test_case_60_assignment_into_a_thunk() -> None:
    with pytest.raises(TypeError):
        Thunk(lambda: np.zeros(2))[0] = 1.0


@dataclass(frozen=True)
class Pair:
    a: Any
    b: Any


def test_case_61_gradient_has_the_fields() -> None:
    (bar,) = gradient(lambda p: p.a**2 + 5.0 * p.b, Pair(3.0, 1.0))
    assert (bar.a, bar.b) == (6.0, 5.0)
    assert isinstance(bar, Pair)


def test_case_61_unused_field_and_unknown_field() -> None:
    (bar,) = gradient(lambda p: p.a**2, Pair(3.0, np.ones(2)))
    np.testing.assert_array_equal(bar.b, np.zeros(2))
    assert not hasattr(bar, "c")


@pytest.mark.parametrize("mode", ["reverse", "lazy", "single_pass"])
def test_case_62_float32_stays(mode: str) -> None:
    function = (lambda x: np.sum(x**2)) if mode == "reverse" else fwddiff(lambda x: np.sum(x**2), mode=mode)
    _, back = pullback(function, np.ones(3, np.float32))
    bar = unthunk(back(np.float64(1.0))[0])
    assert bar.dtype == np.float32
    np.testing.assert_array_equal(bar, np.full(3, 2.0, np.float32))


def test_case_62_float32_meets_float64() -> None:
    x_bar, y_bar = gradient(lambda x, y: np.sum(x * y), np.ones(3, np.float32), np.full(3, 2.0))
    assert (x_bar.dtype, y_bar.dtype) == (np.float32, np.float64)


def test_case_62_float32_compiled() -> None:
    x_bar, y_bar = gradient_by("native", lambda x, y: np.sum(x * y), np.ones(3, np.float32), np.full(3, 2.0))
    assert (x_bar.dtype, y_bar.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("k", [3, True, np.array([1, 2])], ids=["int", "bool", "int array"])
def test_case_62_integers_have_no_tangent(k: Any) -> None:
    x_bar, k_bar = gradient(lambda x, k: np.sum(x * k), 2.0, k)
    assert x_bar == np.sum(k)
    assert k_bar is None


def test_case_62_wrong_shape_of_a_cotangent() -> None:
    _, back = pullback(lambda x: 2 * x, np.ones(3))
    with pytest.raises(ShapeError):
        back(np.ones(4))


def test_case_62_wrong_structure_of_a_cotangent() -> None:
    _, back = pullback(lambda x: {"a": 2 * x}, np.ones(3))
    with pytest.raises(ProbdiffError):
        back({"a": np.ones(3), "b": 1.0})


def test_case_63_nested_sines() -> None:
    def f(x: Any) -> Any:
        return np.sin(np.sin(np.sin(x)))

    assert f(3.0) == pytest.approx(0.14018878, rel=1e-7)  # eight digits given
    assert_gradient(f, 3.0, expected=(-0.97047187,), rtol=1e-7)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def cell(z: Any, zb: Any, c: Any, f: Any, i: Any, g: Any) -> Any:
    """HM-LSTM cell with selections."""
    new = sigmoid(i) * np.tanh(g)
    return np.where(z == 1, new, np.where(zb == 0, c, sigmoid(f) * c + new))


def branching_cell(z: Any, zb: Any, c: Any, f: Any, i: Any, g: Any) -> Any:
    """HM-LSTM cell with branches on its two flags."""
    if z == 1:
        return sigmoid(i) * np.tanh(g)
    if zb == 0:
        return c
    return sigmoid(f) * c + sigmoid(i) * np.tanh(g)


CELL_AT = (0.5, 0.3, -0.2, 0.7)
NEW = {"di": 0.149591041, "dg": 0.285738184}
CELLS = {
    "update": ((0, 1), 0.559287085, (0.574442517, 0.122229156, NEW["di"], NEW["dg"])),
    "flush": ((1, 0), 0.272065826, (0.0, 0.0, NEW["di"], NEW["dg"])),
    "copy": ((0, 0), 0.5, (1.0, 0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("function", [cell, branching_cell])
@pytest.mark.parametrize(("flags", "value", "bars"), CELLS.values(), ids=CELLS.keys())
def test_case_64_cell(function: Any, flags: tuple[int, int], value: float, bars: tuple[float, ...]) -> None:
    assert function(*flags, *CELL_AT) == pytest.approx(value, rel=1e-8)  # nine digits given
    modes = EAGER if function is branching_cell else EAGER + COMPILED
    assert_gradient(function, *flags, *CELL_AT, expected=(None, None, *bars), rtol=1e-8, modes=modes)


@pytest.mark.parametrize("kernel", [lambda f: f, fwddiff], ids=["reverse", "fwddiff"])
def test_case_64_broadcast_of_flags_with_matrices(kernel: Any) -> None:
    z, zb = np.array([[0], [1], [0]]), np.array([[1], [0], [0]])
    values = [np.full((3, 2), v) for v in CELL_AT]

    def total(z: Any, zb: Any, *rest: Any) -> Any:
        return np.sum(broadcast(kernel(cell))(z, zb, *rest))

    rows = np.array([CELLS[k][2] for k in ("update", "flush", "copy")])
    expected = (None, None, *(np.repeat(rows[:, k : k + 1], 2, axis=1) for k in range(4)))
    assert_gradient(total, z, zb, *values, expected=expected, rtol=1e-8, modes=("reverse", *COMPILED))


@pytest.mark.parametrize("kernel", [lambda f: f, fwddiff], ids=["reverse", "fwddiff"])
def test_case_64_broadcast_of_a_branching_cell(kernel: Any) -> None:
    z, zb = np.array([0, 1, 0]), np.array([1, 0, 0])
    values = [np.full(3, v) for v in CELL_AT]

    def total(z: Any, zb: Any, *rest: Any) -> Any:
        return np.sum(broadcast(kernel(branching_cell))(z, zb, *rest))

    rows = np.array([CELLS[k][2] for k in ("update", "flush", "copy")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the kernel cannot be captured is said once
        assert_gradient(total, z, zb, *values, expected=(None, None, *rows.T), rtol=1e-8, modes=("reverse",))


def arity(*xs: Any) -> Any:
    """Product of tanh(x) where x > 1/2 and tanh(-x) elsewhere."""
    product = 1.0
    for x in xs:
        product = product * np.tanh(np.where(x > 0.5, x, -x))
    return product


def test_case_65_arity_kernel() -> None:
    assert arity(0.7, 0.2) == pytest.approx(-0.119287284, rel=1e-8)  # nine digits given
    assert_gradient(arity, 0.7, 0.2, expected=(-0.125281930, -0.580823411), rtol=1e-8)


def test_case_65_arity_kernel_in_broadcast() -> None:
    xs = np.full(4, 0.7), np.full(4, 0.2)

    def total(x: Any, y: Any) -> Any:
        return np.sum(broadcast(fwddiff(arity))(x, y))

    expected = (np.full(4, -0.125281930), np.full(4, -0.580823411))
    assert_gradient(total, *xs, expected=expected, rtol=1e-8)
