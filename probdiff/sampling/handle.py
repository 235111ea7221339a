"""The handle of a run: through it a run in the background is watched, paused, ended and waited for."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import perf_counter
from types import TracebackType

from probdiff.errors import ProbdiffError
from probdiff.sampling.crew import POLL, Crew
from probdiff.sampling.draws import Draws
from probdiff.sampling.progress import Display, Progress, is_open
from probdiff.sampling.remote import RemoteCrew


class Run:
    """A run that goes on by itself; `sample(..., blocking=False)` returns one.

    with sample(posterior, blocking=False) as run: ...   the run ends with the block

    A handle that nobody holds any more stops its run.
    """

    def __init__(self, crew: Crew | RemoteCrew, gather: Callable[[str], Draws], progress: bool) -> None:
        self._crew, self._gather = crew, gather
        self._draws: Draws | None = None
        self._warned = False
        weakref.finalize(self, crew.halt).atexit = False
        self._display = Display(crew.progress) if progress else None

    @property
    def progress(self) -> Progress:
        """Draws, divergences, step sizes, speed and time left, now."""
        return self._crew.progress()

    @property
    def finished(self) -> bool:
        """Whether every draw is there."""
        return self._crew.state == "finished"

    def inspect(self) -> Draws:
        """The draws so far, while the run goes on; none during warm-up."""
        if self._draws is not None:
            return self._draws
        with self._crew.writing:
            return self._gather("So far")

    def pause(self) -> None:
        """Let the chains stand still; returns once the transitions under way are finished."""
        self._crew.pause()
        self._save()

    def resume(self) -> None:
        """Go on after a pause."""
        self._crew.resume()

    def abort(self) -> Draws:
        """End the run. The draws so far, marked as partial."""
        if self._draws is None:
            self._crew.stop()
            self._close()
            self._draws = self._result()
        return self._draws

    def wait(self, timeout: float | None = None) -> Draws:
        """The draws, once all are there.

        TimeoutError after `timeout` seconds: the run goes on. An exception of a chain is raised here; what the others
        have drawn is in `inspect()`. Ctrl-C ends the run and returns the draws so far; before the first draw it passes
        through.
        """
        if self._draws is not None:
            return self._draws
        try:
            self._wait(inf if timeout is None else timeout)
        except KeyboardInterrupt as interrupt:
            self._crew.error = self._crew.error or interrupt
        finally:
            if self._crew.ended or self._crew.error is not None:
                self._crew.stop()
                self._close()
        error = self._crew.error
        if error is not None and not (isinstance(error, KeyboardInterrupt) and self._has_draws()):
            raise error
        if not self._crew.ended:
            raise TimeoutError(f"Run.wait: the run is not finished after {timeout:g} s. {self.progress.line}")
        self._draws = self._result()
        return self._draws

    def _result(self) -> Draws:
        draws, trouble = self._gather("Interrupted"), self._crew.trouble
        return replace(draws, notes=(f"{trouble}.", *draws.notes)) if trouble else draws

    def _wait(self, seconds: float) -> None:
        crew = self._crew
        if isinstance(crew, Crew) and not crew.threads:
            crew.work()
            return
        until = perf_counter() + seconds
        while not crew.join(min(POLL, max(until - perf_counter(), 0.0))):
            self._warn()
            if crew.stopping:  # a chain has failed
                return
            if crew.paused and seconds == inf:
                raise ProbdiffError("Run.wait: the run is paused and would never end. Call resume() first.")
            if perf_counter() >= until:
                return

    def _has_draws(self) -> bool:
        return any(chain.length for chain in self._crew.chains)

    def _close(self) -> None:
        self._save()
        if self._display is not None:
            self._display.stop()
        if self._crew.checkpoint is not None:
            self._crew.checkpoint.close()
        self._warn()

    def _save(self) -> None:
        if isinstance(self._crew, Crew):  # others write themselves
            for chain in self._crew.chains:
                self._crew.save(chain)

    def _warn(self) -> None:
        """Say once that the checkpoint fails."""
        if self._crew.trouble and not self._warned:
            self._warned = True
            warnings.warn(f"{self._crew.trouble}. Sampling goes on without it.", RuntimeWarning, stacklevel=4)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._crew.stop()
        self._close()

    def __repr__(self) -> str:
        return f"Run: {self.progress!r}"


def shows(progress: bool | None, blocking: bool) -> bool:
    """Whether progress is shown: None means on a terminal, to who waits."""
    return progress is not False and is_open() and (bool(progress) or (blocking and sys.stderr.isatty()))
