"""A model on several devices, in processes of their own.

`python -m tests.interop.devices CASES PROCESS PROCESSES DEVICES PORT`, with DEVICES in each process. CASES is JSON:
pairs of a kind of model and the axes of a mesh. Prints a line of JSON for each: value, gradient,
collectives of the compiled program, shapes of the data, whole and per device; or the error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

import numpy as np

from probdiff import sample
from probdiff.distributions import HalfNormal, Normal, Poisson
from probdiff.models import Joint, Posterior

ROWS, GROUPS = 480, 6


def rows() -> tuple[Any, Any, Any]:
    """Covariates, groups and counts."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(ROWS, 3)), rng.integers(0, GROUPS, ROWS)
    return X, group, rng.poisson(np.exp(0.3 * X[:, 0] + 0.1 * group))


def model(X: Any, group: Any, y: Any, loc: float = 0.0) -> Posterior:
    """Counts in groups."""
    prior = Joint(b=Normal(0, 1).iid(3), tau=HalfNormal(1), a=lambda tau: Normal(loc, tau).iid(GROUPS))
    return Posterior(prior, lambda b, a: Poisson(np.exp(X @ b + a[group])), y)


def point() -> Any:
    """Where the density is evaluated."""
    return np.linspace(-0.5, 0.5, 4 + GROUPS)


def own(kind: str, process: int, processes: int) -> Posterior:
    """The model of one of the processes."""
    part = slice(process * ROWS // processes, (process + 1) * ROWS // processes)
    X, group, y = (x[part] for x in rows())
    if kind == "same rows":
        X, group, y = (x[: ROWS // processes] for x in rows())
    if kind == "more rows":
        X, group, y = (x[: ROWS // processes + 8 * process] for x in rows())
    return model(X, group, y, loc=float(process) if kind == "another prior" else 0.0)


def mesh_of(axes: dict[str, int], processes: int) -> Any:
    """A mesh with as many devices of each process."""
    import jax

    step = processes * len(jax.local_devices()) // int(np.prod(list(axes.values())))
    devices = sorted(jax.devices(), key=lambda d: (d.process_index, d.id))[:: max(step, 1)]
    count = int(np.prod(list(axes.values())))
    return jax.make_mesh(tuple(axes.values()), tuple(axes), devices=devices[:count])


def evaluated(kind: str, axes: dict[str, int], process: int, processes: int) -> dict[str, Any]:
    """What one model gives here, with the other processes if there are any."""
    import jax

    from probdiff import interop
    from probdiff.compiler.xla.library import double
    from probdiff.interop.placed import placed

    posterior, mesh = own(kind, process, processes), mesh_of(axes, processes)
    if kind == "sample":
        found = sample(posterior, 5, 10, 2, seed=1, backend="jax", mesh=mesh, progress=False)
        alone = sample(interop.sharded(posterior, mesh), 5, 10, 1, seed=1, progress=False)
        return {"jax": found["b"].tolist(), "alone": alone["b"].tolist()}
    if kind == "apart":
        interop.sharded(posterior, mesh).value_and_grad(point() + process)
    dtype = np.float32 if kind == "float32" else np.float64
    density, data, _ = placed(posterior, mesh, dtype)
    with double():
        compiled = jax.jit(jax.value_and_grad(density)).lower(point(), *data).compile()
        value, slope = compiled(point(), *data)
        value, slope = float(value), np.asarray(slope)
    names = re.findall(r" (all-reduce|all-gather|all-to-all|collective-permute)(?:-start)?\(", compiled.as_text())
    again = interop.sharded(posterior, mesh, dtype=dtype).value_and_grad(point())
    shapes = [(x.shape, x.addressable_shards[0].data.shape) for x in data]
    return {"value": value, "slope": slope.tolist(), "collectives": names, "shapes": shapes,
            "sharded": [again[0], again[1].tolist()]}  # fmt: skip


def main(cases: list[Any], process: int, processes: int, port: str) -> None:
    """Print what each case gives."""
    import jax

    from probdiff.errors import ProbdiffError

    if processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{port}", processes, process)
    for kind, axes in cases:
        try:
            found = evaluated(kind, axes, process, processes)
        except ProbdiffError as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        print("case", json.dumps(found), flush=True)


if __name__ == "__main__":
    cases, process, processes, devices, port = sys.argv[1:]
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    main(json.loads(cases), int(process), int(processes), port)
