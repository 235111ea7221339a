"""RelaxedCategorical: a point of the simplex, near one of its corners when it is cold (Gumbel-softmax, Concrete)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.support import LogWeightVector, Positive, ProbabilityVector, simplex
from probdiff.special import logsumexp, softmax
from probdiff.tree import Array


class RelaxedCategorical(Multivariate):
    """x = softmax((logits + g) / temperature),  g independent standard Gumbel.

    p(x) = (K - 1)! temperature^(K - 1) Π_k (p_k x_k^(-temperature - 1)) / (Σ_k p_k x_k^-temperature)^K.

    temperature  positive  towards 0, x becomes a unit vector, the k-th with probability p_k
    p            probabilities along the last axis
    logits       along the last axis, in place of p: p = exp(logits) / Σ exp(logits)

    The density is over the first K - 1 entries of x. Maddison, Mnih & Teh, The Concrete distribution (2017); Jang, Gu &
    Poole, Categorical reparameterization with Gumbel-softmax (2017).
    """

    temperature: Positive
    p: ProbabilityVector = None
    logits: LogWeightVector = None

    exclusive = ("p", "logits")
    support = simplex

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (self._logits().shape[-1],)

    def logpdf(self, x: Array) -> Array:
        count = self.event_shape[0]
        temperature = np.expand_dims(self.temperature, -1)
        # Shifting all of these by a number leaves the density as it is, so that logits need not be normalised.
        weight = self._logits() - temperature * np.log(x)
        spread = np.sum(weight - np.log(x) - np.expand_dims(logsumexp(weight, axis=-1), -1), axis=-1)
        return math.lgamma(count) + (count - 1) * np.log(self.temperature) + spread

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        noise = -np.log(rng.standard_exponential((*shape, *self.event_shape)))
        return softmax((self._logits() + noise) / np.expand_dims(self.temperature, -1), axis=-1)

    def _logits(self) -> Array:
        return np.log(self.p) if self.logits is None else self.logits
