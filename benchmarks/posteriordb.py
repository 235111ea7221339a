"""The zoo's posteriors: what our draws cost, beside what Stan spends, and beside our peers where their models are here.

`python -m benchmarks.posteriordb [--quick] [--posteriors ar5,radon] [--contenders probdiff,nutpie] [--seeds N] [--keep]
[--out FOLDER] [--page FILE]`. Each contender runs in a process of its own, on two processors, at its own defaults. The
answers agree first: means with the reference and, if ours runs too, log-densities with ours; who disagrees is reported,
and not compared.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from probdiff.benchmarks.harness import child_environment, installed
from probdiff.benchmarks.posteriors.contenders import CONTENDERS, OURS, Settings
from probdiff.benchmarks.posteriors.judge import judge
from probdiff.benchmarks.posteriors.outcome import Outcome, Table, middle
from probdiff.benchmarks.posteriors.reference import REFERENCES
from probdiff.benchmarks.posteriors.tables import markdown, show, write_plot
from probdiff.benchmarks.report import machine, update_markers

# Posteriors that have our peers' models, too.
COMPARED = (
    "eight_schools",
    "ar5",
    "garch11",
    "hmm_example",
    "diamonds",
    "kidscore_interaction",
    "nes",
    "kilpisjarvi",
    "gauss_mix",
    "radon",
    "german_credit",
    "gp_poisson",
    "lotka_volterra",
)
POSTERIORS = (*COMPARED, *(name for name in REFERENCES if name not in COMPARED))
QUICK = Settings(tune=200, draws=200)
RTOL = 1e-6  # of differences of log-densities, unless the posterior's module has its own


def module_of(posterior: str) -> Any:
    """The module with our peers' models."""
    return importlib.import_module(f"probdiff.benchmarks.posteriors.{posterior}")


def run_child(posterior: str, contender: str, s: Settings, folder: Path, timeout: float) -> str:
    """Let a contender sample in its own process, with empty caches; the result is why it failed, or nothing."""
    folder.mkdir(mode=0o700)
    if contender != OURS:
        np.savez(folder / "data.npz", **module_of(posterior).data())
    points = folder.parent / OURS / "points.npz"
    environment = child_environment("time") | {
        "PROBDIFF_CACHE_DIR": str(folder),
        "NUMBA_CACHE_DIR": str(folder),
        "PYTENSOR_FLAGS": f"base_compiledir={folder}",
    }
    job = {
        "posterior": posterior,
        "contender": contender,
        "settings": s._asdict(),
        "folder": str(folder),
        "points": str(points) if points.exists() else None,
        "launched": time.time(),
    }
    command = [sys.executable, "-m", "probdiff.benchmarks.posteriors.run", json.dumps(job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout:.0f} s"
    return (done.stderr.strip().splitlines() or ["no answer"])[-1] if done.returncode else ""


def measure(posterior: str, contender: str, s: Settings, folder: Path, timeout: float) -> Outcome:
    """Run a contender once and judge its draws."""
    missing = [package for package in CONTENDERS[contender][0] if not installed(package.split(".")[0])]
    if missing:
        return Outcome(posterior, contender, f"{missing[0]} is not installed")
    failure = run_child(posterior, contender, s, folder, timeout)
    if failure:
        return Outcome(posterior, contender, failure)
    result = json.loads((folder / "result.json").read_text())
    reference = REFERENCES[posterior]
    with np.load(folder / "draws.npz") as draws:
        quality = judge(dict(draws), reference.moments(), reference.doubtful)
    module = module_of(posterior) if posterior in COMPARED else None
    error = density_error(result.pop("logdensity"), folder.parent / OURS / "result.json")
    if contender == OURS or contender in getattr(module, "OTHER_COORDINATES", ()):
        error = 0.0
    found = Outcome(posterior, contender, **result, **asdict(quality), density_error=error)
    return found.checked(getattr(module, "RTOL", RTOL))


def density_error(theirs: list[float], ours: Path) -> float:
    """Differences of log-densities between points, theirs less ours, relative to the largest of ours."""
    if not theirs:
        return 0.0
    expected = np.array(json.loads(ours.read_text())["logdensity"])
    difference = np.array(theirs) - expected
    return float(np.max(np.abs(difference - difference[0])) / max(1.0, np.ptp(expected)))


def run_posterior(posterior: str, contenders: Sequence[str], s: Settings, seeds: int, timeout: float) -> list[Outcome]:
    """All contenders of one posterior, the median over seeds."""
    names = [name for name in contenders if name == OURS or posterior in COMPARED]
    found: dict[str, list[Outcome]] = {name: [] for name in names}
    for seed in range(s.seed, s.seed + seeds):
        with tempfile.TemporaryDirectory(prefix="probdiff-posteriordb-") as top:
            for name in names:
                progress(f"{posterior}: {name}" + (f", seed {seed}" if seeds > 1 else ""))
                found[name].append(measure(posterior, name, s._replace(seed=seed), Path(top) / name, timeout))
                if found[name][-1].failure:
                    progress(f"{posterior}: {name}: {found[name][-1].failure}")
    return [middle(outcomes) for outcomes in found.values()]


def progress(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


def versions() -> dict[str, str]:
    """Of the packages that take part."""
    found = {}
    for name in ("probdiff", "numpy", "stanli", "numpyro", "jax", "nutpie", "pymc", "pytensor", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def earlier(path: Path, settings: dict[str, Any]) -> list[Outcome]:
    """The outcomes of a file that an earlier run with the same settings wrote."""
    if not path.exists():
        return []
    content = json.loads(path.read_text())
    if content["settings"] != settings:
        raise SystemExit(f"{path} was measured with {content['settings']}, not {settings}: leave --keep out.")
    return [Outcome(**row) for row in content["outcomes"]]


def merged(before: Sequence[Outcome], now: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes of both, the later where both have one, in the order of posteriors and contenders."""
    found = {(o.posterior, o.contender): o for o in (*before, *now)}
    names = list(CONTENDERS)
    return sorted(found.values(), key=lambda o: (POSTERIORS.index(o.posterior), names.index(o.contender)))


def chosen(text: str | None, known: Sequence[str], kind: str) -> list[str]:
    """Those named, separated by commas; all without a name."""
    wanted = [part.strip() for part in text.split(",") if part.strip()] if text else list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"no {kind} {unknown[0]!r}: there are {', '.join(known)}")
    return wanted


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 if one of ours failed or disagreed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.posteriordb", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200 draws after 200 of warm-up: a check, no measurement")
    parser.add_argument("--posteriors", help="comma-separated names, or 'compared' for those with peers (default: all)")
    parser.add_argument("--contenders", help=f"comma-separated, of {'; '.join(SHORT)} (default: all)")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each, of which the medians are shown")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one contender and posterior")
    parser.add_argument("--keep", action="store_true", help="keep what an earlier run in the folder has of others")
    parser.add_argument("--out", type=Path, default=Path("probdiff-bench"), help="folder for the JSON and the plot")
    parser.add_argument("--page", type=Path, help="a page whose bench markers the tables go between, the plot beside")
    options = parser.parse_args(argv)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: Settings().cores])
    posteriors = COMPARED if options.posteriors == "compared" else chosen(options.posteriors, POSTERIORS, "posterior")
    contenders = [SHORT[name] for name in chosen(options.contenders, list(SHORT), "contender")]
    s = QUICK if options.quick else Settings()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "posteriordb.json"
    settings = s._asdict() | {"seeds": options.seeds}
    outcomes = earlier(path, settings) if options.keep else []

    for posterior in posteriors:
        outcomes = merged(outcomes, run_posterior(posterior, contenders, s, options.seeds, options.timeout))
        whole = {"machine": machine(), "versions": versions(), "settings": settings}
        path.write_text(json.dumps(whole | {"outcomes": [asdict(o) for o in outcomes]}, indent=1) + "\n")
    table = Table(outcomes, stored=not options.quick)
    show(table)
    write_plot(options.out / "posteriordb.png", table)
    print(f"wrote posteriordb.json and posteriordb.png to {options.out}")
    if options.page is not None:
        text = f"{s.chains} chains of {s.draws} draws after {s.tune} of warm-up, {s.cores} processors"
        update_markers(options.page, "posteriordb", markdown(table, text))
        (options.page.parent / "images").mkdir(exist_ok=True)
        write_plot(options.page.parent / "images" / "posteriordb.png", table)
    return int(any(o.failure and o.contender == OURS for o in outcomes))


# Contenders as they are named on the command line.
SHORT = {name.replace(", ", "-").lower(): name for name in CONTENDERS}

if __name__ == "__main__":
    sys.exit(main())
