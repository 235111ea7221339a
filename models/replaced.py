"""A posterior at other inputs: new covariates in place of those that the data came with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import ParameterError
from probdiff.models.joint import Joint
from probdiff.models.variables import Factor, is_function

if TYPE_CHECKING:
    from probdiff.models.posterior import Posterior


def replaced_inputs(posterior: Posterior, given: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function from random variables to the distributions of the data, with other inputs.

    An input is a constant of the prior, or an argument with a default of `observe` or of a function in the prior; it is
    replaced wherever it stands. ParameterError for a name that is none.
    """
    prior, model = posterior.prior, posterior.model
    constants = {name for name, variable in prior.variables.items() if is_constant(variable)}
    functions = [variable for variable in prior.variables.values() if is_function(variable)]
    inputs = {name for f in (*functions, model.function) for name in defaults(f) if name not in prior.names}
    for name in given:
        if name not in constants | inputs:
            raise ParameterError(
                f"{name} is no input of the model ({', '.join(sorted(constants | inputs)) or 'it has none'}). An input "
                "is a constant of the prior, or an argument of observe with a default: lambda beta, X=X: …"
            )
    arrays = {name: np.asarray(value)[()] for name, value in given.items()}
    variables = {
        name: arrays[name] if name in constants & set(arrays) else with_defaults(variable, arrays)
        for name, variable in prior.variables.items()
    }
    other = Joint(**variables).copy(prior.coords, prior.fixed)
    observe = with_defaults(model.function, arrays)

    def outcomes(row: Mapping[str, Any]) -> dict[str, Any]:
        imputed = {name: row[name] for name in model.imputed}
        values = {**other.complete(posterior.of_prior(row)), **imputed}
        return dict(model.outcomes(values, observe))

    return outcomes


def is_constant(variable: Any) -> bool:
    """Whether a variable of a joint is a plain value."""
    return not (is_function(variable) or isinstance(variable, (Distribution, Joint, Factor)))


def defaults(function: Callable[..., Any]) -> set[str]:
    """The arguments of a function that have a default."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name for each in parameters if each.default is not inspect.Parameter.empty}


def with_defaults(variable: Any, given: Mapping[str, Any]) -> Any:
    """A function with other defaults for the arguments in `given` that have one; anything else as it is."""
    if not is_function(variable):
        return variable
    found = {name: given[name] for name in defaults(variable) & set(given)}
    return functools.partial(variable, **found) if found else variable
