"""Joint distributions over named variables that may depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models.dimensions import Coords, dimensions_of, elements, family, read_coords, resolve
from probdiff.models.layout import Layout
from probdiff.models.prior_draws import MANY, check_proper, rand_rows
from probdiff.models.text import joint_text, variables_table
from probdiff.models.transport import add_up, bijector_of, is_improper, transport
from probdiff.models.values import Given, flat_values, stack, total
from probdiff.models.variables import Factor, dependencies, is_function
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

Dims = tuple[str | None, ...]
# What to do with one random variable: its flat name, its distribution and the names of its axes give its value.
Choose = Callable[[str, Distribution, Dims], Array]
# What to do with the log-density of what is not random: a factor, or a variable that is fixed. Name, terms, and why.
Weigh = Callable[[str, Array, str], None]
FACTOR, FIXED, FIXED_GIVEN = "is a factor", "is fixed", "is fixed, and depends on variables that are not"


class OutsideSupport(Exception):
    """The walk met a variable of density zero: what depends on it has no meaning."""


class Joint:
    """A distribution over named variables: p(a, b, …) = p(a) p(b | a) …

    A variable is a distribution; a function of other variables, named by its arguments, that returns a distribution, a
    Joint or a plain value; a nested Joint; or a constant. Constants and plain values have no degree of freedom. A
    `factor` is a further term of the log-density, without a value.
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
        self.fixed: dict[str, Any] = {}

    def with_coords(self, coords: Mapping[str, Any]) -> Joint:
        """The same joint distribution with labels for its named sizes: `{"school": ["A", "B"]}`."""
        return self.copy({**self.coords, **read_coords(coords)}, self.fixed)

    def copy(self, coords: Coords, fixed: dict[str, Any]) -> Joint:
        """The same variables with these labels and fixed values."""
        copy = Joint(**self.variables)
        copy.coords, copy.fixed = coords, fixed
        return copy

    def condition(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Joint:
        """The density at fixed values of some variables, as a function of the others: p(a, b = 2) ∝ p(a | b = 2).

        Values by variable, nested or dotted. What is fixed keeps its term, which may depend on other variables, but has
        no coordinates any more.
        """
        given = flat_values({**(values or {}), **named})
        slots = self.layout().slots
        fixed = dict(self.fixed)
        for name, value in given.items():
            if name not in slots:
                raise ParameterError(f"condition: {name} is no random variable ({', '.join(slots)}).")
            array = np.asarray(value)[()]
            if np.shape(array) != slots[name].shape:
                raise ShapeError(
                    f"The value of {name} has shape {np.shape(array)}, its distribution {slots[name].shape}."
                )
            variable = self.variables.get(name)
            if isinstance(variable, Distribution) and not elements(variable).support.accepts(array):
                raise outside(name, variable, array)
            fixed[name] = array.astype(float) if array.dtype.kind in "iub" and not slots[name].discrete else array
        return self.copy(self.coords, fixed)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order in which they are evaluated."""
        return tuple(name for name in self.needs if not isinstance(self.variables[name], Factor))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each random variable, by its flat name."""
        return {name: slot.shape for name, slot in self.layout().slots.items()}

    def walk(
        self,
        choose: Choose,
        weigh: Weigh | None = None,
        coords: Coords | None = None,
        prefix: str = "",
        fixed: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The values of all variables, in dependency order, where `choose` gives those of the random ones.

        `weigh` is told the terms of factors and fixed variables.
        """
        coords = {**(coords or {}), **self.coords}
        fixed = {**(fixed or {}), **{prefix + name: value for name, value in self.fixed.items()}}
        values: dict[str, Any] = {}
        moving: set[str] = set()
        for name, needs in self.needs.items():
            variable, full = self.variables[name], prefix + name
            given = {need: values[need] for need in needs}
            if isinstance(variable, Factor):
                if weigh is not None:
                    weigh(full, variable.function(**given), FACTOR)
                continue
            if is_function(variable):
                variable = variable(**given)
            depends = any(need in moving for need in needs)
            if variable is None:
                raise ParameterError(
                    f"Joint.{full} is None. A function of variables returns a distribution, a Joint or a value."
                )
            if isinstance(variable, Joint):
                values[name] = variable.walk(choose, weigh, coords, f"{full}.", fixed)
                moving.add(name)
            elif isinstance(variable, Distribution):
                distribution = resolve(variable, coords, f"Joint.{full}")
                if full in fixed:
                    values[name] = fixed[full]
                    if weigh is not None:
                        why = FIXED_GIVEN if depends else FIXED
                        weigh(full, elements(distribution).logpdf(fixed[full]), why)
                    continue
                values[name] = choose(full, distribution, dimensions_of(variable))
                moving.add(name)
            else:
                values[name] = variable
                if depends:
                    moving.add(name)
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

        def weigh(name: str, weights: Array, why: str) -> None:
            terms.append(add_up(weights))

        try:
            given.check_names(self.walk(choose, weigh))
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
            many = rand_rows(self, size, rng) if size >= MANY else None
            return stack([self.rand(rng=rng) for _ in range(size)]) if many is None else many

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            check_proper(name, distribution)
            return distribution.rand(rng=rng)

        return self.walk(choose, refuse_draws)

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
            bijector = bijector_of(distribution)
            return bijector.forward(bijector.origin(layout.slots[name].shape)[()])

        return layout, self.walk(choose)

    def unpack(self, q: Array, layout: Layout) -> tuple[dict[str, Any], Array]:
        """All variables at the unconstrained `q`, and the log-density of `q`: log-Jacobians included."""
        terms: list[Array] = []

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            value, term = transport(distribution, layout.slots[name].read(q))
            terms.append(term)
            return value

        def weigh(name: str, weights: Array, why: str) -> None:
            terms.append(add_up(weights))

        values = self.walk(choose, weigh)
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
            if not np.all(elements(distribution).support.contains(value)):
                raise outside(name, distribution, value)
            with np.errstate(all="ignore"):
                u = np.ravel(bijector_of(distribution).inverse(value))
            if not np.all(np.isfinite(u)):
                raise outside(name, distribution, value)
            parts.append(u)
            return value

        given.check_names(self.walk(choose))
        return np.concatenate([np.zeros(0), *parts])

    def table(self, outcomes: Sequence[tuple[str, ...]] = ()) -> str:
        """Variables, distributions, shapes, supports and dimensions as aligned text; `outcomes` are rows to append."""
        return variables_table(self.variables, self.layout(), self.needs, outcomes, self.fixed)

    def __repr__(self) -> str:
        return joint_text(self.variables, self.needs, self.fixed)


def outside(name: str, distribution: Distribution, value: Any) -> ParameterError:
    """What to say of a value that has no density or no coordinates."""
    rule = elements(distribution).support.rule
    return ParameterError(f"{name} must be inside the support of {family(distribution)} ({rule}), got {value}.")


def refuse_draws(name: str, weights: Array, why: str) -> None:
    """Drawing one variable after the other is right only where nothing reaches back to the earlier ones."""
    if why != FIXED:
        raise UnsupportedError(
            f"{name} {why}: this prior cannot be drawn from one variable after the other. Sample it."
        )
