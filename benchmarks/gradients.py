"""Value and gradient of twelve programs of realistic size, ours beside our peers' and beside code written by hand.

`python -m benchmarks.gradients [--quick] [--programs 1,2,9] [--peers jax,torch] [--out FOLDER]`. Each contender has two
processors. Answers are checked against a gradient by hand before anything is timed; a program whose answers disagree is
reported and fails the run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from probdiff.benchmarks import harness
from probdiff.benchmarks.harness import Measurement
from probdiff.benchmarks.programs.contenders import LIMITS, OURS, PEERS
from probdiff.benchmarks.report import machine, seconds, size_text

PROGRAMS = (
    "logistic",
    "varying_intercept",
    "poisson",
    "gaussian_process",
    "autoregression",
    "garch",
    "hidden_markov",
    "mixture",
    "eight_schools",
    "lotka_volterra",
    "student_t",
    "beta_binomial",
)
COLUMNS = ("", "program", *PEERS, OURS, "÷ best peer", "by hand", "÷ by hand", "first gradient", "extra memory")
MARKS = (
    (PEERS[0], PEERS[:1], "s", "C1"),
    (PEERS[1], PEERS[1:2], "^", "C2"),
    (PEERS[2], PEERS[2:], "v", "C3"),
    ("by hand (NumPy or Numba)", LIMITS, "x", "0.2"),
)


@dataclass(frozen=True)
class Outcome:
    """All measurements of one program at one size."""

    number: int
    title: str
    results: list[Measurement]

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


def module_of(name: str) -> str:
    """The module of a program."""
    return f"probdiff.benchmarks.programs.{name}"


def run_program(name: str, quick: bool, peers: Sequence[str] | None, weigh: bool, progress: Any) -> Outcome:
    """Measure every contender of one program."""
    [part] = importlib.import_module(module_of(name)).PARTS
    title = f"{part.TITLE} (here {part.QUICK_SIZES[0]:,})" if quick else part.TITLE
    progress(f"{part.NUMBER}. {title}")
    quiet = harness.run(module_of(name), part.NAME, quick=quick, peers=peers, progress=lambda _: None, weigh=weigh)
    return Outcome(part.NUMBER, title, quiet)


def text_of(r: Measurement | None) -> str:
    """Median and minimum."""
    return f"{seconds(r.median)} ({seconds(r.best)})" if r else "–"


def compile_time(r: Measurement) -> float:
    """What the first gradient took more than the later ones."""
    return max(0.0, r.first_call - r.median)


def cells(o: Outcome) -> list[str]:
    """A row of the table."""
    ours, limit = o.of([OURS]), o.of(LIMITS)
    ratios = [o.ratio(names) for names in (PEERS, LIMITS)]
    above, below = ("–" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
    mine = text_of(ours) if ours else f"not yet: {o.failure(OURS)[:60]}"
    rest = [seconds(compile_time(ours)), size_text(ours.extra_memory)] if ours else ["–", "–"]
    peers = [text_of(o.of([p])) for p in PEERS]
    return [str(o.number), o.title, *peers, mine, above, text_of(limit), below, *rest]


def geometric_mean(values: Sequence[float]) -> float:
    """exp(mean(log(values)))"""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def verdict(outcomes: Sequence[Outcome]) -> list[str]:
    """What the benchmark is about, in a few lines."""
    by_peer = [r for o in outcomes if (r := o.ratio(PEERS)) is not None]
    by_limit = {o.number: r for o in outcomes if (r := o.ratio(LIMITS)) is not None}
    lines = []
    if by_peer:
        lines.append(
            f"Geometric mean of our time over the best peer's, {len(by_peer)} programs: {geometric_mean(by_peer):.3f}"
        )
    slower = [f"{o.number} ({r:.2f})" for o in outcomes if (r := o.ratio(PEERS)) is not None and r > 1]
    lines.append("Slower than the best peer: " + (", ".join(slower) or "none"))
    far = [f"{k} ({r:.2f})" for k, r in by_limit.items() if r > 2]
    lines.append("More than twice the time by hand: " + (", ".join(far) or "none"))
    mine = [ours for o in outcomes if (ours := o.of([OURS]))]
    if mine:
        lines.append(f"Longest compilation: {seconds(max(map(compile_time, mine)))}")
    for o in outcomes:
        for m in o.results:
            if m.contender not in (*PEERS, *LIMITS, OURS) and not m.failure:
                lines.append(f"{o.title}, {m.contender}: {seconds(m.median)} ({seconds(m.best)})")
    missing = [str(o.number) for o in outcomes if o.of([OURS]) is None]
    if missing:
        lines.append("Without an answer of ours: " + ", ".join(missing))
    return lines


def compile_lines(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Time to the first gradient and memory of each contender."""
    names = (*PEERS, OURS, LIMITS[0])
    rows = []
    for o in outcomes:
        found = [o.of([name]) for name in names]
        times = [seconds(compile_time(r)) if r else "–" for r in found]
        rows.append([str(o.number), o.title, *times, *(size_text(r.extra_memory) if r else "–" for r in found)])
    return rows


def compile_columns() -> list[str]:
    """Heads of that table."""
    names = (*PEERS, OURS, LIMITS[0])
    return ["", "program", *(f"compile, {n}" for n in names), *(f"memory, {n}" for n in names)]


def show(outcomes: Sequence[Outcome]) -> None:
    """Print both tables and the verdict."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if os.environ.get("COLUMNS") or Console().is_terminal else 230)
    tables = (
        ("Time a gradient: median (minimum); ratios are of minima", COLUMNS, [cells(o) for o in outcomes]),
        (
            "First gradient less a later one; memory beyond inputs and results",
            compile_columns(),
            compile_lines(outcomes),
        ),
    )
    for title, columns, rows in tables:
        table = Table(title=title, box=box.SIMPLE_HEAD)
        for name in columns:
            table.add_column(name, justify="left" if name == "program" else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for line in verdict(outcomes):
        console.print(line, highlight=False, markup=False)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The tables for a page."""
    lines = []
    for columns, rows in ((COLUMNS, [cells(o) for o in outcomes]), (compile_columns(), compile_lines(outcomes))):
        lines += ["| " + " | ".join(columns) + " |", "|---:|---|" + "---:|" * (len(columns) - 2)]
        lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    where = machine()
    lines.append(f"Measured on {where['cpu'] or 'one machine'}, two processors. " + ". ".join(verdict(outcomes)) + ".")
    return "\n".join(lines) + "\n"


def write_json(path: Path, outcomes: Sequence[Outcome]) -> None:
    """All measurements with the machine they were made on."""
    programs = [
        {
            "number": o.number,
            "title": o.title,
            "over_best_peer": o.ratio(PEERS),
            "over_limit": o.ratio(LIMITS),
            "measurements": [
                asdict(r) | {"extra_memory": r.extra_memory, "compile_time": compile_time(r)} for r in o.results
            ],
        }
        for o in outcomes
    ]
    mean = geometric_mean([r for o in outcomes if (r := o.ratio(PEERS)) is not None])
    whole = {"machine": machine(), "geometric_mean": None if math.isnan(mean) else mean, "programs": programs}
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
    figure.legend(loc="outside upper center", ncols=5, fontsize="small")
    figure.savefig(path, dpi=120)


def chosen(text: str | None) -> list[str]:
    """Programs by number or name."""
    if not text:
        return list(PROGRAMS)
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    names = [PROGRAMS[int(w) - 1] if w.isdigit() and 0 < int(w) <= len(PROGRAMS) else w for w in wanted]
    unknown = [n for n in names if n not in PROGRAMS]
    if unknown:
        raise SystemExit(f"no program {unknown[0]!r}: numbers 1 to {len(PROGRAMS)}, or {', '.join(PROGRAMS)}")
    return names


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the result is the exit status: 1 if an answer was wrong or missing, or of ours none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradients", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats, no memory")
    parser.add_argument("--programs", help="comma-separated numbers or names (default: all)")
    parser.add_argument("--peers", help="comma-separated packages, or 'none' (default: all that are installed)")
    parser.add_argument("--out", type=Path, default=Path("probdiff-bench"), help="folder for the JSON, plot and table")
    options = parser.parse_args(argv)
    peers = None if options.peers is None else [*(p.strip() for p in options.peers.split(",")), "numba"]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    os.environ["PROBDIFF_CACHE"] = "0"  # compile times are those of a first run
    options.out.mkdir(parents=True, exist_ok=True)

    def progress(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    outcomes = [
        run_program(name, options.quick, peers, not options.quick, progress) for name in chosen(options.programs)
    ]
    failed = False
    for o in outcomes:
        for r in o.results:
            if r.failure:
                failed = True
                progress(f"{o.number}. {o.title}: {r.contender}: {r.failure}")
    right = [o for o in outcomes if not harness.wrong_answers(o.results)]
    if len(right) < len(outcomes):
        progress("Programs whose answers do not agree are not shown.")
    if right:
        show(right)
        write_json(options.out / "gradients.json", right)
        write_plot(options.out / "gradients.png", right)
        (options.out / "gradients.md").write_text(markdown(right))
        print(f"wrote gradients.json, gradients.png and gradients.md to {options.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
