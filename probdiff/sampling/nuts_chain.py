"""A chain of the no-U-turn sampler: pieces of machine code, warm-up between them, and what it keeps."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from math import exp, inf, isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import UnsupportedError
from probdiff.sampling.adaptation import Averaging, Window, first_step_size, windows
from probdiff.sampling.kernel import State, Vector
from probdiff.sampling.metric import Metric, learn, most_directions
from probdiff.sampling.nuts import FIELDS, NUTS, program
from probdiff.sampling.target import Model

PIECE = 25
"""Transitions of one native call; the windows of warm-up are multiples of it."""
PATIENCE = 0.5
"""Seconds: a piece that takes longer is cut, for an interrupt has to wait for its end."""
STEPS, DEPTH, DIVERGING = (FIELDS.index(name) for name in ("n_steps", "tree_depth", "diverging"))
TUNING, DRAWING = np.array(True), np.array(False)
DIVERGED = 100
"""Most divergences of a chain whose place is kept."""

Piece = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Draws and statistics of a few transitions."""


class NutsChain:
    """A chain that goes on in pieces of transitions; its draws do not depend on how it is sliced."""

    def __init__(self, index: int, model: Model, kernel: NUTS, rng: np.random.Generator, state: State,
                 tune: int, draws: int, keep_warmup: bool) -> None:  # fmt: skip
        self.index, self.model, self.kernel = index, model, kernel
        self.tune, self.total, self.keep_warmup = tune, tune + draws, keep_warmup
        self.done_iterations = 0
        self.divergences = 0
        self.gradients = 0
        self.tree_depth: float | None = None
        self.diverged: list[tuple[int, Vector, Vector]] = []
        self.kept: list[Piece] = []
        self.warmup_kept: list[Piece] = []
        self.density = Density(model)
        self.native = self.density.native  # no Python in the loop: chains may run in threads
        dim = len(state.q)
        self.address = np.asarray(self.density.address)
        self.key = np.asarray(rng.integers(0, 2**64, dtype=np.uint64))
        self.counter = np.uint64(0)
        self.windows = windows(tune)
        self.window = 0
        self.slow = False
        self.recorded: set[int] = set()
        self.metric = Metric.diagonal(np.ones(dim), most_directions(kernel.metric, dim))
        self.here = state.q, np.float64(state.logp), state.grad
        eps = kernel.step_size
        if eps is None:
            with np.errstate(all="ignore"):
                eps = self._first_step_size(state, 0.1)
        self.averaging = Averaging.start(eps)
        self.seen: list[Piece] = []  # draws and forces of the window

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
        return _joined([qs for qs, _ in self.kept], len(self.metric.scale))

    @property
    def info(self) -> NDArray[np.float64]:
        """Statistics of the transitions after warm-up."""
        return _joined([stats for _, stats in self.kept], len(FIELDS))

    @property
    def warmup_q(self) -> NDArray[np.float64]:
        """Draws of the warm-up, if kept."""
        return _joined([qs for qs, _ in self.warmup_kept], len(self.metric.scale))

    @property
    def warmup_info(self) -> NDArray[np.float64]:
        """Statistics of the transitions of the warm-up, if kept."""
        return _joined([stats for _, stats in self.warmup_kept], len(FIELDS))

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that a chain of the same model, kernel and seed needs to go on bit for bit, but for the draws it kept."""
        q, logp, force = self.here
        seen_q, seen_force = (_joined([rows[k] for rows in self.seen], len(q)) for k in (0, 1))
        found = {
            "done_iterations": self.done_iterations, "divergences": self.divergences, "window": self.window,
            "key": self.key, "counter": self.counter, "q": q, "logp": logp, "force": force,
            "averaging": np.array(self.averaging), **self.metric._asdict(), "seen_q": seen_q, "seen_force": seen_force,
            "diverged_at": np.array([at for at, _, _ in self.diverged], dtype=np.int64),
            "diverged_q": _joined([q[None] for _, q, _ in self.diverged], len(q)),
            "diverged_r": _joined([r[None] for _, _, r in self.diverged], len(q)),
        }  # fmt: skip
        return {name: np.array(x) for name, x in found.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        x = dict(snapshot)
        self.done_iterations, self.divergences, self.window = (
            int(x[name]) for name in ("done_iterations", "divergences", "window")
        )
        self.key, self.counter = x["key"], np.uint64(x["counter"])
        self.here = x["q"], np.float64(x["logp"]), x["force"]
        self.averaging = Averaging(*map(np.float64, x["averaging"]))
        self.metric = Metric(x["scale"], x["vectors"], x["stretch"], x["rank"])
        self.seen = [(x["seen_q"], x["seen_force"])]
        self.diverged = list(zip(map(int, x["diverged_at"]), x["diverged_q"], x["diverged_r"], strict=True))

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
        window = self.windows[self.window] if tuning else Window(self.total, self.kernel.max_depth)
        length = PIECE if window.end - i >= PIECE and not self.slow else 1
        run = program(length, self.kernel.max_depth)
        # Whole numbers as arrays, which machine code takes as they are.
        arguments = (
            self.address, *self.here, self.averaging, self.metric, self.key, np.asarray(self.counter),
            np.asarray(min(window.depth, self.kernel.max_depth)), float(self.kernel.target_accept),
            float(self.kernel.jitter), TUNING if tuning else DRAWING,
        )  # fmt: skip
        if length not in self.recorded:
            run.record(*arguments)
            self.recorded.add(length)
        began = perf_counter()
        (*here, averaging, counter), (qs, forces, stats, ends) = run(*arguments)
        self.slow = (perf_counter() - began) * (PIECE / length) > PATIENCE
        self.density.check()
        self.here, self.averaging, self.counter = tuple(here), averaging, counter
        self.done_iterations = i + length
        self.gradients += int(stats[:, STEPS].sum())
        self.tree_depth = float(stats[-1, DEPTH])
        if not tuning:
            self.kept.append((qs, stats))  # in one go: an interrupt finds both or neither
            self._note_divergences(i - self.tune, stats, ends)
            return
        if self.keep_warmup:
            self.warmup_kept.append((qs, stats))
        if window.learns:
            self.seen.append((qs, forces))
        if self.done_iterations == window.end:
            if window.learns:
                self._renew()
            self.window += 1
        if self.done_iterations == self.tune:
            self.averaging = Averaging.start(exp(self.averaging.log_mean))

    def _renew(self) -> None:
        """The metric from the window's draws, and a step size for it."""
        q, force = (np.concatenate(rows) for rows in zip(*self.seen, strict=True))
        self.seen = []
        grad = self.metric.unpull(force)
        # The first third of the first window is the way in from the starting point.
        way_in = 0 if self.window else len(q) // 3
        self.metric = learn(q[way_in:], grad[way_in:], self.kernel.metric, self.window == 0, self.metric)
        at, logp, _ = self.here
        self.here = at, logp, self.metric.pull(grad[-1])
        eps = float(self.averaging.eps)
        eps = eps if isfinite(eps) and eps > 0 else 0.5
        self.averaging = Averaging.start(self._first_step_size(State(at, float(logp), grad[-1]), min(eps, 1.0)))

    def _first_step_size(self, state: State, eps: float) -> float:
        rng = np.random.default_rng([int(self.key), self.window])
        return first_step_size(rng, self.model.value_and_grad, state, self.metric, eps)

    def _note_divergences(self, first: int, stats: NDArray[np.float64], ends: tuple[Vector, Vector]) -> None:
        for k in stats[:, DIVERGING].nonzero()[0]:
            self.divergences += 1
            if len(self.diverged) < DIVERGED:
                self.diverged.append((first + int(k), ends[0][k], ends[1][k]))


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
