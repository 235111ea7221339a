"""What the model says of its draws: pointwise log-likelihoods, new data, draws of the prior."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import ParameterError, UnsupportedError

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

Arrays = dict[str, NDArray[Any]]
IN_MEMORY = 1 << 30
"""Bytes from which the log-likelihood of an outcome is kept in a temporary file."""


def model_of(draws: Draws, method: str, needs: str = "") -> Any:
    """The model of the draws, in the name of a method of Draws, which needs the model to have something."""
    if draws.model is None:
        raise ParameterError(
            f"Draws.{method} needs the model, and these draws have none: files keep only the draws. "
            "Give it: draws = draws.with_model(posterior)."
        )
    if needs and not hasattr(draws.model, needs):
        raise UnsupportedError(
            f"Draws.{method} needs a Posterior, which knows its observations, got {type(draws.model).__name__}."
        )
    return draws.model


def check_model(draws: Draws, model: Any) -> None:
    """ParameterError if the variables of `model` are not those of the draws, or have other shapes."""
    for name, x in model.constrain_many(np.zeros((1, model.dim))).items():
        if name not in draws.posterior:
            raise ParameterError(
                f"Draws.with_model: {name} is a variable of the model, and not among the draws "
                f"({', '.join(draws.posterior)})."
            )
        if x.shape[1:] != draws[name].shape[2:]:
            raise ParameterError(
                f"Draws.with_model: {name} has shape {x.shape[1:]} in the model and {draws[name].shape[2:]} in the "
                "draws."
            )


def by_outcome(model: Any, rows: Mapping[str, Any], count: int) -> Arrays:
    """The pointwise log-likelihood of `count` points in `rows`: an array (count, *shape of the data) by outcome.

    It is made and written block by block; what takes more than a gigabyte goes to a temporary file.
    """
    names = list(model.observed)
    alone = names[0] if len(names) == 1 else "loglike"
    found: Arrays = {}
    start = 0
    for block in model.log_likelihood_draws(rows):
        outcomes = block if isinstance(block, Mapping) else {alone: block}
        for name, terms in outcomes.items():
            if name not in found:
                found[name] = _table((count, *terms.shape[1:]))
            found[name][start : start + len(terms)] = terms
        start += len(terms)
    return found


def log_likelihood(draws: Draws, method: str = "log_likelihood") -> Arrays:
    """The pointwise log-likelihood by outcome, (chain, draw, *shape of the data); zero where data are missing."""
    model = model_of(draws, method, "log_likelihood_draws")
    found = by_outcome(model, draws.posterior, draws.chains * draws.draws)
    return {name: x.reshape(draws.chains, draws.draws, *x.shape[1:]) for name, x in found.items()}


def log_prior(draws: Draws) -> NDArray[np.float64]:
    """The log-prior of each draw, (chain, draw)."""
    found: NDArray[np.float64] = model_of(draws, "to_arviz", "log_prior_draws").log_prior_draws(draws)
    return found


def predict(draws: Draws, given: Mapping[str, Any], rng: np.random.Generator | None) -> Arrays:
    """New data for each draw, where the constants and defaults in `given` are replaced."""
    model = model_of(draws, "predict", "posterior_predictive")
    rng = np.random.default_rng() if rng is None else rng
    found: Arrays = model.posterior_predictive(draws, rng, given)
    return found


def prior_draws(draws: Draws, size: int, rng: np.random.Generator | None) -> tuple[Arrays, Arrays]:
    """`size` draws of the prior as a single chain, and of data given them; without the latter if none can be drawn."""
    from probdiff.models.values import flat_values

    model = model_of(draws, "to_arviz", "prior_predictive")
    rng = np.random.default_rng() if rng is None else rng
    outcomes = set(model.observed)
    drawn = model.prior_predictive(rng, size) if outcomes else model.prior.rand(rng=rng, size=size)
    flat = {name: np.asarray(x)[None] for name, x in flat_values(drawn).items()}
    prior = {name: x for name, x in flat.items() if name in draws.posterior}
    return prior, {name: x for name, x in flat.items() if name in outcomes}


def _table(shape: tuple[int, ...]) -> NDArray[np.float64]:
    if 8 * prod(shape) <= IN_MEMORY:
        return np.empty(shape)
    with tempfile.TemporaryFile(prefix="probdiff-") as file:  # the map holds it after it is closed
        return np.memmap(file, dtype=np.float64, shape=shape)
