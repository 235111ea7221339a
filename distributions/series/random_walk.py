"""RandomWalk: a series whose steps are independent."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.series.series import Series
from probdiff.distributions.support import Support, real_vector
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.distributions.wrappers.combined import axis_first
from probdiff.tree import Array

__all__ = ["RandomWalk", "gaussian_random_walk"]


class RandomWalk(Series):
    """p(x) = p_1(x_1) Π_t q(x_t - x_{t-1}).

    start   the distribution of x_1, with density p_1
    step    the distribution of a step, with density q
    length  how many x there are
    """

    start: Any
    step: Any
    length: Any

    def check_parts(self) -> None:
        self.check_length(1)
        self.refuse_unless(self.start, discrete=False)
        self.refuse_unless(self.step, discrete=False)

    @property
    def support(self) -> Support:
        return real_vector

    def logpdf(self, x: Array) -> Array:
        rows = axis_first(x, len(self.batch_shape))
        return self.start.logpdf(rows[0]) + np.sum(self.step.logpdf(rows[1:] - rows[:-1]), axis=0)

    def mean(self) -> Array:
        return self._summed(self.start.mean(), self.step.mean())

    def var(self) -> Array:
        return self._summed(self.start.var(), self.step.var())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        first = np.asarray(self.start.draw(shape, rng))
        steps = np.asarray(self.step.draw((self.length - 1, *shape), rng))
        return np.moveaxis(np.cumsum(np.concatenate([first[None], steps]), axis=0), 0, -1)

    def _summed(self, first: Array, step: Array) -> Array:
        first, step = (np.expand_dims(np.broadcast_to(m, self.batch_shape), -1) for m in (first, step))
        return first + step * np.arange(float(self.length))


def gaussian_random_walk(
    length: int, scale: Any = 1.0, drift: Any = 0.0, start: Distribution | None = None
) -> RandomWalk:
    """Steps that are normal with mean `drift` and standard deviation `scale`; by default x_1 is one from zero."""
    step = Normal(drift, scale)
    return RandomWalk(step if start is None else start, step, length)
