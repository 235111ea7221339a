"""The compiled object: recordings, data bound to it, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import compile, value_and_grad
from probdiff.compiler import compiled as compiled_module
from probdiff.errors import ParameterError, ShapeError, UnsupportedError


def misfit(x: Any, data: Any, scale: Any) -> Any:
    return -0.5 * np.sum(((data - x[0] - x[1] * np.arange(len(data))) / scale) ** 2)


X = np.array([0.5, 0.1])
DATA = np.array([1.0, 2.0, 0.5])


class Counted:
    """How often a function was recorded."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, x: Any, data: Any, scale: Any) -> Any:
        self.count += 1
        return misfit(x, data, scale)


# Recordings


def test_record_compiles_and_does_not_run() -> None:
    f = Counted()
    compiled = compile(f)
    assert compiled.record(X, DATA, 2.0) is compiled
    assert f.count == 1
    assert compiled(X, DATA, 2.0) == pytest.approx(float(misfit(X, DATA, 2.0)))
    assert f.count == 1


def test_only_the_most_recent_recordings_are_kept() -> None:
    f = Counted()
    compiled = compile(f, backend="numpy")
    sizes = range(1, compiled_module.KEPT + 10)
    for n in sizes:
        compiled(X, np.ones(n), 1.0)
        compiled(X, np.ones(1), 1.0)  # used all the time, so it stays
    assert len(compiled._entries) == compiled_module.KEPT
    assert f.count == len(sizes)
    compiled(X, np.ones(1), 1.0)
    assert f.count == len(sizes)
    compiled(X, np.ones(2), 1.0)
    assert f.count == len(sizes) + 1


# Data


def test_data_of_equal_sizes_share_a_recording() -> None:
    f = Counted()
    compiled = compile(f)
    first = compiled.with_data(DATA, 2.0)
    assert first(X) == pytest.approx(float(misfit(X, DATA, 2.0)))
    second = first.with_data(DATA + 1, 3.0)
    assert second(X) == pytest.approx(float(misfit(X, DATA + 1, 3.0)))
    assert first(X) == pytest.approx(float(misfit(X, DATA, 2.0)))
    assert f.count == 1


def test_data_of_other_sizes_are_recorded() -> None:
    compiled = compile(value_and_grad(misfit))
    first = compiled.with_data(DATA, 2.0)
    first(X)
    longer = first.with_data(np.ones(7), 2.0)
    value, gradient = longer(X)
    expected, expected_gradient = value_and_grad(misfit)(X, np.ones(7), 2.0)
    assert value == pytest.approx(float(expected))
    np.testing.assert_allclose(gradient, expected_gradient)


def test_addresses_of_different_data() -> None:
    compiled = compile(value_and_grad(misfit)).record(X, DATA, 2.0)
    one = compiled.with_data(DATA, 2.0)
    two = one.with_data(DATA + 1, 2.0)
    other = one.with_data(np.ones(9), 2.0)
    assert len({one.address, two.address, other.address}) == 3


def test_out_with_data() -> None:
    bound = compile(misfit).with_data(DATA, 2.0)
    out = np.empty(())
    bound(X, out=out)
    assert out == pytest.approx(float(misfit(X, DATA, 2.0)))


def test_how_it_prints() -> None:
    assert repr(compile(misfit).with_data(DATA, 2.0)) == "misfit.with_data(float64[3], float[])"


def test_too_much_data() -> None:
    with pytest.raises(ParameterError, match=r"the function takes 3 \(x, data, scale\), got 3 to bind"):
        compile(misfit).with_data(X, DATA, 2.0)


def test_no_data() -> None:
    with pytest.raises(ParameterError, match="with_data binds the last arguments; it was given none"):
        compile(misfit).with_data()


def test_another_number_of_data() -> None:
    bound = compile(misfit).with_data(DATA, 2.0)
    with pytest.raises(ParameterError, match="with_data takes 2 arguments here, as the first time, got 1"):
        bound.with_data(DATA)


def test_another_rank() -> None:
    bound = compile(misfit).with_data(DATA, 2.0).record(X)
    with pytest.raises(ShapeError, match=r"data must have 1 axes, as before, got shape \(3, 1\)"):
        bound.with_data(DATA[:, None], 2.0)


def test_another_structure() -> None:
    compiled = compile(lambda x, data: np.sum(x) + np.sum(data["y"])).record(X, {"y": DATA})
    with pytest.raises(ShapeError, match="with_data: data must have the structure"):
        compiled.with_data({"z": DATA})


def test_an_address_before_a_recording() -> None:
    with pytest.raises(ParameterError, match=r"address needs a recording: call it once, or .record\(x\)"):
        assert compile(value_and_grad(misfit)).with_data(DATA, 2.0).address


# Refusals


def test_a_loop_without_end() -> None:
    def f(x: Any) -> Any:
        for _ in range(1_000_000):
            x = 1.5 * x + 1.0
        return x

    with pytest.raises(UnsupportedError) as caught:
        compile(f, max_operations=500)(1.0)
    text = str(caught.value)
    assert "x = 1.5 * x + 1.0` makes the recording longer than 500 operations" in text
    assert "probdiff.scan or probdiff.fori_loop" in text


def test_the_limit_can_be_raised() -> None:
    def f(x: Any) -> Any:
        for _ in range(300):
            x = 0.5 * x + 1.0
        return x

    with pytest.raises(UnsupportedError, match="longer than 100 operations"):
        compile(f, max_operations=100)(1.0)
    assert compile(f, max_operations=1000)(1.0) == pytest.approx(2.0)


def test_recursion() -> None:
    def factorial(x: Any) -> Any:
        return np.where(x > 1, x * factorial(x - 1), 1.0)

    with pytest.raises(UnsupportedError) as caught:
        compile(factorial)(5.0)
    text = str(caught.value)
    assert "test_compiled.py" in text and "factorial(x - 1)" in text
    assert "calls itself without end while it is recorded" in text
    assert "probdiff.while_loop" in text


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (1j, "x is complex128; complex numbers are not supported. Keep real and imaginary parts apart."),
        (np.ones(3, complex), "x is an array of complex128; complex numbers"),
        (np.ones(3, object), "x is an array of object; arrays of objects are not supported."),
        (np.ones(3, np.longdouble), "extended precision has no machine code. Use float64: x.astype(float)."),
        (np.array(["a"]), "x is an array of <U1; text is not a number. Pass a single str"),
        ({"a": [1.0, np.array(["2020-01-01"], "M8[D]")]}, r"x['a'][1] is an array of datetime64[D]; use floats"),
        (10**30, "x is object; arrays of objects are not supported."),
    ],
)
def test_dtypes_without_machine_code(x: Any, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        compile(lambda x: x)(x)
    assert message in str(caught.value)


# Long programs


def unrolled(x: Any, steps: int) -> Any:
    h, total = x[0], 0.0
    for _ in range(steps):
        h = x[0] * np.tanh(h) + 0.5 * x[1] * h - x[2]
        total = total + h * h
    return total


def unrolled_vector(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = np.sin(x) * 0.9 + 0.1 * x[::-1]
    return np.sum(x) + x[0]


@pytest.mark.parametrize("f", [unrolled, unrolled_vector])
def test_an_unrolled_loop(f: Any) -> None:
    """Straight code of a thousand operations and more, in several functions with values between them in memory."""
    both = value_and_grad(lambda x: f(x, 60))
    x = np.array([0.3, 0.2, 0.1])
    value, gradient = compile(both)(x)
    expected, expected_gradient = both(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10)


def test_a_view_of_a_long_chain() -> None:
    """A view moves past a bounded number of operations: neither recursion nor doubling at each step."""

    def f(x: Any) -> Any:
        for _ in range(400):
            x = np.abs(x) + 0.5 * x - x
        return x[0]

    np.testing.assert_allclose(compile(f)(np.ones(4)), f(np.ones(4)), rtol=1e-12)


def test_data_bound_in_two_ways() -> None:
    """What another call of the same compiled function records does not matter to data that are bound."""
    compiled = compile(lambda x, *rest: np.sum(x) * sum(np.sum(r) for r in rest))
    one, two = compiled.with_data(2.0, DATA), compiled.with_data(DATA)
    assert one(X) == pytest.approx(float(np.sum(X) * (2.0 + DATA.sum())))
    assert two(X) == pytest.approx(float(np.sum(X) * DATA.sum()))
    assert one.with_data(3.0, DATA)(X) == pytest.approx(float(np.sum(X) * (3.0 + DATA.sum())))
