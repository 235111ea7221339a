"""Rows over devices and over processes: the same density as one program has of all rows."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probdiff import optimize, sample
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.interop import sharded
from probdiff.models import LogDensity, Posterior
from probdiff.models.zoo import MODELS
from tests.interop.devices import GROUPS, ROWS, model, point, rows

jax = pytest.importorskip("jax")
placed = pytest.importorskip("probdiff.interop.placed").placed
double = pytest.importorskip("probdiff.compiler.xla.library").double

ROOT = Path(__file__).parents[2]
EXACT = 1e-12


Case = tuple[str, dict[str, int]]
WHOLE: list[Case] = [
    ("whole", {"data": 8}), ("whole", {"chains": 2, "data": 4}), ("whole", {"chains": 2}), ("whole", {"data": 7}),
    ("float32", {"data": 4}),
]  # fmt: skip
HALVES: list[Case] = [
    ("half", {"data": 2}), ("half", {"data": 4}), ("same rows", {"data": 2}), ("more rows", {"data": 2}),
    ("another prior", {"data": 2}), ("apart", {"data": 2}),
]  # fmt: skip


def run(cases: list[Case], processes: int, devices: int) -> list[list[dict[str, Any]]]:
    """For each case what each of the processes says."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "tests.interop.devices", json.dumps(cases)]
    rest = [str(processes), str(devices), port]
    started = [
        subprocess.Popen([*command, str(k), *rest], stdout=subprocess.PIPE, cwd=ROOT, text=True)
        for k in range(processes)
    ]
    said = [each.communicate(timeout=120)[0] for each in started]
    assert [each.returncode for each in started] == [0] * processes
    lines = [[json.loads(row[5:]) for row in text.splitlines() if row.startswith("case ")] for text in said]
    return [list(each) for each in zip(*lines, strict=True)]


@pytest.fixture(scope="module")
def whole() -> Any:
    """One process of eight devices."""
    return [found for (found,) in run(WHOLE, 1, 8)]


@pytest.fixture(scope="module")
def halves() -> Any:
    """Two processes of two devices."""
    return run(HALVES, 2, 2)


def check(found: dict[str, Any], rtol: float = EXACT) -> None:
    """The density of all rows, which no device has."""
    value, slope = model(*rows()).value_and_grad(point())
    for a, b in ((found["value"], found["slope"]), found["sharded"]):
        np.testing.assert_allclose(a, value, rtol=rtol)
        np.testing.assert_allclose(b, slope, rtol=rtol, atol=rtol * np.max(np.abs(slope)))


def test_rows_over_devices(whole: Any) -> None:
    found = whole[0]
    check(found)
    assert found["collectives"] == ["all-reduce"]
    assert [[ROWS, 3], [ROWS // 8, 3]] in found["shapes"]
    assert all(part[0] == ROWS // 8 for shape, part in found["shapes"] if shape[0] == ROWS)
    assert all(shape[0] in (ROWS, GROUPS, 3) for shape, _ in found["shapes"]), "X.T is not there beside X"
    assert all(shape[-1] != ROWS or len(shape) == 1 for shape, _ in found["shapes"])


def test_a_mesh_with_another_axis(whole: Any) -> None:
    check(whole[1])
    assert whole[1]["collectives"] == ["all-reduce"]
    check(whole[2])
    assert whole[2]["collectives"] == []
    assert all(shape == part for shape, part in whole[2]["shapes"])


def test_rows_that_do_not_divide(whole: Any) -> None:
    assert whole[3]["error"] == (
        "ShapeError: placed: 480 rows do not divide evenly over the 7 devices of the axis 'data'. "
        "Drop 4, or add 3 whose observations are NaN, with Posterior(..., missing='skip')."
    )


def test_single_precision(whole: Any) -> None:
    """Rounding of 480 terms of order one to 24 bits, added in float64: relative errors stay near 6e-8."""
    check(whole[4], 1e-6)
    value = whole[4]["value"]
    assert value not in (whole[0]["value"], float(np.float32(value)))


def test_two_processes_with_half_of_the_rows_each(halves: Any) -> None:
    for found in halves[0]:
        check(found)
        assert found["collectives"] == ["all-reduce"]
        assert [[ROWS, 3], [ROWS // 2, 3]] in found["shapes"]


def test_two_processes_of_two_devices(halves: Any) -> None:
    """Sums within the processes, then between them."""
    for found in halves[1]:
        check(found)
        assert found["collectives"] == ["all-reduce"] * 2
        assert [[ROWS, 3], [ROWS // 4, 3]] in found["shapes"]


@pytest.mark.slow
def test_two_processes_sample_together() -> None:
    """The same draws in both, and those of all rows in one process while rounding has not grown along trajectories."""
    [[first, second]] = run([("sample", {"data": 2})], 2, 1)
    assert first == second
    whole = sample(model(*rows()), 5, 10, 2, seed=1)["b"]
    np.testing.assert_allclose(first["jax"], whole, rtol=1e-6)
    np.testing.assert_allclose(first["alone"], whole[:1], rtol=1e-6)


def test_processes_that_do_not_go_together(halves: Any) -> None:
    texts = (
        "DataError: placed: all processes hold the same rows. Give each its own: they add up.",
        "DataError: placed: the models of the processes differ in more than their rows.",
        "DataError: placed: the models of the processes differ in more than their rows.",
        "ParameterError: The processes ask for the log-density at different points.",
    )
    for text, both in zip(texts, halves[2:], strict=True):
        for found in both:
            assert found.get("error", "none").startswith(text)


def test_rows_of_nan_fill_up() -> None:
    """The way out that the error names changes no density."""
    X, group, y = rows()
    padded = [np.concatenate([x, x[:3]]) for x in (X, group, y.astype(float))]
    padded[2][-3:] = np.nan
    whole = model(X, group, y)
    filled = Posterior(whole.prior, model(*padded[:2], np.zeros(ROWS + 3)).model.function, padded[2], missing="skip")
    np.testing.assert_allclose(filled.value_and_grad(point())[1], whole.value_and_grad(point())[1], rtol=EXACT)
    found = sharded(filled).value_and_grad(point())
    np.testing.assert_allclose(found[1], whole.value_and_grad(point())[1], rtol=EXACT)


@pytest.mark.parametrize("name", ["german_credit", "gauss_mix", "garch11"])
def test_zoo(name: str) -> None:
    posterior = MODELS[name]()
    q, v = np.random.default_rng(0).normal(scale=0.3, size=(2, posterior.dim))
    value, slope = posterior.value_and_grad(q)
    found = sharded(posterior, jax.make_mesh((1,), ("data",)))
    assert found.value_and_grad(q)[0] == pytest.approx(value, rel=EXACT)
    np.testing.assert_allclose(found.value_and_grad(q)[1], slope, rtol=1e-10, atol=1e-10 * np.max(np.abs(slope)))
    bend = posterior.hvp(q, v)
    np.testing.assert_allclose(found.hvp(q, v), bend, rtol=1e-9, atol=1e-10 * np.max(np.abs(bend)))


def test_data_are_arguments() -> None:
    """The program has no constant as long as the rows, no copy of them, and takes other rows of the same shapes."""
    X, group, y = rows()
    density, data, _ = placed(model(X, group, y))
    others = placed(model(X, group, y[::-1].copy())).data
    with double():
        text = jax.jit(jax.value_and_grad(density)).lower(point(), *data).as_text()
        swapped = jax.jit(density)(point(), *others)
        expected = model(X, group, y[::-1]).value_and_grad(point())[0]
        assert float(swapped) == pytest.approx(expected, rel=EXACT)
    assert 'stablehlo.constant dense<"' not in text
    assert "stablehlo.transpose" not in text, "X.T would be made in memory, at each call"
    assert not any(x.dtype == bool and bool(x.all()) for x in data)


def test_it_is_a_model() -> None:
    posterior = MODELS["eight_schools"]()
    model = sharded(posterior)
    assert model.coordinate_names == posterior.coordinate_names
    ours, theirs = (sample(m, draws=5, tune=0, chains=2, seed=3)["mu"] for m in (model, posterior))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)  # rounding grows along trajectories
    regression = MODELS["earn_height"]()
    np.testing.assert_allclose(optimize(sharded(regression)).q, optimize(regression).q, rtol=1e-4)
    with pytest.raises(ShapeError, match="needs a vector of length 10, got \\(3,"):
        model.value_and_grad(np.zeros(3))
    assert repr(model).endswith("on 1 devices)")


def test_a_function_has_rows_too() -> None:
    """Without observed data, the longest first axis is that of rows."""
    y = np.sin(np.arange(64.0))
    bare = LogDensity(lambda m: -0.5 * np.sum((y - m) ** 2), 0.0)
    value, slope = sharded(bare, jax.make_mesh((1,), ("data",))).value_and_grad(np.array([0.3]))
    assert value == pytest.approx(-0.5 * np.sum((y - 0.3) ** 2), rel=EXACT)
    assert slope[0] == pytest.approx(np.sum(y - 0.3), rel=EXACT)
    assert [x.shape for x in placed(bare).data] == [(64,)]
    with pytest.raises(UnsupportedError, match="only a Posterior is known to add up, got LogDensity"):
        pytest.importorskip("probdiff.interop.placed")._terms(bare)
