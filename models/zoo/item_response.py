"""Answers of 400 students to 100 questions (Rasch 1960)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import Bernoulli, Normal
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def item_response() -> Posterior:
    """correct ~ Bernoulli(logit = level + ability[student] - difficulty[question])."""
    answers = np.array([list(row) for row in load("item_response").answers])
    student, question = np.nonzero(answers != ".")
    correct = answers[student, question].astype(float)
    prior = Joint(level=Normal(0.75, 1), ability=Normal(0, 1).iid(400), difficulty=Normal(0, 1).iid(100))

    def observe(level: Array, ability: Array, difficulty: Array) -> Bernoulli:
        return Bernoulli(logits=level + ability[student] - difficulty[question])

    return Posterior(prior, observe, correct)
