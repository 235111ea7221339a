"""Exponential families: what a family says of itself as one, and the fit from averages of its sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from probdiff.errors import DataError, ParameterError
from probdiff.tree import Array

__all__ = ["ExponentialForm", "fit_statistics"]


class ExponentialForm(NamedTuple):
    """log p(x) = Σ_i parameters_i statistics(x)_i - log_partition + (what depends on x alone).

    held  the fields that must be known numbers for that
    """

    statistics: Callable[[Array], tuple[Array, ...]]
    parameters: tuple[Array, ...]
    log_partition: Array
    held: tuple[str, ...] = ()


def fit_statistics(family: Any, means: Sequence[Any], fixed: dict[str, Any]) -> Any:
    """The member with the largest likelihood of observations whose sufficient statistics have these averages."""
    from probdiff.distributions.fitting import climbed, free_parameters, inside

    owner = family.__name__
    averages = [float(mean) for mean in means]
    if not np.all(np.isfinite(averages)):
        raise DataError(f"{owner}.fit_statistics needs finite averages, got {averages}.")
    names = free_parameters(family, fixed)
    start = {name: inside(family.domains[name]) for name in names}
    form = family(**start, **fixed, check=False).exponential_form()
    missing = [name for name in form.held if name not in fixed]
    if missing:
        raise ParameterError(f"{owner}.fit_statistics needs the parameter {missing[0]}: the statistics hang on it.")
    if len(averages) != len(form.parameters):
        raise DataError(f"{owner}.fit_statistics needs {len(form.parameters)} averages, got {len(averages)}.")
    start.update((name, value) for name, value in family.start_statistics(*averages).items() if name in start)

    def loss(member: Any) -> Any:
        of = member.exponential_form()
        return of.log_partition - sum(eta * mean for eta, mean in zip(of.parameters, averages, strict=True))

    return climbed(family, names, start, fixed, loss, units={})
