"""The command line: `probdiff demo`, `probdiff bench`, `probdiff doctor`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

BENCHMARKS = ("exponential", "pushforward")


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(prog="probdiff", description="Differentiable log-likelihoods and their posteriors.")
    top.add_argument("--version", action="version", version=f"probdiff {version('probdiff')}")
    commands = top.add_subparsers(dest="command", required=True)

    demo = commands.add_parser("demo", help="sample two posteriors of real data, print summaries, write plots")
    demo.add_argument("--out", type=Path, default=Path("probdiff-demo"), help="folder for the plots")
    demo.add_argument("--seed", type=int, default=0, help="seed of the chains")

    bench = commands.add_parser("bench", help="time us beside our peers, after checking that all answers agree")
    bench.add_argument("name", choices=BENCHMARKS)
    bench.add_argument("--quick", action="store_true", help="small sizes, few repeats: a check more than a measurement")
    bench.add_argument("--out", type=Path, default=Path("probdiff-bench"), help="folder for the JSON and the plots")
    bench.add_argument("--peers", help="comma-separated packages to compare with (default: all that are installed)")
    bench.add_argument("--readme", type=Path, help="write tables between its bench markers, plots beside")

    commands.add_parser("doctor", help="say what is installed, which CPU features and which devices are used")
    return top


def bench(name: str, quick: bool, out: Path, peers: Sequence[str] | None, readme: Path | None) -> int:
    """Run a benchmark; print its tables only if every answer was right."""
    import importlib

    from rich.console import Console

    from probdiff.benchmarks import harness, report

    module = f"probdiff.benchmarks.{name}"
    console = Console(stderr=True)
    out.mkdir(parents=True, exist_ok=True)
    status = 0
    for part in importlib.import_module(module).PARTS:
        console.print(part.TITLE, style="bold")
        results = harness.run(module, part.NAME, quick=quick, peers=peers, progress=console.print)
        wrong = harness.wrong_answers(results)
        for r in wrong:
            console.print(f"{r.contender}, N = {r.size:,}: {r.failure}", style="red")
        if wrong:
            console.print("The answers do not agree, so no times are shown.", style="red")
            status = 1
            continue
        if any(r.failure for r in results if r.contender in ours(part)):
            status = 1
        report.show(part.TITLE, results, part.BASE, part.RATIOS)
        report.write_json(out / f"{part.NAME}.json", results, part.BASE)
        report.write_plot(out / f"{part.NAME}.png", part.TITLE, results, ours(part))
        if readme is not None:
            report.update_markers(readme, part.NAME, report.markdown(results, part.BASE, part.RATIOS))
            figures = readme.parent / "docs" / "images"
            figures.mkdir(parents=True, exist_ok=True)
            report.write_plot(figures / f"{part.NAME}.png", part.TITLE, results, ours(part))
        print(f"wrote {out / part.NAME}.json and {out / part.NAME}.png")
    return status


def ours(part: Any) -> list[str]:
    """Names of a part's contenders that need no other package; one of them failing fails the benchmark."""
    return [c.name for c in part.CONTENDERS if c.ours]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit status."""
    options = parser().parse_args(argv)
    if options.command == "demo":
        from probdiff.demo import demo

        demo(options.out, options.seed)
        return 0
    if options.command == "doctor":
        from probdiff.doctor import doctor

        doctor()
        return 0
    peers = None if options.peers is None else [p.strip() for p in options.peers.split(",") if p.strip()]
    return bench(options.name, options.quick, options.out, peers, options.readme)
