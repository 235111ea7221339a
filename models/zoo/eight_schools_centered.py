"""Eight schools, with the schools' effects as coordinates: a funnel, kept as a test of samplers."""

from __future__ import annotations

from probdiff.distributions import HalfCauchy, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load


def eight_schools_centered() -> Posterior:
    """The posterior of `eight_schools`. Where tau is small, theta has no room: a sampler that says nothing is wrong."""
    data = load("eight_schools")
    prior = Joint(mu=Normal(0, 5), tau=HalfCauchy(5), theta=lambda mu, tau: Normal(mu, tau).iid("school"))
    return Posterior(prior, lambda theta: Normal(theta, data.sigma), data.y, coords={"school": data.school})
