"""Recording: what a program holds, what is shared, and what Python may not ask of a traced value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import probdiff
from probdiff import gradient, is_traced
from probdiff.compiler.interpret import interpret
from probdiff.errors import ProbdiffError, ShapeError, TracedValueError, UnsupportedError
from probdiff.graph.program import Program
from probdiff.graph.trace import Tracer, capture
from probdiff.tree import flatten

X = np.linspace(-1.0, 2.0, 6).reshape(2, 3)


def record(f: Any, *args: Any) -> Any:
    """The recording of f for arguments like these."""
    leaves, spec = flatten(args)
    return capture(f, spec, [(np.shape(x), np.asarray(x).dtype) for x in leaves], list(range(len(leaves))))


def names(program: Program) -> list[str]:
    return [n.op.name for n in program.nodes if n.op is not None]


def test_shapes_and_dtypes() -> None:
    program = record(lambda x, n: (x[0] + n, np.sum(x, axis=0) > 1.0, x.astype(np.float32)), X, 3).program
    assert [(o.shape, o.dtype.name) for o in program.outputs] == [
        ((3,), "float64"),
        ((3,), "bool"),
        ((2, 3), "float32"),
    ]
    assert [(i.shape, i.dtype.name) for i in program.inputs] == [((2, 3), "float64"), ((), "int64")]


def test_interpreting_a_recording_is_calling_the_function() -> None:
    def f(x: Any, s: Any) -> Any:
        return np.exp(x) * s, np.sum(x, axis=1), x.T @ x

    got = interpret(record(f, X, 2.0).program, [X, 2.0])
    for g, e in zip(got, f(X, 2.0), strict=True):
        np.testing.assert_array_equal(g, e)


def test_equal_operations_are_recorded_once() -> None:
    program = record(lambda x: np.exp(x) + np.exp(x) * np.sum(np.exp(x), axis=0), X).program
    assert names(program).count("exp") == 1
    program = record(lambda x: x[0] + x[0], X).program
    assert names(program).count("getitem") == 1


def test_zeros_of_either_sign_and_types_of_numbers_are_not_confused() -> None:
    program = record(lambda x: (np.copysign(x, 0.0), np.copysign(x, -0.0)), X).program
    plus, minus = interpret(program, [X])
    assert not np.signbit(plus).any() and np.signbit(minus).all()
    one, two = interpret(record(lambda n: (n + 1, n + 1.0), 3).program, [3])
    assert np.asarray(one).dtype.kind == "i" and np.asarray(two).dtype.kind == "f"


def test_what_is_not_used_is_not_recorded() -> None:
    def f(x: Any) -> Any:
        np.exp(x)
        return np.sin(x)

    assert names(record(f, X).program) == ["sin"]


def test_identities() -> None:
    program = record(lambda x: ((x + 0.0) * 1.0 - 0.0) / 1.0, X).program
    assert program.nodes == [] and program.outputs[0] is program.inputs[0]
    assert names(record(lambda x: np.negative(-x), X).program) == []
    assert names(record(lambda n: n * 1.0, 3).program) == ["multiply"]  # an integer becomes a float
    assert names(record(lambda x: x * True, X).program) == []


def test_constants_are_kept_and_listed_once() -> None:
    data = np.arange(3.0)
    program = record(lambda x: x * data + data, X).program
    (constant,) = program.constants()
    assert constant is data


def test_results_that_are_not_numbers() -> None:
    recorded = record(lambda x: {"y": x, "label": "name", "none": None, "k": 2.5}, X)
    rebuilt = recorded.rebuild([1.0, 2.5])
    assert rebuilt["label"] == "name" and rebuilt["none"] is None


def test_a_program_prints() -> None:
    text = str(record(lambda x: np.sum(np.exp(x) * 2.0), X).program)
    assert "v0 = exp(in0)  # float64[2, 3]" in text
    assert text.endswith("return v2")


def test_keys_of_programs() -> None:
    data, other = np.arange(3.0), np.ones(3)
    key = record(lambda x: x * data, X).program.key()
    assert key == record(lambda x: x * other, X).program.key()  # contents do not matter
    assert key != record(lambda x: x + other, X).program.key()
    assert key != record(lambda x: x * other, X[0]).program.key()
    assert key != record(lambda x: x * np.ones(1), X).program.key()
    assert record(lambda x: x * 0.0, X).program.key() != record(lambda x: x * -0.0, X).program.key()
    assert record(lambda x: x + data + data, X).program.key() != record(lambda x: x + data + other, X).program.key()


def test_nested_recordings() -> None:
    outer = probdiff.compile(lambda x: probdiff.compile(lambda y: y * x)(x + 1.0))
    np.testing.assert_allclose(outer(X), X * (X + 1.0))


def test_attributes_of_a_traced_array() -> None:
    seen: dict[str, Any] = {}

    def f(x: Any) -> Any:
        seen.update(
            shape=x.shape, ndim=x.ndim, size=x.size, dtype=x.dtype, len=len(x), traced=is_traced(x), text=repr(x)
        )
        seen["type"] = type(x)
        rows = [row for row in x]
        return rows[1] + x.T[:, 0]

    got = probdiff.compile(f)(X)
    np.testing.assert_array_equal(got, X[1] + X[0])
    assert seen["shape"] == (2, 3) and seen["ndim"] == 2 and seen["size"] == 6 and seen["len"] == 2
    assert seen["dtype"] == np.float64 and seen["traced"] and seen["type"] is Tracer
    assert seen["text"] == "Tracer(float64[2, 3])"
    assert not is_traced(X) and not is_traced(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if np.sum(x) > 0 else -x,
        lambda x: math.exp(np.sum(x)),
        lambda x: float(x[0, 0]),
        lambda x: int(x[0, 0]),
        lambda x: bool(x[0, 0]),
        lambda x: 1.0 if 2.0 in x else 0.0,
        lambda x: max(x[0, 0], x[0, 1]),
    ],
)
def test_values_that_python_asks_for(f: Any) -> None:
    with pytest.raises(
        TracedValueError, match=r"test_trace.py:\d+ .* asks for the value of an array that is being traced"
    ):
        probdiff.compile(f)(X)


def test_arrays_that_numpy_asks_for() -> None:
    with pytest.raises(TracedValueError, match=r"test_trace.py:\d+ .* asks for a plain NumPy array"):
        probdiff.compile(lambda x: np.array(x) + 1.0)(X)
    with pytest.raises(TypeError):
        probdiff.compile(lambda x: np.asarray([x[0], x[1]]))(X)


def test_masks_and_assignments_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="indexes with a traced mask, whose number of elements is not known"):
        probdiff.compile(lambda x: x[x > 0])(X)

    def assigns(x: Any) -> Any:
        x[0] = 1.0
        return x

    with pytest.raises(UnsupportedError, match="assigns into"):
        probdiff.compile(assigns)(X)
    with pytest.raises(UnsupportedError, match="np.where\\(condition\\) of a traced array has no known size"):
        probdiff.compile(lambda x: np.where(x > 0))(X)


def test_shapes_are_checked_while_recording() -> None:
    with pytest.raises(ShapeError, match=r"add got shapes \(2, 3\) and \(2,\), which do not broadcast"):
        probdiff.compile(lambda x: x + np.ones(2))(X)
    with pytest.raises(ShapeError, match=r"matmul got shapes \(2, 3\) and \(2, 3\), whose inner sizes differ"):
        probdiff.compile(lambda x: x @ x)(X)
    with pytest.raises(ShapeError, match=r"cannot reshape \(2, 3\) into \(4, 2\)"):
        probdiff.compile(lambda x: x.reshape(4, 2))(X)
    with pytest.raises(ShapeError, match="np.max of an empty array has no value"):
        probdiff.compile(np.max)(np.zeros(0))


def test_the_error_of_a_refusal_belongs_to_us() -> None:
    assert issubclass(TracedValueError, ProbdiffError) and issubclass(TracedValueError, TypeError)


def test_recording_under_a_gradient_closes_over_outer_values() -> None:
    """A recording may read a value of an outer tape: it becomes an input."""

    def f(x: Any) -> Any:
        recorded = record(lambda y: y * x, 2.0)
        assert recorded.lifted == [x]
        (z,) = interpret(recorded.program, [3.0, x])
        return z

    assert gradient(f, 2.0) == (3.0,)
