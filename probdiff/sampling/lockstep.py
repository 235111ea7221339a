"""Chains that move together under XLA, in pieces of transitions; what they draw stays on the device until asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from probdiff.compiler.xla.library import double, jax
from probdiff.sampling.adaptation import Window
from probdiff.sampling.chain import Block
from probdiff.sampling.kernel import Vector

LENGTH = 25
"""Most transitions of a piece."""
PATIENCE = 0.5
"""Seconds: pieces are cut to take no longer, for an interrupt has to wait for their end."""
DIVERGED = 100
"""Most divergences of a chain whose place is kept."""
PLACES = ("diverged_at", "diverged_q", "diverged_r")
"""Names of the places of divergences in a snapshot: draws, positions and momenta."""
DRAWING = Window(0, 20, False)
"""After warm-up: trees as deep as they are allowed to be."""


class Rows(NamedTuple):
    """What a piece drew, of which the first rows count: (LENGTH, chain, …).

    q, stats     draws and statistics
    last_q, last_r  the last leaf of each trajectory: where it diverged, if it did
    """

    q: Any
    stats: Any
    last_q: Any
    last_r: Any


class Count(NamedTuple):
    """Of a piece, by chain: divergences, leapfrog steps, and the depth of the last tree, NaN without trees."""

    divergences: Vector
    steps: Vector
    depth: Vector


class Motion(Protocol):
    """The state of many chains and their transitions; `step_size` is the mean of theirs."""

    fields: Sequence[str]
    windows: Sequence[Window]

    @property
    def step_size(self) -> float: ...
    def move(self, n: int, window: Window, tuning: bool) -> tuple[Rows, Count]: ...
    def learn(self) -> None: ...
    def settle(self) -> None: ...
    def check(self) -> None: ...
    def snapshot(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None: ...


class Lockstep:
    """All chains of a run under XLA, as one that a crew moves; `lanes` are the chains one by one."""

    index = 0

    def __init__(self, motion: Motion, chains: int, dim: int, tune: int, draws: int, keep_warmup: bool) -> None:
        self.motion = motion
        self.tune, self.total, self.keep_warmup = tune, tune + draws, keep_warmup
        self.lanes = [Lane(self, c, dim) for c in range(chains)]
        self.done_iterations = 0
        self.divergences = 0
        self.gradients = 0
        self.tree_depth: float | None = None
        self.window = 0
        self.pace = 0.0
        self.kept: list[Block] = []
        self.warmup_kept: list[Block] = []
        with double():
            motion.move(0, DRAWING, False)  # compiles

    @property
    def finished(self) -> bool:
        """Whether all draws are there."""
        return self.done_iterations >= self.total

    @property
    def length(self) -> int:
        """Complete draws of each chain after warm-up."""
        return sum(block.n for block in self.kept)

    @property
    def step_size(self) -> float:
        """The mean of the chains' step sizes."""
        return self.motion.step_size

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that chains of the same model, kernel and seed need to go on bit for bit, but for what they kept."""
        counts = {"done_iterations": self.done_iterations, "divergences": self.divergences, "window": self.window}
        places = {f"places_{lane.index}_{name}": x for lane in self.lanes for name, x in lane.snapshot().items()}
        return {name: np.array(n) for name, n in counts.items()} | places | self.motion.snapshot()

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        self.done_iterations, self.divergences, self.window = (
            int(snapshot[name]) for name in ("done_iterations", "divergences", "window")
        )
        for lane in self.lanes:
            lane.restore({name: snapshot[f"places_{lane.index}_{name}"] for name in PLACES})
        with double():
            self.motion.restore(snapshot)

    def advance(self, seconds: float = inf) -> None:
        """Make transitions until the chains are finished or the time is over."""
        until = perf_counter() + seconds
        with double():
            while not self.finished:
                self._advance()
                if perf_counter() > until:
                    return

    def _advance(self) -> None:
        i, tuning = self.done_iterations, self.done_iterations < self.tune
        window = self.motion.windows[self.window] if tuning else DRAWING._replace(end=self.total)
        if i == self.tune:
            self.motion.check()
        n = min(LENGTH, window.end - i)
        if self.pace * n > PATIENCE and jax.process_count() == 1:  # several have to go the same way
            n = max(1, int(PATIENCE / self.pace))
        began = perf_counter()
        rows, count = self.motion.move(n, window, tuning)
        self.pace = (perf_counter() - began) / n
        self.done_iterations = i + n
        self.gradients += int(count.steps.sum())
        self.tree_depth = None if np.isnan(count.depth).all() else float(count.depth.mean())
        block = Block(rows.q, rows.stats, n)
        if not tuning:
            self.kept.append(block)
            if count.divergences.any():
                self._note_divergences(i - self.tune, block, rows)
            return
        if self.keep_warmup:
            self.warmup_kept.append(block)
        if self.done_iterations == window.end:
            if window.learns:
                self.motion.learn()
            self.window += 1
        if self.done_iterations == self.tune:
            self.motion.settle()

    def _note_divergences(self, first: int, block: Block, rows: Rows) -> None:
        _, stats = block
        diverging = stats[:, :, self.motion.fields.index("diverging")]
        q, r = np.asarray(rows.last_q), np.asarray(rows.last_r)
        for k, c in np.argwhere(diverging):
            self.divergences += 1
            if len(self.lanes[c].diverged) < DIVERGED:
                self.lanes[c].diverged.append((first + int(k), q[k, c], r[k, c]))


class Lane:
    """One of the chains that move together, as the draws are gathered from it."""

    def __init__(self, group: Lockstep, index: int, dim: int) -> None:
        self.group, self.index, self.dim = group, index, dim
        self.diverged: list[tuple[int, Vector, Vector]] = []

    @property
    def finished(self) -> bool:
        """Whether all its draws are there."""
        return self.group.finished

    @property
    def length(self) -> int:
        """Complete draws after warm-up."""
        return self.group.length

    @property
    def q(self) -> NDArray[np.float64]:
        """Draws after warm-up, a row each."""
        return self._joined(self.group.kept, 0, self.dim)

    @property
    def info(self) -> NDArray[np.float64]:
        """Statistics of the transitions after warm-up."""
        return self._joined(self.group.kept, 1, len(self.group.motion.fields))

    @property
    def warmup_q(self) -> NDArray[np.float64]:
        """Draws of the warm-up, if kept."""
        return self._joined(self.group.warmup_kept, 0, self.dim)

    @property
    def warmup_info(self) -> NDArray[np.float64]:
        """Statistics of the transitions of the warm-up, if kept."""
        return self._joined(self.group.warmup_kept, 1, len(self.group.motion.fields))

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Where it diverged."""
        rows: list[Any] = [list(column) for column in zip(*self.diverged, strict=True)] or [[], [], []]
        at, q, r = np.array(rows[0], dtype=np.int64), *(np.reshape(x, (-1, self.dim)) for x in rows[1:])
        return dict(zip(PLACES, (at, q, r), strict=True))

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot."""
        at, q, r = (snapshot[name] for name in PLACES)
        self.diverged = list(zip(map(int, at), q, r, strict=True))

    def _joined(self, blocks: Sequence[Block], which: int, width: int) -> NDArray[np.float64]:
        return np.concatenate([np.zeros((0, width)), *(tuple(block)[which][:, self.index] for block in blocks)])
