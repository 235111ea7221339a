"""Values of variables as dicts: nested as a Joint is, or flat with dotted names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import ParameterError, ShapeError
from probdiff.models.dimensions import shape_of
from probdiff.tree import Array


def flat_values(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted names for whatever is nested."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flat_values(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


class Given:
    """Values that a caller gave by name: handed out with their shapes checked."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.flat = flat_values(values)

    def take(self, name: str, distribution: Distribution) -> Array:
        """The value of one random variable; ParameterError if it is missing, ShapeError if it has another shape."""
        if name not in self.flat:
            raise missing(name, self.flat)
        value = self.flat[name]
        if not hasattr(value, "shape"):
            value = np.asarray(value)[()]
        if value.shape != shape_of(distribution):
            raise ShapeError(f"The value of {name} has shape {value.shape}, its distribution {shape_of(distribution)}.")
        return value

    def check_names(self, complete: Mapping[str, Any]) -> None:
        """ParameterError if a name was given that no variable has."""
        known = flat_values(complete)
        for name in self.flat:
            if name not in known:
                raise ParameterError(f"{name} is no variable ({', '.join(known)}).")


def missing(name: str, given: Mapping[str, Any]) -> ParameterError:
    """The error of a variable that has no value."""
    return ParameterError(f"There is no value for {name}; the values given are {', '.join(given) or 'none'}.")


def stack(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Nested dicts of equal structure as one dict of arrays with a new first axis."""
    return merge(points, lambda column: np.stack([np.asarray(value) for value in column]))


def merge(points: Sequence[Mapping[str, Any]], join: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Nested dicts of equal structure as one, each column of values joined by `join`."""
    joined: dict[str, Any] = {}
    for name, first in points[0].items():
        column = [point[name] for point in points]
        joined[name] = merge(column, join) if isinstance(first, Mapping) else join(column)
    return joined


def total(terms: Sequence[Array]) -> Array:
    """The sum of scalars; zero for none."""
    result: Array = 0.0
    for position, term in enumerate(terms):
        result = term if position == 0 else result + term
    return result
