"""Draws as ArviZ objects and as a pandas table: the one place that knows ArviZ's versions."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.errors import UnsupportedError

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws


def import_arviz() -> Any:
    """ArviZ, without the notice that 0.23 gives on import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
    return arviz


def uses_datatree(version: str) -> bool:
    """ArviZ 1.0 replaced `InferenceData` by `xarray.DataTree`, and keywords of `from_dict` by a nested dict."""
    return int(version.split(".")[0]) >= 1


def to_arviz(draws: Draws) -> Any:
    """Groups posterior, sample_stats, observed_data and, if kept, warmup_posterior and warmup_sample_stats."""
    az = import_arviz()
    groups = {
        "posterior": draws.posterior,
        "sample_stats": draws.sample_stats,
        "warmup_posterior": draws.warmup_posterior,
        "warmup_sample_stats": draws.warmup_sample_stats,
        "observed_data": {name: np.asarray(x) for name, x in draws.observed.items()},
    }
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
    for group in groups:
        if group != "observed_data":
            converted[group].attrs.update(attrs)
    return converted


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
