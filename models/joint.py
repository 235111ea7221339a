"""Joint distributions over named variables that may depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models.dimensions import Coords, dimensions_of, elements, family, read_coords, resolve
from probdiff.models.layout import Layout
from probdiff.models.text import joint_text, variables_table
from probdiff.models.transport import add_up, bijector_of, is_improper, transport
from probdiff.models.values import Given, stack, total
from probdiff.models.variables import dependencies, is_function
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

Dims = tuple[str | None, ...]
# What to do with one random variable: its flat name, its distribution and the names of its axes give its value.
Choose = Callable[[str, Distribution, Dims], Array]


class OutsideSupport(Exception):
    """The walk met a variable of density zero: what depends on it has no meaning."""


class Joint:
    """A distribution over named variables: p(a, b, …) = p(a) p(b | a) …

    A variable is a distribution; a function of other variables, named by its arguments, that returns a distribution, a
    Joint or a plain value; a nested Joint; or a constant. Constants and plain values have no degree of freedom.
    Values are dicts by variable; a nested Joint's is a dict again, and its flat names are dotted: `group.scale`.

    >>> from probdiff.distributions import HalfNormal, Normal
    >>> prior = Joint(tau=HalfNormal(1), theta=lambda tau: Normal(0, tau).iid(3))
    >>> prior.shapes
    {'tau': (), 'theta': (3,)}
    """

    def __init__(self, **variables: Any) -> None:
        for name, variable in variables.items():
            if isinstance(variable, type):
                raise ParameterError(f"Joint.{name} is the class {variable.__name__}. Call it with its parameters.")
        self.variables = variables
        self.needs = dependencies(variables, "Joint")
        self.coords: Coords = {}

    def with_coords(self, coords: Mapping[str, Any]) -> Joint:
        """The same joint distribution with labels for its named sizes: `{"school": ["A", "B"]}`."""
        copy = Joint(**self.variables)
        copy.coords = {**self.coords, **read_coords(coords)}
        return copy

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order in which they are evaluated."""
        return tuple(self.needs)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each random variable, by its flat name."""
        return {name: slot.shape for name, slot in self.layout().slots.items()}

    def walk(self, choose: Choose, coords: Coords | None = None, prefix: str = "") -> dict[str, Any]:
        """The values of all variables, in dependency order, where `choose` gives those of the random ones."""
        coords = {**(coords or {}), **self.coords}
        values: dict[str, Any] = {}
        for name, needs in self.needs.items():
            variable = self.variables[name]
            if is_function(variable):
                variable = variable(**{need: values[need] for need in needs})
            if variable is None:
                raise ParameterError(
                    f"Joint.{prefix}{name} is None. A function of variables returns a distribution, a Joint or a value."
                )
            if isinstance(variable, Joint):
                values[name] = variable.walk(choose, coords, f"{prefix}{name}.")
            elif isinstance(variable, Distribution):
                distribution = resolve(variable, coords, f"Joint.{prefix}{name}")
                values[name] = choose(prefix + name, distribution, dimensions_of(variable))
            else:
                values[name] = variable
        return values

    def logpdf(self, values: Mapping[str, Any]) -> Array:
        """The sum of the log-densities of all variables at `values`, a dict that may be nested or dotted.

        -inf outside the support. A missing or unknown name raises ParameterError, another shape ShapeError.
        """
        given = Given(values)
        terms: list[Array] = []

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            value = given.take(name, distribution)
            term = add_up(distribution.logpdf(value))
            if not is_lifted(term) and term == -np.inf:
                raise OutsideSupport
            terms.append(term)
            return value

        try:
            given.check_names(self.walk(choose))
        except OutsideSupport:
            return -np.inf
        return total(terms)

    def complete(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """All variables, nested, from the random ones in `values`: constants and plain values are filled in."""
        given = Given(values)
        complete = self.walk(lambda name, distribution, dims: given.take(name, distribution))
        given.check_names(complete)
        return complete

    def rand(self, *, rng: np.random.Generator | None = None, size: int | None = None) -> dict[str, Any]:
        """A draw of all variables, nested; with `size`, that many draws, stacked along a new first axis."""
        rng = np.random.default_rng() if rng is None else rng
        if size is not None:
            return stack([self.rand(rng=rng) for _ in range(size)])

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            if is_improper(distribution):
                raise UnsupportedError(
                    f"{name} is Flat, and an improper prior cannot be drawn from. Give it a proper one."
                )
            return distribution.rand(rng=rng)

        return self.walk(choose)

    def layout(self) -> Layout:
        """Where each random variable sits in a flat vector of unconstrained coordinates."""
        return self.survey(np.random.default_rng(0))[0]

    def survey(self, rng: np.random.Generator) -> tuple[Layout, dict[str, Any]]:
        """The layout, and the point of the support it was found at: a draw, or the centre of an improper prior."""
        layout = Layout()

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            layout.add(name, distribution, dims)
            if not is_improper(distribution):
                return distribution.rand(rng=rng)
            return bijector_of(distribution).forward(np.zeros(layout.slots[name].unconstrained_shape)[()])

        return layout, self.walk(choose)

    def unpack(self, q: Array, layout: Layout) -> tuple[dict[str, Any], Array]:
        """All variables at the unconstrained `q`, and the log-density of `q`: log-Jacobians included."""
        terms: list[Array] = []

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            value, term = transport(distribution, layout.slots[name].read(q))
            terms.append(term)
            return value

        values = self.walk(choose)
        return values, total(terms)

    def locate(self, q: Array, layout: Layout) -> dict[str, Any]:
        """All variables at the unconstrained `q`, without the log-density."""
        return self.walk(lambda name, each, dims: bijector_of(each).forward(layout.slots[name].read(q)))

    def pack(self, values: Mapping[str, Any], layout: Layout) -> np.ndarray:
        """The unconstrained vector of `values`, the way back; ParameterError outside the support or on its edge."""
        given = Given(values)
        parts: list[np.ndarray] = []

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            value = given.take(name, distribution)
            if layout.slots[name].discrete:
                raise UnsupportedError(f"{name} is discrete and has no unconstrained coordinates.")
            with np.errstate(all="ignore"):
                u = np.ravel(bijector_of(distribution).inverse(value))
            if not np.all(np.isfinite(u)):
                raise ParameterError(
                    f"{name} must be inside the support of {family(distribution)} "
                    f"({elements(distribution).support.rule}), got {value}."
                )
            parts.append(u)
            return value

        given.check_names(self.walk(choose))
        return np.concatenate([np.zeros(0), *parts])

    def table(self, outcomes: Sequence[tuple[str, ...]] = ()) -> str:
        """Variables, distributions, shapes, supports and dimensions as aligned text; `outcomes` are rows to append."""
        return variables_table(self.variables, self.layout(), self.needs, outcomes)

    def __repr__(self) -> str:
        return joint_text(self.variables, self.needs)
