"""What the benchmark of gradients says of measurements that are made up, and of problems that grow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from probdiff.benchmarks import outcomes, scaling
from probdiff.benchmarks.harness import Measurement
from probdiff.benchmarks.outcomes import Outcome
from probdiff.benchmarks.programs import student_t, varying_intercept
from probdiff.benchmarks.scaling import Growth


def made(number: int, seconds: dict[str, float], notes: dict[str, str] | None = None) -> Outcome:
    """A program whose contenders took these times."""
    rows = [
        Measurement(name, 10, first_call=t + 0.5, best=t, median=t, result_bytes=8, peak_python=108)
        for name, t in seconds.items()
    ]
    return Outcome(number, f"program {number}", notes or {}, rows, 0.02 * number, 4000)


FOUND = [
    made(1, {"probdiff": 1e-3, "JAX jit": 4e-3, "PyTorch": 2e-3, "stanli": 1e-2, "Numba by hand": 8e-4}),
    made(2, {"probdiff": 3e-3, "JAX jit": 2e-3, "stanli": 2.5e-3, "NumPy by hand": 1e-3}, {"stanli": "sums once"}),
]
GROWN = [Growth("program 1", "N from 10 to 20", 2.0, (1e-3, 2.1e-3), 2.1, (64, 64), (80, 80))]


def test_the_verdict_keeps_peers_and_stan_apart() -> None:
    said = outcomes.verdict(FOUND)
    assert f"Geometric mean of our time over that of the best peer, 2 programs: {(0.5 * 1.5) ** 0.5:.3f}" in said
    assert f"Geometric mean of our time over that of stanli, 2 programs: {(0.1 * 1.2) ** 0.5:.3f}" in said
    assert "Slower than the best peer: 2 (1.50)" in said
    assert "Slower than stanli: 2 (1.20)" in said
    assert "More than twice the time by hand: 2 (3.00)" in said
    assert "Longest compilation with machine code on disk: 40 ms" in said
    assert "program 2, stanli: sums once" in said


def test_a_contender_that_failed_has_no_ratio() -> None:
    rows = [Measurement("probdiff", 10, best=1.0, median=1.0), Measurement("stanli", 10, failure="no answer")]
    lone = Outcome(3, "program 3", {"stanli": "sums once"}, rows, None, 0)
    assert lone.ratio(["stanli"]) is None
    assert not any("stanli" in line for line in outcomes.verdict([lone]))


def test_tables_and_files_say_the_same(tmp_path: Path) -> None:
    text = outcomes.markdown(FOUND, GROWN)
    row = next(line for line in text.splitlines() if line.startswith("| 1 |"))
    assert "| 1 ms (1 ms) | 0.50 | 10 ms (10 ms) | 0.10 | 800 µs (800 µs) | 1.25 | 500 ms | 4 KiB |" in row
    assert "| N from 10 to 20 | 1 ms | 2.1 ms | 2.100 | 1.050 | 64 B | 64 B | 80 B | 80 B |" in text
    outcomes.write_json(tmp_path / "found.json", FOUND, GROWN)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["geometric_mean_stan"] == pytest.approx(0.12**0.5)
    assert [p["over_stan"] for p in found["programs"]] == pytest.approx([0.1, 1.2])
    assert found["scaling"][0]["workspace"] == [64, 64]


def test_problems_grow_as_asked() -> None:
    theta, (group, x, y) = varying_intercept.problem(2_000, 80)
    assert (len(theta), group.max(), len(x), len(y)) == (84, 79, 2_000, 2_000)
    _, small = scaling.compiled(student_t.density, student_t.problem(500))
    call, large = scaling.compiled(student_t.density, student_t.problem(1_000))
    assert small == large
    at = student_t.problem(1_000)
    np.testing.assert_allclose(call()[1], student_t.reference(at.theta, *at.data)[1], rtol=1e-11)
