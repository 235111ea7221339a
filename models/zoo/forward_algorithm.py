"""The forward algorithm: the likelihood of a hidden Markov model, its states summed out."""

from __future__ import annotations

import numpy as np

from probdiff.ad.control import scan
from probdiff.ad.transforms import stop_gradient
from probdiff.tree import Array


def forward_algorithm(transition: Array, emission: Array) -> Array:
    """log Σ_z Π_t p(z_t | z_{t-1}) p(y_t | z_t), with weight one for each first state.

    transition  [j, k] is the probability of state k after state j
    emission    [t, k] is log p(y_t | z_t = k)

    Probabilities of the states are scaled to sum to one at each step, so that nothing underflows.
    Rabiner (1989), A tutorial on hidden Markov models, III.A and V.A.
    """
    # The likelihood does not depend on the reference that emissions are measured from, so neither does its gradient.
    peak = stop_gradient(np.max(emission, axis=1))
    relative = np.exp(emission - np.expand_dims(peak, 1))

    def following(state: Array, emitted: Array) -> tuple[Array, Array]:
        joint = (state @ transition) * emitted
        total = np.sum(joint)
        return joint / total, total

    first = np.sum(relative[0])
    _, totals = scan(following, relative[0] / first, relative[1:])
    return np.sum(peak) + np.log(first) + np.sum(np.log(totals))
