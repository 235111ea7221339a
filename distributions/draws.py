"""Steps of drawing: fresh random numbers are overwritten by the function of them that is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.tree import Array

__all__ = ["located", "open_uniform"]

LEAST = 2.0**-54  # half of the least distance between two uniform draws


def open_uniform(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Uniform draws that are neither 0, which `random` may return, nor 1: quantiles are finite there."""
    u = rng.random(shape)
    return np.maximum(u, LEAST, out=u)


def located(z: Any, loc: Array, scale: Array) -> Any:
    """loc + scale z, in the place of the draws z."""
    z *= scale
    z += loc
    return z
