"""Categorical: one of K labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import entr

from probdiff.distributions.base import Discrete
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.support import Integers, LogWeightVector, ProbabilityVector, integer_interval
from probdiff.errors import DataError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array


class Categorical(Discrete):
    """P(k) = p_k,  k = 0, …, K - 1.

    p       probabilities along the last axis
    logits  along the last axis, in place of p: p = exp(logits) / Σ exp(logits); -inf forbids a label
    """

    p: ProbabilityVector = None
    logits: LogWeightVector = None

    exclusive = ("p", "logits")

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, float(self._count() - 1))

    def logpdf(self, x: Array) -> Array:
        log_p = self._log_probabilities()
        if not is_lifted(x) and not self.batch_shape:
            # Plain labels make a gather (those being traced cannot index); the base masks what is outside.
            return log_p[np.clip(np.nan_to_num(x), 0, self._count() - 1).astype(np.intp)]
        hit = np.expand_dims(x, -1) == np.arange(self._count())
        return np.sum(np.where(hit, log_p, 0.0), axis=-1)

    def cdf(self, x: Array) -> Array:
        covered = np.arange(self._count()) <= np.expand_dims(x, -1)
        return np.sum(np.where(covered, self._probabilities(), 0.0), axis=-1)

    def ccdf(self, x: Array) -> Array:
        beyond = np.arange(self._count()) > np.expand_dims(x, -1)
        return np.sum(np.where(beyond, self._probabilities(), 0.0), axis=-1)

    def mean(self) -> Array:
        return np.sum(np.arange(self._count()) * self._probabilities(), axis=-1)

    def var(self) -> Array:
        distance = np.arange(self._count()) - np.expand_dims(self.mean(), -1)
        return np.sum(distance * distance * self._probabilities(), axis=-1)

    def mode(self) -> Array:
        return np.argmax(self._probabilities(), axis=-1) * 1.0

    def entropy(self) -> Array:
        return np.sum(entr(self._probabilities()), axis=-1)

    def exponential_form(self) -> ExponentialForm:
        labels = np.arange(self._count())
        return ExponentialForm(
            lambda x: (np.where(np.expand_dims(x, -1) == labels, 1.0, 0.0),),
            (self._log_probabilities(),),
            np.zeros(self.batch_shape),
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # The largest of logits plus Gumbel noise has the label's law; -log of an exponential is Gumbel.
        noise = rng.standard_exponential((*shape, self._count()))
        with np.errstate(divide="ignore"):
            return np.argmax(self._log_probabilities() - np.log(noise), axis=-1)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The shares of the labels 0, …, max(x)."""
        if not np.all((x >= 0) & (np.floor(x) == x)):
            first = x[np.argmin((x >= 0) & (np.floor(x) == x))]
            raise DataError(f"Categorical.fit: an observation must be a nonnegative integer, got {first!r}.")
        share = np.bincount(x.astype(np.intp), w)
        return cls(share / np.sum(share))

    @classmethod
    def fit_statistics(cls, *means: Array, **fixed: Any) -> Self:
        """From the shares of the labels, the averages of their indicators."""
        if len(means) != 1 or fixed:
            raise DataError("Categorical.fit_statistics needs one vector: the shares of the labels.")
        return cls(means[0])

    def _count(self) -> int:
        return int((self.logits if self.p is None else self.p).shape[-1])

    def _probabilities(self) -> Array:
        return np.exp(self._log_probabilities()) if self.p is None else self.p

    def _log_probabilities(self) -> Array:
        if self.p is not None:
            return np.log(self.p)
        from probdiff.special import log_softmax

        return log_softmax(self.logits, axis=-1)
