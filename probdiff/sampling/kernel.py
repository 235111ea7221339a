"""What every transition kernel shares: its immutable state, its settings, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
LogDensity = Callable[[Vector], tuple[Any, Any]]
"""q -> (log-density, its gradient)."""


class State(NamedTuple):
    """A point of a chain with its log-density and gradient, so that neither is computed twice."""

    q: Vector
    logp: float
    grad: Vector


class Settings(NamedTuple):
    """What warm-up learns: step size, inverse mass (a variance per coordinate), its square root, trajectory length."""

    eps: float
    inv_mass: Vector
    sd: Vector
    path: float


class Info(NamedTuple):
    """One transition in ArviZ's names; `energy_error` is that of the proposal, also where it was refused."""

    lp: float
    acceptance_rate: float
    step_size: float
    n_steps: int
    int_time: float
    diverging: bool
    energy: float
    energy_error: float


class Kernel(Protocol):
    """A transition: `init` makes a state, `step` moves it. Kernels are immutable; what is learnt is in `Settings`."""

    @property
    def name(self) -> str: ...
    @property
    def target_accept(self) -> float: ...
    @property
    def step_size(self) -> float | None: ...
    @property
    def path_length(self) -> float | None: ...

    def init(self, logdensity: LogDensity, q: Vector) -> State: ...
    def step(
        self, rng: np.random.Generator, logdensity: LogDensity, state: State, settings: Settings
    ) -> tuple[State, Info]: ...


def settings(eps: float, inv_mass: Vector, path: float) -> Settings:
    """Settings with the square root of the metric filled in."""
    return Settings(eps, inv_mass, np.sqrt(inv_mass), path)
