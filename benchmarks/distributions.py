"""Log-densities with gradients, distribution functions, quantiles and draws of thirty families, beside our peers'.

`python -m probdiff.benchmarks.distributions [--quick] [--families Normal,Beta] [--json FILE]`. All answers are checked
before anything is timed: values against SciPy's, gradients against differences of SciPy's log-densities, draws against
SciPy's distribution function. Each contender runs in a process of its own, and they are timed in turns. Peers get their
data as arrays of their own kind, compiled functions where they have them, and all processors.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import multiprocessing
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from probdiff.benchmarks.families import FAMILIES, Family
from probdiff.benchmarks.family_contenders import PACKAGES, QUANTITIES, Inputs, serve, split
from probdiff.benchmarks.harness import child_environment, disagreement

SIZE, QUICK_SIZE = 100_000, 1000
RTOL, PEER_RTOL = 1e-9, 1e-4  # relative to the largest entry, of values; a peer further off is not compared
DIFFERENCES = 1e-6  # what differences of a log-density are good to
SLOW = 1.0  # seconds of a call that is measured once
OURS = ("probdiff", "eager", "compiled")
PEERS = ("SciPy", "NumPyro", "PyTorch")
TITLES = {
    "gradient": "Sum of log-densities with its gradient in x and all parameters (SciPy: log-densities alone)",
    "logpdf": "Log-densities",
    "cdf": "Distribution function",
    "quantile": "Quantiles",
    "rand": "Draws",
    "scalar": "Log-density of one number",
}


@dataclass
class Row:
    """One quantity of one family: seconds a call by contender, and the errors of those whose answer was wrong."""

    family: str
    quantity: str
    seconds: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, float] = field(default_factory=dict)

    def ratio(self, peers: Sequence[str] = PEERS, ours: str = "probdiff") -> float | None:
        """Our time over that of the fastest of the peers."""
        theirs = [self.seconds[p] for p in peers if p in self.seconds]
        return self.seconds[ours] / min(theirs) if theirs and ours in self.seconds else None


def inputs(family: Family, size: int) -> Inputs:
    """Draws between the quantiles at 0.001 and 0.999, none of them at the kink that some have in their middle, and
    probabilities.
    """
    from scipy import stats

    d = family.scipy(stats, *family.parameters)
    rng = np.random.default_rng(0)
    x = d.rvs(2 * size, random_state=rng)
    if not family.discrete:
        low, below, middle, above, high = d.ppf([0.001, 0.25, 0.5, 0.75, 0.999])
        x = x[(x > low) & (x < high) & (abs(x - middle) > 1e-3 * (above - below))]
    return Inputs(x[:size], rng.uniform(size=round(size * family.probabilities)))


def reference(family: Family, quantity: str, at: Inputs) -> list[Any]:
    """SciPy's values; for a gradient, differences of the fourth order of its log-densities."""
    from scipy import stats

    def density(theta: Any, x: Any) -> Any:
        d = family.scipy(stats, *fixed, *theta)
        return d.logpmf(x) if family.discrete else d.logpdf(x)

    fixed, theta = split(family)
    d = family.scipy(stats, *family.parameters)
    if quantity == "cdf":
        return [d.cdf(at.x)]
    if quantity == "quantile":
        return [d.ppf(at.p)]
    value = density(theta, at.x)
    if quantity == "scalar":
        return [value[0]]
    if quantity == "logpdf":
        return [value]
    out = [np.sum(value)]
    for k, v in enumerate(theta):
        step = 1e-4 * max(abs(v), 1.0)
        moved = [np.sum(density([*theta[:k], v + m * step, *theta[k + 1 :]], at.x)) for m in (-2, -1, 1, 2)]
        out.append(_slope(moved, step))
    if not family.discrete:
        low, high = d.support()
        # The log-density varies over the width of the distribution, or over the distance to an end of the support.
        width = np.subtract(*d.ppf([0.75, 0.25]))
        steps = 1e-4 * np.minimum(width, np.minimum(at.x - low, high - at.x))
        out.append(_slope([density(theta, at.x + m * steps) for m in (-2, -1, 1, 2)], steps))
    return out


def _slope(values: Any, step: Any) -> Any:
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


def error(family: Family, quantity: str, answer: list[Any], truth: list[Any] | None, at: Inputs) -> float:
    """How far an answer is from the reference, relative to the largest entry of each array; of draws, the distance of
    their distribution in units of what chance exceeds once in a million times.
    """
    if truth is None:
        return _distance(family, np.sort(np.ravel(answer[0])))
    if quantity != "gradient":
        return disagreement(np.ravel(answer[0]), np.ravel(truth[0]))
    count = 1 + len(split(family)[1])
    worst = max(disagreement(a, b) for a, b in zip(answer[:count], truth[:count], strict=True))
    if family.discrete:
        return worst
    slope, by_differences = answer[-1], truth[-1]
    scale = max(np.max(abs(by_differences)), 1 / np.ptp(at.x))  # the slope may be zero throughout
    return max(worst, float(np.max(abs(slope - by_differences)) / scale))


def allowed(contender: str, quantity: str) -> float:
    """The largest error of a right answer."""
    if quantity == "rand":
        return 1.0
    if contender in PEERS:
        return PEER_RTOL
    return DIFFERENCES if quantity == "gradient" else RTOL


def _distance(family: Family, x: Any) -> float:
    from scipy import stats

    last = np.append(np.flatnonzero(np.diff(x)), len(x) - 1)
    probabilities = family.scipy(stats, *family.parameters).cdf(x[last])
    return float(np.max(abs((last + 1) / len(x) - probabilities)) / (2.69 / math.sqrt(len(x)) + 1 / len(x)))


class Contender:
    """A process that computes and times what it is told."""

    def __init__(self, name: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(name, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, request: Any) -> Any:
        self.pipe.send(request)
        return self.pipe.recv()

    def close(self) -> None:
        self.pipe.send(None)
        self.process.join()


def measure(
    family: Family, quantity: str, at: Inputs, contenders: dict[str, Contender], rounds: int, budget: float
) -> Row:
    """Check all, then time in turns those whose answer is right."""
    row = Row(family.name, quantity)
    truth = None if quantity == "rand" else reference(family, quantity, at)
    ready = []
    for name, contender in contenders.items():
        answer = contender.ask((family.name, quantity, at))
        if answer is None:
            continue
        off = error(family, quantity, answer, truth, at)
        if off > allowed(name, quantity):
            row.wrong[name] = off
        else:
            ready.append(name)
    for _ in range(rounds):
        for name in ready:
            before = row.seconds.get(name, math.inf)
            if not SLOW < before < math.inf:
                row.seconds[name] = min(contenders[name].ask(budget), before)
    return row


def run(families: Sequence[Family], quantities: Sequence[str], quick: bool, progress: Any) -> list[Row]:
    """Everything, with the contenders whose package is installed."""
    size, rounds, budget = (QUICK_SIZE, 1, 0.002) if quick else (SIZE, 3, 0.1)
    before = dict(os.environ)
    os.environ.update(child_environment("time"))
    try:
        contenders = {n: Contender(n) for n, package in PACKAGES.items() if importlib.util.find_spec(package)}
    finally:
        os.environ.clear()
        os.environ.update(before)
    rows = []
    for family in families:
        progress(family.name)
        at = inputs(family, size)
        rows += [measure(family, quantity, at, contenders, rounds, budget) for quantity in quantities]
        scipy = next((r.seconds["SciPy"] for r in rows if (r.family, r.quantity) == (family.name, "logpdf")), None)
        for row in rows:
            if (row.family, row.quantity) == (family.name, "gradient") and scipy is not None:
                row.seconds["SciPy"] = scipy  # which has no gradient
    for contender in contenders.values():
        contender.close()
    return rows


def geometric_mean(ratios: Sequence[float]) -> float:
    """exp of the mean of the logs."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(rows: Sequence[Row], quantity: str) -> list[str]:
    """The times of one quantity in microseconds, and ours over that of the best peer, as a table in Markdown."""
    names = [*OURS, *PEERS]
    chosen = [r for r in rows if r.quantity == quantity]
    present = [n for n in names if any(n in r.seconds or n in r.wrong for r in chosen)]
    lines = [f"| µs | {' | '.join(present)} | ratio |", f"|---|{'--:|' * (len(present) + 1)}"]
    for r in chosen:
        cells = [f"{1e6 * r.seconds[n]:,.4g}" if n in r.seconds else "wrong" if n in r.wrong else "" for n in present]
        ratio = r.ratio()
        lines.append(f"| {r.family} | {' | '.join(cells)} | {'' if ratio is None else f'{ratio:.2f}'} |")
    return lines


def verdict(rows: Sequence[Row], quantity: str) -> list[str]:
    """Geometric means, and where we are slower."""
    chosen = [r for r in rows if r.quantity == quantity]
    lines = []
    for peer in PEERS:
        for ours in OURS:
            ratios = [x for r in chosen if (x := r.ratio([peer], ours)) is not None]
            if ratios:
                mean, worst = geometric_mean(ratios), max(ratios)
                lines.append(
                    f"{peer} over {ours}: {1 / mean:.1f} times in the geometric mean of {len(ratios)}, "
                    f"{1 / worst:.2f} at least"
                )
    slower = [f"{r.family} ({x:.2f})" for r in chosen if (x := r.ratio()) is not None and x > 1]
    lines.append(f"slower than the best peer: {', '.join(slower) if slower else 'none'}")
    lines += [f"wrong: {r.family}, {name}: {off:.1e}" for r in chosen for name, off in r.wrong.items()]
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print and write; the result is the exit status: 1 if an answer of ours was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m probdiff.benchmarks.distributions", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SIZE} values, few repeats")
    parser.add_argument("--families", help="names, with commas between (default: all)")
    parser.add_argument("--quantities", help=f"of {', '.join(QUANTITIES)} (default: all)")
    parser.add_argument("--json", type=Path, help="file for the measurements")
    options = parser.parse_args(argv)
    names = options.families.split(",") if options.families else [f.name for f in FAMILIES]
    unknown = set(names) - {f.name for f in FAMILIES}
    if unknown:
        parser.error(f"no family {sorted(unknown)[0]!r}: {', '.join(f.name for f in FAMILIES)}")
    quantities = options.quantities.split(",") if options.quantities else QUANTITIES
    rows = run(
        [f for f in FAMILIES if f.name in names],
        quantities,
        options.quick,
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    for quantity in quantities:
        print(f"\n## {TITLES[quantity]}\n")
        print("\n".join([*table(rows, quantity), "", *verdict(rows, quantity)]))
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in rows], indent=1))
    return int(any(name in r.wrong for r in rows for name in OURS))


if __name__ == "__main__":
    sys.exit(main())
