"""Hamiltonian Monte Carlo with trajectories of jittered length (Duane et al. 1987; Neal 2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, exp, inf, isfinite

import numpy as np

from probdiff.errors import ParameterError
from probdiff.sampling.kernel import Info, LogDensity, Settings, State, Vector

Integrator = Callable[[LogDensity, Vector, float, int, State, Vector, float], tuple[State, Vector, int]]


def leapfrog(
    logdensity: LogDensity, inv_mass: Vector, eps: float, n: int, state: State, p: Vector, floor: float = -inf
) -> tuple[State, Vector, int]:
    """n times half a kick, a drift, half a kick; kicks that meet are one.

    p' = p + eps/2 grad(q);  q' = q + eps M^-1 p';  p'' = p' + eps/2 grad(q')

    Stops where the log-density is not above `floor` (NaN counts as below). Returns state, momentum, steps taken.
    """
    q, logp, grad = state
    drift = eps * inv_mass
    p = p + (0.5 * eps) * grad
    for i in range(1, n):
        q = q + drift * p
        logp, grad = logdensity(q)
        if not logp > floor:
            return State(q, float(logp), grad), p, i
        p = p + eps * grad
    q = q + drift * p
    logp, grad = logdensity(q)
    return State(q, float(logp), grad), p + (0.5 * eps) * grad, n


@dataclass(frozen=True)
class HMC:
    """Hamiltonian Monte Carlo: a random momentum, a leapfrog trajectory, one Metropolis decision at its end.

    H(q, p) = -log p(q) + p' M^-1 p / 2;  accept with probability min(1, exp(H - H'))

    path_length   trajectory length in units of the metric; None learns pi/2 standard deviations of the widest direction
    n_steps       leapfrog steps, instead of a path length
    target_accept mean acceptance that the step size is tuned to
    max_steps     most leapfrog steps of one trajectory
    jitter        trajectory lengths are uniform in (1 - jitter, 1 + jitter) times their mean, against periodic orbits
    step_size     first step size; None searches one. Warm-up goes on from it; with tune=0 it stays
    max_energy_error  an energy that grows by more than this is a divergence
    """

    path_length: float | None = None
    n_steps: int | None = None
    target_accept: float = 0.8
    max_steps: int = 512
    jitter: float = 0.5
    step_size: float | None = None
    max_energy_error: float = 1000.0
    integrator: Integrator = field(default=leapfrog, repr=False)

    @property
    def name(self) -> str:
        return "HMC"

    def __post_init__(self) -> None:
        if self.path_length is not None and self.n_steps is not None:
            raise ParameterError(
                f"HMC takes path_length or n_steps, not both, got path_length={self.path_length!r} "
                f"and n_steps={self.n_steps!r}"
            )
        for name in ("path_length", "step_size", "max_energy_error"):
            value = getattr(self, name)
            if value is not None and not (is_real(value) and 0 < value < inf):
                raise ParameterError(f"HMC.{name} must be positive and finite, got {value!r}")
        for name in ("n_steps", "max_steps"):
            value = getattr(self, name)
            if value is not None and not (is_integer(value) and value > 0):
                raise ParameterError(f"HMC.{name} must be a positive integer, got {value!r}")
        if not (is_real(self.target_accept) and 0 < self.target_accept < 1):
            raise ParameterError(f"HMC.target_accept must be between 0 and 1, got {self.target_accept!r}")
        if not (is_real(self.jitter) and 0 <= self.jitter <= 1):
            raise ParameterError(f"HMC.jitter must be in [0, 1], got {self.jitter!r}")

    def init(self, logdensity: LogDensity, q: Vector) -> State:
        """The state at `q`."""
        logp, grad = logdensity(q)
        return State(q, float(logp), grad)

    def step(
        self, rng: np.random.Generator, logdensity: LogDensity, state: State, settings: Settings
    ) -> tuple[State, Info]:
        """One transition. A proposal without finite energy, or with far too much of it, is a divergence and refused."""
        eps, inv_mass, sd, path = settings
        z = rng.standard_normal(len(sd))
        stretch = 1 + self.jitter * (2 * rng.random() - 1)
        u = rng.random()
        wish = path * stretch / eps if self.n_steps is None else self.n_steps * stretch
        n = self.max_steps if wish > self.max_steps else max(1, ceil(wish))

        energy = 0.5 * float(z @ z) - state.logp
        floor = -energy - self.max_energy_error
        proposal, p, taken = self.integrator(logdensity, inv_mass, eps, n, state, z / sd, floor)
        v = sd * p
        new_energy = 0.5 * float(v @ v) - proposal.logp
        error = new_energy - energy
        diverging = taken < n or is_divergent(error, self.max_energy_error)
        accept = 0.0 if diverging else exp(min(0.0, -error))
        if u < accept:
            state, energy = proposal, new_energy
        return state, Info(state.logp, accept, eps, taken, taken * eps, diverging, energy, error)


def is_divergent(error: float, limit: float = 1000.0) -> bool:
    """Whether an energy error is a divergence: too large an *increase*, or not finite. Large decreases are welcome."""
    return not (isfinite(error) and error <= limit)


def is_real(value: object) -> bool:
    """Whether a value is one real number, not a truth value."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_integer(value: object) -> bool:
    """Whether a value is one integer, not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
