"""Noncentered: a location-scale distribution that a sampler moves through by its standardised variable."""

from __future__ import annotations

from typing import Any

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Affine
from probdiff.distributions.support import real
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.errors import UnsupportedError
from probdiff.tree import register

__all__ = ["Noncentered", "is_location_scale", "noncentered"]


class Noncentered(Wrapped, abstract=True):
    """The distribution of x = loc + scale z, with z standard: the same distribution as `base`, moved through by z.

    base   a distribution of real numbers with the fields loc and scale

    Densities, moments and draws are those of `base`. Only the unconstrained coordinates of a model differ: they are z,
    whose density does not depend on loc and scale. That takes the funnel out of a hierarchy whose groups hold little
    data.
    Papaspiliopoulos, Roberts & Sköld (2007), A general framework for the parametrization of hierarchical models.
    """

    call = "noncentered"

    def __init__(self, base: Distribution) -> None:
        if not is_location_scale(base):
            name = type(base).__name__
            if {"loc", "scale"} <= set(base.domains):
                raise UnsupportedError(
                    f"noncentered: {name} is not on the whole real line, so loc and scale do not shift and stretch it. "
                    f"Write transport({name}(…))."
                )
            raise UnsupportedError(
                f"noncentered: {name} has no loc and scale. Only a location-scale family has a standard form."
            )
        self.__dict__["base"] = base

    def standard(self) -> Distribution:
        """The distribution of z: `base` with location 0 and scale 1."""
        base: Any = self.base
        standard: Distribution = object.__new__(type(base))
        standard.__dict__.update(base.__dict__, loc=0.0, scale=1.0)
        return standard

    def bijector(self) -> Affine:
        base: Any = self.base
        return Affine(base.loc, base.scale)


register(Noncentered, ("base",))


def is_location_scale(distribution: Distribution) -> bool:
    """Whether a distribution is one of real numbers x = loc + scale z, where z hangs on neither."""
    return distribution.support is real and {"loc", "scale"} <= set(distribution.domains)


def noncentered(distribution: Distribution) -> Distribution:
    """`distribution` with its standardised variable as the unconstrained coordinate; `iid` may come before or after.

    UnsupportedError if it is of no location-scale family.
    """
    if isinstance(distribution, IID):
        return IID(noncentered(distribution.base), distribution.sizes)
    return Noncentered(distribution)
