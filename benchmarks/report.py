"""What a benchmark prints and writes: a table with ratios, JSON, a plot, and the part of the README between markers."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from probdiff.benchmarks.harness import Measurement


def seconds(value: float) -> str:
    """A time with three digits and its unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def size_text(value: float) -> str:
    """Bytes with their unit."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} B"


def find(results: Sequence[Measurement], contender: str, size: int) -> Measurement | None:
    """The measurement of one contender at one size, if it has one."""
    hits = [r for r in results if r.contender == contender and r.size == size and not r.failure]
    return hits[0] if hits else None


def rows(results: Sequence[Measurement], base: str) -> list[list[str]]:
    """The table's cells: size, contender, median, best, ratio of medians to `base`, memory, blocks, first call."""
    cells = []
    for r in sorted(results, key=lambda r: r.size):
        if r.failure:
            cells.append([f"{r.size:,}", f"{r.contender}: {r.failure}", "", "", "", "", "", ""])
            continue
        reference = find(results, base, r.size)
        ratio = f"{r.median / reference.median:.3g}" if reference else ""
        numbers = [seconds(r.median), seconds(r.best), ratio, size_text(r.extra_memory), f"{r.live_blocks:,}"]
        cells.append([f"{r.size:,}", r.contender, *numbers, seconds(r.first_call)])
    return cells


def header(base: str) -> list[str]:
    """The columns' names."""
    return ["size", "contender", "median", "best", f"÷ {base}", "extra memory", "live blocks", "first call"]


def show(title: str, results: Sequence[Measurement], base: str, ratios: Sequence[tuple[str, str, int]]) -> None:
    """Print the table, then the ratios of medians `a / b` that the benchmark is about."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if os.environ.get("COLUMNS") or Console().is_terminal else 130)
    table = Table(title=title, box=box.SIMPLE_HEAD)
    for name in header(base):
        table.add_column(name, justify="left" if name == "contender" else "right")
    last = ""
    for row in rows(results, base):
        if last and row[0] != last:
            table.add_section()
        last = row[0]
        table.add_row(*row)
    console.print(table)
    for text in ratio_lines(results, ratios):
        console.print(text, highlight=False, markup=False)


def ratio_lines(results: Sequence[Measurement], ratios: Sequence[tuple[str, str, int]]) -> list[str]:
    """`a / b at N = n: ratio`, for those that were both measured."""
    lines = []
    for above, below, size in ratios:
        a, b = find(results, above, size), find(results, below, size)
        if a and b:
            lines.append(f"{above} / {below} at N = {size:,}: {a.median / b.median:.3g}")
    return lines


def machine() -> dict[str, Any]:
    """Where it was measured."""
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        model = names[0] if names else ""
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def write_json(path: Path, results: Sequence[Measurement], base: str) -> None:
    """All measurements with the machine they were made on."""
    entries = [asdict(r) | {"extra_memory": r.extra_memory} for r in results]
    path.write_text(json.dumps({"machine": machine(), "base": base, "measurements": entries}, indent=1) + "\n")


def write_plot(path: Path, title: str, results: Sequence[Measurement], ours: Sequence[str]) -> None:
    """Median time against size, or bars where there is one size only."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    good = [r for r in results if not r.failure]
    names = list(dict.fromkeys(r.contender for r in good))
    if len({r.size for r in good}) > 1:
        for name in names:
            points = [(r.size, r.median) for r in good if r.contender == name]
            style = {"linewidth": 2.2, "marker": "o"} if name in ours else {"linestyle": "--", "marker": "."}
            axes.plot(*zip(*points, strict=True), label=name, **style)
        axes.set(xscale="log", yscale="log", xlabel="N", ylabel="seconds a call (median)")
        figure.legend(loc="outside right upper", fontsize="small")
        axes.grid(True, which="major", alpha=0.3)
    else:
        times = [next(r.median for r in good if r.contender == name) for name in names]
        axes.barh(names[::-1], times[::-1], color=["C0" if name in ours else "0.7" for name in names[::-1]])
        axes.set(xscale="log", xlabel="seconds a call (median)")
    axes.set_title(title)
    figure.savefig(path, dpi=120)


def markdown(results: Sequence[Measurement], base: str, ratios: Sequence[tuple[str, str, int]]) -> str:
    """The table in short for the README: contenders down, sizes across, median and ratio to `base`."""
    sizes = sorted({r.size for r in results})
    names = list(dict.fromkeys(r.contender for r in results))
    many = len(sizes) > 1
    head = [f"N = {size:,}" for size in sizes] if many else ["median"]
    memory = f"extra memory, N = {sizes[-1]:,}" if many else "extra memory"
    lines = ["| |" + " | ".join([*head, memory, "first call"]) + " |", "|---|" + "---:|" * (len(head) + 2)]
    for name in names:
        cells = []
        for size in sizes:
            hit, reference = find(results, name, size), find(results, base, size)
            ratio = f" ({hit.median / reference.median:.3g}×)" if hit and reference else ""
            cells.append(f"{seconds(hit.median)}{ratio}" if hit else "–")
        largest, first = find(results, name, sizes[-1]), find(results, name, sizes[0])
        cells += [size_text(largest.extra_memory) if largest else "–", seconds(first.first_call) if first else "–"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    where = machine()
    lines += ["", f"In brackets: times {base}. Measured on {where['cpu'] or 'one machine'}, {where['cores']} cores."]
    return "\n".join(lines + [f"{line}." for line in ratio_lines(results, ratios)])


def update_markers(path: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- bench:name -->` and `<!-- /bench:name -->`."""
    page = path.read_text()
    opening, closing = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if page.count(opening) != 1 or page.count(closing) != 1:
        raise SystemExit(f"{path} has no place for the table: it needs one line {opening} and one line {closing}")
    before, rest = page.split(opening)
    after = rest.split(closing)[1]
    path.write_text(f"{before}{opening}\n\n{text}\n\n{closing}{after}")
