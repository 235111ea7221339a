"""DiscreteNonParametric: any finite number of real values, with their probabilities."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from scipy.special import entr

from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import tails
from probdiff.distributions.support import LogWeightVector, Points, ProbabilityVector, ordered
from probdiff.special import log_softmax
from probdiff.tree import Array


class DiscreteNonParametric(Discrete):
    """P(values_j) = p_j,  j = 0, …, K - 1.

    values  rising strictly, along the last axis
    p       probabilities along the last axis
    logits  along the last axis, in place of p: p = exp(logits) / Σ exp(logits); -inf forbids a value
    """

    values: Annotated[Any, ordered]
    p: ProbabilityVector = None
    logits: LogWeightVector = None

    exclusive = ("p", "logits")
    relation = "one probability for each value"

    def related(self) -> Array:
        weights = self.logits if self.p is None else self.p
        return self.values.shape[-1] == weights.shape[-1]

    @property
    def support(self) -> Points:
        return Points("points", "one of the values", values=self.values)

    def logpdf(self, x: Array) -> Array:
        hit = np.expand_dims(x, -1) == self.values
        return np.sum(np.where(hit, self._log_probabilities(), 0.0), axis=-1)

    def logcdf(self, x: Array) -> Array:
        return tails(self.values, self._log_probabilities(), x)[0]

    def logccdf(self, x: Array) -> Array:
        return tails(self.values, self._log_probabilities(), x)[1]

    def quantile(self, p: Array) -> Array:
        # The values whose predecessors have not yet reached p add their distance; rounding of the sum is let pass.
        below = np.cumsum(self._probabilities(), axis=-1)[..., :-1] < np.expand_dims(p * (1 - 1e-14), -1)
        return self._first(below)

    def cquantile(self, p: Array) -> Array:
        from_top = np.flip(np.cumsum(np.flip(self._probabilities(), -1), axis=-1), -1)[..., 1:]
        return self._first(from_top > np.expand_dims(p * (1 + 1e-14), -1))

    def mean(self) -> Array:
        return np.sum(self.values * self._probabilities(), axis=-1)

    def var(self) -> Array:
        distance = self.values - np.expand_dims(self.mean(), -1)
        return np.sum(distance * distance * self._probabilities(), axis=-1)

    def mode(self) -> Array:
        best = np.expand_dims(np.argmax(self._log_probabilities(), axis=-1), -1)
        hit = np.arange(self.values.shape[-1]) == best
        return np.sum(np.where(hit, self.values, 0.0), axis=-1)

    def entropy(self) -> Array:
        return np.sum(entr(self._probabilities()), axis=-1)

    def mgf(self, t: Array) -> Array:
        return np.sum(np.exp(np.expand_dims(t, -1) * self.values) * self._probabilities(), axis=-1)

    def cf(self, t: Array) -> Array:
        return np.sum(np.exp(1j * np.expand_dims(t, -1) * self.values) * self._probabilities(), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # The largest of the log-probabilities plus Gumbel noise; -log of an exponential is Gumbel.
        noise = rng.standard_exponential((*shape, self.values.shape[-1]))
        with np.errstate(divide="ignore"):
            chosen = np.argmax(self._log_probabilities() - np.log(noise), axis=-1)
        values = np.broadcast_to(self.values, noise.shape)
        return np.take_along_axis(values, chosen[..., None], -1)[..., 0]

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The values that were observed, with their shares."""
        values, which = np.unique(x, return_inverse=True)
        share = np.bincount(which, w)
        return cls(values, share / np.sum(share))

    def _first(self, passed: Array) -> Array:
        """The first value, and the steps to those after the ones that are passed."""
        steps = self.values[..., 1:] - self.values[..., :-1]
        return self.values[..., 0] + np.sum(np.where(passed, steps, 0.0), axis=-1)

    def _probabilities(self) -> Array:
        return np.exp(self._log_probabilities()) if self.p is None else self.p

    def _log_probabilities(self) -> Array:
        return np.log(self.p) if self.p is not None else log_softmax(self.logits, axis=-1)
