"""Which credits go bad, when few of the features matter: logistic regression with a shrinking prior."""

from __future__ import annotations

from probdiff.distributions import Bernoulli, Gamma, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.german_credit import design
from probdiff.tree import Array


def german_credit_sparse() -> Posterior:
    """bad ~ Bernoulli(logit = X weight),  weight = overall · local · z: one scale for all, and one for each feature."""
    data = load("german_credit")
    X = design(data.features)
    prior = Joint(
        overall=Gamma(0.5, rate=0.5),
        local=Gamma(0.5, rate=0.5).iid(X.shape[1]),
        z=Normal(0, 1).iid(X.shape[1]),
        weight=lambda overall, local, z: overall * local * z,
    )

    def observe(weight: Array) -> Bernoulli:
        return Bernoulli(logits=X @ weight)

    return Posterior(prior, observe, data.bad)
