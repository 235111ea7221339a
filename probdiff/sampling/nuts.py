"""The no-U-turn sampler: transitions as machine code, in pieces of a few at a time, and their warm-up."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, inf, isfinite, log
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from probdiff.compiler.compiled import Compiled, compile
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.adaptation import EPS_MAX, EPS_MIN, MASS_MAX, MASS_MIN, first_step_size, window_ends
from probdiff.sampling.hmc import HMC, is_integer, is_real
from probdiff.sampling.kernel import LogDensity, Settings, State, Vector
from probdiff.sampling.target import Model
from probdiff.tree import Array

PIECE = 25  # transitions of one native call; the windows of warm-up are multiples of it
PATIENCE = 0.5  # seconds: a piece that takes longer is cut, for an interrupt has to wait for its end
T0, KAPPA = 10.0, 0.75  # of dual averaging (Hoffman & Gelman 2014)
GAMMA = 0.1  # they have 0.05: steps that vary so much average, in 50 iterations, to one that is a fifth too short


class Averaging(NamedTuple):
    """Dual averaging of log eps, as numbers that a traced program can carry.

    H_t = (1 - 1/(t + t0)) H_{t-1} + (target - a_t)/(t + t0);  log eps_t = mu - sqrt(t)/gamma H_t
    """

    eps: Array
    mu: Array
    h: Array
    t: Array
    log_mean: Array

    @classmethod
    def start(cls, eps: float) -> Averaging:
        """Before the first transition, at step size `eps`.

        mu is log eps: `eps` was searched for, and the usual log(10 eps) spoils averages of few iterations.
        """
        return cls(np.float64(eps), np.float64(log(eps)), np.float64(0), np.float64(0), np.float64(log(eps)))

    def update(self, accept: Array, target: Array) -> Averaging:
        """After a transition with this acceptance."""
        t = self.t + 1.0
        weight = 1.0 / (t + T0)
        h = (1.0 - weight) * self.h + weight * (target - accept)
        log_eps = np.clip(self.mu - np.sqrt(t) / GAMMA * h, log(EPS_MIN), log(EPS_MAX))
        fade = t**-KAPPA
        return Averaging(np.exp(log_eps), self.mu, h, t, fade * log_eps + (1.0 - fade) * self.log_mean)


def piece(length: int, levels: int) -> Any:
    """The program of `length` transitions of a chain."""
    from probdiff.ad.control import scan
    from probdiff.sampling.trajectory import transition  # loads SciPy's special functions

    def run(
        address: Array, q: Array, logp: Array, grad: Array, averaging: Averaging, inv_mass: Array, key: Array,
        counter: Array, max_depth: Array, target: Array, tuning: Array,
    ) -> Any:  # fmt: skip
        stride = np.uint64(q.shape[0] + (4 << levels))  # random numbers of one transition, at most

        def step(carry: Any, _: None) -> Any:
            q, logp, grad, a, n = carry
            out = transition(address, q, logp, grad, a.eps, inv_mass, key, n, max_depth, levels)
            new = out.proposal
            learnt = a.update(out.acceptance_rate, target)
            following = Averaging(*(np.where(tuning, y, x) for x, y in zip(a, learnt, strict=True)))
            info = (
                new.logp, out.acceptance_rate, a.eps, out.n_steps, out.n_steps * a.eps, out.diverging, new.energy,
                new.energy - out.start_energy, out.tree_depth,
                (out.tree_depth == max_depth) & ~out.turned & ~out.diverging, out.max_energy_error,
            )  # fmt: skip
            row = np.stack([np.float64(1.0) * x for x in info])
            return (new.q, new.logp, new.grad, following, n + stride), (new.q, new.grad, row)

        return scan(step, (q, logp, grad, averaging, counter), None, length=length)

    return run


Piece = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Draws and statistics of a few transitions."""
FIELDS = (
    "lp", "acceptance_rate", "step_size", "n_steps", "int_time", "diverging", "energy", "energy_error", "tree_depth",
    "reached_max_treedepth", "max_energy_error",
)  # fmt: skip


@lru_cache(maxsize=64)
def _program(length: int, levels: int) -> Compiled:
    return compile(piece(length, levels))


@dataclass(frozen=True)
class NUTS:
    """The no-U-turn sampler with multinomial choice of the next draw, and a diagonal metric learnt in warm-up.

    target_accept  mean acceptance that the step size is tuned to
    max_depth      most doublings of a trajectory: 2^max_depth - 1 leapfrog steps
    step_size      first step size; None searches one

    Hoffman & Gelman 2014; Betancourt 2017. The turning check is that of the sums of momenta, also across the halves of
    every subtree.
    """

    target_accept: float = 0.8
    max_depth: int = 10
    step_size: float | None = None

    def __post_init__(self) -> None:
        if not (is_real(self.target_accept) and 0 < self.target_accept < 1):
            raise ParameterError(f"NUTS.target_accept must be between 0 and 1, got {self.target_accept!r}")
        if not (is_integer(self.max_depth) and 1 <= self.max_depth <= 20):
            raise ParameterError(f"NUTS.max_depth must be an integer from 1 to 20, got {self.max_depth!r}")
        if self.step_size is not None and not (is_real(self.step_size) and 0 < self.step_size < inf):
            raise ParameterError(f"NUTS.step_size must be positive and finite, got {self.step_size!r}")

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
        return NutsChain(index, model, self, rng, state, tune, draws, keep_warmup)


class Moments:
    """Mean and variance of rows that come in pieces (Chan, Golub & LeVeque 1979).

    They are summed in blocks of 25 rows, however they come, so that rounding does not depend on the pieces.
    """

    def __init__(self, dim: int) -> None:
        self.n, self.mean, self.m2 = 0, np.zeros(dim), np.zeros(dim)
        self.waiting = np.zeros((0, dim))

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take in a row for each draw."""
        if len(self.waiting):
            rows = np.concatenate([self.waiting, rows])
        while len(rows) >= PIECE:
            self._merge(rows[:PIECE])
            rows = rows[PIECE:]
        self.waiting = rows

    def _merge(self, rows: NDArray[np.float64]) -> None:
        m, mean = len(rows), rows.mean(axis=0)
        delta = mean - self.mean
        total = self.n + m
        self.m2 += ((rows - mean) ** 2).sum(axis=0) + delta**2 * (self.n * m / total)
        self.mean += delta * (m / total)
        self.n = total

    def variance(self) -> Vector:
        """Of all rows; none can be added after it."""
        if len(self.waiting):
            self._merge(self.waiting)
        return self.m2 / max(self.n - 1, 1)


class NutsChain:
    """A chain that goes on in pieces of transitions; its draws do not depend on how it is sliced."""

    def __init__(self, index: int, model: Model, kernel: NUTS, rng: np.random.Generator, state: State,
                 tune: int, draws: int, keep_warmup: bool) -> None:  # fmt: skip
        self.index, self.model, self.kernel, self.rng = index, model, kernel, rng
        self.tune, self.total, self.keep_warmup = tune, tune + draws, keep_warmup
        self.done_iterations = 0
        self.divergences = 0
        self.kept: list[Piece] = []
        self.warmup_kept: list[Piece] = []
        self.density = Density(model)
        self.native = self.density.native  # no Python in the loop: chains may run in threads
        self.state = state
        dim = len(state.q)
        self.inv_mass = np.ones(dim)
        self.key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        self.counter = np.uint64(0)
        self.ends = window_ends(tune)
        self.window = 0
        self.slow = False
        self.recorded: set[int] = set()
        eps = kernel.step_size
        if eps is None:
            with np.errstate(all="ignore"):
                eps = first_step_size(rng, model.value_and_grad, HMC(), state, self.inv_mass, 0.1)
        self.averaging = Averaging.start(eps)
        self.q_moments, self.grad_moments = Moments(dim), Moments(dim)

    @property
    def finished(self) -> bool:
        """Whether all its draws are there."""
        return self.done_iterations >= self.total

    @property
    def length(self) -> int:
        """Complete draws after warm-up."""
        return sum(len(qs) for qs, _ in self.kept)

    @property
    def step_size(self) -> float:
        """That of the next transition."""
        return float(self.averaging.eps)

    @property
    def q(self) -> NDArray[np.float64]:
        """Draws after warm-up, a row each."""
        return _joined([qs for qs, _ in self.kept], len(self.inv_mass))

    @property
    def info(self) -> NDArray[np.float64]:
        """Statistics of the transitions after warm-up."""
        return _joined([stats for _, stats in self.kept], len(FIELDS))

    @property
    def warmup_q(self) -> NDArray[np.float64]:
        """Draws of the warm-up, if kept."""
        return _joined([qs for qs, _ in self.warmup_kept], len(self.inv_mass))

    @property
    def warmup_info(self) -> NDArray[np.float64]:
        """Statistics of the transitions of the warm-up, if kept."""
        return _joined([stats for _, stats in self.warmup_kept], len(FIELDS))

    def advance(self, seconds: float = inf) -> None:
        """Make transitions until the chain is finished or the time is over."""
        until = perf_counter() + seconds
        with np.errstate(all="ignore"):
            while not self.finished:
                self._advance()
                if perf_counter() > until:
                    return

    def _advance(self) -> None:
        i, tuning = self.done_iterations, self.done_iterations < self.tune
        stop = self.total
        if tuning:
            stop = self.ends[self.window] if self.window < len(self.ends) else self.tune
        length = PIECE if stop - i >= PIECE and not self.slow else 1
        program = _program(length, self.kernel.max_depth)
        arguments = (
            self.density.address, self.state.q, np.float64(self.state.logp), self.state.grad, self.averaging,
            self.inv_mass, self.key, self.counter, np.int64(self.kernel.max_depth),
            np.float64(self.kernel.target_accept), np.bool_(tuning),
        )  # fmt: skip
        if length not in self.recorded:
            program.record(*arguments)
            self.recorded.add(length)
        began = perf_counter()
        (q, logp, grad, averaging, counter), (qs, grads, stats) = program(*arguments)
        self.slow = (perf_counter() - began) * (PIECE / length) > PATIENCE
        self.density.check()
        self.state, self.averaging, self.counter = State(q, float(logp), grad), averaging, counter
        if not tuning:
            self.kept.append((qs, stats))  # in one go: an interrupt finds both or neither
            self.divergences += int(stats[:, FIELDS.index("diverging")].sum())
        elif self.keep_warmup:
            self.warmup_kept.append((qs, stats))
        self.done_iterations = i + length
        if not tuning:
            return
        if self.window < len(self.ends):
            # The first third of the first window is the way in from the starting point.
            way_in = 0 if self.window else max(ceil(self.ends[0] / 3) - i, 0)
            self.q_moments.add(qs[way_in:])
            self.grad_moments.add(grads[way_in:])
            if self.done_iterations == self.ends[self.window]:
                self._renew()
        if self.done_iterations == self.tune:
            self.averaging = Averaging.start(exp(self.averaging.log_mean))

    def _renew(self) -> None:
        """Metric: variances of the window, held by 5 pseudo-draws of sqrt(var q / var grad).

        The ratio is the variance of a Gaussian however little of it has been seen; the first window uses it alone.
        """
        var, var_grad = self.q_moments.variance(), self.grad_moments.variance()
        n = self.q_moments.n
        ratio = np.where(var_grad > 0, np.sqrt(var / np.where(var_grad > 0, var_grad, 1.0)), var)
        weight = 0.0 if self.window == 0 else n / (n + 5)
        mixed = weight * var + (1 - weight) * ratio
        usable = np.isfinite(mixed) & (mixed > 0)
        self.inv_mass = np.clip(np.where(usable, mixed, self.inv_mass), MASS_MIN, MASS_MAX)
        self.window += 1
        eps = float(self.averaging.eps)
        eps = eps if isfinite(eps) and eps > 0 else 0.5
        eps = first_step_size(self.rng, self.model.value_and_grad, HMC(), self.state, self.inv_mass, min(eps, 1.0))
        self.averaging = Averaging.start(eps)
        dim = len(self.inv_mass)
        self.q_moments, self.grad_moments = Moments(dim), Moments(dim)


def _joined(pieces: list[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    return np.concatenate(pieces) if pieces else np.zeros((0, width))


class Density:
    """The C function of a model's log-density: its address, and the exception that a Python one has raised.

    Machine code cannot pass an exception on. A model that raises makes the density NaN from then on, so that the call
    ends soon, and `check` raises.
    """

    def __init__(self, model: Model) -> None:
        self.raised: BaseException | None = None
        self.native = True
        optional: Any = model  # not every model has an address
        try:
            self.address = np.int64(optional.address)
            return
        except (AttributeError, UnsupportedError):
            self.native = False
        dim = model.dim
        vector: Any = ctypes.c_double * dim

        def call(n: int, x: int, grad: int, logp: int, data: int) -> int:
            if self.raised is not None:
                return 1
            try:
                value, slope = model.value_and_grad(np.frombuffer(vector.from_address(x)).copy())
                ctypes.c_double.from_address(logp).value = float(value)
                np.frombuffer(vector.from_address(grad))[:] = slope
            except BaseException as error:  # an interrupt too
                self.raised = error
                return 1
            return 0

        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * 4)
        self.function = kind(call)
        self.address = np.int64(ctypes.cast(self.function, ctypes.c_void_p).value or 0)

    def check(self) -> None:
        """Raise what the model has raised."""
        if self.raised is not None:
            error, self.raised = self.raised, None
            raise error
