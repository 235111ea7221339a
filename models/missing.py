"""Missing observations: left out of the likelihood, or unknowns with the observation model as their density."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Bijector, bijector_for
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models.dimensions import elements, family
from probdiff.models.layout import Layout, Slot
from probdiff.models.transport import add_up
from probdiff.tree import Array

WAYS = ("skip", "impute")


def check_way(missing: Any) -> None:
    """ParameterError unless `missing` is one of the ways to deal with missing observations, or None."""
    if missing is not None and missing not in WAYS:
        raise ParameterError(f"Posterior.missing must be 'skip', 'impute' or None, got {missing!r}.")


class Holes:
    """The missing entries of one outcome.

    outcome  its name, of which the variable of imputed entries has its own: `y_missing`
    mask     True where an entry is missing
    """

    def __init__(self, outcome: str, mask: np.ndarray, impute: bool) -> None:
        self.outcome, self.mask, self.impute = outcome, mask, impute
        self.name = f"{outcome}_missing"
        self.index = np.nonzero(mask)
        self.count = len(self.index[0])
        # For each entry of the data its place among the missing ones; any place for one that is there.
        self.places = np.where(mask, np.cumsum(mask).reshape(mask.shape) - 1, 0)

    def check(self, distribution: Distribution) -> None:
        """UnsupportedError if the distribution cannot do without these entries."""
        element = elements(distribution)
        name, axes = family(element), len(element.event_shape)
        if self.impute and element.support.discrete:
            raise UnsupportedError(
                f"{self.name} would be discrete ({name}), and a missing count is no coordinate. Pass missing='skip'."
            )
        if self.impute and axes and element.support.name not in ("real", "real_vector"):
            raise UnsupportedError(
                f"{self.name} would be part of a value of {name} ({element.support.rule}). Pass missing='skip'."
            )
        if not self.impute and axes:
            inner = tuple(range(-axes, 0))
            if not np.array_equal(np.all(self.mask, inner), np.any(self.mask, inner)):
                raise UnsupportedError(
                    f"{self.outcome}: a value of {name} is missing in part, and it has one density as a whole. "
                    "Pass missing='impute', or take the whole value out."
                )

    def values_missing(self, distribution: Distribution) -> np.ndarray:
        """The mask by value: a vector is missing as a whole."""
        axes = len(elements(distribution).event_shape)
        return np.any(self.mask, axis=tuple(range(-axes, 0))) if axes else self.mask

    def fill(self, data: np.ndarray, imputed: Array) -> Array:
        """The data with values at the missing entries."""
        return np.where(self.mask, imputed[self.places], data)

    def slot(self, distribution: Distribution, layout: Layout) -> None:
        """Append the missing entries to the layout, as a variable."""
        support = elements(distribution).support
        layout.slots[self.name] = Slot(
            name=self.name,
            family=family(distribution),
            support="real" if support.event_ndim else support.name,
            discrete=False,
            shape=(self.count,),
            dims=(None,),
            unconstrained_shape=(self.count,),
            start=layout.dim,
        )
        layout.dim += self.count

    def bijector(self, distribution: Distribution) -> Bijector:
        """The map onto the support of the missing entries, whose bounds may differ between them."""
        support: Any = elements(distribution).support
        if getattr(support.lower, "shape", ()) or getattr(support.upper, "shape", ()):
            lower, upper = (self.pick(bound) for bound in (support.lower, support.upper))
            support = replace(support, lower=lower, upper=upper)
        return bijector_for(support)

    def pick(self, bound: Array) -> Array:
        """The entries of a bound that belong to missing data; a scalar as it is."""
        return np.broadcast_to(bound, self.mask.shape)[self.index] if getattr(bound, "shape", ()) else bound

    def unpack(self, distribution: Distribution, u: Array) -> tuple[Array, Array]:
        """The missing entries at unconstrained `u`, and the log-Jacobian."""
        bijector = self.bijector(distribution)
        return bijector.forward(u), add_up(bijector.log_jacobian(u))
