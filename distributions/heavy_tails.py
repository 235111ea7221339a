"""First guesses of quantiles from a table of the distribution function, for laws whose tails are powers."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["tabled_guess"]

_near = np.concatenate([np.linspace(0.0, 6.0, 33), [7.0, 9.0, 14.0, 25.0, 60.0, 150.0, 400.0, 700.0]])
PLACES = np.concatenate([-_near[:0:-1], _near])  # arcsinh of the distance from loc in scales


def tabled_guess(d: Any, lower: Any, lp: Any) -> Any:
    """Quantiles of `loc + scale Z` between the places of a table, at which log-tails are straight lines far out.

    None for a batch of members.
    """
    if d.batch_shape:
        return None
    x = d.loc + d.scale * np.sinh(PLACES)
    below, above = d.logcdf(x), d.logccdf(x)
    place = np.where(lower, np.interp(lp, below, PLACES), np.interp(-lp, -above, PLACES))
    return d.loc + d.scale * np.sinh(place)
