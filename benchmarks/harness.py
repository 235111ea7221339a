"""How a benchmark runs: each contender in a process of its own, checked first, then timed and weighed.

A benchmark module lists `PARTS`; each has `CONTENDERS`, `inputs(size)`, `reference(inputs)` and a tolerance `RTOL`. A
contender's `build(inputs)` returns a call without arguments that computes the answer, NumPy arrays in and out; it
imports what it needs itself, so that no contender's import or thread settings reach another.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TIMEOUT = 600.0  # seconds for one contender, all sizes together


@dataclass(frozen=True)
class Contender:
    """One way to compute the answer; `package` must be importable, sizes above `largest` are left out.

    `imports` are loaded before the clock of the first call starts. A call computes the answer `inner` times.
    """

    name: str
    build: Callable[[Any], Callable[[], Any]]
    package: str | None = None
    largest: int = 10**9
    ours: bool = False
    imports: tuple[str, ...] = ()
    inner: int = 1


@dataclass(frozen=True)
class Measurement:
    """What one contender did at one size: seconds, bytes and counts, or the reason why there is nothing."""

    contender: str
    size: int
    first_call: float = 0.0  # building, tracing, compiling and calling once; imports included if not named
    best: float = 0.0
    median: float = 0.0
    repeats: int = 0
    peak_python: int = 0  # tracemalloc: Python objects and NumPy's arrays, results included
    peak_resident: int = 0  # growth of the resident set in one call, results included; 0 if not measured
    result_bytes: int = 0
    live_blocks: int = 0  # Python memory blocks alive at the busiest moment of one call, beyond those before it
    error: float = 0.0
    failure: str = ""

    @property
    def extra_memory(self) -> int:
        """Bytes needed beyond inputs and results."""
        return max(0, max(self.peak_python, self.peak_resident) - self.result_bytes)


def flat(answer: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a nested tuple, in order."""
    if isinstance(answer, tuple | list):
        return [leaf for part in answer for leaf in flat(part)]
    return [np.asarray(answer)]


def disagreement(answer: Any, truth: Any) -> float:
    """Largest error over all arrays, relative to the largest entry of each.

    Relative to the largest entry, not entry by entry: the derivative -1/X + x/X² crosses zero, and there the last
    bits of its two terms are all that is left.
    """
    found, expected = flat(answer), flat(truth)
    if [a.shape for a in found] != [a.shape for a in expected]:
        return float("inf")
    errors = [np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300) for a, b in zip(found, expected, strict=True)]
    worst = float(np.max(errors))
    return worst if np.isfinite(worst) else float("inf")


def timed(call: Callable[[], Any], budget: float) -> tuple[float, float, int]:
    """Best and median seconds a call, over batches long enough for the clock."""
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-9)
    batch = max(1, min(10_000, int(0.004 / once)))
    samples: list[float] = []
    deadline = time.perf_counter() + budget
    while len(samples) < 3 or (time.perf_counter() < deadline and len(samples) < 200):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        samples.append((time.perf_counter() - start) / batch)
        if once > 4 * budget:
            break
    return min(samples), statistics.median(samples), batch * len(samples)


def peak_python(call: Callable[[], Any]) -> int:
    """Bytes of Python's and NumPy's allocations at the peak of one call."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    answer = call()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    del answer
    return peak


def live_blocks(call: Callable[[], Any]) -> int:
    """Python memory blocks at the busiest moment of one call.

    Looked at on every Python and C call, on each thousandth after the first ten thousand: a look walks through all
    of Python's pools, and who makes so many calls builds up slowly.
    """
    most = before = sys.getallocatedblocks()
    calls = 0

    def look(frame: Any, event: str, arg: Any) -> None:
        nonlocal most, calls
        calls += 1
        if calls < 10_000 or calls % 1000 == 0:
            most = max(most, sys.getallocatedblocks())

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return most - before


def peak_resident(call: Callable[[], Any]) -> int:
    """Growth of the resident set in one call, by the kernel's high-water mark (0 where it cannot be reset)."""
    if not os.path.exists("/proc/self/clear_refs"):
        return 0
    gc.collect()
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return 0
    before = status("VmRSS")
    answer = call()
    peak = status("VmHWM")
    del answer
    return max(0, peak - before)


def status(field: str) -> int:
    """A size from /proc/self/status in bytes."""
    with open("/proc/self/status") as file:
        lines = [line for line in file if line.startswith(field + ":")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


def measure(part: Any, contender: Contender, size: int, what: str, budget: float) -> dict[str, Any]:
    """Check, then time (`what="time"`) or weigh (`what="memory"`) one contender at one size, in this process."""
    data = part.inputs(size)
    truth = part.reference(data)
    for name in contender.imports:
        importlib.import_module(name)
    start = time.perf_counter()
    call = contender.build(data)
    answer = call()
    first_call = time.perf_counter() - start
    error = getattr(part, "disagreement", disagreement)(answer, truth)
    result: dict[str, Any] = {"contender": contender.name, "size": size, "error": error}
    if error > part.RTOL:
        return result | {"failure": f"wrong answer: relative error {error:.2g}"}
    result_bytes = sum(a.nbytes for a in flat(answer))
    del answer
    if what == "time":
        best, median, repeats = timed(call, budget)
        best, median, repeats = best / contender.inner, median / contender.inner, repeats * contender.inner
        result |= {"first_call": first_call, "best": best, "median": median, "repeats": repeats}
    else:
        call()
        result |= {"result_bytes": result_bytes, "peak_resident": peak_resident(call)}
        result |= {"peak_python": peak_python(call), "live_blocks": live_blocks(call)}
    return result


def child_environment(what: str) -> dict[str, str]:
    """The environment of a child: one that measures memory gives every larger block back to the system at once."""
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "MPLBACKEND": "Agg", "PYTHONWARNINGS": "ignore"}
    if what == "memory":
        env |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    return env


def find_part(module: str, name: str) -> Any:
    """The part of a benchmark module that is called `name`."""
    [part] = [part for part in importlib.import_module(module).PARTS if name == part.NAME]
    return part


def run_child(
    module: str,
    name: str,
    contender: Contender,
    sizes: Sequence[int],
    what: str,
    budget: float,
    variables: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Run one contender in its own process, with more environment variables; the reason comes back for what failed."""
    environment = child_environment(what) | getattr(find_part(module, name), "ENVIRONMENT", {}) | dict(variables or {})
    wanted = [size for size in sizes if size <= contender.largest]
    command = [sys.executable, "-m", "probdiff.benchmarks.harness", module, name, contender.name, what, str(budget)]
    try:
        done = subprocess.run(
            [*command, *map(str, wanted)], capture_output=True, text=True, timeout=TIMEOUT, env=environment
        )
        output, problem = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired as late:
        output = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        problem = [f"took longer than {TIMEOUT:.0f} s"]
    found = [json.loads(line[len(MARK) :]) for line in output.splitlines() if line.startswith(MARK)]
    missing = wanted[len(found) :]
    reason = problem[0] if problem else "no answer"
    return found + [{"contender": contender.name, "size": size, "failure": reason} for size in missing]


MARK = "probdiff-measurement "  # a child's results stand on lines of their own: packages print things, too


def installed(package: str | None) -> bool:
    """Whether a contender's package can be imported, without importing it."""
    return package is None or importlib.util.find_spec(package) is not None


def run(
    module: str,
    name: str,
    *,
    quick: bool = False,
    peers: Sequence[str] | None = None,
    progress: Callable[[str], None] = print,
    weigh: bool = True,
) -> list[Measurement]:
    """Run every contender whose package is installed (of the peers, those named, if any are)."""
    part = find_part(module, name)
    sizes = part.QUICK_SIZES if quick else part.SIZES
    results: list[Measurement] = []
    for contender in part.CONTENDERS:
        named = peers is None or contender.ours or contender.package in peers or contender.name in peers
        if not named or not installed(contender.package):
            continue
        progress(f"{contender.name} …")
        rows = run_child(module, name, contender, sizes, "time", 0.1 if quick else 1.0)
        weighed = [r for r in rows if not r.get("failure")]
        if weighed and weigh:
            extra = run_child(module, name, contender, [r["size"] for r in weighed], "memory", 0.0)
            merged = {r["size"]: r for r in extra}
            rows = [r | {k: v for k, v in merged.get(r["size"], {}).items() if k != "failure"} for r in rows]
        results += [Measurement(**row) for row in rows]
    return results


def wrong_answers(results: Sequence[Measurement]) -> list[Measurement]:
    """Those whose answer disagreed with the closed form; a benchmark with one of them is not printed."""
    return [r for r in results if r.failure.startswith("wrong answer")]


def main() -> None:
    """The child: measure one contender and print one line for each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("part")
    parser.add_argument("contender")
    parser.add_argument("what", choices=["time", "memory"])
    parser.add_argument("budget", type=float)
    parser.add_argument("sizes", type=int, nargs="*")
    arguments = parser.parse_args()
    part = find_part(arguments.module, arguments.part)
    [contender] = [c for c in part.CONTENDERS if c.name == arguments.contender]
    for size in arguments.sizes:
        result = measure(part, contender, size, arguments.what, arguments.budget)
        print("\n" + MARK + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
