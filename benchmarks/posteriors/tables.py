"""What the benchmark of posteriors prints and writes: tables, the verdict, Markdown and a plot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probdiff.benchmarks.posteriors.contenders import NUMPYRO, NUTPIE, OURS, STANLI, STANLI_DENSE
from probdiff.benchmarks.posteriors.outcome import Outcome, Table, geometric_mean
from probdiff.benchmarks.report import machine, seconds, size_text

PEERS = (STANLI, STANLI_DENSE, NUMPYRO, NUTPIE)
Rows = list[list[str]]
OURS_COLUMNS = [
    "posterior", "setup", "a call", "CPU/gradient", "gradients/ESS", "ESS bulk", "tail", "time", "ESS/s",
    "source to draws", "memory", "z mean", "z sd", "R-hat", "divergences",
]  # fmt: skip
PEER_COLUMNS = [
    "posterior", "contender", "time", "÷ ours", "ESS/s", "÷ ours", "ESS/1000 gradients", "CPU/gradient", "setup",
    "source to draws", "memory", "z mean", "R-hat", "divergences",
]  # fmt: skip
STAN_COLUMNS = ["posterior", "ours", "Stan, diagonal", "÷", "Stan, dense", "÷ better"]


def own(table: Table) -> Rows:
    """Ours, a row a posterior."""
    return [
        [
            o.posterior, seconds(o.setup), seconds(o.call), seconds(o.per_gradient), f"{1000 / o.ess_per_1000:.1f}",
            f"{o.ess_bulk:.0f}", f"{o.ess_tail:.0f}", seconds(o.sampling), f"{o.ess_per_second:,.0f}",
            seconds(o.source_to_draws), size_text(o.memory), f"{o.z_mean:.1f}", f"{o.z_sd:.1f}", f"{o.r_hat:.3f}",
            f"{o.divergences:.0f}",
        ]
        for o in table.ours()
    ]  # fmt: skip


def beside(table: Table) -> Rows:
    """All contenders of the posteriors that peers were run on."""
    rows = []
    for name in table.compared():
        ours = table.good.get((name, OURS))
        for o in table.outcomes:
            if o.posterior != name:
                continue
            if o.failure:
                rows.append([name, o.contender, o.failure[:60], *[""] * (len(PEER_COLUMNS) - 3)])
                continue
            slower = f"{o.sampling / ours.sampling:.3g}" if ours else ""
            richer = f"{o.ess_per_second / ours.ess_per_second:.3g}" if ours else ""
            rows.append([
                name, o.contender, seconds(o.sampling), slower, f"{o.ess_per_second:,.0f}", richer,
                f"{o.ess_per_1000:.3g}", seconds(o.per_gradient), seconds(o.setup), seconds(o.source_to_draws),
                size_text(o.memory), f"{o.z_mean:.1f}", f"{o.r_hat:.3f}", f"{o.divergences:.0f}",
            ])  # fmt: skip
    return rows


def beside_stan(table: Table) -> Rows:
    """Effective draws for a thousand gradients, the greatest gain over Stan's better metric first."""
    ratios = table.over_stan()
    rows = []
    for name in sorted(ratios, key=lambda name: -ratios[name][1]):
        stan = table.stan(name)
        assert stan is not None
        dense = "–" if stan.dense is None else f"{stan.dense:.3g}"
        ours = table.good[name, OURS].ess_per_1000
        rows.append([name, f"{ours:.3g}", f"{stan.diagonal:.3g}", f"{ratios[name][0]:.2f}", dense,
                     f"{ratios[name][1]:.2f}"])  # fmt: skip
    return rows


def verdict(table: Table) -> list[str]:
    """Wins and losses, what failed, and the means."""
    lines = []
    ratios = table.over_stan()
    for k, metric in enumerate(("Stan's diagonal metric", "the better of Stan's metrics")):
        gains = {name: r[k] for name, r in ratios.items()}
        lines += won(f"More effective draws for a gradient than with {metric}", gains, "fewer for")
    for peer in PEERS:
        gains = {name: 1 / r for name, r in table.times(peer).items()}
        lines += won(f"Faster than {peer}", gains, "slower for")
    failed = [f"{o.posterior}, {o.contender}: {o.failure}" for o in table.outcomes if o.failure]
    return [*lines, *failed, summary(table)]


def won(claim: str, gains: dict[str, float], otherwise: str) -> list[str]:
    """How many gains are above one, and which are not, the smallest first."""
    if not gains:
        return []
    lost = [f"{name} ({gains[name]:.2f})" for name in sorted(gains, key=lambda name: gains[name]) if gains[name] <= 1]
    losses = f"; {otherwise} {', '.join(lost)}" if lost else ""
    return [f"{claim}: {len(gains) - len(lost)} of {len(gains)}{losses}"]


def summary(table: Table) -> str:
    """The geometric means in one line."""
    parts = []
    for peer in PEERS:
        times, rates = table.times(peer), table.times(peer, "ess_per_second")
        if times:
            time, rate = geometric_mean(times.values()), geometric_mean(rates.values())
            parts.append(f"time {time:.3f} and ESS/s {rate:.2f} of {peer} ({len(times)} posteriors)")
    ratios = list(table.over_stan().values())
    if ratios:
        diagonal, better = (geometric_mean(r[k] for r in ratios) for k in (0, 1))
        parts.append(f"ESS for a gradient {diagonal:.2f} of Stan's diagonal metric and {better:.2f} of its better one "
                     f"({len(ratios)})")  # fmt: skip
    return "Geometric means, ours over theirs: " + ("; ".join(parts) or "nothing to compare")


def show(table: Table) -> None:
    """Print the tables and the verdict."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Printed

    console = Console(width=None if os.environ.get("COLUMNS") or Console().is_terminal else 200)
    for title, columns, rows in (
        ("Ours, at default settings", OURS_COLUMNS, own(table)),
        ("Beside our peers, at equal settings", PEER_COLUMNS, beside(table)),
        ("Effective draws for 1000 gradients, warm-up included", STAN_COLUMNS, beside_stan(table)),
    ):
        if not rows:
            continue
        printed = Printed(title=title, box=box.SIMPLE_HEAD)
        for k, column in enumerate(columns):
            printed.add_column(column, justify="left" if k == 0 or column == "contender" else "right", no_wrap=k == 0)
        for row in rows:
            printed.add_row(*row)
        console.print(printed)
    for line in verdict(table):
        console.print(line, highlight=False, markup=False)


def markdown(table: Table, settings: str) -> str:
    """Two tables for a page, the verdict, and the plot, which lies in the page's images."""
    ours = ["posterior", "time", "ESS/s", "gradients/ESS", "source to draws", "÷ Stan, diagonal", "÷ Stan, better"]
    peers = ["time, all chains (ESS/s over ours)", OURS, *PEERS]
    closing = f"{settings}, on {machine()['cpu'] or 'one machine'}. " + ". ".join(verdict(table)) + "."
    tables = (
        grid(ours, [short(table, o) for o in table.ours()]),
        grid(peers, [times(table, n) for n in table.compared()]),
    )
    return "\n\n".join([*tables, closing, "![Ours over theirs, posterior by posterior](images/posteriordb.png)"])


def short(table: Table, o: Outcome) -> list[str]:
    """Ours in a few columns."""
    ratios = [f"{r:.2f}" for r in table.over_stan().get(o.posterior, ())] or ["–", "–"]
    numbers = [seconds(o.sampling), f"{o.ess_per_second:,.0f}", f"{1000 / o.ess_per_1000:.1f}"]
    return [o.posterior, *numbers, seconds(o.source_to_draws), *ratios]


def times(table: Table, posterior: str) -> list[str]:
    """The time of each contender, and in brackets its effective draws a second over ours."""
    ours = table.good.get((posterior, OURS))
    cells = [posterior]
    for name in (OURS, *PEERS):
        o = table.good.get((posterior, name))
        rate = f" ({o.ess_per_second / ours.ess_per_second:.2g})" if o and ours and name != OURS else ""
        cells.append(f"{seconds(o.sampling)}{rate}" if o else "–")
    return cells


def grid(columns: Sequence[str], rows: Rows) -> str:
    """A table in Markdown."""
    head = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    return "\n".join(head + ["| " + " | ".join(row) + " |" for row in rows])


def write_plot(path: Path, table: Table) -> None:
    """Left: effective draws for a gradient over Stan's. Right: time of our peers over ours. Sorted, on log axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ratios = table.over_stan()
    metrics = {f"{kind} metric": {n: r[k] for n, r in ratios.items()} for k, kind in enumerate(("diagonal", "better"))}
    sampled = {peer: {name: 1 / r for name, r in table.times(peer).items()} for peer in PEERS}
    panels = [
        ("effective draws for a gradient, ours over Stan's", metrics),
        ("time of all chains, theirs over ours", {peer: found for peer, found in sampled.items() if found}),
    ]
    panels = [(label, series) for label, series in panels if any(series.values())]
    most = max((len(set().union(*series.values())) for _, series in panels), default=0)
    figure = Figure(figsize=(6.4 * max(1, len(panels)), 1.6 + 0.27 * most), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (label, series) in zip(figure.subplots(1, max(1, len(panels)), squeeze=False)[0], panels, strict=False):
        draw_panel(axes, label, series)
    figure.savefig(path, dpi=120)


def draw_panel(axes: Any, label: str, series: dict[str, dict[str, float]]) -> None:
    """A row a posterior, a mark for each series; sorted by the smallest ratio of a row."""
    from matplotlib.ticker import LogLocator, NullFormatter

    least = {name: min(v[name] for v in series.values() if name in v) for values in series.values() for name in values}
    names = sorted(least, key=lambda name: least[name])
    for k, (title, values) in enumerate(series.items()):
        points = [(values[name], row) for row, name in enumerate(names) if name in values]
        axes.scatter(*zip(*points, strict=True), marker="osD^v"[k], color=f"C{k + 1}", s=34, label=title, zorder=3)
    axes.axvline(1, color="C0", linewidth=2)
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set(xscale="log", xlabel=label)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, alpha=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(series), fontsize="small", frameon=False)
