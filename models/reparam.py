"""The same posterior in other coordinates: location-scale priors centred or non-centred, by name or by what data say.

Where the data say little of x beside its prior, the standardised variable z = (x - loc) / scale is nearly independent
of loc and scale, and x is not; where they say much it is the other way round. The share of the prior variance that the
data leave, var(x | loc, scale, data) / var(x | loc, scale), tells which.
Papaspiliopoulos, Roberts & Sköld 2007, Statistical Science 22:59; Betancourt & Girolami 2015, arXiv:1312.0906.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.parameters import unchecked
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.noncentered import Noncentered, location_scale, noncentered
from probdiff.distributions.wrappers.transported import QuantileMap
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models.dimensions import elements, family
from probdiff.models.joint import Dims, Joint
from probdiff.models.values import flat_values
from probdiff.models.variables import is_function
from probdiff.tree import Array

if TYPE_CHECKING:
    from probdiff.models.posterior import Posterior

CENTERED, NONCENTERED = "centered", "noncentered"
WEAK = 0.5
"""Share of the prior variance from which the data are weak. In a normal hierarchy E(x | loc, data) has the slope share
in loc and E(x - loc | loc, data) the slope share - 1, with one variance around both: here they are alike."""
FARTHEST = 37.0
"""Standard normal values beyond which the distribution function underflows."""


def reparameterised(prior: Joint, choices: Mapping[str, str]) -> Joint:
    """The same joint distribution, moved through by the coordinates that `choices` gives by flat name.

    ParameterError for a name that is no random variable, and for a choice that is neither "centered" nor
    "noncentered"; UnsupportedError for a prior that is of no location-scale family.
    """
    if not isinstance(choices, Mapping):
        raise ParameterError(f"reparam must be a dict such as {{'theta': {NONCENTERED!r}}}, got {choices!r}")
    # Any point of the support will do to see which families there are.
    found = priors_at(prior, flat_values(prior.survey(np.random.default_rng(0))[1]))
    for name, choice in choices.items():
        if name not in found:
            raise ParameterError(f"reparam: {name} is no random variable of the prior ({', '.join(found)}).")
        if choice not in (CENTERED, NONCENTERED):
            raise ParameterError(f"reparam[{name!r}] must be {CENTERED!r} or {NONCENTERED!r}, got {choice!r}")
        if base_of(found[name]) is None:
            able = ", ".join(each for each, element in found.items() if base_of(element) is not None) or "none has"
            raise UnsupportedError(
                f"reparam: {name} has no location-scale prior on the real line, nor a function of one, but "
                f"{text(found[name])}. Those that have: {able}."
            )
    joint: Joint = rewritten(prior, "", choices)
    return joint


def rewritten(variable: Any, name: str, choices: Mapping[str, str]) -> Any:
    """A variable of a joint in its chosen form, whatever it takes to get at its distribution."""
    inside = {each: choice for each, choice in choices.items() if not name or f"{each}.".startswith(f"{name}.")}
    if not inside:
        return variable
    if is_function(variable):

        @functools.wraps(variable)
        def function(**given: Array) -> Any:
            return rewritten(variable(**given), name, inside)

        return function
    if isinstance(variable, Joint):
        dot = f"{name}." if name else ""
        variables = {each: rewritten(v, f"{dot}{each}", inside) for each, v in variable.variables.items()}
        return Joint(**variables).copy(variable.coords, variable.fixed)
    return in_form(variable, inside[name])


def in_form(distribution: Distribution, choice: str) -> Distribution:
    """A location-scale distribution with or without its wrapper."""
    if isinstance(distribution, IID):
        return IID(in_form(distribution.base, choice), distribution.sizes)
    base = distribution.base if isinstance(distribution, Noncentered) else distribution
    return base if choice == CENTERED else noncentered(base)


def base_of(element: Distribution) -> Distribution | None:
    """The location-scale distribution of an element, from inside its wrapper; None if it is another one."""
    base = element.base if isinstance(element, Noncentered) else element
    return base if location_scale(base) is not None else None


def latent_of(element: Distribution) -> Distribution | None:
    """The same as a distribution of real numbers: of LogNormal, the Normal that the logarithm has."""
    base = base_of(element)
    found = None if base is None else location_scale(base)
    return None if found is None else found[0]


def text(element: Distribution) -> str:
    """`HalfCauchy`, `transport(Normal)`."""
    return f"{element.call}({family(element)})" if isinstance(element, Wrapped) else family(element)


def priors_at(prior: Joint, values: Mapping[str, Any]) -> dict[str, Distribution]:
    """The distribution of an element of each random variable at flat values, by flat name."""
    found: dict[str, Distribution] = {}

    def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
        found[name] = elements(distribution)
        return values[name]

    with np.errstate(all="ignore"), unchecked():
        prior.walk(choose)
    return found


def hierarchical(posterior: Posterior) -> list[str]:
    """The variables with a location-scale prior whose location or scale changes with other variables, by flat name."""
    rng = np.random.default_rng(0)
    here, there = (priors_at(posterior.prior, posterior.constrain(posterior.initial(rng))) for _ in range(2))

    def moves(name: str) -> bool:
        one: Any
        other: Any
        one, other = latent_of(here[name]), latent_of(there[name])
        return one is not None and not (np.array_equal(one.loc, other.loc) and np.array_equal(one.scale, other.scale))

    return [name for name in here if moves(name)]


def better_forms(posterior: Posterior, draws: Mapping[str, np.ndarray], names: list[str]) -> dict[str, str]:
    """ "centered" or "noncentered" for each variable, by what is left of its prior variance in draws (n, *shape).

    Elements of one variable are alike in the prior, and take one form: the one that suits their median. Where some took
    the other, a funnel between the two kinds would remain.
    """
    shares = variance_shares(posterior, draws, names)
    return {name: NONCENTERED if np.median(shares[name]) >= WEAK else CENTERED for name in names}


def variance_shares(posterior: Posterior, draws: Mapping[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    """var(z | loc, scale, data) / var(z) for each element of each variable, from draws of all with one leading axis.

    z is the standard normal variable of the prior's quantiles, so that var(z) = 1 for every family; for a normal prior
    it is (x - loc) / scale. What loc and scale explain of it is taken off by least squares: for a normal variable with
    data of mean y, E(z | loc, scale) = (share - 1) (loc - y) / scale, where the share itself changes with scale.
    """
    count = len(next(iter(draws.values())))
    table: dict[str, list[list[Array]]] = {name: [] for name in names}
    for k in range(count):
        found = priors_at(posterior.prior, {name: x[k] for name, x in draws.items()})
        for name in names:
            base: Any = base_of(found[name])
            line: Any = latent_of(found[name])
            with np.errstate(all="ignore"):
                z = np.clip(QuantileMap(base).inverse(draws[name][k]), -FARTHEST, FARTHEST)
            table[name].append([np.broadcast_to(part, np.shape(z)) for part in (z, line.loc, line.scale)])
    return {name: left_share(*(np.stack(column) for column in zip(*rows, strict=True))) for name, rows in table.items()}


def left_share(z: np.ndarray, loc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The variance of z that is left beside a linear fit to 1, log scale, 1 / scale and loc / scale.

    All have draws along their first axis; each element has its own fit.
    """
    regressors = np.stack([np.ones_like(z), np.log(scale), 1 / scale, loc / scale], axis=-1)
    z, regressors = np.moveaxis(z, 0, -1), np.moveaxis(regressors, 0, -2)
    basis = np.linalg.qr(regressors)[0]
    left = z - np.squeeze(basis @ (np.swapaxes(basis, -1, -2) @ z[..., None]), -1)
    share: np.ndarray = np.sum(left**2, axis=-1) / (z.shape[-1] - regressors.shape[-1])
    return share
