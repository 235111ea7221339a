"""Eight schools: does coaching raise test scores? (Rubin 1981)"""

from __future__ import annotations

from probdiff.distributions import HalfCauchy, Normal, noncentered
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load


def eight_schools() -> Posterior:
    """A school's effect y has known standard error sigma; its true effect theta varies between schools by tau."""
    data = load("eight_schools")
    prior = Joint(
        mu=Normal(0, 5),
        tau=HalfCauchy(5),
        theta=lambda mu, tau: noncentered(Normal(mu, tau)).iid("school"),
    )
    return Posterior(prior, lambda theta: Normal(theta, data.sigma), data.y, coords={"school": data.school})
