"""PoissonBinomial: successes in independent trials, each with a probability of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from probdiff.ad.control import scan
from probdiff.distributions.base import Discrete
from probdiff.distributions.summation import pick, tails
from probdiff.distributions.support import Integers, Support, integer_interval
from probdiff.tree import Array


@dataclass(frozen=True, repr=False)
class Probabilities(Support):
    """Vectors (last axis) of probabilities."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all((x >= 0) & (x <= 1), axis=-1)


class PoissonBinomial(Discrete):
    """The number of successes among N trials, the i-th of which succeeds with probability p_i.

    p  in [0, 1], along the last axis

    The masses come from adding one trial after the other, in logs: N² steps, all of positive terms.
    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 3.12.2.
    """

    p: Annotated[Any, Probabilities("probabilities", "in [0, 1]", 0.0, 1.0)]

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, float(self.p.shape[-1]))

    def logpdf(self, x: Array) -> Array:
        return pick(self._log_masses(), x)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def mean(self) -> Array:
        return np.sum(self.p, axis=-1)

    def var(self) -> Array:
        return np.sum(self.p * (1 - self.p), axis=-1)

    def mode(self) -> Array:
        return np.argmax(self._log_masses(), axis=-1) * 1.0

    def skewness(self) -> Array:
        return np.sum(self.p * (1 - self.p) * (1 - 2 * self.p), axis=-1) / self.var() ** 1.5

    def kurtosis(self) -> Array:
        spread = self.p * (1 - self.p)
        return np.sum(spread * (1 - 6 * spread), axis=-1) / self.var() ** 2

    def mgf(self, t: Array) -> Array:
        return np.prod(1 + self.p * np.expm1(np.expand_dims(t, -1)), axis=-1)

    def cf(self, t: Array) -> Array:
        return np.prod(1 + self.p * np.expm1(1j * np.expand_dims(t, -1)), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.sum(rng.random((*shape, self.p.shape[-1])) < self.p, axis=-1)

    def _tails(self, x: Array) -> tuple[Array, Array]:
        return tails(np.arange(self.p.shape[-1] + 1.0), self._log_masses(), x)

    def _log_masses(self) -> Array:
        trials = np.expand_dims(np.moveaxis(self.p, -1, 0), -1)
        nothing = np.full((*self.batch_shape, 1), -np.inf)
        surely_none = np.where(np.arange(self.p.shape[-1] + 1) == 0, 0.0, -np.inf)
        start = np.broadcast_to(surely_none, (*self.batch_shape, surely_none.size))

        def add(mass: Array, trial: tuple[Array, Array]) -> tuple[Array, None]:
            log_p, log_q = trial
            one_more = np.concatenate([nothing, mass[..., :-1]], axis=-1)
            return np.logaddexp(mass + log_q, one_more + log_p), None

        with np.errstate(all="ignore"):
            mass, _ = scan(add, start, (np.log(trials), np.log1p(-trials)))
        return mass
