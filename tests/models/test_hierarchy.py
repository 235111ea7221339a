"""What hangs on a variable, and in which coordinates."""

from probdiff.distributions import HalfNormal, Laplace, Normal, noncentered, transport
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools, eight_schools_centered


def test_schools():
    assert eight_schools_centered().dependants("tau") == {"theta": True}
    assert eight_schools().dependants("tau") == {"theta": False}
    assert eight_schools().dependants("theta") == {}


def test_through_computed_values_but_not_through_random_ones():
    prior = Joint(
        v=HalfNormal(1),
        sd=lambda v: v**0.5,
        a=lambda sd: Normal(0, sd).iid(3),
        b=lambda sd: noncentered(Normal(0, sd)),
        c=lambda v: transport(Laplace(0, v)),
        d=lambda a: Normal(a, 1),
        e=Normal(0, 1),
    )
    posterior = Posterior(prior, loglike=lambda e: -e)
    assert posterior.dependants("v") == {"a": True, "b": False, "c": False}
    assert posterior.dependants("a") == {"d": True}
