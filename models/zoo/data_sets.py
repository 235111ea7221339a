"""The data that ships with the zoo: one JSON file a data set, which names its source and licence."""

from __future__ import annotations

import json
from importlib import resources
from types import SimpleNamespace
from typing import Any

import numpy as np

from probdiff.errors import ParameterError

# Entries that describe a data set and are no columns of it.
DESCRIPTION = ("title", "source", "licence", "licence_text")


def load(name: str) -> SimpleNamespace:
    """The columns of a data set as arrays: numbers as floats, a null among them as NaN, labels as strings.

    `load("eight_schools").y` is an array of eight numbers. An unknown name raises ParameterError, which lists the
    names.
    """
    content = document(name)
    return SimpleNamespace(**{key: column(value) for key, value in content.items() if key not in DESCRIPTION})


def describe(name: str) -> dict[str, str]:
    """Title, source and licence of a data set."""
    content = document(name)
    return {key: content[key] for key in DESCRIPTION}


def names() -> list[str]:
    """All data sets."""
    return sorted(entry.name.removesuffix(".json") for entry in folder().iterdir() if entry.name.endswith(".json"))


def folder() -> Any:
    """Where the data sets lie."""
    return resources.files("probdiff.models.zoo").joinpath("data")


def document(name: str) -> dict[str, Any]:
    """The whole document of a data set, description included."""
    if name not in names():
        raise ParameterError(f"load: there is no data set {name!r}; there are {', '.join(names())}.")
    content: dict[str, Any] = json.loads(folder().joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return content


def column(values: Any) -> Any:
    """Numbers as an array; null becomes NaN."""
    array = np.asarray(values)
    # A column with nulls comes as objects.
    return array.astype(float) if array.dtype.kind in "iufO" else array
