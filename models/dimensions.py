"""Named sizes, shapes and names of the distributions of a model.

`Normal(0, 1).iid("school")` has a size only once the coordinates say how many schools there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.univariate.continuous.flat import Flat
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.errors import ParameterError
from probdiff.tree import Array

Coords = dict[str, np.ndarray]
Shape = tuple[int, ...]


def read_coords(coords: Mapping[str, Any] | None) -> Coords:
    """Labels by dimension; each a sequence of different labels, or a number n for 0 … n - 1."""
    read: Coords = {}
    for name, labels in (coords or {}).items():
        array = np.arange(labels) if isinstance(labels, (int, np.integer)) else np.asarray(labels)
        if array.ndim != 1:
            raise ParameterError(f"coords[{name!r}] must be a sequence of labels, got shape {array.shape}.")
        if len(np.unique(array)) != len(array):
            raise ParameterError(f"coords[{name!r}] has a label twice. Labels name one coordinate each.")
        read[name] = array
    return read


def resolve(distribution: Distribution, coords: Coords, owner: str) -> Distribution:
    """`distribution` with numbers in place of named sizes; ParameterError if a name has no coordinates."""
    if not isinstance(distribution, IID):
        return distribution
    for size in distribution.sizes:
        if isinstance(size, str) and size not in coords:
            raise ParameterError(
                f"{owner} has the named size {size!r}, which coords does not give "
                f"({', '.join(coords) or 'it is empty'}). Pass coords={{{size!r}: labels}}."
            )
    return distribution.resolve({name: len(labels) for name, labels in coords.items()})


def dimensions_of(distribution: Distribution) -> tuple[str | None, ...]:
    """The name of each axis of a value, None where it has none. Axes are those of the batch, of iid, of one value."""
    if not isinstance(distribution, IID):
        return (None,) * len(distribution.batch_shape + distribution.event_shape)
    inner = dimensions_of(distribution.base)
    batch = len(distribution.base.batch_shape)
    named = tuple(size if isinstance(size, str) else None for size in distribution.sizes)
    return inner[:batch] + named + inner[batch:]


def shape_of(distribution: Distribution) -> Shape:
    """The shape of a value."""
    return distribution.batch_shape + distribution.event_shape


def elements(distribution: Distribution) -> Distribution:
    """The distribution of each independent element: `iid` taken off, parameters shaped to broadcast against values."""
    if not isinstance(distribution, IID):
        return distribution
    return with_axes(elements(distribution.base), len(distribution.sizes))


def with_axes(distribution: Distribution, count: int, inner: int = 0) -> Distribution:
    """`distribution` with `count` axes of length one at the end of its batch, before the `inner` last."""
    if distribution.batch_shape == ():
        return distribution
    copy = object.__new__(type(distribution))
    if isinstance(distribution, Flat):
        bounds = distribution.support
        lower, upper = (insert_axes(bound, count, 0) for bound in (bounds.lower, bounds.upper))
        copy.__dict__.update(support=replace(bounds, lower=lower, upper=upper), size=distribution.size)
        return copy
    for name, value in vars(distribution).items():
        if isinstance(value, Distribution):
            copy.__dict__[name] = with_axes(value, count, inner + trailing(distribution, name))
        elif isinstance(value, tuple) and any(isinstance(part, Distribution) for part in value):
            copy.__dict__[name] = tuple(with_axes(part, count, inner) for part in value)
        else:
            domain = distribution.domains.get(name)
            copy.__dict__[name] = insert_axes(value, count, inner + (0 if domain is None else domain.event_ndim))
    return copy


def over_rows(stacked: Distribution, one: Distribution, batch: int | None = None) -> Distribution:
    """A distribution of many rows: `stacked` holds the parameters of each along a first axis, `one` is that of one row.

    Parameters of fewer axes than the batch get axes of length one after the first, so that they broadcast as they do in
    one row.
    """
    if isinstance(one, IID):
        assert isinstance(stacked, IID)
        return IID(over_rows(stacked.base, one.base), one.sizes)
    batch = len(one.batch_shape) if batch is None else batch
    copy = object.__new__(type(one))
    for name, value in vars(stacked).items():
        inner = vars(one)[name]
        if isinstance(inner, Distribution):
            value = over_rows(value, inner, batch + trailing(one, name))
        elif isinstance(inner, tuple) and any(isinstance(part, Distribution) for part in inner):
            value = tuple(over_rows(each, part, batch) for each, part in zip(value, inner, strict=True))
        elif getattr(value, "shape", ()):
            domain = one.domains.get(name)
            own = len(value.shape) - 1 - (0 if domain is None else domain.event_ndim)
            value = np.reshape(value, value.shape[:1] + (1,) * (batch - own) + value.shape[1:])
        copy.__dict__[name] = value
    return copy


def trailing(distribution: Distribution, name: str) -> int:
    """How many axes at the end of the batch of a field, itself a distribution, are not those of the whole."""
    axes: dict[str, int] = getattr(distribution, "trailing", {})
    return axes.get(name, 0)


def insert_axes(value: Array, count: int, event_ndim: int) -> Array:
    """`count` axes of length one between the batch axes of a value and those of its event; a scalar as it is."""
    shape: Shape = getattr(value, "shape", ())
    batch = len(shape) - event_ndim
    return value if batch <= 0 else np.reshape(value, shape[:batch] + (1,) * count + shape[batch:])


def family(distribution: Distribution) -> str:
    """The name of the family, whatever is wrapped around it."""
    return family(distribution.base) if isinstance(distribution, (IID, Wrapped)) else type(distribution).__name__
