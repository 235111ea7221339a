"""Random numbers by counting, in traced operations: the n-th number of a key is a function of both.

bits(key, n) = mix(key + n G), with the output function of SplitMix64 (Steele, Lea & Flood 2014) applied twice, so that
keys of different chains do not meet. The same numbers come out whatever runs the program.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from probdiff.tree import Array

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
TO_UNIT = 2.0**-52


def mix(z: Array) -> Array:
    """The output function of SplitMix64, on uint64."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def bits(key: Array, n: Array) -> Array:
    """64 random bits for each counter n."""
    return mix(mix(key + n * GOLDEN) ^ key)


def open_unit(b: Array) -> Array:
    """64 random bits as a number strictly between 0 and 1: the middles of 2^52 cells, which float64 holds exactly."""
    return ((b >> np.uint64(12)).astype(np.float64) + 0.5) * TO_UNIT


def uniform(key: Array, n: Array) -> Array:
    """Uniform numbers strictly between 0 and 1."""
    return open_unit(bits(key, n))


def normal(key: Array, n: Array) -> Array:
    """Standard normal numbers, by the quantile function."""
    return ndtri(uniform(key, n))
