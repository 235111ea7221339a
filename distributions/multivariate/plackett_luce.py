"""Plackett-Luce: rankings made by choosing one after the other, each in proportion to its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.support import RealVector, Support
from probdiff.errors import DataError
from probdiff.ops.dispatch import is_lifted
from probdiff.special import logsumexp
from probdiff.tree import Array

SWEEPS, CLOSE = 10_000, 1e-13


@dataclass(frozen=True, repr=False)
class Rankings(Support):
    """Permutations (last axis) of 0, …, K - 1: labels, the first choice first."""

    discrete: ClassVar[bool] = True
    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all(np.sort(x, axis=-1) == np.arange(float(x.shape[-1])), axis=-1)


class PlackettLuce(Multivariate):
    """P(x) = Π_i w[x_i] / (w[x_i] + w[x_(i + 1)] + … + w[x_K]),  x a ranking of the labels 0, …, K - 1, the best first,
    w = exp(scores).

    scores  vector of K numbers; a constant added to all changes nothing

    Plackett, The analysis of permutations, Applied Statistics 24 (1975). Fitted by the steps of Hunter, MM algorithms
    for generalized Bradley-Terry models, Annals of Statistics 32 (2004).
    """

    scores: RealVector

    support = Rankings("ranking", "a permutation of 0, …, K - 1")

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.scores.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        chosen = self._in_order(x)
        later = np.tril(np.ones((x.shape[-1], x.shape[-1]), dtype=bool)).T
        return np.sum(chosen, axis=-1) - np.sum(
            logsumexp(np.where(later, np.expand_dims(chosen, -2), -np.inf), axis=-1), axis=-1
        )

    def mode(self) -> Array:
        return np.argsort(-self.scores, axis=-1, kind="stable") * 1.0

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # Scores plus Gumbel noise, in falling order; -log of an exponential is Gumbel.
        noise = rng.standard_exponential((*shape, *self.event_shape))
        with np.errstate(divide="ignore"):
            return np.argsort(np.log(noise) - self.scores, axis=-1)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The scores of largest likelihood, of mean zero."""
        size = x.shape[-1]
        if not np.all(cls.support.contains(x)):
            first = x[np.argmin(cls.support.contains(x))].tolist()
            raise DataError(f"PlackettLuce.fit: an observation must be {cls.support.rule}, got {first}.")
        labels = x.astype(np.intp)
        if not _is_connected(labels, size):
            raise DataError(
                "PlackettLuce.fit found no maximum: some labels are before the others in every observation, so that "
                "their scores have no bound."
            )
        # Every rank but the last is a choice among those not chosen yet.
        wins = np.bincount(labels[:, :-1].ravel(), np.repeat(w, size - 1), size)
        weight = np.ones(size) / size
        for _ in range(SWEEPS):
            among = np.cumsum(weight[labels][:, ::-1], axis=-1)[:, ::-1]
            rate = np.cumsum(w[:, None] / among[:, :-1], axis=-1)
            # The last two labels are available in the same choices.
            exposed = np.concatenate([rate, rate[:, -1:]], axis=-1)
            new = wins / np.bincount(labels.ravel(), exposed.ravel(), size)
            new = new / np.sum(new)
            done = np.max(abs(np.log(new / weight))) < CLOSE
            weight = new
            if done:
                scores = np.log(weight)
                return cls(scores - np.mean(scores))
        raise DataError(f"PlackettLuce.fit found no maximum: the scores still change after {SWEEPS} steps.")

    def _in_order(self, x: Array) -> Array:
        """The scores of the labels, in the order of x."""
        size = x.shape[-1]
        if not is_lifted(x) and self.scores.ndim == 1:
            return self.scores[np.clip(np.nan_to_num(x), 0, size - 1).astype(np.intp)]
        hit = np.expand_dims(x, -1) == np.arange(size)
        return np.sum(np.where(hit, np.expand_dims(self.scores, -2), 0.0), axis=-1)


def _is_connected(labels: Any, size: int) -> bool:
    """Whether each label is somewhere before each other, or before one that is, and so on."""
    before = np.zeros((size, size), dtype=bool)
    for ranking in np.unique(labels, axis=0):
        for i, label in enumerate(ranking[:-1]):
            before[label, ranking[i + 1 :]] = True
    for middle in range(size):
        before |= before[:, middle, None] & before[middle]
    return bool(np.all(before | np.eye(size, dtype=bool)))
