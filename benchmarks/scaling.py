"""How our gradient grows: twice the data should take twice the time and no more memory."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from probdiff.benchmarks import harness
from probdiff.benchmarks.harness import Measurement
from probdiff.benchmarks.programs.contenders import OURS, Problem, module_of
from probdiff.benchmarks.programs.varying_intercept import GROUPS
from probdiff.benchmarks.report import seconds, size_text

# Before they are doubled: far above the cost of a call, and with their doubles on one side of the limits from which
# loops are cut into blocks and products with matrices go to BLAS.
SIZES = {
    "logistic": 20_000,
    "varying_intercept": 100_000,
    "poisson": 100_000,
    "student_t": 1_000_000,
    "beta_binomial": 100_000,
}
ROUNDS, BATCH = 25, 0.02  # how often the two calls take turns, and seconds of each turn
COLUMNS = ("program", "grows", "time", "then", "time grows", "÷ ideal", "workspace", "then", "extra memory", "then")


@dataclass(frozen=True)
class Growth:
    """One gradient before and after its problem has grown; memory is in bytes beyond data and results."""

    title: str
    grows: str
    ideal: float  # what the time should be multiplied by
    seconds: tuple[float, float]
    ratio: float  # of times, the median over rounds
    workspace: tuple[int, int]  # as planned by the compiler
    extra_memory: tuple[int, int] | None  # as measured at the peak of a call; None if not

    def cells(self) -> list[str]:
        """A row of the table."""
        memory = ["–", "–"] if self.extra_memory is None else [size_text(m) for m in self.extra_memory]
        ratios = [f"{self.ratio:.3f}", f"{self.ratio / self.ideal:.3f}"]
        return [self.title, self.grows, *map(seconds, self.seconds), *ratios, *map(size_text, self.workspace), *memory]


def compiled(density: Callable[..., Any], at: Problem) -> tuple[Callable[[], Any], int]:
    """A call for value and gradient, and the bytes of its workspace."""
    from probdiff import compile, value_and_grad

    function = compile(value_and_grad(lambda theta: density(theta, *at.data)))
    return lambda: function(at.theta), function.record(at.theta).explain().workspace


def in_turns(calls: Sequence[Callable[[], Any]], rounds: int) -> tuple[tuple[float, float], float]:
    """Median seconds of two calls and the median ratio, measured in turns so that both meet the same machine."""
    repeats = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        repeats.append(max(1, int(BATCH / (time.perf_counter() - start))))
    times: list[list[float]] = []
    for _ in range(rounds):
        turn = []
        for call, n in zip(calls, repeats, strict=True):
            start = time.perf_counter()
            for _ in range(n):
                call()
            turn.append((time.perf_counter() - start) / n)
        times.append(turn)
    before, after = (statistics.median(column) for column in zip(*times, strict=True))
    return (before, after), statistics.median(b / a for a, b in times)


def extra_memory(part: Any, sizes: tuple[int, int]) -> tuple[int, int] | None:
    """Bytes beyond data and results at the peak of a call, in a process of its own; None if that fails."""
    [contender] = [c for c in part.CONTENDERS if c.name == OURS]
    rows = [
        Measurement(**row)
        for row in harness.run_child(module_of(part.NAME), part.NAME, contender, sizes, "memory", 0.0)
    ]
    if any(row.failure for row in rows):
        return None
    before, after = (row.extra_memory for row in rows)
    return before, after


def growth_of_data(name: str, quick: bool) -> Growth:
    """Twice the data: twice the time, and the same memory."""
    program = importlib.import_module(module_of(name))
    [part] = program.PARTS
    n = SIZES[name] // 10 if quick else SIZES[name]
    calls, work = zip(*(compiled(program.density, program.problem(m)) for m in (n, 2 * n)), strict=True)
    times, ratio = in_turns(calls, 3 if quick else ROUNDS)
    memory = None if quick else extra_memory(part, (n, 2 * n))
    title = part.TITLE.split(",")[0]
    return Growth(title, f"N from {n:,} to {2 * n:,}", 2.0, times, ratio, (work[0], work[1]), memory)


def growth_of_groups(quick: bool) -> Growth:
    """Twice the groups over the same rows: the rows take as long, and the gather and the priors a little longer."""
    program = importlib.import_module(module_of("varying_intercept"))
    [part] = program.PARTS
    [n] = part.SIZES
    calls, work = zip(*(compiled(program.density, program.problem(n, g)) for g in (GROUPS, 2 * GROUPS)), strict=True)
    times, ratio = in_turns(calls, 3 if quick else ROUNDS)
    title, grows = part.TITLE.split(",")[0], f"groups from {GROUPS} to {2 * GROUPS}"
    return Growth(title, grows, 1.0, times, ratio, (work[0], work[1]), None)


def run(names: Sequence[str], quick: bool, progress: Callable[[str], None]) -> list[Growth]:
    """Measure those of the programs that have sizes here."""
    found = []
    for name in names:
        if name in SIZES:
            progress(f"growth of {name}")
            found.append(growth_of_data(name, quick))
            if name == "varying_intercept":
                found.append(growth_of_groups(quick))
    return found
