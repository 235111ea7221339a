"""What a posterior says of many draws: densities and new data, by native loops over the draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.errors import ShapeError
from probdiff.models.dimensions import over_rows
from probdiff.models.layout import Layout
from probdiff.models.replaced import replaced_inputs
from probdiff.models.rows import Rows
from probdiff.models.values import flat_values, missing

if TYPE_CHECKING:
    from probdiff.models.posterior import Posterior

Arrays = dict[str, np.ndarray]


class OverDraws:
    """Functions of one point of a posterior, compiled for rows of points as they are asked for."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior
        self.compiled: dict[Any, Rows] = {}
        # About how many numbers a draw and its data are.
        self.width = 2 * posterior.dim + sum(array.size for array in posterior.model.data.values())

    def rows(self, what: str, f: Any, size: int | None = None) -> Rows:
        """`f` compiled for rows of points, made once for each name and block size."""
        if (what, size) not in self.compiled:
            self.compiled[what, size] = Rows(f, self.width, size)
        return self.compiled[what, size]

    def log_likelihood(self, rows: Arrays, chunk: int | None) -> Iterator[Any]:
        """Pointwise, a block at a time."""
        return self.rows("log-likelihood", self.posterior.pointwise_log_likelihood, chunk).blocks(rows)

    def log_prior(self, rows: Arrays) -> np.ndarray:
        """The log-prior of each row."""
        found: np.ndarray = self.rows("log-prior", self.posterior.log_prior)(rows)
        return found

    def data(self, rows: Arrays, rng: np.random.Generator, given: Mapping[str, Any] | None = None) -> Arrays:
        """New data for each row: the parameters of their distributions by a loop, then one draw of all.

        `given` replaces constants of the prior and default arguments, for this call: it is compiled anew.
        """
        outcomes = self.outcomes if not given else replaced_inputs(self.posterior, given)
        one = outcomes({name: values[0] for name, values in rows.items()})
        found = (Rows(outcomes, self.width) if given else self.rows("outcomes", outcomes))(rows)
        return {name: np.asarray(over_rows(found[name], each).rand(rng=rng)) for name, each in one.items()}

    def outcomes(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The distributions of the data given the random variables."""
        return dict(self.posterior.model.outcomes(self.posterior.complete(row)))


def rows_of(draws: Any, layout: Layout) -> tuple[Arrays, tuple[int, ...]]:
    """The random variables of draws with one leading axis, and the leading axes that they had.

    `draws` is what `sample` returns, or a dict. ParameterError if a variable is not in it, ShapeError if shapes differ.
    """
    given = getattr(draws, "posterior", draws)
    flat = {name: np.asarray(values) for name, values in flat_values(given).items() if name in layout.slots}
    leads = set()
    for name, slot in layout.slots.items():
        if name not in flat:
            raise missing(name, flat)
        axes = flat[name].ndim - len(slot.shape)
        if axes < 0 or flat[name].shape[axes:] != slot.shape:
            raise ShapeError(f"Draws of {name} have shape {flat[name].shape}, which does not end in {slot.shape}.")
        leads.add(flat[name].shape[:axes])
    if len(leads) != 1:
        raise ShapeError(f"Draws of different variables have different leading axes: {sorted(leads)}.")
    lead = leads.pop()
    if 0 in lead:
        raise ShapeError(f"There are no draws: the leading axes are {lead}.")
    return {name: flat[name].reshape((-1, *slot.shape)) for name, slot in layout.slots.items()}, lead
