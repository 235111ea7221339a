"""Transports: from unconstrained coordinates to the value of a random variable, and the log-density on the way.

The transport is the bijector of the support, or what a wrapper puts in its place: for a non-centred distribution its
standardised variable, for `transport(…)` the standard normal variable of its quantiles.
"""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Bijector, Identity, UnitVector, bijector_for
from probdiff.distributions.univariate.continuous.flat import Flat
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.models.dimensions import elements
from probdiff.tree import Array


def bijector_of(distribution: Distribution) -> Bijector:
    """The map from unconstrained coordinates to values; its bounds may depend on values that are being traced."""
    element = elements(distribution)
    return element.bijector() if isinstance(element, Wrapped) else bijector_for(element.support)


def transport(distribution: Distribution, u: Array) -> tuple[Array, Array]:
    """The value x at unconstrained `u`, and log p(x) + log |dx/du|, summed."""
    element = elements(distribution)
    bijector = bijector_of(element)
    x = bijector.forward(u)
    if isinstance(element, Wrapped):
        # p(x) |dx/dz| is the standard density of z: the scale cancels, so it is never computed.
        return x, add_up(element.standard().logpdf(u))
    logp = add_up(element.logpdf(x))
    return x, logp if isinstance(bijector, Identity) else logp + add_up(bijector.log_jacobian(u))


def log_volume(distribution: Distribution, u: Array) -> Array:
    """log |dx/du| of the support's bijector, summed: what a density of x lacks to be one of `u`.

    Zero where `u` itself is the variable: on the whole real line, and for a wrapped distribution, whose variable is its
    standardised one. That of a direction has a further term, (|u| - 1)² / 2: without a density of the length, which x
    does not have, its mode must be somewhere.
    """
    bijector = bijector_of(distribution)
    if isinstance(elements(distribution), Wrapped) or isinstance(bijector, Identity):
        return 0.0
    volume = add_up(bijector.log_jacobian(u))
    if isinstance(bijector, UnitVector):
        return volume + 0.5 * add_up((np.sqrt(np.sum(u * u, axis=-1)) - 1.0) ** 2)
    return volume


def is_improper(distribution: Distribution) -> bool:
    """Whether there is nothing to draw from."""
    return isinstance(elements(distribution), Flat)


def add_up(terms: Array) -> Array:
    """The sum of all elements; a number is its own sum."""
    return np.sum(terms) if getattr(terms, "shape", ()) else terms
