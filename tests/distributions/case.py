"""The data of a family for the battery of tests, and what its checks share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

REFERENCE = Path(__file__).parent.parent / "reference" / "distributions"
UNIVARIATE = json.loads((REFERENCE / "univariate.json").read_text())["rows"]
EXTREME = json.loads((REFERENCE / "extreme.json").read_text())
EPS = 2.2e-16


@dataclass(frozen=True)
class Case:
    """The data of a family.

    settings   typical parameters, as keywords, with finite moments where the family has any
    invalid    per parameter: the rule in words, and values that break it
    naive      the density as a textbook has it, for mpmath: naive(x, **setting)
    outside    values outside the support of every setting
    reference  the family's name in univariate.json, with the names of its parameters as ours
    extreme    names in extreme.json, each with the names of its parameters as ours
    accuracy   bound of the error measure of extreme.json a backward stable formula stays within a few tens, and
                 the slope of a beta density next to x = 1 needs a few hundred
    poles      whether the density is infinite at ends that are parameters: within eps of an end, where x has no digits,
                 are sqrt(eps) of all values, with log-densities near 20 that their expectation misses
    slope_slack  absolute error of derivatives that is let pass, where a log-density is flat in a parameter
    """

    family: Any
    settings: list[dict[str, Any]]
    invalid: dict[str, tuple[str, list[Any]]]
    naive: Callable[..., Any]
    outside: list[float] = field(default_factory=list)
    reference: tuple[str, dict[str, str]] | None = None
    extreme: dict[str, dict[str, str]] = field(default_factory=dict)
    accuracy: float = 1000.0
    slope_slack: float = 0.0
    poles: bool = False

    def members(self) -> list[Any]:
        return [self.family(**setting) for setting in self.settings]


def inner(d: Any) -> np.ndarray:
    """A few points of the bulk and both tails."""
    points = d.quantile(np.array([0.003, 0.2, 0.45, 0.8, 0.996]))
    return np.unique(points)


def member(case: Case, names: dict[str, str], row: dict[str, Any]) -> tuple[Any, float]:
    """The distribution and the point of a row of extreme.json."""
    return case.family(**{names.get(k, k): v for k, v in row["params"].items()}), float(row["x"])


def measure(got: Any, expected: str, cond: Any) -> float:
    """The error in roundings of a backward stable formula; 0 where both overflow or underflow alike."""
    expected_float = float(expected)
    if got == expected_float:
        return 0.0
    # The smallest normal number keeps values near underflow from a division by zero.
    return abs(float(got) - expected_float) / (EPS * (abs(expected_float) + float(cond)) + 2.3e-308)


def given(d: Any, moment: str) -> bool:
    """Whether the family has a formula of the moment."""
    return moment == "median" or moment in type(d).__dict__


def distinct(d: Any, x: Any) -> bool:
    """Whether x is a number that the rounding does not join to an end of the support."""
    distance = min(abs(x - d.support.lower), abs(x - d.support.upper))
    return abs(x) > 1e-290 and bool(distance > 1e-6 * abs(x))
