"""The benchmark of accelerators, on small sizes and on measurements that are made up."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
gpu = pytest.importorskip("probdiff.benchmarks.gpu")
double = pytest.importorskip("probdiff.compiler.xla.library").double


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(gpu, "SECONDS", 0.01)
    with double():
        yield


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_answers_agree(dtype: str) -> None:
    rows = [*gpu.exponential(1000, dtype), gpu.posterior(1000, dtype)]
    assert [r.name for r in rows] == ["formula, 1e+03 data", "library, 1e+03 data", "one rate, 1e+03 data"]
    for r in rows:
        assert r.ours > 0 and r.theirs > 0 and r.difference <= gpu.RTOL[dtype]
        assert 0 < r.our_share and r.ratio == r.theirs / r.ours


def test_programs() -> None:
    row = gpu.program("logistic", True)
    assert row.name == "logistic, small" and row.difference < 1e-12 and row.our_share is None


def test_a_wrong_answer_ends_the_run() -> None:
    x = np.ones(3)
    with pytest.raises(SystemExit, match=r"part name float64: answers differ by 1.0e-06, more than 1e-10"):
        gpu.compare("part", "name", "float64", lambda: x, functools.partial(np.divide, x, 1.000001))


def test_the_sizes_are_those_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.sizes(True) == [10**5, 10**6]
    monkeypatch.setattr(gpu, "memory", lambda: 80e9)
    assert gpu.sizes(False) == [10**6, 10**7, 10**8, 10**9]
    monkeypatch.setattr(gpu, "memory", lambda: 16e9)
    assert gpu.sizes(False) == [10**6, 10**7, 10**8]


def test_chains_and_the_table() -> None:
    rows = [gpu.Row("exponential", "formula, 1e+06 data", "float64", 1e-3, 2e-3, 0.9, 0.45, 1e-16)]
    chains = [gpu.Sampled("eight_schools", "ChEES", 4096, 400, 10.0, 2.0, 5000.0)]
    text = gpu.table(rows, chains)
    (line,) = [line for line in text.splitlines() if line.startswith("exponential")]
    assert line.split() == "exponential: formula, 1e+06 data float64 1.000 2.000 2.00 90%, 45% 1e-16".split()
    assert text.splitlines()[-1].split() == "eight_schools, ChEES 4096 400 10.00 2.00 5000 2500".split()
