"""HiddenMarkov: observations whose distribution hangs on the hidden state of a Markov chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.series.matrices import StochasticMatrix, real_matrix
from probdiff.distributions.series.series import Series
from probdiff.distributions.support import ProbabilityVector, Support
from probdiff.distributions.wrappers.combined import any_of, axis_first
from probdiff.distributions.wrappers.product import DiscreteSets, Sets
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.tree import Array

__all__ = ["HiddenMarkov"]


class HiddenMarkov(Series):
    """p(x) = Σ_s π(s_1) p_{s_1}(x_1) Π_t A(s_{t-1}, s_t) p_{s_t}(x_t), over all sequences s of K states.

    initial     π, probabilities of the first state
    transition  A, a matrix whose rows are the probabilities of the next state
    emission    the distribution of an observation, whose last batch axis has the states
    length      how many observations there are

    A value has the axis of time before those of one observation. The sum is made by the forward recursion, in logs.
    Rabiner (1989), A tutorial on hidden Markov models.
    """

    initial: ProbabilityVector
    transition: StochasticMatrix
    emission: Any
    length: Any

    trailing = {"emission": 1}

    def check_parts(self) -> None:
        self.check_length(1)
        if not isinstance(self.emission, Distribution):
            raise UnsupportedError(f"HiddenMarkov.emission must be a distribution, got {type(self.emission).__name__}.")
        k, states = self.initial.shape[-1], self.emission.batch_shape[-1:]
        if states != (k,) or self.transition.shape[-2:] != (k, k):
            raise ShapeError(
                f"HiddenMarkov: {k} initial probabilities, a transition of shape {self.transition.shape[-2:]} and "
                f"emissions of batch shape {self.emission.batch_shape} must be of one number of states."
            )

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.length), *self.emission.event_shape)

    @property
    def support(self) -> Support:
        if self.emission.event_shape:
            return real_matrix
        one = any_of(self.emission.support, along_axis=True)
        return (DiscreteSets if one.discrete else Sets)("sets", one.rule, parts=(one,))

    def logpdf(self, x: Array) -> Array:
        return self._evidence(self._emitted(x))

    def smoothed(self, x: Array) -> Array:
        """P(s_t = k | all of x), with axes of time and state last: the slope of log p(x) in log p_k(x_t)."""
        from probdiff import gradient

        (slope,) = gradient(lambda emitted: np.sum(self._evidence(emitted)), self._emitted(np.asarray(x, dtype=float)))
        return np.moveaxis(slope, 0, -2)

    def most_likely(self, x: Array) -> Array:
        """The sequence of states of largest probability given `x` (Viterbi 1967), for plain numbers."""
        emitted = self._emitted(np.asarray(x, dtype=float))
        with np.errstate(divide="ignore"):
            best, moves = np.log(self.initial) + emitted[0], np.log(self.transition)
        came_from = []
        for row in emitted[1:]:
            reached = best[..., :, None] + moves
            came_from.append(np.argmax(reached, axis=-2))
            best = np.max(reached, axis=-2) + row
        states = [np.argmax(best, axis=-1)]
        for arrows in reversed(came_from):
            states.append(np.take_along_axis(arrows, states[-1][..., None], axis=-1)[..., 0])
        return np.stack(states[::-1], axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        inner = len(self.emission.event_shape)
        probabilities, drawn = np.broadcast_to(self.initial, (*shape, self.initial.shape[-1])), []
        for _ in range(self.length):
            cumulated = np.cumsum(probabilities, axis=-1)[..., :-1]
            state = np.sum(rng.random((*shape, 1)) > cumulated, axis=-1)
            every = np.asarray(self.emission.draw(probabilities.shape, rng))
            index = state.reshape(shape + (1,) * (1 + inner))
            drawn.append(np.take_along_axis(every, index, axis=-1 - inner).squeeze(-1 - inner))
            rows = np.broadcast_to(self.transition, shape + self.transition.shape[-2:])
            probabilities = np.take_along_axis(rows, state[..., None, None], axis=-2)[..., 0, :]
        return np.stack(drawn, axis=-1 - inner)

    def _emitted(self, x: Array) -> Array:
        """log p_k(x_t), with the axis of time first and that of the states last."""
        inner = len(self.emission.event_shape)
        return self.emission.logpdf(np.expand_dims(axis_first(x, len(self.batch_shape), inner), -1 - inner))

    def _evidence(self, emitted: Array) -> Array:
        """log p(x), by the probabilities of the states given what has been seen so far."""
        from probdiff import scan
        from probdiff.special import logsumexp

        log_initial, log_move = np.log(self.initial), np.log(self.transition)
        batch = np.broadcast_shapes(emitted.shape[1:-1], log_initial.shape[:-1], log_move.shape[:-2])
        first = np.broadcast_to(log_initial + emitted[0], (*batch, emitted.shape[-1]))

        def step(alpha: Array, row: Array) -> tuple[Array, None]:
            return logsumexp(np.expand_dims(alpha, -1) + log_move, axis=-2) + row, None

        last, _ = scan(step, first, emitted[1:])
        return logsumexp(last, axis=-1)
