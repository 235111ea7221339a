"""The child: one contender samples one posterior in a process of its own, and writes what it found.

`python -m probdiff.benchmarks.posteriors.run JOB`, JOB a JSON object: posterior, contender, settings, folder (where
data.npz may lie and results go), points (a file with coordinates, or null) and launched (the time it was started at).
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from probdiff.benchmarks.harness import status
from probdiff.benchmarks.posteriors.contenders import CONTENDERS, Ours, Settings
from probdiff.benchmarks.posteriors.reference import REFERENCES


def main() -> None:
    """Set up, sample twice, and write draws.npz and result.json: the first run compiles, the second is timed."""
    job = json.loads(sys.argv[1])
    name, folder = job["posterior"], Path(job["folder"])
    settings = Settings(**job["settings"])
    packages, make = CONTENDERS[job["contender"]]
    module, data = None, SimpleNamespace()
    if make is not Ours:
        module = importlib.import_module(f"probdiff.benchmarks.posteriors.{name}")
        arrays = np.load(folder / "data.npz")
        data = SimpleNamespace(**{key: x.item() if x.ndim == 0 else x for key, x in arrays.items()})
    for package in packages:
        importlib.import_module(package)

    began = time.perf_counter()
    contender = make(name, module, data)
    made = time.perf_counter()
    contender.sample(settings)
    first = time.perf_counter() - made
    result: dict[str, Any] = {"source_to_draws": time.time() - job["launched"], "memory": status("VmHWM")}

    started, processor = time.perf_counter(), time.process_time()
    run = contender.sample(settings)
    sampling, processor = time.perf_counter() - started, time.process_time() - processor
    warm = contender.warmup_gradients(settings)
    result |= {
        "setup": made - began + max(0.0, first - sampling),
        "sampling": sampling,
        "per_gradient": processor / (run.gradients + warm),
        "gradients": run.gradients,
        "warmup_gradients": warm,
        "divergences": run.divergences,
    }

    wanted = list(REFERENCES[name].moments())
    draws = run.draws
    if isinstance(contender, Ours):
        result["call"] = contender.seconds_a_call()
        points = contender.points(draws)
        draws = draws | contender.derived(draws, [variable for variable in wanted if variable not in draws])
    else:
        points = np.load(job["points"])["points"] if job["points"] else np.empty((0, 0))
    result["logdensity"] = [contender.logdensity(q) for q in points]
    kept: dict[str, Any] = {variable: draws[variable] for variable in wanted}
    np.savez(folder / "draws.npz", **kept)
    np.savez(folder / "points.npz", points=points)
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
