"""The benchmark of distributions: all contenders agree, wrong answers are caught, the tables say what was measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from probdiff import distributions as library
from probdiff.benchmarks import distributions
from probdiff.benchmarks.distributions import Row, allowed, error, inputs, reference
from probdiff.benchmarks.families import FAMILIES
from probdiff.benchmarks.family_contenders import Inputs, ours

BY_NAME = {f.name: f for f in FAMILIES}


def test_all_contenders_agree() -> None:
    rows = distributions.run([BY_NAME["Gamma"]], ("gradient", "logpdf", "rand"), True, lambda text: None)
    assert len(rows) == 3
    for row in rows:
        assert not row.wrong
        assert {"probdiff", "SciPy"} <= row.seconds.keys()
        assert all(0 < s < 10 for s in row.seconds.values())


@pytest.mark.parametrize("name", BY_NAME)
def test_our_densities_and_draws_are_those_of_scipy(name: str) -> None:
    family = BY_NAME[name]
    at = inputs(family, 200)
    for quantity in ("logpdf", "cdf", "rand"):
        call = ours(family, quantity, at)
        assert call is not None
        truth = None if quantity == "rand" else reference(family, quantity, at)
        assert error(family, quantity, [call()], truth, at) <= allowed("probdiff", quantity)


@pytest.mark.parametrize("name", ["Uniform", "Laplace", "StudentT", "NegativeBinomial"])
def test_a_wrong_gradient_is_caught(name: str) -> None:
    family = BY_NAME[name]
    at = inputs(family, 200)
    call = ours(family, "gradient", at)
    assert call is not None
    answer = list(call())
    truth = reference(family, "gradient", at)
    assert error(family, "gradient", answer, truth, at) <= allowed("probdiff", "gradient")
    for k in range(1, len(answer)):
        planted = [a + 1e-2 * (1 + abs(np.asarray(a))) if j == k else a for j, a in enumerate(answer)]
        assert error(family, "gradient", planted, truth, at) > allowed("PyTorch", "gradient")


def test_wrong_draws_are_caught() -> None:
    normal = BY_NAME["Normal"]
    x = stats.norm(0.5, 2.2).rvs(20_000, random_state=0)
    assert error(normal, "rand", [x], None, Inputs(x, x)) > allowed("SciPy", "rand")


def test_tables_and_verdict_say_what_was_measured() -> None:
    rows = [
        Row("Normal", "logpdf", {"probdiff": 1e-5, "eager": 2e-5, "SciPy": 8e-5, "PyTorch": 4e-5}),
        Row("Gamma", "logpdf", {"probdiff": 3e-5, "eager": 1e-5, "SciPy": 2e-5}, {"PyTorch": 0.5}),
    ]
    text = distributions.table(rows, "logpdf")
    assert text[2] == "| Normal | 10 | 20 | 80 | 40 | 0.25 |"
    assert text[3] == "| Gamma | 30 | 10 | 20 | wrong | 1.50 |"
    said = distributions.verdict(rows, "logpdf")
    assert said[0] == "SciPy over probdiff: 2.3 times in the geometric mean of 2, 0.67 at least"
    assert "slower than the best peer: Gamma (1.50)" in said
    assert "wrong: Gamma, PyTorch: 5.0e-01" in said


def test_families_are_thirty_and_ours() -> None:
    assert len(FAMILIES) == 30
    for family in FAMILIES:
        assert len(getattr(library, family.name).domains) >= len(family.parameters)
