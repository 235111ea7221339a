"""The README's code, run as it stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.code_blocks import blocks, run_block

README = Path(__file__).parents[1] / "README.md"
SAMPLES = [b for b in blocks(README) if b.language == "python"]


def test_the_two_commands_come_first() -> None:
    first = next(b for b in blocks(README) if b.language == "bash")
    assert first.text.splitlines() == ["pip install . && probdiff demo", 'pip install -e ".[test]" && pytest']


def test_gradient_sample() -> None:
    names: dict[str, Any] = {}
    run_block(SAMPLES[0], README, names)
    X, data = names["X"], names["data"]
    plain = names["gradient"](names["loglike"], X, data)
    for found, other, by_hand in zip((names["dX"], names["ddata"]), plain, (data / X**2 - 1 / X, -1 / X), strict=True):
        np.testing.assert_allclose(found, by_hand, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(other, by_hand, rtol=1e-12, atol=1e-14)


def test_posterior_sample(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    run_block(SAMPLES[1], README, names)
    assert "theta" in capsys.readouterr().out
    assert names["idata"].posterior["theta"].shape == (4, 1000, 8)


def test_there_is_no_other_python() -> None:
    assert len(SAMPLES) == 2
