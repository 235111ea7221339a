"""The tables, plot and figures of `benchmarks.gradients`."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from probdiff.benchmarks import scaling
from probdiff.benchmarks.harness import Measurement
from probdiff.benchmarks.programs.contenders import LIMITS, OURS, PEERS, STAN
from probdiff.benchmarks.report import machine, seconds, size_text
from probdiff.benchmarks.scaling import Growth

COLUMNS = (
    "",
    "program",
    *PEERS,
    OURS,
    "÷ best peer",
    STAN,
    f"÷ {STAN}",
    "by hand",
    "÷ by hand",
    "first gradient",
    "extra memory",
)
BUILT = (*PEERS, STAN, OURS, LIMITS[0])  # those that compile something
MARKS = (
    (PEERS[0], PEERS[:1], "s", "C1"),
    (PEERS[1], PEERS[1:2], "^", "C2"),
    (PEERS[2], PEERS[2:], "v", "C3"),
    (STAN, (STAN,), "D", "C4"),
    ("by hand (NumPy or Numba)", LIMITS, "x", "0.2"),
)


Table = tuple[str, Sequence[str], list[list[str]]]  # title, columns and rows


@dataclass(frozen=True)
class Outcome:
    """All measurements of one program at one size."""

    number: int
    title: str
    notes: dict[str, str]  # what is special about a contender's coding
    results: list[Measurement]
    from_disk: float | None  # seconds of our compilation when its machine code is on disk already
    workspace: int  # bytes that our compiled gradient keeps between calls

    def of(self, names: Sequence[str]) -> Measurement | None:
        """The fastest of these contenders that gave an answer."""
        good = [r for r in self.results if r.contender in names and not r.failure]
        return min(good, key=lambda r: r.best) if good else None

    def failure(self, name: str) -> str:
        """Why a contender has no time."""
        return next((r.failure for r in self.results if r.contender == name), "")

    def ratio(self, names: Sequence[str]) -> float | None:
        """Our minimum over the best minimum of these (other work on the machine moves medians more)."""
        ours, best = self.of([OURS]), self.of(names)
        return ours.best / best.best if ours and best else None


def text_of(r: Measurement | None) -> str:
    """Median and minimum."""
    return f"{seconds(r.median)} ({seconds(r.best)})" if r else "–"


def compile_time(r: Measurement) -> float:
    """What the first gradient took more than the later ones."""
    return max(0.0, r.first_call - r.median)


def cells(o: Outcome) -> list[str]:
    """A row of the table."""
    ours, limit = o.of([OURS]), o.of(LIMITS)
    ratios = [o.ratio(names) for names in (PEERS, [STAN], LIMITS)]
    above, beside, below = ("–" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
    mine = text_of(ours) if ours else f"not yet: {o.failure(OURS)[:60]}"
    rest = [seconds(compile_time(ours)), size_text(ours.extra_memory + o.workspace)] if ours else ["–", "–"]
    peers = [text_of(o.of([p])) for p in PEERS]
    return [str(o.number), o.title, *peers, mine, above, text_of(o.of([STAN])), beside, text_of(limit), below, *rest]


def geometric_mean(values: Sequence[float]) -> float:
    """exp(mean(log(values)))"""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def verdict(outcomes: Sequence[Outcome]) -> list[str]:
    """What the benchmark is about, in a few lines."""
    by_limit = {o.number: r for o in outcomes if (r := o.ratio(LIMITS)) is not None}
    lines = []
    for who, names in (("the best peer", PEERS), (STAN, (STAN,))):
        ratios = {o.number: r for o in outcomes if (r := o.ratio(names)) is not None}
        if ratios:
            mean, slower = geometric_mean(list(ratios.values())), [f"{k} ({r:.2f})" for k, r in ratios.items() if r > 1]
            lines.append(f"Geometric mean of our time over that of {who}, {len(ratios)} programs: {mean:.3f}")
            lines.append(f"Slower than {who}: " + (", ".join(slower) or "none"))
    far = [f"{k} ({r:.2f})" for k, r in by_limit.items() if r > 2]
    lines.append("More than twice the time by hand: " + (", ".join(far) or "none"))
    mine = [ours for o in outcomes if (ours := o.of([OURS]))]
    if mine:
        lines.append(f"Longest compilation: {seconds(max(map(compile_time, mine)))}")
    if known := [o.from_disk for o in outcomes if o.from_disk is not None]:
        lines.append(f"Longest compilation with machine code on disk: {seconds(max(known))}")
    for o in outcomes:
        for m in o.results:
            if m.contender not in (*PEERS, *LIMITS, STAN, OURS) and not m.failure:
                lines.append(f"{o.title}, {m.contender}: {seconds(m.median)} ({seconds(m.best)})")
    lines += [f"{o.title}, {name}: {note}" for o in outcomes for name, note in o.notes.items() if o.of([name])]
    missing = [str(o.number) for o in outcomes if o.of([OURS]) is None]
    if missing:
        lines.append("Without an answer of ours: " + ", ".join(missing))
    return lines


def each(outcomes: Sequence[Outcome], text: Any) -> list[list[str]]:
    """A row for each program: its number and title, and `text` of the contenders that compile something."""
    return [[str(o.number), o.title, *(text(r) if (r := o.of([name])) else "–" for name in BUILT)] for o in outcomes]


def tables(outcomes: Sequence[Outcome], growths: Sequence[Growth]) -> list[Table]:
    """What is printed."""
    compiling = each(outcomes, lambda r: seconds(compile_time(r)))
    for row, o in zip(compiling, outcomes, strict=True):
        row.append("–" if o.from_disk is None else seconds(o.from_disk))
    found: list[Table] = [
        ("Time a gradient: median (minimum); ratios are of minima", COLUMNS, [cells(o) for o in outcomes]),
        ("First gradient less a later one", ("", "program", *BUILT, f"{OURS}, from disk"), compiling),
    ]
    if any(r.result_bytes for o in outcomes for r in o.results):
        weighed = each(outcomes, lambda r: size_text(r.extra_memory))
        for row, o in zip(weighed, outcomes, strict=True):
            row.append(size_text(o.workspace))
        columns = ("", "program", *BUILT, f"{OURS}, between calls")
        found.append(("Memory of a call beyond inputs and results; kept between calls", columns, weighed))
    if growths:
        found.append((f"How {OURS} grows", ("", *scaling.COLUMNS), [["", *g.cells()] for g in growths]))
    return found


def show(outcomes: Sequence[Outcome], growths: Sequence[Growth]) -> None:
    """Print the tables and the verdict."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console(width=None if os.environ.get("COLUMNS") or Console().is_terminal else 230)
    for title, columns, rows in tables(outcomes, growths):
        grid = Grid(title=title, box=box.SIMPLE_HEAD)
        for name in columns:
            grid.add_column(name, justify="left" if name == "program" else "right")
        for row in rows:
            grid.add_row(*row)
        console.print(grid)
    for line in verdict(outcomes):
        console.print(line, highlight=False, markup=False)


def markdown(outcomes: Sequence[Outcome], growths: Sequence[Growth]) -> str:
    """The tables for a page."""
    lines = []
    for _, columns, rows in tables(outcomes, growths):
        lines += ["| " + " | ".join(columns) + " |", "|---:|---|" + "---:|" * (len(columns) - 2)]
        lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    where = machine()
    lines.append(f"Measured on {where['cpu'] or 'one machine'}, two processors. " + ". ".join(verdict(outcomes)) + ".")
    return "\n".join(lines) + "\n"


def write_json(path: Path, outcomes: Sequence[Outcome], growths: Sequence[Growth]) -> None:
    """All measurements with the machine they were made on."""
    programs = [
        {
            "number": o.number,
            "title": o.title,
            "over_best_peer": o.ratio(PEERS),
            "over_stan": o.ratio([STAN]),
            "over_limit": o.ratio(LIMITS),
            "compile_time_from_disk": o.from_disk,
            "workspace": o.workspace,
            "measurements": [
                asdict(r) | {"extra_memory": r.extra_memory, "compile_time": compile_time(r)} for r in o.results
            ],
        }
        for o in outcomes
    ]
    means = [geometric_mean([r for o in outcomes if (r := o.ratio(names)) is not None]) for names in (PEERS, [STAN])]
    mean, beside = (None if math.isnan(m) else m for m in means)
    whole = {"machine": machine(), "geometric_mean": mean, "geometric_mean_stan": beside, "programs": programs}
    whole["scaling"] = [asdict(g) for g in growths]
    path.write_text(json.dumps(whole, indent=1) + "\n")


def write_plot(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Each program a row, each contender a mark at its time over ours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 1.4 + 0.42 * len(outcomes)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rows = range(len(outcomes))
    for label, names, marker, color in MARKS:
        points = [(1 / r, k) for k, o in zip(rows, outcomes, strict=True) if (r := o.ratio(names)) is not None]
        if points:
            axes.scatter(
                [t for t, _ in points], [k for _, k in points], marker=marker, color=color, s=48, label=label, zorder=3
            )
    axes.axvline(1, color="C0", linewidth=2.2, label=OURS)
    labels = [f"{o.title}  ({seconds(m.best)})" if (m := o.of([OURS])) else o.title for o in outcomes]
    axes.set_yticks(list(rows), labels)
    axes.set_ylim(len(outcomes) - 0.5, -0.5)
    axes.set(xscale="log", xlabel="minimal time a gradient, times ours (in brackets)")
    axes.grid(True, axis="both", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=6, fontsize="small")
    figure.savefig(path, dpi=120)
