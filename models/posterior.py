"""Posteriors: a prior and a model of the data, seen from every side that sampling and checking need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models.dimensions import Coords
from probdiff.models.joint import Joint
from probdiff.models.likelihood import LogLikelihood, ObservationModel
from probdiff.models.text import posterior_text
from probdiff.models.values import flat_values, missing, stack
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

# Stan's habit: a start within two units of the origin in every unconstrained coordinate.
START_RADIUS = 2.0


class Posterior:
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
    ) -> None:
        if (observe is None) == (loglike is None):
            raise ParameterError("Posterior takes either observe and data, or loglike.")
        if not isinstance(prior, Joint):
            raise UnsupportedError(
                f"Posterior.prior must be a Joint, got {type(prior).__name__}. "
                "Name its variables: Joint(mu=Normal(0, 1))."
            )
        self.prior = prior.with_coords(coords or {})
        self.layout, drawn = self.prior.survey(np.random.default_rng(0))
        self.model: ObservationModel | LogLikelihood
        if observe is not None:
            self.model = ObservationModel(observe, data, self.prior.names, self.coords)
        elif data is not None:
            raise ParameterError("Posterior.loglike takes no data: let the function hold it, or give observe instead.")
        elif loglike is not None:
            self.model = LogLikelihood(loglike, self.prior.names)
        with np.errstate(all="ignore"):
            self.model.check([drawn, self.prior.survey(np.random.default_rng(1))[1]])

    # What the model is about.

    @property
    def dim(self) -> int:
        """The number of unconstrained coordinates."""
        return self.layout.dim

    @property
    def coords(self) -> Coords:
        """Labels by dimension."""
        return self.prior.coords

    @property
    def observed(self) -> dict[str, np.ndarray]:
        """The data by outcome; a single one is called y."""
        return dict(self.model.data)

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
        return Posterior(self.prior, self.model.function, data)

    # Densities at named parameters.

    def log_prior(self, params: Mapping[str, Any]) -> Array:
        """log p(parameters); -inf outside the support."""
        return self.prior.logpdf(params)

    def log_likelihood(self, params: Mapping[str, Any]) -> Array:
        """log p(data | parameters)."""
        return self.model.log_likelihood(self.prior.complete(params))

    def log_density(self, params: Mapping[str, Any]) -> Array:
        """log p(parameters) + log p(data | parameters), without log-Jacobians; -inf outside the support."""
        log_prior = self.log_prior(params)
        if not is_lifted(log_prior) and log_prior == -np.inf:
            return log_prior
        return log_prior + self.log_likelihood(params)

    def pointwise_log_likelihood(self, params: Mapping[str, Any]) -> Any:
        """log p(y_i | parameters) for each observation: an array, or a dict of arrays by outcome."""
        return self.model.pointwise(self.prior.complete(params))

    # Densities at unconstrained coordinates.

    def logdensity(self, q: Array) -> Array:
        """The log-density of the unconstrained vector `q`: prior, likelihood and log-Jacobians. It can be traced."""
        self.check_sampleable()
        if q.shape != (self.dim,):
            raise ShapeError(f"logdensity needs a vector of length {self.dim}, got shape {q.shape}.")
        # Far out, exp overflows to infinity, and the density there is zero: nothing to warn of.
        with np.errstate(all="ignore"):
            values, log_prior = self.prior.unpack(q, self.layout)
            return log_prior + self.model.log_likelihood(values)

    def value_and_grad(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """The log-density of `q` and its gradient, from one compiled program."""
        value, gradient = self.compiled(q)
        return float(value), gradient

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled program of value and gradient, made at its first use."""
        from probdiff import compile, value_and_grad

        self.check_sampleable()
        return compile(value_and_grad(self.logdensity))

    @property
    def address(self) -> int:
        """The address of a C function of value and gradient; see `Compiled.address`."""
        return int(self.compiled.record(np.zeros(self.dim)).address)

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

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """A starting point: uniform in (-2, 2) for each unconstrained coordinate. Its density is not looked at."""
        self.check_sampleable()
        return rng.uniform(-START_RADIUS, START_RADIUS, self.dim)

    # Between named parameters and coordinates.

    def constrain(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """The random variables at the unconstrained vector `q`, by flat name."""
        q = np.asarray(q, dtype=float)
        if q.shape != (self.dim,):
            raise ShapeError(f"constrain needs a vector of length {self.dim}, got shape {q.shape}.")
        self.check_sampleable()
        with np.errstate(all="ignore"):
            return {name: np.asarray(value) for name, value in self.located(q).items()}

    def constrain_many(self, Q: np.ndarray) -> dict[str, np.ndarray]:
        """The same for each vector along the last axis of `Q`, which may have any leading axes."""
        Q = np.asarray(Q, dtype=float)
        if Q.ndim == 0 or Q.shape[-1] != self.dim:
            raise ShapeError(f"constrain_many needs vectors of length {self.dim}, got shape {Q.shape}.")
        self.check_sampleable()
        lead, rows = Q.shape[:-1], Q.reshape(-1, self.dim)
        values = {name: np.empty((len(rows), *slot.shape)) for name, slot in self.layout.slots.items()}
        for index, q in enumerate(rows):
            for name, value in self.compiled_located(q).items():
                values[name][index] = value
        return {name: array.reshape(lead + array.shape[1:]) for name, array in values.items()}

    def located(self, q: Array) -> dict[str, Any]:
        """The random variables at `q`, by flat name. It can be traced."""
        values = flat_values(self.prior.locate(q, self.layout))
        return {name: values[name] for name in self.layout.slots}

    @functools.cached_property
    def compiled_located(self) -> Any:
        """The compiled program of `located`, made at its first use."""
        from probdiff import compile

        return compile(self.located)

    def unconstrain(self, params: Mapping[str, Any]) -> np.ndarray:
        """The unconstrained vector of named parameters; ParameterError, naming the variable, outside the support."""
        return self.prior.pack(params, self.layout)

    # Predictions.

    def prior_predictive(self, rng: np.random.Generator, size: int | None = None) -> dict[str, Any]:
        """A draw of the parameters from the prior and of the data given them, in one dict; or `size` draws, stacked."""
        if size is not None:
            return stack([self.prior_predictive(rng) for _ in range(size)])
        values = self.prior.rand(rng=rng)
        return {**values, **self.model.rand(values, rng)}

    def posterior_predictive(self, draws: Any, rng: np.random.Generator) -> dict[str, Any]:
        """New data for each draw.

        `draws` is what `sample` returns, or a dict that holds every random variable, all with the same leading axes
        (draws, or chains and draws); the result has these axes too.
        """
        points, lead = self.points(getattr(draws, "posterior", draws))
        drawn = stack([self.model.rand(self.prior.complete(point), rng) for point in points])
        return {name: values.reshape(lead + values.shape[1:]) for name, values in drawn.items()}

    def points(self, draws: Mapping[str, Any]) -> tuple[Iterable[dict[str, Any]], tuple[int, ...]]:
        """The draws one by one, and their leading axes."""
        flat = {name: np.asarray(values) for name, values in flat_values(draws).items() if name in self.layout.slots}
        leads = set()
        for name, slot in self.layout.slots.items():
            if name not in flat:
                raise missing(name, flat)
            axes = flat[name].ndim - len(slot.shape)
            if axes < 0 or flat[name].shape[axes:] != slot.shape:
                raise ShapeError(f"Draws of {name} have shape {flat[name].shape}, which does not end in {slot.shape}.")
            leads.add(flat[name].shape[:axes])
        if len(leads) != 1:
            raise ShapeError(f"Draws of different variables have different leading axes: {sorted(leads)}.")
        lead = leads.pop()
        rows = {name: flat[name].reshape((-1, *slot.shape)) for name, slot in self.layout.slots.items()}
        count = int(np.prod(lead, dtype=int))
        return ({name: values[row] for name, values in rows.items()} for row in range(count)), lead

    def table(self) -> str:
        """Variables and outcomes with their distributions, shapes, supports and dimensions."""
        return self.prior.table(self.model.rows(self.prior.survey(np.random.default_rng(0))[1]))

    def __repr__(self) -> str:
        return posterior_text(self.prior, self.observed, self.dim)
