"""Erlang: the wait for a whole number of events, a gamma distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.univariate.continuous.gamma import Gamma
from probdiff.errors import ParameterError
from probdiff.ops.dispatch import is_lifted

__all__ = ["erlang"]


def erlang(shape: Any, *scale: Any, **named: Any) -> Gamma:
    """Gamma(shape, scale) for a whole number of events; `rate` in place of `scale` by keyword.

    ParameterError unless `shape` is a positive whole number, or an array of these.
    """
    count = shape if is_lifted(shape) else np.asarray(shape, dtype=float)
    if not is_lifted(shape) and not np.all((count > 0) & (np.floor(count) == count) & (count < np.inf)):
        raise ParameterError(f"erlang: shape must be a positive integer, got {shape!r}. For others, take Gamma.")
    return Gamma(shape, *scale, **named)
