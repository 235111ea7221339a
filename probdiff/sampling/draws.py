"""Draws: what a run returns, by name, with the ways to look at it, keep it and pass it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import ParameterError, ShapeError

if TYPE_CHECKING:
    from probdiff.sampling.diagnose import Diagnosis
    from probdiff.sampling.divergences import Divergences
    from probdiff.sampling.loo import LOO
    from probdiff.sampling.summary import Summary

Arrays = dict[str, NDArray[Any]]
RESERVED = ("chain", "draw")


def check_names(names: Mapping[str, Any], dims: Mapping[str, Sequence[str]], coords: Mapping[str, Any]) -> None:
    """Refuse names that would lose a variable on the way to ArviZ."""
    axes = {dim for of_variable in dims.values() for dim in of_variable} | set(coords)
    for name in names:
        if name in RESERVED:
            raise ParameterError(f"{name!r} is the name of the {name} axis. Rename the variable.")
        if "/" in name:
            raise ParameterError(f"{name!r} has a slash, which separates groups in ArviZ. Rename the variable.")
        if name in axes:
            raise ParameterError(f"{name!r} is both a variable and a dimension. Rename one of them.")
    for axis in axes:
        if axis in RESERVED:
            raise ParameterError(f"{axis!r} is the name of the {axis} axis. Rename the dimension.")


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Posterior draws and what the sampler says about them.

    posterior     name -> array (chain, draw, *shape)
    sample_stats  lp, acceptance_rate, step_size, n_steps, int_time, diverging, energy, energy_error, and for NUTS
                  tree_depth, reached_max_treedepth, max_energy_error: (chain, draw)
    warmup_posterior, warmup_sample_stats  the same for the warm-up, empty unless it was kept
    observed      the data; dims and coords name the axes of both
    attrs         seed, kernel, tune, partial, sampling_time and the like
    notes         what a reader of the results should know first: an interrupt, and what the quick checks of a run found
    diverged      raw places of divergences, chain, draw, q and momentum with a row each; `divergences` explains them
    model         what the draws are of; neither files nor pickles keep it
    """

    posterior: Arrays
    sample_stats: Arrays
    warmup_posterior: Arrays = field(default_factory=dict)
    warmup_sample_stats: Arrays = field(default_factory=dict)
    observed: Arrays = field(default_factory=dict)
    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    coords: dict[str, Any] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    diverged: Arrays = field(default_factory=dict)
    model: Any = None

    def __post_init__(self) -> None:
        check_names(self.posterior, self.dims, self.coords)
        if not self.posterior:
            raise ParameterError("Draws.posterior must have a variable, got none")
        shapes = {name: np.shape(x)[:2] for name, x in {**self.posterior, **self.sample_stats}.items()}
        first = next(iter(shapes.values()))
        for name, shape in shapes.items():
            if len(shape) < 2 or shape != first:
                raise ShapeError(f"Draws: {name!r} must have axes (chain, draw) = {first}, got {shape}")
        object.__setattr__(self, "dims", {name: tuple(dims) for name, dims in self.dims.items()})
        object.__setattr__(self, "coords", {name: np.asarray(labels) for name, labels in self.coords.items()})

    def __getstate__(self) -> dict[str, Any]:
        """Without the model, whose functions cannot be pickled, and what was computed from it."""
        return {name: value for name, value in vars(self).items() if name != "divergences"} | {"model": None}

    @property
    def chains(self) -> int:
        """Number of chains."""
        return int(next(iter(self.posterior.values())).shape[0])

    @property
    def draws(self) -> int:
        """Number of draws of each chain."""
        return int(next(iter(self.posterior.values())).shape[1])

    @property
    def partial(self) -> bool:
        """Whether an interrupt ended the run early."""
        return bool(self.attrs.get("partial", False))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.posterior:
            raise KeyError(f"{name!r} is not among the variables {', '.join(self.posterior)}")
        return self.posterior[name]

    def __repr__(self) -> str:
        lines = [f"Draws: {self.chains} chains x {self.draws} draws" + (" (partial)" if self.partial else "")]
        width = max(map(len, self.posterior))
        for name, x in self.posterior.items():
            dims = self.dims.get(name, ())
            axes = [f"{dims[i]}: {n}" if i < len(dims) else str(n) for i, n in enumerate(x.shape[2:])]
            lines.append(f"  {name:<{width}}  {'(' + ', '.join(axes) + ')' if axes else 'scalar'}")
        if forms := self.attrs.get("reparam"):
            lines.append(f"  coordinates: {', '.join(f'{name} {form}' for name, form in forms.items())}")
        lines += [f"  ! {note}" for note in self.notes]
        return "\n".join(lines)

    def summary(self, names: Sequence[str] | None = None) -> Summary:
        """Mean, standard deviation, Monte Carlo error, effective sample sizes and R-hat of every scalar, by ArviZ."""
        from probdiff.sampling.summary import summarise

        return summarise(self, names)

    def diagnose(self) -> Diagnosis:
        """What is wrong with the run, in words, and what to try: divergences, R-hat, effective sample sizes, energies,
        step sizes, stuck chains, heavy tails. The quick part of it has run already, and is in `notes`."""
        from probdiff.sampling.diagnose import diagnose

        return diagnose(self)

    @cached_property
    def divergences(self) -> Divergences:
        """Where transitions diverged, with the worst parameter and observation of each: at most 100 a chain."""
        from probdiff.sampling.divergences import Divergences

        return Divergences(self)

    def with_model(self, model: Any) -> Draws:
        """The same draws with their model, which a file does not keep."""
        from probdiff.sampling.predictive import check_model

        check_model(self, model)
        return replace(self, model=model)

    def log_likelihood(self) -> Arrays:
        """The log-likelihood of each observation by outcome, (chain, draw, *shape of the data); zero where missing.

        All of it at once; `Posterior.log_likelihood_draws` gives it a block of draws at a time.
        """
        from probdiff.sampling.predictive import log_likelihood

        return log_likelihood(self)

    def loo(self, name: str | None = None) -> LOO:
        """Leave-one-out cross-validation by PSIS: elpd and its error, and how far each observation can be trusted.

        Of all observations, or of one outcome by name.
        """
        from probdiff.sampling.loo import loo

        return loo(self, name)

    def predict(
        self, values: Mapping[str, Any] | None = None, /, *, rng: np.random.Generator | None = None, **named: Any
    ) -> Arrays:
        """New data for each draw, by outcome, (chain, draw, *shape of the data).

        `values`, or keywords, replace inputs of the model by name, such as covariates: constants of the prior, and
        arguments of `observe` that have a default, as X in `lambda beta, X=X: Normal(X @ beta, 1)`.
        """
        from probdiff.sampling.predictive import predict

        return predict(self, {**(values or {}), **named}, rng)

    def to_arviz(
        self,
        *,
        log_likelihood: bool = False,
        log_prior: bool = False,
        posterior_predictive: bool = False,
        prior: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """The draws for ArviZ: an `InferenceData` under ArviZ 0.x, an `xarray.DataTree` under ArviZ 1.x.

        The first three ask the model for a further group each; `prior` is a number of draws for the groups prior and
        prior_predictive.
        """
        from probdiff.sampling.to_arviz import to_arviz

        return to_arviz(self, log_likelihood, log_prior, posterior_predictive, prior, rng)

    def to_dataframe(self) -> Any:
        """A pandas table with a row per draw and a column per scalar, after the columns chain and draw."""
        from probdiff.sampling.to_arviz import to_dataframe

        return to_dataframe(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, all at once or not at all; `Draws.load` reads it back bit for bit."""
        from probdiff.sampling.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Draws:
        """The draws that `save` wrote, or those of a checkpoint so far. No code is run from the file (no pickle)."""
        from probdiff.sampling.storage import load

        return load(path)

    def plot(self, path: str | PathLike[str] | None = None, names: Sequence[str] | None = None) -> Any:
        """Densities and traces of each scalar, a colour per chain; to a file if `path` is given. Returns the figure."""
        from probdiff.sampling.plots import plot

        return plot(self, path, names)

    def plot_posterior(self, path: str | PathLike[str] | None = None, names: Sequence[str] | None = None) -> Any:
        """Density, mean and central 94 % of each scalar; to a file if `path` is given. Returns the figure."""
        from probdiff.sampling.plots import plot_posterior

        return plot_posterior(self, path, names)

    def label(self, name: str, index: Sequence[Any]) -> str:
        """How a scalar is called: `theta[Deerfield]`, `x[0, 2]`."""
        dims = self.dims.get(name, ())
        parts = [
            str(self.coords[dims[a]][i]) if a < len(dims) and dims[a] in self.coords else str(i)
            for a, i in enumerate(index)
        ]
        return name + (f"[{', '.join(parts)}]" if parts else "")

    def scalar(self, name: str, index: Sequence[int]) -> NDArray[Any]:
        """One scalar of a variable, (chain, draw)."""
        key: Any = (slice(None), slice(None), *index)
        return np.asarray(self[name][key])

    def scalars(self, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Every scalar as (chain, draw), by its label."""
        return {
            self.label(name, index): self.scalar(name, index)
            for name in (self.posterior if names is None else names)
            for index in np.ndindex(self[name].shape[2:])
        }
