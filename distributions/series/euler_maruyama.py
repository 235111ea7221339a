"""EulerMaruyama: a stochastic differential equation, in steps of Euler."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.series.matrices import real_matrix
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import RealVector, Support, real_vector
from probdiff.distributions.wrappers.combined import Combined
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, map_leaves

__all__ = ["EulerMaruyama"]


class EulerMaruyama(Combined):
    """x_{k+1} = x_k + a h_k + b sqrt(h_k) ε_k,  (a, b) = sde(x_k, t_k, *args),  h_k = t_{k+1} - t_k.

    start       the distribution of x_1, of numbers or vectors
    times       t, a vector that rises
    sde         a function of the state and the time that returns drift and diffusion; those of many states at once, the
                states along leading axes. The noises of the entries of a vector are independent.
    args        further arguments of sde, a tuple of numbers

    A value has the axis of time first, then that of a vector.
    Kloeden & Platen, Numerical Solution of Stochastic Differential Equations, ch. 10.
    """

    start: Any
    times: RealVector
    sde: Any
    args: Any = ()

    static = ("sde",)

    def check_parts(self) -> None:
        if not isinstance(self.start, Distribution) or len(self.start.event_shape) > 1 or self.start.batch_shape:
            raise UnsupportedError(
                f"EulerMaruyama.start must be one distribution, of numbers or vectors, got {self.start!r}"
            )
        if self.times.ndim != 1:
            raise ShapeError(f"EulerMaruyama.times must be one vector, got shape {self.times.shape}")
        if not is_lifted(self.times) and not np.all(np.diff(self.times) > 0):
            raise ParameterError(f"EulerMaruyama.times must rise, got {self.times.tolist()}")

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (self.times.shape[-1], *self.start.event_shape)

    @property
    def support(self) -> Support:
        return real_matrix if self.start.event_shape else real_vector

    def logpdf(self, x: Array) -> Array:
        inner = len(self.start.event_shape)
        rows = np.moveaxis(x, -1 - inner, 0)
        before, after = rows[:-1], rows[1:]
        t, h = (np.reshape(v, (-1,) + (1,) * (after.ndim - 1)) for v in (self.times[:-1], np.diff(self.times)))
        drift, diffusion = self.sde(before, t, *self.args)
        variance = diffusion * diffusion * h
        terms = -0.5 * (after - before - drift * h) ** 2 / variance - 0.5 * np.log(variance) - HALF_LOG_2PI
        # Drift or diffusion may be constants: every step and entry counts all the same.
        terms = np.sum(terms + np.zeros(after.shape), axis=(0, -1) if inner else 0)
        return self.start.logpdf(rows[0]) + terms

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        if self.batch_shape:
            # The rows of a model's draws, one after the other: sde is written for single arguments.
            lead, inner = shape[: len(shape) - 1], len(self.event_shape)
            drawn = [map_leaves(lambda leaf, i=i: leaf[i], self).draw(lead, rng) for i in range(shape[-1])]
            return np.stack(drawn, axis=-1 - inner)
        x = [np.asarray(self.start.draw(shape, rng))]
        for t, h in zip(self.times[:-1], np.diff(self.times), strict=True):
            drift, diffusion = self.sde(x[-1], t, *self.args)
            x.append(x[-1] + drift * h + diffusion * np.sqrt(h) * rng.standard_normal(x[0].shape))
        return np.stack(x, axis=-1 - len(self.start.event_shape))
