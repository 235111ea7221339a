"""Likelihoods: what the data says about the parameters, by an observation model or by a plain function.

Both kinds answer to the values of all variables: `log_likelihood`, `pointwise`, and where data can be drawn `rand`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.support import Support
from probdiff.errors import DataError, ParameterError, UnsupportedError
from probdiff.models.dimensions import Coords, elements, family, resolve, shape_of
from probdiff.models.layout import Layout
from probdiff.models.missing import Holes
from probdiff.models.observations import check_shape, check_support, read_data
from probdiff.models.transport import add_up
from probdiff.models.values import total
from probdiff.models.variables import arguments
from probdiff.tree import Array

# The name of the outcome where `observe` returns one distribution, as in p(y | parameters).
OUTCOME = "y"


class ObservationModel:
    """`observe(parameters)` gives the distribution of the data, or a dict of distributions by outcome."""

    def __init__(
        self,
        observe: Callable[..., Any],
        data: Any,
        names: tuple[str, ...],
        coords: Coords,
        missing: str | None = None,
    ) -> None:
        if data is None:
            raise DataError("Posterior.observe has no data. Pass the observations as the third argument.")
        self.function = observe
        self.inputs = arguments(observe, names, "Posterior.observe")
        self.coords = coords
        self.single = not isinstance(data, Mapping)
        outcomes = {OUTCOME: data} if self.single else data
        self.data: dict[str, np.ndarray] = {}
        self.holes: dict[str, Holes] = {}
        for name, values in outcomes.items():
            self.data[name], absent = read_data(values, self.title(name), missing)
            if absent is not None:
                self.holes[name] = Holes(name, absent, missing == "impute")
        self.imputed = {hole.name: hole for hole in self.holes.values() if hole.impute}
        for name in self.imputed:
            if name in names:
                raise ParameterError(
                    f"{name} is the name of the missing observations. Rename the variable of the prior."
                )

    def title(self, outcome: str) -> str:
        """How errors call an outcome; the only one needs no name."""
        return "" if self.single else outcome

    def outcomes(self, values: Mapping[str, Any], observe: Callable[..., Any] | None = None) -> dict[str, Distribution]:
        """The distributions of the data given all variables, by `observe` in place of the model's own function."""
        observed = (self.function if observe is None else observe)(**{name: values[name] for name in self.inputs})
        distributions = {OUTCOME: observed} if self.single else observed
        if not isinstance(distributions, Mapping) or set(distributions) != set(self.data):
            several = isinstance(distributions, Mapping)
            found = f"the outcomes {', '.join(distributions)}" if several else "one distribution"
            raise DataError(
                f"Posterior.observe gives {found}, and data has {', '.join(self.data)}. They must be the same."
            )
        for distribution in distributions.values():
            if not isinstance(distribution, Distribution):
                raise UnsupportedError(
                    f"Posterior.observe must return a distribution, got {type(distribution).__name__}. "
                    "Pass a function that returns a log-likelihood as loglike."
                )
        return {name: resolve(each, self.coords, "Posterior.observe") for name, each in distributions.items()}

    def check(self, points: list[dict[str, Any]]) -> None:
        """DataError if the data cannot come from the distributions at any of the points.

        A support that differs between points moves with the parameters: only the sampler finds out who is outside.
        """
        at_points = [self.outcomes(values) for values in points]
        for name, array in self.data.items():
            first, *others = [elements(outcomes[name]) for outcomes in at_points]
            check_shape(array, at_points[0][name], self.title(name))
            inside = first.support.contains(array)
            if all(same_set(first.support, other.support) for other in others):
                if name in self.holes:
                    self.holes[name].check(first)
                    inside = inside | self.holes[name].values_missing(first)
                check_support(array, inside, first, self.title(name))

    def observed(self) -> dict[str, np.ndarray]:
        """The data by outcome, NaN where they are missing."""
        holes = {name: hole.mask for name, hole in self.holes.items()}
        return {name: np.where(holes[name], np.nan, x) if name in holes else x for name, x in self.data.items()}

    def extend(self, layout: Layout, values: Mapping[str, Any]) -> None:
        """Append the missing observations that are variables."""
        if self.imputed:
            outcomes = self.outcomes(values)
            for hole in self.imputed.values():
                hole.slot(outcomes[hole.outcome], layout)

    def unpack(self, values: dict[str, Any], q: Array, layout: Layout) -> tuple[dict[str, Any], Array]:
        """`values` with the missing observations at the unconstrained `q`, and their log-Jacobian."""
        if not self.imputed:
            return values, 0.0
        outcomes = self.outcomes(values)
        found = {
            name: hole.unpack(outcomes[hole.outcome], layout.slots[name].read(q)) for name, hole in self.imputed.items()
        }
        return {**values, **{name: x for name, (x, _) in found.items()}}, total([each for _, each in found.values()])

    def pack(self, values: Mapping[str, Any]) -> list[np.ndarray]:
        """The unconstrained missing observations in `values`, the way back."""
        outcomes = self.outcomes(values) if self.imputed else {}
        parts = []
        for name, hole in self.imputed.items():
            with np.errstate(all="ignore"):
                u = np.asarray(hole.bijector(outcomes[hole.outcome]).inverse(values[name]))
            if not np.all(np.isfinite(u)):
                found = outcomes[hole.outcome]
                rule = elements(found).support.rule
                raise ParameterError(
                    f"{name} must be inside the support of {family(found)} ({rule}), got {values[name]}."
                )
            parts.append(u)
        return parts

    def terms(self, name: str, distribution: Distribution, values: Mapping[str, Any], skip: bool) -> Array:
        """The log-density of each observation of an outcome; with `skip`, zero for those that are missing."""
        data, hole = self.data[name], self.holes.get(name)
        if hole is None:
            return elements(distribution).logpdf(data)
        element = elements(distribution)
        found = element.logpdf(hole.fill(data, values[hole.name]) if hole.impute else data)
        return np.where(hole.values_missing(element), 0.0, found) if skip or not hole.impute else found

    def log_likelihood(self, values: Mapping[str, Any]) -> Array:
        """The log-density of the data, imputed ones included."""
        return total([
            add_up(self.terms(name, each, values, False) if name in self.holes else each.logpdf(self.data[name]))
            for name, each in self.outcomes(values).items()
        ])  # fmt: skip

    def pointwise(self, values: Mapping[str, Any]) -> Any:
        """The log-density of each observation, by outcome unless there is one alone."""
        each = {name: self.terms(name, found, values, True) for name, found in self.outcomes(values).items()}
        return each[OUTCOME] if self.single else each

    def by_outcome(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """The terms of the log-likelihood by outcome, imputed ones included."""
        return {name: self.terms(name, found, values, False) for name, found in self.outcomes(values).items()}

    def rand(self, values: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """New data of the same shapes."""
        return {name: found.rand(rng=rng) for name, found in self.outcomes(values).items()}

    def rows(self, values: Mapping[str, Any]) -> list[tuple[str, ...]]:
        """Lines of a table: outcome, distribution, what it depends on, shape, support, no named dimensions."""
        depends = ", ".join(self.inputs)
        found = self.outcomes(values).items()
        return [(name, family(each), depends, str(shape_of(each)), each.support.name, "") for name, each in found]


def same_set(one: Support, other: Support) -> bool:
    """Whether two supports of a family have the same bounds."""
    bounds = ((one.lower, other.lower), (one.upper, other.upper))
    return one.name == other.name and all(np.array_equal(a, b) for a, b in bounds)


class LogLikelihood:
    """`loglike(parameters)` gives the log-likelihood, or an array of its terms, one an observation."""

    data: Mapping[str, np.ndarray] = {}
    imputed: Mapping[str, Holes] = {}

    def __init__(self, loglike: Callable[..., Any], names: tuple[str, ...]) -> None:
        self.function = loglike
        self.inputs = arguments(loglike, names, "Posterior.loglike")

    def check(self, points: list[dict[str, Any]]) -> None:
        """ParameterError if the function does not return a real number or array at the points."""
        for values in points:
            terms = self.terms(values)
            if getattr(terms, "dtype", np.asarray(terms).dtype).kind not in "biuf":
                raise ParameterError(f"Posterior.loglike must return real numbers, got {type(terms).__name__}.")

    def observed(self) -> dict[str, np.ndarray]:
        """No data are known here: the function holds them."""
        return {}

    def extend(self, layout: Layout, values: Mapping[str, Any]) -> None:
        """Nothing is missing."""

    def unpack(self, values: dict[str, Any], q: Array, layout: Layout) -> tuple[dict[str, Any], Array]:
        """Nothing is missing, so nothing is read from `q`."""
        return values, 0.0

    def pack(self, values: Mapping[str, Any]) -> list[np.ndarray]:
        """Nothing is missing, so nothing goes into `q`."""
        return []

    def terms(self, values: Mapping[str, Any]) -> Array:
        """What the function returns at named values."""
        return self.function(**{name: values[name] for name in self.inputs})

    def by_outcome(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """The terms, under the name by which errors call the function."""
        return {"loglike": self.terms(values)}

    def log_likelihood(self, values: Mapping[str, Any]) -> Array:
        """The sum of the terms."""
        return add_up(self.terms(values))

    def pointwise(self, values: Mapping[str, Any]) -> Any:
        """The terms; refused where the function returns their sum."""
        terms = self.terms(values)
        if getattr(terms, "shape", ()) == ():
            raise UnsupportedError(
                "Posterior.loglike returns one number. Return an array of terms, one for each observation."
            )
        return terms

    def outcomes(self, values: Mapping[str, Any], observe: Callable[..., Any] | None = None) -> dict[str, Distribution]:
        """Refused: a function has no distribution to draw from."""
        raise UnsupportedError(
            "Posterior.loglike cannot draw data. Give observe, the distribution of the data, instead."
        )

    def rand(self, values: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Refused: a function has no distribution to draw from."""
        return self.outcomes(values)

    def rows(self, values: Mapping[str, Any]) -> list[tuple[str, ...]]:
        """Lines of a table: the log-likelihood and what it depends on."""
        return [("log-likelihood", "function", ", ".join(self.inputs), "", "", "")]
