"""Draws: what a run returns, by name, with the ways to look at it, keep it and pass it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import ParameterError, ShapeError

if TYPE_CHECKING:
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
    notes         what a reader of the results should know first: divergences, an interrupt
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
        lines += [f"  ! {note}" for note in self.notes]
        return "\n".join(lines)

    def summary(self, names: Sequence[str] | None = None) -> Summary:
        """Mean, standard deviation, Monte Carlo error, effective sample sizes and R-hat of every scalar, by ArviZ."""
        from probdiff.sampling.summary import summarise

        return summarise(self, names)

    def to_arviz(self) -> Any:
        """The draws for ArviZ: an `InferenceData` under ArviZ 0.x, an `xarray.DataTree` under ArviZ 1.x."""
        from probdiff.sampling.to_arviz import to_arviz

        return to_arviz(self)

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
        """The draws that `save` wrote. No code is run from the file (no pickle)."""
        from probdiff.sampling.storage import load

        return load(path)

    def plot_trace(self, path: str | PathLike[str] | None = None, names: Sequence[str] | None = None) -> Any:
        """Densities and traces of each scalar, a colour per chain; to a file if `path` is given. Returns the figure."""
        from probdiff.sampling.plots import plot_trace

        return plot_trace(self, path, names)

    def plot_posterior(self, path: str | PathLike[str] | None = None, names: Sequence[str] | None = None) -> Any:
        """Density, mean and central 94 % of each scalar; to a file if `path` is given. Returns the figure."""
        from probdiff.sampling.plots import plot_posterior

        return plot_posterior(self, path, names)

    def scalars(self, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Every scalar as (chain, draw), under labels such as `theta[Deerfield]` or `x[0, 2]`."""
        found: Arrays = {}
        for name in self.posterior if names is None else names:
            x = self[name]
            dims = self.dims.get(name, ())
            for index in np.ndindex(x.shape[2:]):
                parts = [str(self.coords[dims[a]][i]) if a < len(dims) and dims[a] in self.coords else str(i)
                         for a, i in enumerate(index)]  # fmt: skip
                found[name + (f"[{', '.join(parts)}]" if parts else "")] = x[(slice(None), slice(None), *index)]
        return found
