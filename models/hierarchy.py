"""Which variables of a prior hang on another one, and in which coordinates they are sampled."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.models.dimensions import elements
from probdiff.models.joint import Dims, Joint
from probdiff.models.values import flat_values
from probdiff.tree import Array


def dependants(prior: Joint, parent: str) -> dict[str, bool]:
    """The random variables whose distribution is a function of `parent`, and whether they are centred.

    A centred one has its own values as coordinates; `noncentered(…)` and `transport(…)` have standardised ones.
    Computed values in between are followed; nested joints are not looked into.
    """
    point = flat_values(prior.survey(np.random.default_rng(0))[1])
    random = set(prior.shapes)
    found: dict[str, bool] = {}

    def hangs(name: str) -> bool:
        needs = prior.needs.get(name, ())
        return parent in needs or any(hangs(need) for need in needs if need not in random)

    def choose(name: str, distribution: Distribution, dims: Dims) -> Array:
        if hangs(name):
            found[name] = not isinstance(elements(distribution), Wrapped)
        return point[name]

    prior.walk(choose)
    return found
