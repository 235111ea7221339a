"""Multinomial: how often each of K labels comes up in n independent trials."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from probdiff.distributions.base import Multivariate
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import HALF_LOG_2PI, LARGE, deviance, stirling_error
from probdiff.distributions.support import Counts, LogWeightVector, NonnegativeInteger, ProbabilityVector, counts
from probdiff.errors import DataError
from probdiff.tree import Array


class Multinomial(Multivariate):
    """P(x) = n! Π p_k^x_k / x_k!,  x nonnegative integers that sum to n.

    n       nonnegative integer  trials
    p       probabilities along the last axis
    logits  along the last axis, in place of p: p = exp(logits) / Σ exp(logits); -inf forbids a label

    Johnson, Kotz & Balakrishnan, Discrete Multivariate Distributions, ch. 35.
    """

    n: NonnegativeInteger
    p: ProbabilityVector = None
    logits: LogWeightVector = None

    statistic_names = ("x",)
    exclusive = ("p", "logits")

    @property
    def support(self) -> Counts:
        return counts(self.n)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple((self.logits if self.p is None else self.p).shape[-1:])

    def logpdf(self, x: Array) -> Array:
        # n! = n^n exp(-n) times a correction: each label takes its share n^x_k exp(-x_k), which cancels by itself.
        n = np.where(self.n > 0, self.n * 1.0, 1.0)
        correction = np.where(self.n > 0, stirling_error(n) + 0.5 * np.log(n) + HALF_LOG_2PI, 0.0)
        n = np.expand_dims(n, -1)
        few = np.where(x == 0, 0.0, x * (np.log(n) + self._log_probabilities() - 1)) - gammaln(x + 1)
        k = np.where(x < LARGE, LARGE, x)
        expected = n * self._probabilities()
        many = expected - k - deviance(k, expected) - stirling_error(k) - 0.5 * np.log(k) - HALF_LOG_2PI
        return np.sum(np.where(x < LARGE, few, many), axis=-1) + correction

    def mean(self) -> Array:
        return np.expand_dims(self.n, -1) * self._probabilities()

    def var(self) -> Array:
        p = self._probabilities()
        return np.expand_dims(self.n, -1) * p * (1 - p)

    def cov(self) -> Array:
        """The covariance matrix, n (diag(p) - p p')."""
        p = np.expand_dims(self._probabilities(), -1)
        return np.expand_dims(self.n, (-2, -1)) * (p * np.eye(self.event_shape[0]) - p * np.swapaxes(p, -1, -2))

    def mode(self) -> Array:
        # The counts floor(c p) are the most likely ones of their sum, and stay so as the best count is raised or
        # lowered (Finucan, The mode of a multinomial distribution, Biometrika 51, 1964).
        p, labels = self._probabilities(), self.event_shape[0]
        n = np.expand_dims(self.n, -1)
        x = np.floor((n + 0.5 * labels) * p)
        for _ in range(labels):
            missing = n - np.sum(x, axis=-1, keepdims=True)
            gain, loss = p / (x + 1), np.where(x > 0, p / np.maximum(x, 1), np.inf)
            raised = np.arange(labels) == np.expand_dims(np.argmax(gain, axis=-1), -1)
            lowered = np.arange(labels) == np.expand_dims(np.argmin(loss, axis=-1), -1)
            x = x + np.where(missing > 0, raised, 0) - np.where(missing < 0, lowered, 0)
        return x

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The shares of the labels in observations of one number of trials, one a row."""
        n = np.sum(x[0])
        if not np.all(counts(n).contains(x)):
            first = x[np.argmin(counts(n).contains(x))].tolist()
            raise DataError(f"Multinomial.fit: an observation must be {counts(n).rule}, n = {n:.0f}, got {first}.")
        if n == 0:
            raise DataError("Multinomial.fit found no maximum: there are no trials.")
        return cls(int(n), w @ x / n)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x,), (self._log_probabilities(),), 0.0 * self.n, held=("n",))

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        """The trials are what the averages add up to."""
        (mean,) = means
        n = round(float(np.sum(mean)))
        if not np.all(mean >= 0) or n == 0 or abs(np.sum(mean) - n) > 1e-8 * n:
            raise DataError("Multinomial.fit_statistics: averages must be nonnegative and add up to the trials.")
        return cls(n, mean / np.sum(mean))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        p = np.asarray(self._probabilities(), dtype=float)
        return rng.multinomial(self.n, p / np.sum(p, axis=-1, keepdims=True), shape)

    def _probabilities(self) -> Array:
        return np.exp(self._log_probabilities()) if self.p is None else self.p

    def _log_probabilities(self) -> Array:
        if self.p is not None:
            return np.log(self.p)
        from probdiff.special import log_softmax

        return log_softmax(self.logits, axis=-1)
