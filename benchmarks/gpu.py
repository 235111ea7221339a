"""On an accelerator: our gradients beside `jax.grad` of the same in jax.numpy, and many chains at once.

`python -m probdiff.benchmarks.gpu [--small] [--out FOLDER]`, on whatever device JAX has first; a CPU takes small sizes.
Answers are compared before anything is timed. The share of the memory's bandwidth is that of the bytes which arguments
and results have, against a copy in the same run. Four parts:

exponential  value and gradient of sum_i log p(x_i | X_i), in the scales and in the data: 10^6 to as many as fit
posterior    one rate, and data that the density holds: they are arguments of the program, on every device there is
programs     the twelve programs of `benchmarks.gradients`
chains       ChEES and NUTS for many chains of a model of the zoo
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from probdiff import sample, to_jax
from probdiff.benchmarks.gradients import PROGRAMS
from probdiff.benchmarks.jax_backend import checked, fastest, formula, loglike, plain
from probdiff.benchmarks.programs.contenders import module_of
from probdiff.distributions import Exponential, Gamma
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models import Joint, LogDensity, Posterior
from probdiff.models.zoo import MODELS

RTOL = {"float64": 1e-10, "float32": 2e-5}
"""Largest difference of gradients, relative to their largest element."""
SECONDS = 1.0
"""Of each comparison."""
ROOM = 8
"""Arrays of the data's size that must fit: arguments, both sides' gradients, and what XLA keeps for itself."""


@dataclass(frozen=True)
class Row:
    """One comparison: best seconds a call, ours and theirs, and the share of a copy's bandwidth that each reaches."""

    part: str
    name: str
    dtype: str
    ours: float
    theirs: float
    our_share: float | None
    their_share: float | None
    difference: float

    @property
    def ratio(self) -> float:
        """Their time over ours."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class Sampled:
    """Chains of one kernel: seconds with and without compilation, and effective draws of the worst parameter."""

    model: str
    kernel: str
    chains: int
    draws: int
    first: float
    again: float
    least_ess: float


def memory() -> float:
    """Bytes of the first device."""
    import jax

    stats = jax.devices()[0].memory_stats() or {}
    return float(stats.get("bytes_limit", os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2))


def sizes(small: bool) -> list[int]:
    """Numbers of data, powers of ten."""
    if small:
        return [10**5, 10**6]
    return [n for n in (10**6, 10**7, 10**8, 10**9) if 8 * ROOM * n < memory()]


@functools.cache
def bandwidth(n: int) -> float:
    """Bytes a second, read and written, of a copy of n numbers that is only a copy."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones(n, jnp.float64)
    return 2 * 8 * n / fastest([functools.partial(jax.jit(lambda x: -x), x)], SECONDS)[0]


def difference(ours: Any, theirs: Any) -> float:
    """Largest difference of values and gradients, relative to their largest element."""
    import jax
    import jax.numpy as jnp

    one = jax.jit(lambda a, b: jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b)))
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return max(float(one(a, b)) for a, b in pairs)


def compare(part: str, name: str, dtype: str, ours: Any, theirs: Any, traffic: float = 0.0, n: int = 0) -> Row:
    """Check two calls against each other, then time both; `traffic` is the bytes that they cannot do without."""
    gap = difference(ours(), theirs())
    if not gap <= RTOL[dtype]:
        raise SystemExit(f"{part} {name} {dtype}: answers differ by {gap:.1e}, more than {RTOL[dtype]:.0e}")
    a, b = fastest([ours, theirs], SECONDS)
    our_share, their_share = ((traffic / s / bandwidth(n) if traffic else None) for s in (a, b))
    return Row(part, name, dtype, a, b, our_share, their_share, gap)


def exponential(n: int, dtype: str) -> list[Row]:
    """Gradients in both arguments, of the formula and of the library's distribution."""
    import jax

    keys = jax.random.split(jax.random.key(0))
    X = jax.random.uniform(keys[0], (n,), dtype, 0.5, 2.0)
    data = jax.random.exponential(keys[1], (n,), dtype)
    rows = []
    for name, ours, theirs in (("formula", to_jax(formula), plain), ("library", to_jax(loglike), checked)):
        a, b = (functools.partial(jax.jit(jax.value_and_grad(f, (0, 1))), X, data) for f in (ours, theirs))
        rows.append(compare("exponential", f"{name}, {n:.0e} data", dtype, a, b, 4.0 * data.nbytes, n))
    return rows


def posterior(n: int, dtype: str) -> Row:
    """One rate, with the data spread over all devices."""
    import jax
    import jax.numpy as jnp

    from probdiff.compiler.xla.library import automatic
    from probdiff.interop.placed import placed

    y = np.random.default_rng(0).exponential(2.0, n)
    model = Posterior(Joint(scale=Gamma(2.0, 1.0)), lambda scale: Exponential(scale).iid(n), y)
    mesh = automatic(jax.make_mesh((jax.device_count(),), ("data",)))
    density = placed(model, mesh, dtype)
    rows = jax.device_put(y.astype(dtype), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data")))

    def twin(q: Any, y: Any) -> Any:
        scale = jnp.exp(q[0])
        inside = (y >= 0) & (y < jnp.inf)
        terms = jnp.where(inside, -jnp.log(scale).astype(y.dtype) - y / scale.astype(y.dtype), -jnp.inf)
        return jnp.sum(terms, dtype=jnp.float64) + jnp.log(scale) - scale + q[0]

    q = np.array([0.6])
    ours = functools.partial(jax.jit(jax.value_and_grad(density.function)), q, *density.data)
    theirs = functools.partial(jax.jit(jax.value_and_grad(twin)), q, rows)
    return compare("posterior", f"one rate, {n:.0e} data", dtype, ours, theirs, float(rows.nbytes), n)


def program(name: str, small: bool) -> Row:
    """One of the twelve, checked against its gradient by hand as well."""
    import jax

    from probdiff.interop.placed import placed

    module = importlib.import_module(module_of(name))
    [part] = module.PARTS
    at = part.inputs(*(part.QUICK_SIZES if small else part.SIZES))
    theta = jax.device_put(at.theta)
    density = placed(LogDensity(lambda theta: module.density(theta, *at.data), at.theta))
    data = tuple(map(jax.device_put, at.data))
    ours = functools.partial(jax.jit(jax.value_and_grad(density.function)), theta, *density.data)
    theirs = functools.partial(jax.jit(jax.value_and_grad(module.jax_numpy)), theta, *data)
    by_hand = difference(ours(), tuple(map(np.asarray, part.reference(at))))
    if not by_hand <= RTOL["float64"]:
        raise SystemExit(f"programs {name}: our gradient is {by_hand:.1e} from that by hand")
    return compare("programs", part.TITLE if not small else f"{part.NAME}, small", "float64", ours, theirs)


def sampled(model: str, kernel: Any, chains: int, draws: int) -> Sampled:
    """Chains of a model of the zoo, twice: the second time nothing is compiled."""
    seconds = []
    for seed in (0, 1):
        began = time.perf_counter()
        found = sample(MODELS[model](), draws, draws, chains, seed, kernel, backend="jax", progress=False)
        seconds.append(time.perf_counter() - began)
    least = float(np.min(found.summary().columns["ess_bulk"]))
    return Sampled(model, type(kernel).__name__, chains, draws, seconds[0], seconds[1], least)


def chains_of(small: bool, say: Callable[[str], None]) -> list[Sampled]:
    """Many chains; a line for what this version cannot do."""
    from probdiff.sampling import NUTS, ChEES

    found = []
    for model, kernel, chains in (
        ("eight_schools", ChEES(), 64 if small else 4096),
        ("eight_schools", NUTS(), 16 if small else 1024),
        ("german_credit", ChEES(), 32 if small else 512),
    ):
        try:
            found.append(sampled(model, kernel, chains, 100 if small else 400))
        except (ParameterError, UnsupportedError) as error:
            say(f"{model} by {kernel!r}: {error}")
    return found


def run(small: bool, say: Callable[[str], None]) -> tuple[list[Row], list[Sampled]]:
    """All parts, in float64 and where it matters in float32; the user's own setting is not touched."""
    from probdiff.compiler.xla.library import double

    rows: list[Row] = []
    with double():
        for n in sizes(small):
            for dtype in ("float64", "float32"):
                say(f"exponential, {n:.0e} data, {dtype}")
                rows += exponential(n, dtype)
                if n <= 10**8:  # they are made on the host
                    rows.append(posterior(n, dtype))
        for name in PROGRAMS:
            say(f"program {name}")
            rows.append(program(name, small))
    say("chains")
    return rows, chains_of(small, say)


def table(rows: Sequence[Row], chains: Sequence[Sampled]) -> str:
    """What was found, as text."""
    lines = [f"{'gradient of':58}{'':>9}{'ours ms':>11}{'jax ms':>11}{'ratio':>7}{'of a copy':>14}{'differ':>9}"]
    for r in rows:
        share = "" if r.our_share is None else f"{r.our_share:.0%}, {r.their_share:.0%}"
        times = f"{1e3 * r.ours:11.3f}{1e3 * r.theirs:11.3f}{r.ratio:7.2f}{share:>14}{r.difference:9.0e}"
        lines.append(f"{f'{r.part}: {r.name}':58}{r.dtype:>9}{times}")
    lines.append("")
    lines.append(f"{'chains of':36}{'chains':>8}{'draws':>7}{'first s':>9}{'again s':>9}{'ESS':>9}{'ESS/s':>11}")
    for s in chains:
        times = f"{s.first:9.2f}{s.again:9.2f}{s.least_ess:9.0f}{s.least_ess / s.again:11.0f}"
        lines.append(f"{f'{s.model}, {s.kernel}':36}{s.chains:8}{s.draws:7}{times}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, and write JSON."""
    import jax

    parser = argparse.ArgumentParser(prog="python -m probdiff.benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="sizes for a CPU, which takes them by itself")
    parser.add_argument("--out", type=Path, default=Path("probdiff-bench"), help="folder for the JSON")
    options = parser.parse_args(argv)
    device = jax.devices()[0]
    small = options.small or device.platform == "cpu"
    rows, chains = run(small, lambda text: print(text, file=sys.stderr, flush=True))
    print(f"{jax.device_count()} x {device.device_kind}, JAX {jax.__version__}")
    print(table(rows, chains))
    options.out.mkdir(parents=True, exist_ok=True)
    page = {"device": device.device_kind, "devices": jax.device_count(), "jax": jax.__version__, "small": small,
            "rows": [asdict(r) for r in rows], "chains": [asdict(s) for s in chains]}  # fmt: skip
    (options.out / "gpu.json").write_text(json.dumps(page, indent=1))
    print(f"wrote gpu.json to {options.out}")


if __name__ == "__main__":
    main()
