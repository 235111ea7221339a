"""Draws as ArviZ objects and as a pandas table: the one place that knows ArviZ's versions."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import UnsupportedError

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

Floats = NDArray[np.float64]
NOT_OF_THE_RUN = ("observed_data", "prior", "prior_predictive")
"""Groups that have nothing to do with the seed and the time of sampling."""


def import_arviz() -> Any:
    """ArviZ, without the notice that 0.23 gives on import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
    return arviz


def uses_datatree(version: str) -> bool:
    """ArviZ 1.0 replaced `InferenceData` by `xarray.DataTree`, and keywords of `from_dict` by a nested dict."""
    return int(version.split(".")[0]) >= 1


def to_arviz(
    draws: Draws,
    log_likelihood: bool = False,
    log_prior: bool = False,
    posterior_predictive: bool = False,
    prior: int = 0,
    rng: np.random.Generator | None = None,
) -> Any:
    """Groups posterior, sample_stats, observed_data and, if kept, warmup_posterior and warmup_sample_stats.

    On demand, from the model: log_likelihood, log_prior, posterior_predictive, and prior with prior_predictive.
    """
    from probdiff.sampling import predictive

    az = import_arviz()
    groups = {
        "posterior": draws.posterior,
        "sample_stats": draws.sample_stats,
        "warmup_posterior": draws.warmup_posterior,
        "warmup_sample_stats": draws.warmup_sample_stats,
        "observed_data": {name: np.asarray(x) for name, x in draws.observed.items()},
    }
    if log_likelihood:
        groups["log_likelihood"] = predictive.log_likelihood(draws, "to_arviz")
    if log_prior:
        groups["log_prior"] = {"log_prior": predictive.log_prior(draws)}
    if posterior_predictive:
        groups["posterior_predictive"] = predictive.predict(draws, {}, rng)
    if prior:
        groups["prior"], groups["prior_predictive"] = predictive.prior_draws(draws, prior, rng)
    groups = {group: arrays for group, arrays in groups.items() if arrays}
    # save_warmup: ArviZ drops warm-up groups without it, silently.
    shared: dict[str, Any] = {
        "save_warmup": True,
        "coords": draws.coords,
        "dims": {name: list(dims) for name, dims in draws.dims.items() if dims},
    }
    attrs = {"inference_library": "probdiff"} | {name: _storable(value) for name, value in draws.attrs.items()}
    with warnings.catch_warnings():
        # Its check of shapes takes more chains than draws for a mistake; here the axes are certain.
        warnings.simplefilter("ignore")
        if uses_datatree(az.__version__):
            converted = az.from_dict(groups, **shared)
        else:
            converted = az.from_dict(**groups, **shared)
            if log_prior:  # which from_dict does not know
                converted.add_groups(log_prior=groups["log_prior"])
    for group in groups:
        if group not in NOT_OF_THE_RUN:
            converted[group].attrs.update(attrs)
    return converted


def psis_loo(log_likelihood: Floats, r_eff: float) -> tuple[Floats, Floats]:
    """log p(y_i | the others) and Pareto k of each observation, from log-likelihoods (draw, observation)."""
    az = import_arviz()
    group = {"log_likelihood": {"y": log_likelihood[None]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of large k, which the caller reports
        if uses_datatree(az.__version__):
            found = az.loo(az.from_dict(group), pointwise=True, reff=r_eff)
            return np.asarray(found.elpd_i), np.asarray(found.pareto_k)
        found = az.loo(az.from_dict(**group), pointwise=True, reff=r_eff, scale="log")
        return np.asarray(found.loo_i), np.asarray(found.pareto_k)


def effective_draws(draws: Draws) -> float:
    """The effective sample size of the mean, averaged over all scalars that move."""
    az = import_arviz()
    moving = [x for x in draws.scalars().values() if np.all(np.isfinite(x)) and np.ptp(x) > 0]
    return float(np.mean([float(np.squeeze(az.ess(x, method="mean"))) for x in moving]))


def to_dataframe(draws: Draws) -> Any:
    """chain, draw, and a column per scalar."""
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError:
        raise UnsupportedError("Draws.to_dataframe needs pandas. Install it with: pip install pandas") from None
    columns = {"chain": np.repeat(np.arange(draws.chains), draws.draws),
               "draw": np.tile(np.arange(draws.draws), draws.chains)}  # fmt: skip
    return pandas.DataFrame(columns | {label: x.ravel() for label, x in draws.scalars().items()})


def _storable(value: Any) -> Any:
    """Attributes that netCDF can hold: strings and 64-bit numbers."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return str(value)
