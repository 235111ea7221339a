"""Throughput of elementwise functions on one processor: ours compiled, beside NumPy or SciPy and JAX.

`python -m benchmarks.vector_math [--quick] [--functions exp,erf] [--peers jax] [--out FOLDER]`. Nanoseconds an element,
results written to an array that exists where the package can. Answers are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from probdiff.benchmarks import harness
from probdiff.benchmarks.harness import Contender, Measurement
from probdiff.benchmarks.report import find, machine

Call = Callable[[], Any]
OURS, THEIRS, JAX = "probdiff", "NumPy or SciPy", "JAX jit"
SIZES, QUICK_SIZES = (100_000, 1_000_000), (10_000,)
RTOL = 1e-12


class Function(NamedTuple):
    """A ufunc of NumPy or SciPy, its name in JAX, and where it is evaluated.

    floor  the size below which errors are absolute, for functions that cross zero
    most   our time over NumPy's or SciPy's that is promised, if any
    """

    name: str
    jax: str
    low: float
    high: float
    floor: float = 0.0
    most: float = np.inf
    two: bool = False


FUNCTIONS = (
    Function("exp", "numpy.exp", -20.0, 20.0, most=1.0),
    Function("log", "numpy.log", 1e-3, 1e3, floor=1.0, most=1.0),
    Function("log1p", "numpy.log1p", -0.9, 10.0),
    Function("expm1", "numpy.expm1", -3.0, 3.0),
    Function("tanh", "numpy.tanh", -4.0, 4.0),
    Function("sin", "numpy.sin", -50.0, 50.0, floor=1.0),
    Function("cos", "numpy.cos", -50.0, 50.0, floor=1.0),
    Function("power", "numpy.power", 0.1, 10.0, two=True),
    Function("erf", "scipy.special.erf", -4.0, 4.0, most=1 / 3),
    Function("erfc", "scipy.special.erfc", -4.0, 6.0),
    Function("ndtr", "scipy.special.ndtr", -8.0, 6.0),
    Function("log_ndtr", "scipy.special.log_ndtr", -30.0, 5.0),
    Function("ndtri", "scipy.special.ndtri", 1e-4, 1 - 1e-4, floor=1.0, most=1 / 3),
    Function("gammaln", "scipy.special.gammaln", 0.05, 50.0, floor=1.0, most=1 / 3),
    Function("psi", "scipy.special.digamma", 0.05, 50.0, floor=1.0, most=1 / 3),
    Function("expit", "scipy.special.expit", -20.0, 20.0),
    Function("log_expit", "nn.log_sigmoid", -20.0, 20.0),
    Function("i0e", "scipy.special.i0e", -20.0, 20.0),
    Function("i1e", "scipy.special.i1e", -20.0, 20.0),
)


def ufunc(name: str) -> Any:
    """The function in NumPy, or else in SciPy."""
    import scipy.special

    return getattr(np, name, None) or getattr(scipy.special, name)


def inputs(f: Function, size: int) -> tuple[Any, ...]:
    """Arguments in random order, so that no branch is foreseen."""
    rng = np.random.default_rng(20_305)
    x = rng.uniform(f.low, f.high, size)
    return (x, rng.uniform(-3.0, 3.0, size)) if f.two else (x,)


def disagreement(f: Function, answer: Any, truth: Any) -> float:
    """Largest relative error of an element."""
    error = float(np.max(np.abs(answer - truth) / np.maximum(np.abs(truth), max(f.floor, 1e-300))))
    return error if np.isfinite(error) else float("inf")


def ours(f: Function, at: tuple[Any, ...]) -> Call:
    from probdiff import compile

    apply = ufunc(f.name)
    function = compile(lambda *args: apply(*args))
    out = np.empty_like(at[0])
    return lambda: function(*at, out=out)


def theirs(f: Function, at: tuple[Any, ...]) -> Call:
    apply, out = ufunc(f.name), np.empty_like(at[0])
    return lambda: apply(*at, out=out)


def jax_jit(f: Function, at: tuple[Any, ...]) -> Call:
    import importlib

    import jax

    module, _, name = f.jax.rpartition(".")
    function = jax.jit(getattr(importlib.import_module(f"jax.{module}"), name))
    there = tuple(map(jax.device_put, at))
    return lambda: np.asarray(function(*there))


def part(f: Function) -> SimpleNamespace:
    """The part of the benchmark that this function is."""
    return SimpleNamespace(
        TITLE=f.name,
        NAME=f.name,
        SIZES=SIZES,
        QUICK_SIZES=QUICK_SIZES,
        BASE=OURS,
        RATIOS=((OURS, THEIRS, SIZES[0]), (OURS, JAX, SIZES[0])),
        RTOL=RTOL,
        inputs=functools.partial(inputs, f),
        reference=lambda at: ufunc(f.name)(*at),
        disagreement=functools.partial(disagreement, f),
        CONTENDERS=(
            Contender(OURS, functools.partial(ours, f), ours=True),
            Contender(THEIRS, functools.partial(theirs, f), ours=True),
            Contender(JAX, functools.partial(jax_jit, f), package="jax"),
        ),
    )


PARTS = tuple(map(part, FUNCTIONS))
Results = dict[str, list[Measurement]]


def text_of(results: Sequence[Measurement], contender: str, size: int) -> str:
    """Nanoseconds an element, or what went wrong."""
    hit = find(results, contender, size)
    if hit:
        return f"{hit.median / size * 1e9:.2f}"
    failures = [r.failure for r in results if r.contender == contender and r.size == size]
    return failures[0].removeprefix("wrong answer: relative ").split(":")[0] if failures else "–"


def ratio(results: Sequence[Measurement], below: str, size: int) -> float | None:
    """Our median over theirs."""
    a, b = find(results, OURS, size), find(results, below, size)
    return a.median / b.median if a and b else None


def table(measured: Results) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: functions down; for each size a time for each contender and both ratios."""
    sizes = sorted({r.size for results in measured.values() for r in results})
    heads = ["function"]
    for size in sizes:
        heads += [f"{name}, N = {size:,}" for name in (OURS, THEIRS, JAX)] + [f"÷ {THEIRS}", f"÷ {JAX}"]
    rows = []
    for name, results in measured.items():
        row = [name]
        for size in sizes:
            row += [text_of(results, c, size) for c in (OURS, THEIRS, JAX)]
            found = [ratio(results, c, size) for c in (THEIRS, JAX)]
            row += ["–" if r is None else f"{r:.2f}" for r in found]
        rows.append(row)
    return heads, rows


def shortfalls(measured: Results) -> list[str]:
    """Functions slower than promised, or promised and without an answer."""
    lines = []
    for f in FUNCTIONS:
        results = measured.get(f.name, [])
        for size in sorted({r.size for r in results}):
            found = ratio(results, THEIRS, size)
            if found is None and np.isfinite(f.most):
                lines.append(f"{f.name}, N = {size:,}: not measured, promised {f.most:.2f} of {THEIRS}")
            elif found is not None and found > f.most:
                lines.append(f"{f.name}, N = {size:,}: {found:.2f} of {THEIRS}, promised {f.most:.2f}")
    return lines


def show(measured: Results) -> None:
    """Print the table and what is slower than promised."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if os.environ.get("COLUMNS") or Console().is_terminal else 170)
    heads, rows = table(measured)
    page = Table(title="Nanoseconds an element, one processor", box=box.SIMPLE_HEAD)
    for head in heads:
        page.add_column(head, justify="left" if head == "function" else "right")
    for row in rows:
        page.add_row(*row)
    console.print(page)
    for line in shortfalls(measured) or ["All promises kept."]:
        console.print(line, highlight=False, markup=False)


def markdown(measured: Results) -> str:
    """The table for a page."""
    heads, rows = table(measured)
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + f"\n\nNanoseconds an element on one processor, {machine()['cpu']}.\n"


def write_json(path: Path, measured: Results) -> None:
    """All measurements with the machine they were made on."""
    functions = {name: [asdict(r) for r in results] for name, results in measured.items()}
    path.write_text(json.dumps({"machine": machine(), "functions": functions}, indent=1) + "\n")


def write_plot(path: Path, measured: Results) -> None:
    """Each function a row, each contender a mark at its nanoseconds an element, at the smallest size (in cache)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = min(r.size for results in measured.values() for r in results)
    figure = Figure(figsize=(8, 1.4 + 0.3 * len(measured)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, marker, color in ((THEIRS, "s", "0.3"), (JAX, "^", "C1"), (OURS, "o", "C0")):
        hits = [(hit.median / size * 1e9, k) for k, rs in enumerate(measured.values()) if (hit := find(rs, name, size))]
        if hits:
            axes.scatter(
                [t for t, _ in hits], [k for _, k in hits], marker=marker, color=color, label=name, s=44, zorder=3
            )
    axes.set_yticks(range(len(measured)), list(measured))
    axes.set_ylim(len(measured) - 0.5, -0.5)
    axes.set(xscale="log", xlabel=f"nanoseconds an element, N = {size:,}, one processor")
    axes.grid(True, which="both", axis="x", alpha=0.3)
    axes.grid(True, axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=3, fontsize="small")
    figure.savefig(path, dpi=120)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the result is the exit status: 1 if an answer of ours was wrong or missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_math", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size, few repeats")
    parser.add_argument("--functions", help="comma-separated names (default: all)")
    parser.add_argument("--peers", help="'jax' or 'none' (default: jax if installed)")
    parser.add_argument("--out", type=Path, default=Path("probdiff-bench"), help="folder for the JSON, plot and table")
    options = parser.parse_args(argv)
    names = [f.name for f in FUNCTIONS]
    wanted = names if options.functions is None else [n.strip() for n in options.functions.split(",")]
    unknown = [n for n in wanted if n not in names]
    if unknown:
        raise SystemExit(f"no function {unknown[0]!r}: {', '.join(names)}")
    peers = None if options.peers is None else options.peers.split(",")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    options.out.mkdir(parents=True, exist_ok=True)
    measured: Results = {}
    failed = False
    for name in wanted:
        print(name, file=sys.stderr, flush=True)
        measured[name] = harness.run(
            "probdiff.benchmarks.vector_math",
            name,
            quick=options.quick,
            peers=peers,
            progress=lambda _: None,
            weigh=False,
        )
        for r in measured[name]:
            if r.failure:
                print(f"{name}, {r.contender}, N = {r.size:,}: {r.failure}", file=sys.stderr)
                failed |= r.contender == OURS
    show(measured)
    write_json(options.out / "vector_math.json", measured)
    write_plot(options.out / "vector_math.png", measured)
    (options.out / "vector_math.md").write_text(markdown(measured))
    print(f"wrote vector_math.json, vector_math.png and vector_math.md to {options.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
