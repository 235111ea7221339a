"""The page of all families is what the code makes of them."""

from __future__ import annotations

import pytest

from probdiff.distributions import Continuous, Discrete, Gamma, Normal, Poisson
from tools import catalogue

COMMITTED = catalogue.PAGE.read_text()
REMEDY = "docs/catalogue.md is out of date: python -m tools.catalogue"


def test_static_part() -> None:
    assert COMMITTED.startswith(catalogue.static_page()), REMEDY


@pytest.mark.parametrize("family", [Normal, Gamma, Poisson], ids=lambda f: f.__name__)
def test_measured_part(family: type) -> None:
    row = f"| `{family.__name__}` | " + " | ".join(catalogue.accuracy(family)) + " |"
    assert row in COMMITTED, REMEDY


def test_every_family_has_a_battery() -> None:
    # Those of vectors and the improper ones have tests of their own.
    apart = {"Categorical", "Dirac", "DiscreteNonParametric", "Flat", "HalfFlat", "Histogram", "Interpolated"}
    apart |= {"OrderedLogistic", "OrderedProbit", "PoissonBinomial", "StoppingRatioLogistic"}
    names = {f.__name__ for kind in (Continuous, Discrete) for f in catalogue.families(kind)}
    assert sorted(names - set(catalogue.CASES) - apart) == []
