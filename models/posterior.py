"""Posteriors: a prior and a model of the data, seen from every side that sampling and checking need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.parameters import unchecked
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models.debug import Terms, terms_at
from probdiff.models.density import FlatDensity
from probdiff.models.dimensions import Coords
from probdiff.models.hierarchy import dependants
from probdiff.models.joint import Dims, Joint
from probdiff.models.likelihood import LogLikelihood, ObservationModel
from probdiff.models.missing import check_way
from probdiff.models.over_draws import OverDraws, rows_of
from probdiff.models.reparam import reparameterised
from probdiff.models.text import posterior_text
from probdiff.models.transport import add_up, bijector_of, log_volume
from probdiff.models.values import flat_values, missing, total
from probdiff.models.variables import arguments
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

Functions = Mapping[str, Callable[..., Any]]


class Posterior(FlatDensity):
    """p(parameters | data) ∝ p(parameters) p(data | parameters).

    Parameters
    ----------
    prior
        A Joint.
    observe
        A function of variables of the prior, named by its arguments, that returns the distribution of the data, or a
        dict of distributions by outcome. The shape of each is exactly that of its data.
    data
        The observations: an array, or a dict of arrays by outcome.
    loglike
        In place of `observe` and `data`: a function of variables that returns the log-likelihood, or one term for each
        observation.
    coords
        Labels of the named sizes: `{"school": ["A", "B"]}`, or `{"school": 2}`.
    missing
        What to do with observations that are NaN or masked: "skip" leaves them out of the likelihood; "impute" makes
        them unknowns, `y_missing`, with the observation model as their density.
    factors
        Functions of variables by name, whose values (summed) are added to the log-density.
    derived
        Functions of variables, and of derived values before them, by name: computed for each draw.

    DataError refuses data that is NaN, of another shape than its distribution, or outside the support.
    """

    def __init__(
        self,
        prior: Joint,
        observe: Callable[..., Any] | None = None,
        data: Any = None,
        *,
        loglike: Callable[..., Any] | None = None,
        coords: Mapping[str, Any] | None = None,
        missing: str | None = None,
        factors: Functions | None = None,
        derived: Functions | None = None,
    ) -> None:
        if (observe is None) == (loglike is None):
            raise ParameterError("Posterior takes either observe and data, or loglike.")
        if not isinstance(prior, Joint):
            raise UnsupportedError(
                f"Posterior.prior must be a Joint, got {type(prior).__name__}. "
                "Name its variables: Joint(mu=Normal(0, 1))."
            )
        check_way(missing)
        self.missing = missing
        self.prior = prior.with_coords(coords or {})
        self.layout, drawn = self.prior.survey(np.random.default_rng(0))
        self.model: ObservationModel | LogLikelihood
        if observe is not None:
            self.model = ObservationModel(observe, data, self.prior.names, self.coords, missing)
        elif data is not None:
            raise ParameterError("Posterior.loglike takes no data: let the function hold it, or give observe instead.")
        elif loglike is not None:
            self.model = LogLikelihood(loglike, self.prior.names)
        with np.errstate(all="ignore"):
            self.model.check([drawn, self.prior.survey(np.random.default_rng(1))[1]])
            self.model.extend(self.layout, drawn)
        self.factors, self.derived = dict(factors or {}), dict(derived or {})
        names = (*self.prior.names, *self.model.imputed)
        self.factor_inputs = {
            name: arguments(f, names, f"Posterior.factors[{name!r}]") for name, f in self.factors.items()
        }
        self.derived_inputs: dict[str, tuple[str, ...]] = {}
        for name, f in self.derived.items():
            if name in names:
                raise ParameterError(
                    f"Posterior.derived: {name} is a variable already. Give the derived value another name."
                )
            self.derived_inputs[name] = arguments(f, names, f"Posterior.derived[{name!r}]")
            names = (*names, name)

    # What the model is about.

    @property
    def coords(self) -> Coords:
        """Labels by dimension."""
        return self.prior.coords

    @property
    def observed(self) -> dict[str, np.ndarray]:
        """The data by outcome, NaN where they are missing; a single one is called y."""
        return self.model.observed()

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """The names of the axes of each variable that has a named one; an axis without is `x_dim_0`, as in ArviZ."""
        return {
            name: tuple(dim or f"{name}_dim_{axis}" for axis, dim in enumerate(slot.dims))
            for name, slot in self.layout.slots.items()
            if any(slot.dims)
        }

    @property
    def coordinate_names(self) -> list[str]:
        """A name for each unconstrained coordinate: `mu`, `theta[A]`, `beta[0]`."""
        return [name for slot in self.layout.slots.values() for name in slot.coordinate_names(self.coords)]

    def with_data(self, data: Any) -> Posterior:
        """The same model of other data."""
        if isinstance(self.model, LogLikelihood):
            raise UnsupportedError(
                "Posterior.loglike holds its own data. Give observe, the distribution of the data, instead."
            )
        return Posterior(
            self.prior,
            self.model.function,
            data,
            missing=self.missing,
            factors=self.factors,
            derived=self.derived,
        )

    def condition(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Posterior:
        """The same model with some variables fixed at values, nested or dotted; see `Joint.condition`."""
        return self.with_prior(self.prior.condition(values, **named))

    def reparameterised(self, choices: Mapping[str, str]) -> Posterior:
        """The same posterior in other coordinates: `{"theta": "noncentered", "beta": "centered"}`, by flat name.

        Values by name and their densities stay; the unconstrained vector is another one. ParameterError for an unknown
        name or choice, UnsupportedError for a prior that is of no location-scale family.
        """
        return self.with_prior(reparameterised(self.prior, choices))

    def with_prior(self, prior: Joint) -> Posterior:
        """The same model of the same data with another prior of variables of these names."""
        more: dict[str, Any] = {"factors": self.factors, "derived": self.derived}
        if isinstance(self.model, LogLikelihood):
            return Posterior(prior, loglike=self.model.function, **more)
        observed = self.observed
        data = observed["y"] if self.model.single else observed
        return Posterior(prior, self.model.function, data, missing=self.missing, **more)

    # Densities at named parameters.

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """All variables, nested, from the random ones: constants, plain values and missing observations included."""
        flat = flat_values(params)
        imputed = {name: self.checked(name, flat) for name in self.model.imputed}
        return {**self.prior.complete(self.of_prior(flat)), **imputed}

    def of_prior(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What is left of `params` without derived values and missing observations."""
        ours = {*self.derived, *self.model.imputed}
        return {name: value for name, value in flat_values(params).items() if name not in ours}

    def checked(self, name: str, flat: Mapping[str, Any]) -> Array:
        """Missing observations from named values, of the right shape."""
        if name not in flat:
            raise missing(name, flat)
        value = flat[name] if hasattr(flat[name], "shape") else np.asarray(flat[name])
        if value.shape != self.layout.slots[name].shape:
            raise ShapeError(
                f"The value of {name} has shape {value.shape}, its distribution {self.layout.slots[name].shape}."
            )
        return value

    def log_prior(self, params: Mapping[str, Any]) -> Array:
        """log p(parameters); -inf outside the support."""
        return self.prior.logpdf(self.of_prior(params))

    def log_likelihood(self, params: Mapping[str, Any]) -> Array:
        """log p(data | parameters); missing observations that are imputed count as data."""
        return self.model.log_likelihood(self.complete(params))

    def log_density(self, params: Mapping[str, Any]) -> Array:
        """log p(parameters) + log p(data | parameters) + factors, without log-Jacobians; -inf outside the support."""
        log_prior = self.log_prior(params)
        if not is_lifted(log_prior) and log_prior == -np.inf:
            return log_prior
        values = self.complete(params)
        return log_prior + self.model.log_likelihood(values) + self.weight(values)

    def pointwise_log_likelihood(self, params: Mapping[str, Any]) -> Any:
        """log p(y_i | parameters) of each observation, an array, or a dict of arrays by outcome; zero where missing."""
        return self.model.pointwise(self.complete(params))

    def factor_terms(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """The value of each factor."""
        return {name: f(**{n: values[n] for n in self.factor_inputs[name]}) for name, f in self.factors.items()}

    def weight(self, values: Mapping[str, Any]) -> Array:
        """The sum of the factors."""
        return total([add_up(terms) for terms in self.factor_terms(values).values()])

    # Densities at unconstrained coordinates.

    def logdensity(self, q: Array) -> Array:
        """The log-density of the unconstrained vector `q`: prior, likelihood and log-Jacobians. It can be traced."""
        self.check_sampleable()
        self.check_vector(q, "logdensity")
        # Far out, exp overflows to infinity, and the density there is zero: nothing to warn of, nor to refuse.
        with np.errstate(all="ignore"), unchecked():
            values, log_prior = self.prior.unpack(q, self.layout)
            values, log_jacobian = self.model.unpack(values, q, self.layout)
            log_density = log_prior + self.model.log_likelihood(values)
            log_density = log_density + log_jacobian if self.model.imputed else log_density
            return log_density + self.weight(values) if self.factors else log_density

    def log_jacobian(self, q: Array) -> Array:
        """log |dx/dq| of the supports of the variables, summed; none for a wrapped variable. It can be traced."""
        terms: list[Array] = []

        def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
            u = self.layout.slots[name].read(q)
            terms.append(log_volume(distribution, u))
            return bijector_of(distribution).forward(u)

        _, imputed = self.model.unpack(self.prior.walk(choose), q, self.layout)
        return total([*terms, imputed])

    def check_sampleable(self) -> None:
        """UnsupportedError if Hamiltonian Monte Carlo cannot move every parameter."""
        for slot in self.layout.slots.values():
            if slot.discrete:
                raise UnsupportedError(
                    f"{slot.name} is discrete ({slot.family}), and Hamiltonian Monte Carlo moves through real numbers. "
                    "Marginalise it: sum the likelihood over its values with probdiff.special.logsumexp."
                )
        if self.dim == 0:
            raise UnsupportedError("The prior has no random variable: there is nothing to sample.")

    # Between named parameters and coordinates.

    def located(self, q: Array) -> dict[str, Any]:
        """The random variables at `q`, by flat name, then the derived values. It can be traced."""
        values, _ = self.model.unpack(self.prior.locate(q, self.layout), q, self.layout)
        flat = flat_values(values)
        return {**{name: flat[name] for name in self.layout.slots}, **self.derive(values)}

    def derive(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The derived values at the values of all variables."""
        known, found = dict(values), {}
        for name, f in self.derived.items():
            known[name] = found[name] = f(**{n: known[n] for n in self.derived_inputs[name]})
        return found

    def unconstrain(self, params: Mapping[str, Any]) -> np.ndarray:
        """The unconstrained vector of named parameters; ParameterError, naming the variable, outside the support."""
        q = self.prior.pack(self.of_prior(params), self.layout)
        return np.concatenate([q, *self.model.pack(self.complete(params))]) if self.model.imputed else q

    # When the density is not finite.

    def debug(self, point: Any) -> Terms:
        """Print every term of the log-density at a point, and name the first that is not finite.

        `point` is a dict of named values, or an unconstrained vector, which adds the log-Jacobians. The terms are
        returned too.
        """
        terms = terms_at(self, point)
        print(terms)
        return terms

    def explain_point(self, q: np.ndarray) -> str:
        """The first term at the unconstrained `q` that is not finite, in words; empty if all are."""
        return terms_at(self, q).explain()

    # Predictions, and densities over draws.

    def prior_predictive(self, rng: np.random.Generator, size: int | None = None) -> dict[str, Any]:
        """A draw of the parameters from the prior and of the data given them, in one dict; or `size` draws, stacked."""
        if self.factors:
            name = next(iter(self.factors))
            raise UnsupportedError(f"{name} is a factor: the prior predictive cannot be drawn. Sample without data.")
        values = self.prior.rand(rng=rng, size=size)
        if size is None:
            return {**values, **self.model.rand(values, rng)}
        flat = {name: value for name, value in flat_values(values).items() if name in self.layout.slots}
        return {**values, **self.over_draws.data(flat, rng)}

    def posterior_predictive(
        self, draws: Any, rng: np.random.Generator, given: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """New data for each draw.

        `draws` is what `sample` returns, or a dict that holds every random variable, all with the same leading axes
        (draws, or chains and draws); the result has these axes too. `given` replaces inputs of the model by name, such
        as covariates: constants of the prior, and arguments of `observe` that have a default.
        """
        rows, lead = rows_of(draws, self.layout)
        drawn = self.over_draws.data(rows, rng, given)
        return {name: values.reshape(lead + values.shape[1:]) for name, values in drawn.items()}

    def log_likelihood_draws(self, draws: Any, chunk: int | None = None) -> Iterator[Any]:
        """The pointwise log-likelihood of the draws in order, a chunk at a time.

        Yields arrays of shape (rows, *shape of the data), or dicts of them by outcome; chains follow one another.
        Memory is that of one chunk, however many draws there are. `chunk` is the number of rows; without it, a chunk is
        about half a megabyte.
        """
        if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, (int, np.integer)) or chunk < 1):
            raise ParameterError(f"log_likelihood_draws.chunk must be a positive integer, got {chunk!r}")
        return self.over_draws.log_likelihood(rows_of(draws, self.layout)[0], chunk)

    def log_prior_draws(self, draws: Any) -> np.ndarray:
        """The log-prior of each draw, with the leading axes of the draws."""
        rows, lead = rows_of(draws, self.layout)
        return self.over_draws.log_prior(rows).reshape(lead)

    @functools.cached_property
    def over_draws(self) -> OverDraws:
        """What is computed for many draws, compiled at its first use."""
        return OverDraws(self)

    def dependants(self, name: str) -> dict[str, bool]:
        """The variables whose distribution is a function of `name`, and whether they are centred."""
        return dependants(self.prior, name)

    def table(self) -> str:
        """Variables and outcomes with their distributions, shapes, supports and dimensions; factors, derived values."""
        values = self.prior.survey(np.random.default_rng(0))[1]
        rows = self.model.rows(values)
        for name, hole in self.model.imputed.items():
            slot = self.layout.slots[name]
            rows.append((name, slot.family, hole.outcome, str(slot.shape), slot.support, ""))
        rows += [(name, "factor", ", ".join(needs), "", "", "") for name, needs in self.factor_inputs.items()]
        rows += [(name, "derived", ", ".join(needs), "", "", "") for name, needs in self.derived_inputs.items()]
        return self.prior.table(rows)

    def __repr__(self) -> str:
        return posterior_text(self.prior, self.observed, self.dim)
