"""The command line, and the benchmark's promise: no times beside a wrong answer."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from probdiff.benchmarks import exponential, harness, pushforward, report
from probdiff.benchmarks.harness import Contender, Measurement
from probdiff.cli import main


def part_with(build: Any) -> Any:
    """A part of a benchmark: the double of a vector."""
    return SimpleNamespace(RTOL=1e-10, inputs=lambda size: np.ones(size), reference=lambda x: 2 * x, build=build)


def test_demo_writes_its_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for name in (
        "eight_schools-trace",
        "eight_schools-posterior",
        "kidscore_momhsiq-trace",
        "kidscore_momhsiq-posterior",
    ):
        assert f"wrote {tmp_path / name}.png" in printed
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "tau" in printed and "sigma" in printed


def test_doctor_names_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert np.__version__ in printed and "CPU for compiled code: " in printed and "device cpu" in printed


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "nothing"])
    assert "exponential" in capsys.readouterr().err


@pytest.mark.parametrize("part", [*exponential.PARTS, *pushforward.PARTS], ids=lambda part: part.NAME)
def test_every_answer_of_ours_is_right(part: Any) -> None:
    for contender in part.CONTENDERS:
        if contender.ours:
            data = part.inputs(100)
            assert harness.disagreement(contender.build(data)(), part.reference(data)) < part.RTOL, contender.name


@pytest.mark.parametrize("wrong", [lambda x: 2 * x + 1e-9, lambda x: x[:1], lambda x: x * np.nan])
def test_a_wrong_answer_is_not_timed(wrong: Any) -> None:
    found = harness.measure(part_with(None), Contender("wrong", lambda x: lambda: wrong(x)), 10, "time", 0.01)
    assert found["failure"].startswith("wrong answer") and "median" not in found
    assert harness.wrong_answers([Measurement(**found)])


def test_memory_of_a_temporary_is_seen() -> None:
    def double(x: Any) -> Any:
        return (np.ones((10, x.size)) * x)[0] * 2

    found = harness.measure(part_with(None), Contender("double", lambda x: lambda: double(x)), 10_000, "memory", 0.0)
    assert Measurement(**found).extra_memory > 10 * 10_000 * 8
    assert found["live_blocks"] > 0


def test_a_child_that_fails_says_why() -> None:
    contender = Contender("absent", lambda x: lambda: x)
    [found] = harness.run_child("probdiff.benchmarks.exponential", "exponential", contender, [10], "time", 0.0)
    assert found["size"] == 10 and found["failure"].startswith("ValueError")


def test_report_files(tmp_path: Path) -> None:
    results = [Measurement("a", 10, median=2e-6, best=1e-6), Measurement("b", 10, median=1e-6, best=1e-6)]
    report.write_json(tmp_path / "x.json", results, "b")
    assert [m["median"] for m in json.loads((tmp_path / "x.json").read_text())["measurements"]] == [2e-6, 1e-6]
    report.write_plot(tmp_path / "x.png", "title", results, ["a"])
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert report.ratio_lines(results, [("a", "b", 10)]) == ["a / b at N = 10: 2"]
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nafter\n")
    report.update_markers(page, "x", report.markdown(results, "b", []))
    assert "| a | 2 µs (2×) |" in page.read_text() and "old" not in page.read_text()
    assert page.read_text().startswith("before\n") and page.read_text().endswith("\nafter\n")
