"""The forward algorithm: the likelihood of a hidden Markov model, its states summed out."""

from __future__ import annotations

import numpy as np

from probdiff.ad.control import scan
from probdiff.special import logsumexp
from probdiff.tree import Array


def forward_algorithm(transition: Array, emission: Array) -> Array:
    """log Σ_z Π_t p(z_t | z_{t-1}) p(y_t | z_t), with weight one for each first state.

    transition  [j, k] is the probability of state k after state j
    emission    [t, k] is log p(y_t | z_t = k)

    Rabiner (1989), A tutorial on hidden Markov models, eq. 19-21, in logarithms.
    """
    log_transition = np.log(transition)

    def following(forward: Array, emitted: Array) -> tuple[Array, None]:
        return logsumexp(np.expand_dims(forward, 1) + log_transition, axis=0) + emitted, None

    last, _ = scan(following, emission[0], emission[1:])
    return logsumexp(last)
