"""LinearGaussian: noisy observations of a hidden state that moves linearly (a state-space model)."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.series.matrices import RealMatrix, real_matrix
from probdiff.distributions.series.series import Series
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import RealVector, Support
from probdiff.distributions.wrappers.combined import axis_first
from probdiff.errors import ShapeError
from probdiff.tree import Array

__all__ = ["LinearGaussian"]


class LinearGaussian(Series):
    """y_t = H s_t + D ε_t,  s_{t+1} = F s_t + G η_t,  s_1 = m + P η_0, the noises standard normal.

    transition         F, d × d
    transition_factor  G, with d rows; G G' is the covariance of the noise of the state, and may be singular
    observation        H, one row for each entry of y_t
    observation_factor D, as many rows; D D' is the covariance of the noise of an observation
    start              m, a vector of length d
    start_factor       P, with d rows
    length             how many observations there are

    A value has the shape (length, entries of y_t). The states are integrated out by the filter of Kalman (1960).
    Durbin & Koopman, Time Series Analysis by State Space Methods, ch. 4.
    """

    transition: RealMatrix
    transition_factor: RealMatrix
    observation: RealMatrix
    observation_factor: RealMatrix
    start: RealVector
    start_factor: RealMatrix
    length: Any

    support: Support = real_matrix

    def check_parts(self) -> None:
        self.check_length(1)
        d, m = self.start.shape[-1], self.observation.shape[-2]
        rows = {"transition": d, "transition_factor": d, "start_factor": d, "observation_factor": m}
        for name, expected in rows.items():
            if getattr(self, name).shape[-2] != expected:
                found = getattr(self, name).shape[-2]
                raise ShapeError(f"LinearGaussian.{name} must have {expected} rows, got {found}")
        for name in ("transition", "observation"):
            if getattr(self, name).shape[-1] != d:
                raise ShapeError(f"LinearGaussian.{name} must have {d} columns, got {getattr(self, name).shape[-1]}")

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.length), int(self.observation.shape[-2]))

    def logpdf(self, x: Array) -> Array:
        return self._filtered(x)[0]

    def filtered(self, x: Array) -> tuple[Array, Array]:
        """Means (…, length, d) and covariances (…, length, d, d) of the states, given the observations up to each."""
        _, means, covariances = self._filtered(np.asarray(x, dtype=float))
        return np.moveaxis(means, 0, -2), np.moveaxis(covariances, 0, -3)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        def noise(factor: Array) -> Array:
            return (factor @ rng.standard_normal((*shape, factor.shape[-1], 1)))[..., 0]

        state, drawn = self.start + noise(self.start_factor), []
        for _ in range(self.length):
            drawn.append((self.observation @ state[..., None])[..., 0] + noise(self.observation_factor))
            state = (self.transition @ state[..., None])[..., 0] + noise(self.transition_factor)
        return np.stack(drawn, axis=-2)

    def _filtered(self, x: Array) -> tuple[Array, Array, Array]:
        """The log-density, and by time the means and covariances of the states."""
        from probdiff import scan
        from probdiff.linalg import solve_triangular

        F, H = self.transition, self.observation
        moved, seen = square(self.transition_factor), square(self.observation_factor)

        def step(carry: tuple[Array, Array, Array], y: Array) -> tuple[Any, tuple[Array, Array]]:
            mean, P, total = carry
            factor = np.linalg.cholesky(H @ P @ turned(H) + seen)
            w = solve_triangular(factor, np.expand_dims(y, -1) - H @ mean, lower=True)
            gain = solve_triangular(factor, H @ P, lower=True)
            mean, P = mean + turned(gain) @ w, P - turned(gain) @ gain
            logs = np.sum(np.log(np.linalg.diagonal(factor)), axis=-1)
            total = total - 0.5 * np.sum(w * w, axis=(-2, -1)) - logs
            return (F @ mean, F @ P @ turned(F) + moved, total), (mean[..., 0], P)

        rows = axis_first(x, len(self.batch_shape), inner=1)
        batch, d = np.broadcast_shapes(rows.shape[1:-1], self.batch_shape), self.start.shape[-1]
        mean = np.broadcast_to(np.expand_dims(self.start, -1), (*batch, d, 1))
        first = (mean, np.broadcast_to(square(self.start_factor), (*batch, d, d)), np.zeros(batch))
        (_, _, total), (means, covariances) = scan(step, first, rows)
        return total - self.length * H.shape[-2] * HALF_LOG_2PI, means, covariances


def turned(a: Array) -> Array:
    """The transposed matrix."""
    return np.swapaxes(a, -1, -2)


def square(factor: Array) -> Array:
    """The covariance of a factor."""
    return factor @ turned(factor)
