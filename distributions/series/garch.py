"""GARCH11: a series whose variance follows its own squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.series.series import Series
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Nonnegative, Positive, Real, Support, real_vector
from probdiff.distributions.wrappers.combined import axis_first
from probdiff.tree import Array

__all__ = ["GARCH11"]


class GARCH11(Series):
    """x_t = loc + sqrt(v_t) ε_t,  v_t = omega + alpha (x_{t-1} - loc)² + beta v_{t-1},  ε_t standard normal.

    omega      positive
    alpha      nonnegative
    beta       nonnegative
    first_var  positive  v_1
    length     how many x there are
    loc        real

    Bollerslev (1986), Generalized autoregressive conditional heteroskedasticity.
    """

    omega: Positive
    alpha: Nonnegative
    beta: Nonnegative
    first_var: Positive
    length: Any
    loc: Real = 0.0

    def check_parts(self) -> None:
        self.check_length(1)

    @property
    def support(self) -> Support:
        return real_vector

    def logpdf(self, x: Array) -> Array:
        from probdiff import scan

        deviations = axis_first(x, len(self.batch_shape)) - self.loc

        def step(carry: tuple[Array, Array], e: Array) -> tuple[tuple[Array, Array], None]:
            v, total = carry
            total = total - 0.5 * (np.log(v) + e * e / v)
            return (self.omega + self.alpha * e * e + self.beta * v, total), None

        zeros = np.sum(deviations, axis=0) * 0.0 + self.omega * 0.0
        (_, total), _ = scan(step, (self.first_var + zeros, zeros), deviations)
        return total - self.length * HALF_LOG_2PI

    def variances(self, x: Array) -> Array:
        """v_1, …, v_n given the series, and v_{n+1}, the forecast."""
        v = [self.first_var + 0.0 * x[..., 0]]
        for t in range(self.length):
            v.append(self.omega + self.alpha * (x[..., t] - self.loc) ** 2 + self.beta * v[-1])
        return np.stack(v, axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        noise = rng.standard_normal((self.length, *shape))
        v = self.first_var + np.zeros(shape)
        for t in range(self.length):
            noise[t] *= np.sqrt(v)
            v = self.omega + self.alpha * noise[t] ** 2 + self.beta * v
        return np.moveaxis(self.loc + noise, 0, -1)
