"""ChEES-HMC: many chains with one trajectory length, learnt from all of them (Hoffman, Radul & Sountsov 2021).

Positions and momenta here are those of round coordinates, x = q / scale, in which the velocity is the momentum r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.adaptation import Averaging
from probdiff.sampling.hmc import HMC, is_integer, is_real
from probdiff.sampling.kernel import Info, LogDensity, Settings, State, Vector
from probdiff.tree import Array

if TYPE_CHECKING:
    from probdiff.sampling.device import Device
    from probdiff.sampling.lockstep_chees import CheesMotion

RATE, DECAY, SMALL = 0.025, 0.95, 1e-8
"""Of Adam: step of log length, weight of the past in the mean square of the gradient, what keeps it from zero."""
FADE = 0.5
"""The t-th length has weight t^-FADE in the average that the draws use."""
BITS = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF))


def halton(n: Array) -> Array:
    """The n-th number of the Halton sequence of base 2, in (0, 1) for n > 0: the binary digits of n < 2^32 mirrored."""
    for width, mask in BITS:
        n = ((n & np.uint64(mask)) << np.uint64(width)) | ((n >> np.uint64(width)) & np.uint64(mask))
    return n.astype(np.float64) * 2.0**-32


class Length(NamedTuple):
    """The logarithm of the trajectory length as Adam learns it: with the mean square of its gradient, and averaged."""

    log: Array
    square: Array
    t: Array
    log_mean: Array

    @classmethod
    def start(cls, log: float) -> Length:
        """Before the first transition."""
        return cls(np.float64(log), np.float64(0.0), np.float64(0.0), np.float64(log))

    def update(self, slope: Array, least: Array, most: Array) -> Length:
        """A step up the criterion, whose slope along the logarithm this is; lengths stay in (least, most)."""
        t = self.t + 1.0
        slope = np.where(np.isfinite(slope), slope, 0.0)
        square = DECAY * self.square + (1.0 - DECAY) * slope * slope
        step = RATE * slope / (np.sqrt(square / (1.0 - DECAY**t)) + SMALL)
        log = np.clip(self.log + step, np.log(least), np.log(most))
        weight = t**-FADE
        return Length(log, square, t, weight * log + (1.0 - weight) * self.log_mean)


def slope(x: Array, y: Array, r: Array, accept: Array, t: Array) -> Array:
    """The derivative of the ChEES criterion along the logarithm of the trajectory length.

    (1/4) E[(|y - E y|^2 - |x - E x|^2)^2]  has along log t  E[t (|y - E y|^2 - |x - E x|^2) (y - E y)' r]

    Of positions x (chain, dim) and proposals y with momenta r at their ends, after time t. Expectations of proposals
    are weighted by their acceptance.
    """
    weight = accept / np.sum(accept)
    y = np.where(accept[:, None] > 0.0, y, x)  # a proposal that left the domain has no place
    r = np.where(accept[:, None] > 0.0, r, 0.0)
    y = y - np.sum(weight[:, None] * y, axis=0)
    x = x - np.mean(x, axis=0)
    growth = np.sum(y * y, axis=1) - np.sum(x * x, axis=1)
    return np.sum(weight * t * growth * np.sum(y * r, axis=1))


class Pooled(NamedTuple):
    """Number, mean and sum of squared deviations of vectors, added by many (Chan, Golub & LeVeque 1983)."""

    n: Array
    mean: Array
    m2: Array

    @classmethod
    def start(cls, dim: int) -> Pooled:
        """Of none."""
        return cls(np.float64(0.0), np.zeros(dim), np.zeros(dim))

    def add(self, x: Array) -> Pooled:
        """With the rows of x."""
        rows = 1.0 * x.shape[0]
        n, mean = self.n + rows, np.mean(x, axis=0)
        apart = mean - self.mean
        m2 = self.m2 + np.sum((x - mean) ** 2, axis=0) + apart * apart * (self.n * rows / n)
        return Pooled(n, self.mean + apart * (rows / n), m2)


class Learning(NamedTuple):
    """What the chains learn together: step size, trajectory length, and the moments of their places and gradients."""

    averaging: Averaging
    length: Length
    q: Pooled
    grad: Pooled


def learnt(
    known: Learning, q: Array, grad: Array, x: Array, y: Array, r: Array, accept: Array, t: Array, target: Array,
    most: Array,
) -> Learning:  # fmt: skip
    """After a transition of all chains; the step size sees the harmonic mean of their acceptance."""
    harmonic = 1.0 / np.mean(1.0 / accept)
    eps = known.averaging.eps
    return Learning(
        known.averaging.update(harmonic, target),
        known.length.update(slope(x, y, r, accept, t), eps, eps * most),
        known.q.add(q),
        known.grad.add(grad),
    )


def steps(length: Array, eps: Array, n: Array, most: Array) -> Array:
    """Leapfrog steps of the n-th transition: its length is that times the n-th Halton number."""
    return np.clip(np.ceil(halton(n) * np.exp(length) / eps), 1.0, most)


@dataclass(frozen=True)
class ChEES:
    """HMC of many chains in lock-step: `sample(posterior, kernel=ChEES(), backend="jax", chains=128)`.

    target_accept  harmonic mean, over the chains, of the acceptance that the step size is tuned to
    max_steps      most leapfrog steps of a trajectory
    step_size      first step size; None searches one

    All trajectories of a transition have the same number of steps, so that no chain waits for another. Their length
    goes through the Halton numbers of (0, T); T maximises the change in squared distance from the mean (ChEES). The
    metric is the variance of each coordinate over all chains.
    """

    target_accept: float = 0.651
    max_steps: int = 1000
    step_size: float | None = None
    least_chains = 16

    def __post_init__(self) -> None:
        if not (is_real(self.target_accept) and 0 < self.target_accept < 1):
            raise ParameterError(f"ChEES.target_accept must be between 0 and 1, got {self.target_accept!r}")
        if not (is_integer(self.max_steps) and self.max_steps > 0):
            raise ParameterError(f"ChEES.max_steps must be a positive integer, got {self.max_steps!r}")
        if self.step_size is not None and not (is_real(self.step_size) and 0 < self.step_size < inf):
            raise ParameterError(f"ChEES.step_size must be positive and finite, got {self.step_size!r}")

    @property
    def name(self) -> str:
        return "ChEES"

    @property
    def path_length(self) -> float | None:
        return None

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what is kept of each transition."""
        return Info._fields

    def init(self, logdensity: LogDensity, q: Vector) -> State:
        """The state at `q`."""
        return HMC().init(logdensity, q)

    def step(self, rng: Any, logdensity: LogDensity, state: State, settings: Settings) -> Any:
        """ChEES moves all chains together: see `motion`."""
        raise UnsupportedError("ChEES.step is not called for one chain; use sample(kernel=ChEES(), backend='jax')")

    def motion(self, device: Device, rngs: Sequence[np.random.Generator], states: Sequence[State],
               tune: int) -> CheesMotion:  # fmt: skip
        """Chains of this kernel under XLA."""
        from probdiff.sampling.lockstep_chees import CheesMotion

        return CheesMotion(self, device, rngs, states, tune)
