"""The report on a compiled program: what it says of loops, directions, bytes, NumPy steps and compile time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import broadcast, compile, fwddiff, scan, value_and_grad
from probdiff.compiler.explain import Explanation, Step, size
from probdiff.errors import ParameterError

X = np.linspace(0.1, 1.0, 1000)


def density(scale: Any, y: Any) -> Any:
    return np.sum(-0.5 * (y / scale) ** 2 - np.log(scale))


def loops(report: Explanation) -> list[Step]:
    return [step for step in report.steps if step.kind == "loop"]


def test_a_loop() -> None:
    report = compile(value_and_grad(density)).explain(2.0, X)
    (loop,) = loops(report)
    assert loop.space == "1000"
    assert loop.reads == {"y float64[1000]": 8000}
    assert any(r.startswith("sum over axes [0]") or "sum over axes [0]" in r for r in loop.reductions)
    assert loop.bytes == 8000 + sum(loop.writes.values())
    assert report.bytes == sum(step.bytes for step in report.steps)


def test_directions() -> None:
    reverse = compile(value_and_grad(density)).explain(2.0, X)
    assert {s for step in reverse.steps for s in step.sweeps} == {"", "reverse"}
    kernel = fwddiff(lambda scale, y: -0.5 * (y / scale) ** 2 - np.log(scale))
    forward = compile(value_and_grad(lambda scale, y: np.sum(broadcast(kernel)(scale, y)))).explain(2.0, X)
    (loop,) = loops(forward)
    assert loop.sweeps["forward"] > loop.sweeps["reverse"]
    assert "forward (inside fwddiff)" in str(forward)
    value = compile(density).explain(2.0, X)
    assert {s for step in value.steps for s in step.sweeps} == {""}


def test_a_derivative_leaves_no_label_behind() -> None:
    value_and_grad(density)(2.0, X)
    with pytest.raises(ZeroDivisionError):
        value_and_grad(lambda x: broadcast(fwddiff(lambda x: x / (1 // 0)))(x))(1.0)
    report = compile(density).explain(2.0, X)
    assert {s for step in report.steps for s in step.sweeps} == {""}


def test_numpy_steps() -> None:
    report = compile(lambda x: np.sum(np.sort(x) * X)).explain(X)
    (step,) = [s for s in report.steps if s.kind == "NumPy"]
    assert step.why == "argsort(float64[1000]) has no machine code here"
    assert step.bytes == 16_000


def test_a_scan() -> None:
    def f(x: Any) -> Any:
        _, ys = scan(lambda carry, row: (0.5 * carry + row, carry), 0.0, x)
        return ys

    report = compile(f).explain(X)
    text = str(report)
    np.testing.assert_allclose(compile(f)(X), f(X))
    assert "over 1000 rows" in text or any(step.kind == "NumPy" for step in report.steps)


def test_arrays_that_are_never_stored() -> None:
    report = compile(lambda A, x: np.sum(np.exp(A @ x))).explain(np.ones((300, 5)), np.ones(5))
    stored = [name for step in report.steps for name in (*step.reads, *step.writes)]
    inside = [name for step in report.steps for name in step.inside]
    assert any("[300]" in name for name in inside) == (not any(name.endswith("float64[300]") for name in stored))


def test_compile_time_by_phase() -> None:
    compiled = compile(value_and_grad(lambda x: np.sum(np.sin(x) * 0.1234567)))
    report = compiled.explain(X)
    assert set(report.seconds) == {"tracing", "planning", "emitting", "optimising", "generating", "linking"}
    assert all(seconds > 0 for seconds in report.seconds.values())
    assert not report.cached
    assert "machine code made in this process" in str(report)


def test_time_per_call_only_with_arguments() -> None:
    compiled = compile(density).record(2.0, X)
    assert compiled.explain().per_call is None
    report = compiled.explain(2.0, X)
    assert report.per_call is not None
    assert 0 < report.per_call < 1
    assert "µs per call" in str(report)
    assert "µs per call" not in str(compiled.explain())


def test_the_numpy_backend() -> None:
    report = compile(density, backend="numpy").explain(2.0, X)
    (step,) = report.steps
    assert step.kind == "NumPy, operation by operation"
    assert sum(step.operations.values()) > 3
    assert report.workspace == 0


def test_names_of_structured_arguments() -> None:
    report = compile(lambda p, y: np.sum(y * p["scale"][1])).explain({"scale": [1.0, X]}, X)
    (loop,) = loops(report)
    assert set(loop.reads) == {"y float64[1000]", "p['scale'][1] float64[1000]"}


def test_the_report_is_its_text() -> None:
    report = compile(density).explain(2.0, X)
    assert repr(report) == str(report)
    assert str(report).startswith("density, backend native\n")


def test_without_a_recording() -> None:
    with pytest.raises(ParameterError, match="compiled.explain needs a recording"):
        compile(density).explain()


def test_sizes() -> None:
    assert [size(n) for n in (0, 999, 1000, 1_234_000, 5_600_000_000)] == ["0 B", "999 B", "1 kB", "1.23 MB", "5.6 GB"]
