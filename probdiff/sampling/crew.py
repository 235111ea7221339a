"""Workers that give chains their turns, a slice of time each; which worker it is changes no draw."""

from __future__ import annotations

import atexit
import contextvars
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

from probdiff.sampling.chain import Mover, lanes_of
from probdiff.sampling.checkpoint import Checkpoint
from probdiff.sampling.kernel import Vector
from probdiff.sampling.progress import ChainProgress, Progress
from probdiff.sampling.target import Model

SLICE = 0.05
"""Seconds that a chain runs before the next has its turn."""
PIECE_PAYS = 2e-3
"""Seconds of one call into machine code from which chains run in threads: shorter ones wait for the interpreter."""
POLL = 0.1
"""Seconds after which one who waits looks around: for an interrupt, or whether the handle is gone."""
GRACE = 1.0
"""Seconds that transitions under way have to end by themselves when a run is stopped."""
MEMORY = 0.95
"""Weight of the past in the pace of a chain, a slice each."""
CHECKPOINT_SHARE = 0.05
"""Most of the time that writing checkpoints may take."""


class Stopped(BaseException):
    """Raised in a model of a run that is over."""


class Stoppable:
    """A model whose density raises once its run is over, so that a long trajectory need not be waited for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def value_and_grad(self, q: Vector) -> tuple[Any, Any]:
        """That of the model."""
        if self.stopped:
            raise Stopped
        return self.model.value_and_grad(q)


@dataclass
class Track:
    """The times of one chain: seconds at work, seconds a transition lately, when its next checkpoint is due."""

    due: float
    seconds: float = 0.0
    pace: float | None = None
    saved: int = -1
    """Transitions at its last checkpoint."""


class Crew:
    """Chains, and the threads that move them; without threads, who calls `work` moves them.

    A thread knows the crew and not the handle of the run, so that a handle that nobody holds can stop it.
    """

    def __init__(self, model: Stoppable, chains: Sequence[Mover], most: int, seconds: float,
                 checkpoint: Checkpoint | None, every: float) -> None:  # fmt: skip
        self.model, self.chains, self.most = model, chains, most
        self.checkpoint, self.every = checkpoint, every
        self.queue = deque(chain for chain in chains if not chain.finished)
        self.tracks = {chain.index: Track(perf_counter() + every) for chain in chains}
        self.busy = 0
        self.moving: set[int] = set()
        """Chains that are within a transition, or were when an exception ended it: no state to write."""
        self.paused = self.stopping = False
        self.error: BaseException | None = None
        self.trouble = ""
        self.before = self.spent = seconds
        self.since = perf_counter()
        self.threads: list[threading.Thread] = []
        self.workers = 0
        """Threads that have not ended: an interrupt within `Thread.join` may leave a living thread marked as ended."""
        self.measured = most == 1 or not all(getattr(chain, "native", False) for chain in chains)
        self.changed = threading.Condition()
        self.writing = threading.Lock()
        _crews.add(self)
        # Last come, first served: threads end before zarr, loaded by now, closes what they write through.
        atexit.unregister(_end_all)
        atexit.register(_end_all)

    # Mover chains.

    def start(self, threads: int) -> None:
        """Begin to work, in so many threads."""
        for _ in range(threads):
            context = contextvars.copy_context()  # of the caller, with what is set there
            thread = threading.Thread(
                target=context.run, args=(self._work_in_thread,), name="probdiff-chains", daemon=True
            )
            with self.changed:
                self.workers += 1
                try:
                    thread.start()
                except RuntimeError:  # the system gives no more threads
                    self.workers -= 1
                    raise
            self.threads.append(thread)

    def _work_in_thread(self) -> None:
        try:
            self.work()
        finally:
            with self.changed:
                self.workers -= 1
                self.changed.notify_all()

    def work(self) -> None:
        """Give chains their turns until all are finished or the crew is stopped."""
        while (chain := self._take()) is not None:
            try:
                self._turn(chain)
            except Stopped:
                pass
            except BaseException as error:  # raised again by who waits
                self._fail(chain, error)
            finally:
                self._put_back(chain)

    def _take(self) -> Mover | None:
        with self.changed:
            while self.paused and not self.stopping:
                self.changed.wait(POLL)
            if self.stopping or not self.queue:
                return None  # chains that are not in the queue are moved by others
            self.busy += 1
            return self.queue.popleft()

    def _put_back(self, chain: Mover) -> None:
        with self.changed:
            self.busy -= 1
            if not chain.finished:
                self.queue.append(chain)
            if not self.busy and (self.stopping or not self.queue):
                self._stop_clock()
            self.changed.notify_all()

    def _turn(self, chain: Mover) -> None:
        track = self.tracks[chain.index]
        began, before = perf_counter(), chain.done_iterations
        self.moving.add(chain.index)
        if not self.measured:
            self._measure(chain)
        chain.advance(SLICE)
        self.moving.discard(chain.index)
        now = perf_counter()
        track.seconds += now - began
        pace = (now - began) / max(chain.done_iterations - before, 1)
        track.pace = pace if track.pace is None else MEMORY * track.pace + (1 - MEMORY) * pace
        if chain.finished or now >= track.due:
            self.save(chain)

    def _measure(self, chain: Mover) -> None:
        """More threads, if machine code runs so long at a time that they are faster than one."""
        self.measured = True
        chain.advance(0)  # compiles
        began = perf_counter()
        chain.advance(0)
        if perf_counter() - began > PIECE_PAYS:
            self.start(self.most - 1)

    def _fail(self, chain: Mover, error: BaseException) -> None:
        if not isinstance(error, KeyboardInterrupt):
            error.add_note(f"This was transition {chain.done_iterations} of chain {chain.index}.")
        if self.error is None:
            self.error = error
        self.stopping = True

    # Standing still.

    def pause(self) -> None:
        """Stop after the transitions under way, and return then."""
        with self.changed:
            if self.paused or self.ended:
                return
            self.paused = True
            while self.busy:
                self.changed.wait(POLL)
            self._stop_clock()

    def resume(self) -> None:
        """Go on after a pause."""
        with self.changed:
            if self.paused:
                self.paused = False
                self.since = perf_counter()
                self.changed.notify_all()

    def halt(self) -> None:
        """Tell the workers to end, without a lock and at once: a garbage collector may call it anywhere."""
        self.stopping = self.model.stopped = True

    def stop(self) -> None:
        """End the workers: after their transition if it is short, else within it."""
        self.stopping = True
        if not self.join(GRACE):
            self.halt()
            self.join()
        self._stop_clock()

    def join(self, seconds: float = inf) -> bool:
        """Wait until the workers have ended; whether they have."""
        until = perf_counter() + seconds
        with self.changed:
            while self.workers:
                left = until - perf_counter()
                if left <= 0:
                    return False
                self.changed.wait(min(left, POLL))
        for thread in self.threads:
            thread.join()
        return True

    @property
    def ended(self) -> bool:
        """Whether no chain will move again."""
        return self.stopping or all(chain.finished for chain in self.chains)

    # Keeping and telling.

    def save(self, chain: Mover) -> None:
        """Write what is new of a chain that stands still to the checkpoint; a failure ends nothing."""
        track = self.tracks[chain.index]
        if self.checkpoint is None or chain.index in self.moving or track.saved == chain.done_iterations:
            return
        if not threading.main_thread().is_alive():  # the interpreter ends, and with it what zarr writes through
            return
        with self.writing:
            began = perf_counter()
            try:
                self.checkpoint.write(chain, self.seconds)
                track.saved = chain.done_iterations
                self.trouble = ""
            except OSError as error:
                self.trouble = (
                    f"The checkpoint {self.checkpoint.path!r} could not be written: {error.strerror or error}"
                )
            now = perf_counter()
            track.due = now + max(self.every, (now - began) / CHECKPOINT_SHARE)

    def _stop_clock(self) -> None:
        self.spent, self.since = self.seconds, inf

    @property
    def seconds(self) -> float:
        """Time since the start, without pauses."""
        return self.spent + max(perf_counter() - self.since, 0.0)

    @property
    def state(self) -> str:
        """running, paused, finished, stopped or failed."""
        if self.error is not None and not isinstance(self.error, KeyboardInterrupt):
            return "failed"
        if all(chain.finished for chain in self.chains):
            return "finished"
        return "stopped" if self.stopping else "paused" if self.paused else "running"

    def progress(self) -> Progress:
        """Where the run is."""
        chains = tuple(self._chain_progress(chain) for chain in self.chains)
        left = [c.seconds_left for c in chains if c.seconds_left is not None]
        workers = max(1, min(self.workers, len(left)))
        whole = max(max(left), sum(left) / workers) if len(left) == len(chains) else None
        counts = [c.gradients for c in chains if c.gradients is not None]
        here = self.seconds - self.before
        rate = sum(counts) / here if len(counts) == len(chains) and here else None
        trouble = f"{type(self.error).__name__}: {self.error}" if self.state == "failed" else self.trouble
        return Progress(chains, self.state, self.seconds, whole, rate, trouble)

    def _chain_progress(self, chain: Mover) -> ChainProgress:
        track = self.tracks[chain.index]
        remaining = chain.total - chain.done_iterations
        gradients = getattr(chain, "gradients", None)
        return ChainProgress(
            chain=chain.index,
            lanes=len(lanes_of(chain)),
            iteration=chain.done_iterations,
            total=chain.total,
            tune=chain.tune,
            divergences=chain.divergences,
            step_size=chain.step_size,
            tree_depth=getattr(chain, "tree_depth", None),
            gradients=gradients,
            gradients_per_second=gradients / track.seconds if gradients is not None and track.seconds else None,
            seconds_left=0.0 if not remaining else None if track.pace is None else remaining * track.pace,
        )


_crews: weakref.WeakSet[Crew] = weakref.WeakSet()


def _end_all() -> None:
    """Threads end before the interpreter does, for machine code cannot be left half-way."""
    for crew in list(_crews):
        crew.halt()
        crew.join()
