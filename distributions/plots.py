"""A picture of one distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError

__all__ = ["plot"]

MOST_MASSES = 200


def plot(distribution: Any, axis: Any = None) -> Any:
    """The density, or the masses, between the quantiles at 0.001 and 0.999, on matplotlib's axes."""
    from matplotlib import pyplot

    if distribution.batch_shape or distribution.event_shape:
        owner, shape = type(distribution).__name__, distribution.batch_shape + distribution.event_shape
        raise UnsupportedError(
            f"{owner}.plot draws one number's distribution, got the shape {shape}. Plot one of them."
        )
    axis = pyplot.subplots()[1] if axis is None else axis
    first, last = distribution.quantile(0.001), distribution.cquantile(0.001)
    if distribution.support.discrete and last - first < MOST_MASSES:
        k = np.arange(first, last + 1)
        axis.vlines(k, 0, distribution.pdf(k), lw=2)
    else:
        # Quantiles put points where the curve bends; the even ones carry it over flat stretches.
        p = np.linspace(0.001, 0.999, 300)
        x = np.sort(np.concatenate([distribution.quantile(p), np.linspace(first, last, 300)]))
        x = np.unique(np.round(x)) if distribution.support.discrete else x
        axis.plot(x, distribution.pdf(x))
    axis.set_ylim(bottom=0)
    axis.set_title(repr(distribution))
    return axis
