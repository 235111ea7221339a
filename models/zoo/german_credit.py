"""Which credits go bad: logistic regression (Hofmann 1994)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Bernoulli, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def design(features: np.ndarray) -> np.ndarray:
    """Standardised features, and a column of ones at the end."""
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    return np.concatenate([standard, np.ones((len(features), 1))], axis=1)


def german_credit() -> Posterior:
    """bad ~ Bernoulli(logit = X w),  w ~ Normal(0, 1)."""
    data = load("german_credit")
    X = design(data.features)

    def observe(w: Array) -> Bernoulli:
        return Bernoulli(logits=X @ w)

    return Posterior(Joint(w=Normal(0, 1).iid(X.shape[1])), observe, data.bad)
