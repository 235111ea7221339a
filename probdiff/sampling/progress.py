"""The progress display: one bar a chain, with step size and divergences; nothing where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from probdiff.sampling.chain import Chain


class Display(Protocol):
    """Called now and then while chains run."""

    def __call__(self) -> None: ...


def _silent() -> None:
    return None


@contextmanager
def progress_display(chains: Sequence[Chain], progress: bool | None) -> Iterator[Display]:
    """A function that redraws the bars. `progress=None`: bars on a terminal only, on standard error."""
    if progress is None:
        progress = sys.stderr.isatty()
    if not progress:
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bars = Progress(
        TextColumn("chain {task.fields[chain]}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:>5.0f}/{task.total:.0f}  {task.fields[phase]:<8}"),
        TextColumn("step size {task.fields[eps]:.3g}, {task.fields[divergences]} divergent"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )

    def fields(chain: Chain) -> dict[str, Any]:
        phase = "done" if chain.finished else "warm-up" if chain.done_iterations < chain.tune else "sampling"
        return {"phase": phase, "eps": chain.step_size, "divergences": chain.divergences}

    with bars:
        tasks = [bars.add_task("", total=c.total, chain=c.index, **fields(c)) for c in chains]

        def redraw() -> None:
            for task, chain in zip(tasks, chains, strict=True):
                bars.update(task, completed=chain.done_iterations, **fields(chain))

        yield redraw
        redraw()
