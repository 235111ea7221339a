"""The no-U-turn sampler: its settings, and its transitions as machine code, in pieces of a few at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.compiler.compiled import Compiled, compile
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.adaptation import Averaging
from probdiff.sampling.hmc import HMC, is_integer, is_real
from probdiff.sampling.kernel import LogDensity, Settings, State, Vector
from probdiff.sampling.metric import KINDS, Metric
from probdiff.sampling.target import Model
from probdiff.tree import Array

if TYPE_CHECKING:
    from probdiff.sampling.device import Device
    from probdiff.sampling.lockstep_nuts import NutsMotion
    from probdiff.sampling.nuts_chain import NutsChain


def one(levels: int) -> Any:
    """The program of one transition of a chain, and of what its step size learns from it."""
    from probdiff.sampling.random import uniform
    from probdiff.sampling.trajectory import transition  # loads SciPy's special functions

    def run(
        address: Array, q: Array, logp: Array, force: Array, a: Averaging, metric: Metric, key: Array,
        n: Array, max_depth: Array, target: Array, jitter: Array, tuning: Array,
    ) -> Any:  # fmt: skip
        stride = np.uint64(q.shape[0] + (4 << levels))  # random numbers of one transition, at most
        eps = a.eps * (1.0 + jitter * (2.0 * uniform(key, n + stride - np.uint64(1)) - 1.0))
        out = transition(address, q, logp, force, eps, metric, key, n, max_depth, levels)
        new = out.proposal
        learnt = a.update(out.acceptance_rate, target)
        following = Averaging(*(np.where(tuning, y, x) for x, y in zip(a, learnt, strict=True)))
        info = (
            new.logp, out.acceptance_rate, eps, out.n_steps, out.n_steps * eps, out.diverging, new.energy,
            new.energy - out.start_energy, out.tree_depth,
            (out.tree_depth == max_depth) & ~out.turned & ~out.diverging, out.max_energy_error,
        )  # fmt: skip
        row = np.stack([np.float64(1.0) * x for x in info])
        return (new.q, new.logp, new.force, following, n + stride), (
            new.q,
            new.force,
            row,
            (out.last.q, out.last.r),
        )

    return run


def piece(length: int, levels: int) -> Any:
    """The program of `length` transitions of a chain."""
    from probdiff.ad.control import scan

    move = one(levels)

    def run(
        address: Array, q: Array, logp: Array, force: Array, averaging: Averaging, metric: Metric, key: Array,
        counter: Array, max_depth: Array, target: Array, jitter: Array, tuning: Array,
    ) -> Any:  # fmt: skip
        def step(carry: Any, _: None) -> Any:
            q, logp, force, a, n = carry
            return move(address, q, logp, force, a, metric, key, n, max_depth, target, jitter, tuning)

        return scan(step, (q, logp, force, averaging, counter), None, length=length)

    return run


FIELDS = (
    "lp", "acceptance_rate", "step_size", "n_steps", "int_time", "diverging", "energy", "energy_error", "tree_depth",
    "reached_max_treedepth", "max_energy_error",
)  # fmt: skip


@lru_cache(maxsize=64)
def program(length: int, levels: int) -> Compiled:
    return compile(piece(length, levels))


@dataclass(frozen=True)
class NUTS:
    """The no-U-turn sampler with multinomial choice of the next draw, and a metric learnt in warm-up.

    target_accept  mean acceptance that the step size is tuned to
    max_depth      most doublings of a trajectory: 2^max_depth - 1 leapfrog steps
    step_size      first step size; None searches one
    metric         "diagonal"; "dense"; "low_rank", which adds to the diagonal the directions that correlation makes
                   wide or narrow; "auto" finds these directions, and takes the cheapest that serves them
    jitter         step sizes are uniform in (1 - jitter, 1 + jitter) times the tuned one

    Hoffman & Gelman 2014; Betancourt 2017. The turning check is that of the sums of momenta, also across the halves of
    every subtree.
    """

    target_accept: float = 0.8
    max_depth: int = 10
    step_size: float | None = None
    metric: str = "auto"
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if not (is_real(self.target_accept) and 0 < self.target_accept < 1):
            raise ParameterError(f"NUTS.target_accept must be between 0 and 1, got {self.target_accept!r}")
        if not (is_integer(self.max_depth) and 1 <= self.max_depth <= 20):
            raise ParameterError(f"NUTS.max_depth must be an integer from 1 to 20, got {self.max_depth!r}")
        if self.step_size is not None and not (is_real(self.step_size) and 0 < self.step_size < inf):
            raise ParameterError(f"NUTS.step_size must be positive and finite, got {self.step_size!r}")
        if self.metric not in KINDS:
            raise ParameterError(f"NUTS.metric must be one of {', '.join(KINDS)}, got {self.metric!r}")
        if not (is_real(self.jitter) and 0 <= self.jitter < 1):
            raise ParameterError(f"NUTS.jitter must be in [0, 1), got {self.jitter!r}")

    @property
    def name(self) -> str:
        return "NUTS"

    @property
    def path_length(self) -> float | None:
        return None

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what is kept of each transition."""
        return FIELDS

    def init(self, logdensity: LogDensity, q: Vector) -> State:
        """The state at `q`."""
        return HMC().init(logdensity, q)

    def step(self, rng: Any, logdensity: LogDensity, state: State, settings: Settings) -> Any:
        """NUTS makes its transitions in pieces: see `chain`."""
        raise UnsupportedError("NUTS.step is not called one at a time; use sample(kernel=NUTS())")

    def chain(self, index: int, model: Model, rng: np.random.Generator, state: State, tune: int, draws: int,
              keep_warmup: bool) -> NutsChain:  # fmt: skip
        """A chain of this kernel."""
        from probdiff.sampling.nuts_chain import NutsChain

        return NutsChain(index, model, self, rng, state, tune, draws, keep_warmup)

    def motion(self, device: Device, rngs: Sequence[np.random.Generator], states: Sequence[State],
               tune: int) -> NutsMotion:  # fmt: skip
        """Chains of this kernel under XLA."""
        from probdiff.sampling.lockstep_nuts import NutsMotion

        return NutsMotion(self, device, rngs, states, tune)
