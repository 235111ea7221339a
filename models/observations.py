"""Observed data: checked against the distribution it is said to come from, before any work is done."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import DataError
from probdiff.models.dimensions import family, shape_of


def read_data(data: Any, outcome: str = "", missing: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """`data` as an array of numbers, and where they are missing (None: nowhere).

    Text, dates and objects raise DataError, and so do NaN and masked entries unless `missing` says what to do with
    them; then a number that is there stands at their places.
    """
    masked = isinstance(data, np.ma.MaskedArray)
    array = np.asarray(data.data if masked else data)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{lead(outcome)}data must be real numbers, got {array.dtype.name}.")
    mask = np.ma.getmaskarray(data) if masked else np.zeros(array.shape, dtype=bool)
    absent = mask | np.isnan(array) if array.dtype.kind == "f" else mask
    if not np.any(absent):
        return array, None
    if missing is None:
        what = "are masked" if np.any(mask) else "are NaN"
        refuse(absent, lead(outcome), what, 'Drop them, or pass missing="skip".')
    there = array[~absent]
    array = np.array(array)
    array[absent] = there[0] if there.size else 0
    return array, absent


def check_shape(array: np.ndarray, distribution: Distribution, outcome: str = "") -> None:
    """DataError unless the distribution has exactly the shape of the data: broadcasting would count data twice."""
    shape = shape_of(distribution)
    if array.shape == shape:
        return
    name = family(distribution)
    if shape == ():
        way_out = f"For independent observations use {name}(...).iid({', '.join(map(str, array.shape))})."
    else:
        way_out = "Nothing is broadcast: reshape one of them."
    raise DataError(
        f"{lead(outcome)}data has shape {array.shape}, but observe gives {name} of shape {shape}. {way_out}"
    )


def check_support(array: np.ndarray, inside: np.ndarray, distribution: Distribution, outcome: str = "") -> None:
    """DataError if an observation lies outside the support, with the index and value of the first."""
    outside = ~np.asarray(inside)
    if not np.any(outside):
        return
    value = array[np.unravel_index(np.argmax(outside), outside.shape)]
    text = f"are outside the support of {family(distribution)} ({distribution.support.rule})"
    refuse(outside, lead(outcome), text, "Correct them, or choose a distribution that allows them.", f": {value}")


def refuse(bad: np.ndarray, who: str, what: str, way_out: str, value: str = "") -> None:
    """DataError with the count and the first index of what is bad, if anything is."""
    count = int(np.count_nonzero(bad))
    if count == 0:
        return
    first = np.unravel_index(int(np.argmax(bad)), bad.shape)
    index: Any = int(first[0]) if bad.ndim == 1 else tuple(int(i) for i in first)
    raise DataError(f"{who}{count} of {bad.size} observations {what} (first at index {index}{value}). {way_out}")


def lead(outcome: str) -> str:
    """How a message names the outcome; nothing for the only one."""
    return f"{outcome}: " if outcome else ""
