"""The models of the zoo: how long each takes to set up, and for one value and gradient.

`python -m probdiff.benchmarks.zoo [name …]` prints a table. Setting up is building the posterior, tracing, compiling
without the cache on disk, and the first call; a gradient is a call from Python, the best of many.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from probdiff.models import Posterior

SECONDS = 0.2  # spent on timing one model


@dataclass(frozen=True)
class Row:
    """What one model costs."""

    name: str
    dim: int
    operations: int
    setup: float  # seconds
    gradient: float  # seconds
    outside: str  # the operations that NumPy evaluates


def measure(name: str) -> Row:
    """Set one model up and time its gradient."""
    from probdiff.models.zoo import MODELS

    start = time.perf_counter()
    posterior = MODELS[name]()
    q = 0.3 * posterior.initial(np.random.default_rng(0))
    posterior.value_and_grad(q)
    setup = time.perf_counter() - start
    steps = posterior.compiled.explain().steps
    outside = sorted({op for step in steps if step.kind.startswith("NumPy") for op in step.operations})
    operations = sum(sum(step.operations.values()) for step in steps)
    return Row(name, posterior.dim, operations, setup, best(posterior, q), ", ".join(outside))


def best(posterior: Posterior, q: np.ndarray) -> float:
    """Seconds for one gradient: the fastest of the batches that fit into the time."""
    value_and_grad = posterior.value_and_grad
    start = time.perf_counter()
    value_and_grad(q)
    count = max(1, int(1e-3 / (time.perf_counter() - start)))
    fastest, end = float("inf"), start + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(count):
            value_and_grad(q)
        fastest = min(fastest, (time.perf_counter() - begin) / count)
    return fastest


def main(names: Sequence[str]) -> None:
    """Measure and print, a line a model as it comes."""
    os.environ["PROBDIFF_CACHE"] = "0"
    from probdiff.models.zoo import MODELS

    print(f"{'model':24}{'dim':>5}{'operations':>12}{'setup ms':>10}{'µs/gradient':>13}  outside native code")
    for name in names or MODELS:
        r = measure(name)
        print(
            f"{r.name:24}{r.dim:5}{r.operations:12}{1e3 * r.setup:10.0f}{1e6 * r.gradient:13.1f}  {r.outside or '-'}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
