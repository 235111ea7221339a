"""How far a run is: its numbers, and the thread that shows them as a live table or as plain lines."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

TICK = 0.25
"""Seconds between two looks at the chains."""
GOING = ("running", "paused")
LINE_STEP, LINE_SECONDS = 0.1, 60.0
"""Without a terminal a line is written for each tenth of the run, and each minute."""


@dataclass(frozen=True)
class ChainProgress:
    """Where one chain is.

    iteration, total  transitions made, and in all; the first `tune` are warm-up
    divergences       after warm-up
    step_size         of the next transition; None where it is not known
    tree_depth        mean of the last transitions; None for kernels without trees
    gradients         leapfrog steps since the run began or was resumed, each with one gradient; None if not counted
    seconds_left      by the pace of the last transitions, were it alone; None before the first
    lanes             the number of chains from this one on that move together: transitions are those of one of them,
                      divergences and gradients those of all
    """

    chain: int
    iteration: int
    total: int
    tune: int
    divergences: int
    step_size: float | None
    tree_depth: float | None
    gradients: int | None
    gradients_per_second: float | None
    seconds_left: float | None
    lanes: int = 1

    @property
    def name(self) -> str:
        """The number of the chain, or of the first and last of those that move together."""
        return str(self.chain) if self.lanes == 1 else f"{self.chain}-{self.chain + self.lanes - 1}"

    @property
    def phase(self) -> str:
        """warm-up, sampling or done."""
        if self.iteration >= self.total:
            return "done"
        return "warm-up" if self.iteration < self.tune else "sampling"


@dataclass(frozen=True, repr=False)
class Progress:
    """Where a run is.

    state         running, paused, finished, stopped or failed
    seconds       since it began, without pauses; a run that was resumed includes those before
    seconds_left  by the pace of the last transitions; None before the first
    trouble       what ended a run that failed, or why its checkpoint could not be written
    """

    chains: tuple[ChainProgress, ...]
    state: str
    seconds: float
    seconds_left: float | None
    gradients_per_second: float | None
    trouble: str = ""

    @property
    def fraction(self) -> float:
        """The part of all transitions that is made."""
        return sum(c.iteration for c in self.chains) / sum(c.total for c in self.chains)

    @property
    def line(self) -> str:
        """All of it in a line of text."""
        done, total = sum(c.iteration * c.lanes for c in self.chains), sum(c.total * c.lanes for c in self.chains)
        parts = [
            f"{done} of {total} transitions ({self.fraction:.0%})",
            f"{sum(c.divergences for c in self.chains)} divergent",
            f"{in_short(self.gradients_per_second)} gradients/s",
            f"{clock(self.seconds)} gone",
        ]
        if self.state == "running":
            parts.append(f"{clock(self.seconds_left)} left")
        return f"{self.state}: " + ", ".join(parts) + (f"; {self.trouble}" if self.trouble else "")

    def rows(self) -> Sequence[tuple[str, ...]]:
        """A heading, and a row of text for each chain."""
        heading = ("chain", "draws", "phase", "divergent", "step size", "depth", "gradients/s", "left")
        return [heading] + [
            (
                c.name, f"{c.iteration}/{c.total}", c.phase, str(c.divergences),
                "-" if c.step_size is None else f"{c.step_size:.3g}",
                "-" if c.tree_depth is None else f"{c.tree_depth:.1f}", in_short(c.gradients_per_second),
                "" if c.phase == "done" else clock(c.seconds_left),
            )
            for c in self.chains
        ]  # fmt: skip

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*lines, self.line])


def in_short(number: float | None) -> str:
    """Three digits and a letter for the power of 1000: 1.25 M."""
    if number is None:
        return "-"
    for power, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= power:
            return f"{number / power:.3g}{letter}"
    return f"{number:.3g}"


def clock(seconds: float | None) -> str:
    """Hours, minutes and seconds: 1:02:03."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def is_open() -> bool:
    """Whether there is a standard error to write to."""
    return sys.stderr is not None and not sys.stderr.closed


class Display:
    """A thread that shows progress on standard error until it is stopped; `look` says how far the run is."""

    def __init__(self, look: Callable[[], Progress]) -> None:
        self.look = look
        self.ended = threading.Event()
        show = self._table if sys.stderr.isatty() else self._lines
        self.thread = threading.Thread(target=show, name="probdiff-progress", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Show the last state, and end."""
        self.ended.set()
        self.thread.join()

    def _lines(self) -> None:
        shown, at = 0.0, perf_counter()
        with suppress(OSError, ValueError):  # standard error is closed: nobody looks
            while not self.ended.wait(TICK):
                now = self.look()
                if now.state not in GOING:
                    break
                if now.fraction >= shown + LINE_STEP or perf_counter() >= at + LINE_SECONDS:
                    print(now.line, file=sys.stderr, flush=True)
                    shown, at = now.fraction, perf_counter()
            print(self.look().line, file=sys.stderr, flush=True)

    def _table(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with suppress(OSError, ValueError, SystemExit):  # the last from rich, whose pipe is broken
            with Live(table(self.look()), console=Console(stderr=True), auto_refresh=False) as live:
                while not self.ended.wait(TICK) and self.look().state in GOING:
                    live.update(table(self.look()), refresh=True)
                live.update(table(self.look()), refresh=True)


def table(progress: Progress) -> Any:
    """The rows with a bar in front, for a terminal."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    heading, *rows = progress.rows()
    shown = Table(box=None, pad_edge=False)
    shown.add_column("", max_width=20)
    for title in heading:
        shown.add_column(title, justify="right", no_wrap=True)
    for chain, row in zip(progress.chains, rows, strict=True):
        shown.add_row(ProgressBar(total=chain.total, completed=chain.iteration), *row)
    return Group(shown, Text(progress.line))
