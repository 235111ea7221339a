"""Chains that other processes or machines run: each is one task of an executor, and its draws come back at the end."""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from math import inf
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.chain import chain_of, generator, starting_state
from probdiff.sampling.checkpoint import Checkpoint
from probdiff.sampling.crew import POLL, Crew, Stoppable
from probdiff.sampling.kernel import Kernel, Vector
from probdiff.sampling.progress import ChainProgress, Progress
from probdiff.sampling.target import Model

LOST = ("KilledWorker", "TerminatedWorkerError", "EngineError")
"""Errors by which Dask, loky and ipyparallel say that a worker is gone, and the task with it."""
ATTEMPTS = 3
"""How often a chain is handed in before a lost worker ends the run."""


class Executor(Protocol):
    """What runs tasks and gives a future for each, in the manner of `concurrent.futures.Executor`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


class Job(NamedTuple):
    """What all chains share: by this, its number and its starting point, the draws of a chain are given.

    A chain writes to the checkpoint, if there is one, every so many seconds.
    """

    posterior: Model
    kernel: Kernel
    settings: Mapping[str, Any]
    checkpoint: str | None
    every: float


class Result(NamedTuple):
    """What a chain has kept, under the names that it has there."""

    q: NDArray[np.float64]
    info: NDArray[np.float64]
    warmup_q: NDArray[np.float64]
    warmup_info: NDArray[np.float64]
    diverged: Sequence[tuple[int, Vector, Vector]]
    divergences: int
    step_size: float | None
    trouble: str
    """Why its checkpoint could not be written."""


def run(job: Job | bytes, index: int, init: Vector | None, attempt: int) -> Result:
    """The draws of a chain, in the process that runs it; with a checkpoint, it goes on from there.

    attempt  counts how often the chain was handed in: Dask remembers the failure of a task by its arguments
    """
    began = perf_counter()
    posterior, kernel, settings, path, every = pickle.loads(job) if isinstance(job, bytes) else job
    model, rng = Stoppable(posterior), generator(settings["seed"], index)
    state = starting_state(posterior, kernel, rng, index, init)
    chain = chain_of(kernel, index, model, rng, state, settings)
    store = None if path is None else Checkpoint(path, posterior, index)
    try:
        before = 0.0 if store is None else store.recall(chain)
        crew = Crew(model, [chain], 1, before + perf_counter() - began, store, every)
        crew.work()
        crew.save(chain)
    finally:
        if store is not None:
            store.close()
    if crew.error is not None:
        raise crew.error
    kept = chain.q, chain.info, chain.warmup_q, chain.warmup_info
    return Result(*kept, getattr(chain, "diverged", ()), chain.divergences, chain.step_size, crew.trouble)


def packed(job: Job, executor: Any) -> Job | bytes:
    """A job as an executor takes it: threads share it, others get bytes, by cloudpickle where that is installed."""
    if isinstance(executor, ThreadPoolExecutor):
        return job
    try:
        pickler: Any = import_module("cloudpickle")
        way_out = "Keep what cannot be copied (open files, locks, handles) out of the model."
    except ModuleNotFoundError:
        pickler = pickle
        way_out = "Install cloudpickle, which takes any function, or define those of the model at the top of a module."
    try:
        found: bytes = pickler.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UnsupportedError(
            f"sample.executor: the model cannot be sent to another process: {error}. {way_out}"
        ) from None
    return found


class RemoteChain:
    """A chain that an executor runs: nothing is known of it before its end, but what its checkpoint says."""

    def __init__(self, job: Job, index: int, init: Vector | None) -> None:
        self.index, self.init, self.checkpoint = index, init, job.checkpoint
        self.tune: int = job.settings["tune"]
        self.total: int = self.tune + job.settings["draws"]
        none = np.zeros((0, job.posterior.dim)), np.zeros((0, len(job.settings["fields"])))
        self.empty = Result(*none, *none, (), 0, None, "")
        self.future: Any = None
        self.attempts = 0

    def __getattr__(self, name: str) -> Any:
        if name in Result._fields:
            return getattr(self.future.result() if self.finished else self.empty, name)
        raise AttributeError(name)

    @property
    def finished(self) -> bool:
        """Whether its draws are here."""
        return self.future.done() and self.failure is None

    @property
    def failure(self) -> BaseException | None:
        """What ended it, if it has ended without draws."""
        if not self.future.done():
            return None
        if self.future.cancelled():
            return CancelledError(f"The executor has given up chain {self.index}.")
        error: BaseException | None = self.future.exception()
        return error

    @property
    def length(self) -> int:
        """Draws that are here."""
        return len(self.q)

    @property
    def done_iterations(self) -> int:
        """Transitions, by the last checkpoint where the chain is under way."""
        if self.finished:
            return self.total
        with suppress(OSError, ValueError, KeyError, TypeError):
            with open(os.path.join(str(self.checkpoint), f"state/chain_{self.index}/zarr.json")) as page:
                done: int = json.load(page)["attributes"]["transitions"]
            return done
        return 0


class RemoteCrew:
    """Chains that an executor runs, as a `Run` sees them: they can be waited for and given up, but not paused."""

    checkpoint = None
    paused = False

    def __init__(self, executor: Any, job: Job, inits: Sequence[Vector | None], seconds: float) -> None:
        self.executor, self.job = executor, packed(job, executor)
        self.chains = [RemoteChain(job, k, init) for k, init in enumerate(inits)]
        self.error: BaseException | None = None
        self.stopping = False
        self.began, self.over = perf_counter() - seconds, inf
        self.writing = threading.Lock()
        self.news = threading.Event()
        for chain in self.chains:
            self._submit(chain)

    def _submit(self, chain: RemoteChain) -> None:
        chain.attempts += 1
        chain.future = self.executor.submit(run, self.job, chain.index, chain.init, chain.attempts)
        # Only a sign: in the thread that calls back, some executors take no other calls.
        chain.future.add_done_callback(lambda _: self.news.set())

    def join(self, seconds: float = inf) -> bool:
        """Wait until something has ended, or the time is over; whether there is nothing left to wait for."""
        self.news.wait(min(seconds, POLL))
        self.news.clear()
        with self.writing:
            for chain in self.chains:
                if not self.stopping and (error := chain.failure) is not None:
                    self._replace(chain, error)
        if self.ended:
            self.over = min(self.over, perf_counter())
        return self.ended

    def _replace(self, chain: RemoteChain, error: BaseException) -> None:
        """Hand in a chain again whose worker was lost; another failure ends the run."""
        if type(error).__name__ in LOST and chain.attempts < ATTEMPTS:
            self._submit(chain)
            return
        error.add_note(f"This was chain {chain.index}, run by {type(self.executor).__name__}.")
        if chain.checkpoint is not None:
            error.add_note(f"What the chains have drawn is in {chain.checkpoint!r}: see probdiff.sampling.resume.")
        self.error = error
        self.halt()

    @property
    def ended(self) -> bool:
        """Whether no more draws will come."""
        return self.stopping or all(chain.finished for chain in self.chains)

    def halt(self) -> None:
        """Give up the chains that are not here: those that wait are not begun, others run on for nobody."""
        self.stopping = True
        for chain in self.chains:
            chain.future.cancel()

    def stop(self) -> None:
        """Give up, if anything is left."""
        if not self.ended:
            self.halt()
        self.over = min(self.over, perf_counter())

    def pause(self) -> None:
        """Refused."""
        raise UnsupportedError("Run.pause: an executor runs the chains, and they cannot be paused. Use abort().")

    resume = pause

    @property
    def trouble(self) -> str:
        """Why a checkpoint could not be written, as far as chains are here."""
        return next((chain.trouble for chain in self.chains if chain.trouble), "")

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return min(perf_counter(), self.over) - self.began

    @property
    def state(self) -> str:
        """running, finished, stopped or failed."""
        if self.error is not None and not isinstance(self.error, KeyboardInterrupt):
            return "failed"
        if all(chain.finished for chain in self.chains):
            return "finished"
        return "stopped" if self.stopping else "running"

    def progress(self) -> Progress:
        """Where the run is, by the chains that are here and the checkpoints of the others."""
        chains = tuple(
            ChainProgress(
                chain=chain.index, iteration=chain.done_iterations, total=chain.total, tune=chain.tune,
                divergences=chain.divergences, step_size=chain.step_size, tree_depth=None, gradients=None,
                gradients_per_second=None, seconds_left=0.0 if chain.finished else None,
            )
            for chain in self.chains
        )  # fmt: skip
        trouble = f"{type(self.error).__name__}: {self.error}" if self.state == "failed" else self.trouble
        return Progress(chains, self.state, self.seconds, None, None, trouble)


def check_executor(executor: Any, backend: str) -> None:
    """Refuse what has no `submit`, and chains that move together."""
    if executor is None:
        return
    if not callable(getattr(executor, "submit", None)):
        raise ParameterError(
            f"sample.executor must have submit(), as concurrent.futures and dask's Client.get_executor() have, "
            f"got {executor!r}"
        )
    if backend == "jax":
        raise ParameterError("sample.executor runs chains apart, and backend='jax' moves them together. Give one.")
