"""Value and gradient of twelve programs of realistic size, ours beside our peers' and beside code written by hand.

`python -m benchmarks.gradients [--quick] [--programs 1,2,9] [--peers jax,torch] [--out FOLDER]`. Each contender has two
processors. Answers are checked against a gradient by hand before anything is timed; a program whose answers disagree is
reported and fails the run. Ours are also measured on twice the data: see `benchmarks.scaling`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probdiff.benchmarks import harness, scaling
from probdiff.benchmarks.harness import Measurement
from probdiff.benchmarks.outcomes import Outcome, compile_time, markdown, show, write_json, write_plot
from probdiff.benchmarks.programs.contenders import OURS, module_of

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


def run_program(name: str, quick: bool, peers: Sequence[str] | None, weigh: bool, progress: Any) -> Outcome:
    """Measure every contender of one program."""
    program = importlib.import_module(module_of(name))
    [part] = program.PARTS
    title = f"{part.TITLE} (here {part.QUICK_SIZES[0]:,})" if quick else part.TITLE
    progress(f"{part.NUMBER}. {title}")
    quiet = harness.run(module_of(name), part.NAME, quick=quick, peers=peers, progress=lambda _: None, weigh=weigh)
    [size] = part.QUICK_SIZES if quick else part.SIZES
    _, workspace = scaling.compiled(program.density, part.inputs(size))
    return Outcome(part.NUMBER, title, part.NOTES, quiet, compiled_from_disk(part, size), workspace)


def compiled_from_disk(part: Any, size: int) -> float | None:
    """Seconds of our compilation in a process that finds the machine code of another one; None if that fails.

    The least of three, as other work on the machine only adds to it.
    """
    [contender] = [c for c in part.CONTENDERS if c.name == OURS]
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PROBDIFF_CACHE": "1", "PROBDIFF_CACHE_DIR": folder}
        rows = [
            Measurement(**row)
            for _ in range(4)
            for row in harness.run_child(module_of(part.NAME), part.NAME, contender, [size], "time", 0.05, variables)
        ]
    if any(row.failure for row in rows):
        return None
    return min(compile_time(row) for row in rows[1:])  # the first one writes


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

    names = chosen(options.programs)
    outcomes = [run_program(name, options.quick, peers, not options.quick, progress) for name in names]
    growths = scaling.run(names, options.quick, progress)
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
        show(right, growths)
        write_json(options.out / "gradients.json", right, growths)
        write_plot(options.out / "gradients.png", right)
        (options.out / "gradients.md").write_text(markdown(right, growths))
        print(f"wrote gradients.json, gradients.png and gradients.md to {options.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
