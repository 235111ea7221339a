"""Combined: the base of distributions that are made of other distributions."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.container import REQUIRED
from probdiff.distributions.guards import GUARDS
from probdiff.distributions.parameters import Alternative, domains
from probdiff.distributions.quantiles import LOG_HALF
from probdiff.distributions.support import Interval, Support
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, register

__all__ = [
    "AnyOf",
    "AnyOfIntegers",
    "Combined",
    "Extended",
    "any_of",
    "axis_first",
    "check_components",
    "is_unbounded",
    "log_tail",
    "name_of",
    "of_each",
]

extended = Interval("extended", "a number", closed_lower=True, closed_upper=True)
Extended = Annotated[Any, extended]  # real numbers and both infinities
TAILS = ("cdf", "ccdf", "logcdf", "logccdf")


class Combined(Distribution, abstract=True):
    """A distribution with others among its fields: one, or a tuple of them, declared as `base: Any`.

    atoms     whether single points have mass, so that the distribution function jumps at the ends of the support
    static    the fields that are structure: no numbers, nothing to differentiate
    trailing  by field: how many axes at the end of the batch of a distribution are the wrapper's own
    """

    atoms: ClassVar[bool] = False
    static: ClassVar[tuple[str, ...]] = ()
    trailing: ClassVar[dict[str, int]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(abstract=True, **kwargs)
        cls._given = frozenset(name for name in GUARDS if name in cls.__dict__)
        for name in cls._given.difference(TAILS if cls.atoms else ()):
            setattr(cls, name, GUARDS[name](cls.__dict__[name]))
        cls.domains = domains(cls)
        cls._defaults = {name: cls.__dict__.get(name, REQUIRED) for name in cls.domains}
        found = [value for value in cls.__dict__.values() if isinstance(value, Alternative)]
        cls._alternatives = {name: each for each in found for name in each.domains}
        dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)(cls)
        register(cls, tuple(name for name in cls.domains if name not in cls.static), cls.static)

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        self.check_parts()

    def check_parts(self) -> None:
        """Refuse distributions that cannot be combined so."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        shapes: list[tuple[int, ...]] = [super().batch_shape]
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                batch = value.batch_shape
                shapes.append(batch[: len(batch) - self.trailing.get(name, 0)])
            elif isinstance(value, tuple):
                shapes += [part.batch_shape for part in value if isinstance(part, Distribution)]
        return np.broadcast_shapes(*shapes)

    def valid(self) -> Array:
        ok = super().valid()
        for name, value in self.__dict__.items():
            for part in value if isinstance(value, tuple) else (value,):
                inside: Any = part.valid() if isinstance(part, Distribution) else True
                if inside is not True:
                    own = self.trailing.get(name, 0) if part is value else 0
                    shape: tuple[int, ...] = getattr(inside, "shape", ())
                    inside = np.all(inside, axis=-1) if own and shape else inside
                    ok = inside if ok is True else ok & inside
        return ok

    def refuse_unless(self, part: Any, discrete: bool | None = None) -> None:
        """UnsupportedError unless `part` is a distribution of one number, and discrete as it should be."""
        owner = type(self).__name__
        if not isinstance(part, Distribution):
            raise UnsupportedError(f"{owner} takes distributions, got {type(part).__name__}.")
        if part.event_shape or part.support.event_ndim:
            raise UnsupportedError(f"{owner}: {name_of(part)} is not a distribution of one number.")
        if discrete is not None and part.support.discrete != discrete:
            kind = "discrete" if discrete else "continuous"
            raise UnsupportedError(f"{owner} needs a {kind} distribution, got {name_of(part)}.")


@dataclass(frozen=True, repr=False)
class AnyOf(Support):
    """Numbers that are in one of several sets: the parts, each with its own arrays of bounds.

    `along_axis` says that there is one part whose bounds have the sets along their last axis.
    """

    parts: tuple[Support, ...] = ()
    along_axis: bool = False

    def contains(self, x: Array) -> Array:
        if self.along_axis:
            return np.any(self.parts[0].contains(np.expand_dims(x, -1)), axis=-1)
        inside = self.parts[0].contains(x)
        for part in self.parts[1:]:
            inside = inside | part.contains(x)
        return inside


@dataclass(frozen=True, repr=False)
class AnyOfIntegers(AnyOf):
    """The same of whole numbers."""

    discrete: ClassVar[bool] = True


def any_of(*parts: Support, along_axis: bool = False) -> Support:
    """The union of sets of numbers; that of equal ones is the set itself."""
    plain = all(not getattr(bound, "shape", ()) for part in parts for bound in (part.lower, part.upper))
    if plain and all(part is parts[0] or part == parts[0] for part in parts[1:]):
        return parts[0]
    lower, upper = parts[0].lower, parts[0].upper
    for part in parts[1:]:
        lower, upper = np.minimum(lower, part.lower), np.maximum(upper, part.upper)
    if along_axis:
        lower = np.min(lower, axis=-1) if getattr(lower, "shape", ()) else lower
        upper = np.max(upper, axis=-1) if getattr(upper, "shape", ()) else upper
    kind = AnyOfIntegers if parts[0].discrete else AnyOf
    rule = " or ".join(dict.fromkeys(part.rule for part in parts))
    return kind("any_of", rule, lower, upper, parts, along_axis)


def of_each(parts: tuple[Distribution, ...], method: str, x: Array) -> Array:
    """A method of several distributions at `x`, stacked along a new last axis."""
    terms = [getattr(part, method)(x) for part in parts]
    shape = np.broadcast_shapes(*(getattr(term, "shape", ()) for term in terms))
    return np.stack([np.broadcast_to(term, shape) for term in terms], axis=-1)


def check_components(owner: str, components: Any) -> None:
    """UnsupportedError unless there are distributions in a tuple, or along the last batch axis of one."""
    if isinstance(components, tuple) and not components:
        raise UnsupportedError(f"{owner} needs at least one distribution, got an empty tuple.")
    for part in components if isinstance(components, tuple) else (components,):
        if not isinstance(part, Distribution):
            raise UnsupportedError(f"{owner} takes distributions, got {type(part).__name__}.")
    if isinstance(components, Distribution) and not components.batch_shape:
        raise UnsupportedError(
            f"{owner} of one distribution takes its last batch axis as the components, and {name_of(components)} has "
            "none. Give it arrays of parameters, or a tuple of distributions."
        )


def axis_first(x: Array, batch_ndim: int, inner: int = 0) -> Array:
    """`x` with the axis before the `inner` last in front, then axes of length one up to those of the batch."""
    x = np.moveaxis(x, -1 - inner, 0)
    lacking = max(0, batch_ndim + inner + 1 - x.ndim)
    return np.reshape(x, (x.shape[0], *(1,) * lacking, *x.shape[1:]))


def log_tail(direct: Array, other: Array) -> Array:
    """The log of a tail by its formula, or where it is close to zero, by that of the other one."""
    from probdiff.special import log1mexp

    return np.where(other < LOG_HALF, log1mexp(np.minimum(other, LOG_HALF)), direct)


def is_unbounded(bound: Any) -> bool:
    """Whether a bound is plainly infinite, so that nothing needs to be computed for it."""
    return not is_lifted(bound) and np.ndim(bound) == 0 and math.isinf(bound)


def name_of(distribution: Distribution) -> str:
    """What an error calls a distribution."""
    return type(distribution).__name__
