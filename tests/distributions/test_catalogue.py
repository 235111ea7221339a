"""Distributions that other probabilistic libraries have, all that two or more do, made as here, drawn and evaluated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from probdiff import distributions, models
from probdiff.distributions.bijectors import Positive
from probdiff.distributions.support import Real, real
from tests.distributions.case import REFERENCE

ROWS = json.loads((REFERENCE / "catalogue.json").read_text())


class Custom(distributions.Continuous):
    """A user's own: exp(-|x - loc|) / 2, of nothing but a density and a tail."""

    loc: Real
    support = real

    def logpdf(self, x: Any) -> Any:
        return -abs(x - self.loc) - np.log(2)

    def cdf(self, x: Any) -> Any:
        z = x - self.loc
        return np.where(z < 0, 0.5 * np.exp(z), 1 - 0.5 * np.exp(-z))


NAMES = {**vars(distributions), **vars(models), "np": np, "positive": Positive(), "Custom": Custom}
# Improper ones have no draws, and what is known of a censored value only is a pair.
UNDRAWN = ("Flat()", "HalfFlat()", "IntervalCensored(Normal())")


def calls(row: dict[str, Any]) -> list[str]:
    return [call for call in row["ours"].split("; ") if call]


@pytest.mark.parametrize("call", [call for row in ROWS for call in calls(row)])
def test_row(call: str) -> None:
    d = eval(call, NAMES)  # the file is ours
    if call in UNDRAWN:
        return
    x = d.rand(rng=np.random.default_rng(1))
    if isinstance(d, distributions.Distribution):
        assert np.shape(x) == d.batch_shape + d.event_shape
    assert np.all(np.isfinite(d.logpdf(x)))


def test_rows() -> None:
    """Those of at least two libraries are all there."""
    assert sum(len(row["libraries"]) >= 2 for row in ROWS) == 128 and all(calls(row) for row in ROWS)
