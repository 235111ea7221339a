"""Noncentered: a location-scale distribution that a sampler moves through by its standardised variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Affine, Bijector, Identity
from probdiff.distributions.support import real
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.errors import UnsupportedError
from probdiff.tree import Array, register

__all__ = ["Noncentered", "location_scale", "noncentered"]


@dataclass(frozen=True)
class Linked(Bijector):
    """x = link(loc + scale z)."""

    affine: Affine
    link: Bijector

    def forward(self, u: Array) -> Array:
        return self.link.forward(self.affine.forward(u))

    def inverse(self, x: Array) -> Array:
        return self.affine.inverse(self.link.inverse(x))

    def log_jacobian(self, u: Array) -> Array:
        return self.affine.log_jacobian(u) + self.link.log_jacobian(self.affine.forward(u))


class Noncentered(Wrapped, abstract=True):
    """The distribution of x = loc + scale z, with z standard: the same distribution as `base`, moved through by z.

    base   a distribution of real numbers with the fields loc and scale; or of a function of one, such as LogNormal

    Densities, moments and draws are those of `base`. Only the unconstrained coordinates of a model differ: they are z,
    whose density does not depend on loc and scale. That takes the funnel out of a hierarchy whose groups hold little
    data.
    Papaspiliopoulos, Roberts & Sköld (2007), A general framework for the parametrization of hierarchical models.
    """

    call = "noncentered"

    def __init__(self, base: Distribution) -> None:
        if location_scale(base) is None:
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
        base, _ = self._latent()
        standard: Distribution = object.__new__(type(base))
        standard.__dict__.update(base.__dict__, loc=0.0, scale=1.0)
        return standard

    def bijector(self) -> Bijector:
        base, link = self._latent()
        affine = Affine(base.loc, base.scale)
        return affine if isinstance(link, Identity) else Linked(affine, link)

    def _latent(self) -> tuple[Any, Bijector]:
        found = location_scale(self.base)
        assert found is not None
        return found


register(Noncentered, ("base",))


def location_scale(distribution: Distribution) -> tuple[Any, Bijector] | None:
    """The distribution of u = loc + scale z, where z hangs on neither, with the map from u to x; None without one."""
    if distribution.support is real and {"loc", "scale"} <= set(distribution.domains):
        return distribution, Identity()
    return distribution.latent()


def noncentered(distribution: Distribution) -> Distribution:
    """`distribution` with its standardised variable as the unconstrained coordinate; `iid` may come before or after.

    UnsupportedError if it is of no location-scale family.
    """
    if isinstance(distribution, IID):
        return IID(noncentered(distribution.base), distribution.sizes)
    return Noncentered(distribution)
