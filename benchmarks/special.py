"""Incomplete integrals, their logs, inverses and slopes in the shapes: ours in machine code and under XLA, and others'.

All answers are checked against each other first. Ours are compiled functions of arrays, with the threads that this
process has; SciPy's are its ufuncs; JAX's are `jax.scipy.special` and PyTorch's `torch.special`, where they have the
function. Each is called in turns, and the fastest call counts.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special as sp

import probdiff
from probdiff import gradient
from probdiff.special import log_betainc, log_gammainc

RTOL = 1e-10  # of values; JAX's and PyTorch's gammainc have some 1e-12, and their slopes less
Call = Callable[[], Any]


class Row(NamedTuple):
    """A function of columns of the data, and who else has it under which name."""

    name: str
    ours: Callable[..., Any]
    columns: str
    scipy: Callable[..., Any] | None = None
    others: str | None = None


def _slope(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The derivative of the sum of f in the first `count` arguments."""

    def slope(*args: Any) -> Any:
        return gradient(lambda *shapes: np.sum(f(*shapes, *args[count:])), *args[:count])[0]

    return slope


ROWS = (
    Row("gammainc", sp.gammainc, "ax", sp.gammainc, "gammainc"),
    Row("gammaincc", sp.gammaincc, "ax", sp.gammaincc, "gammaincc"),
    Row("betainc", sp.betainc, "abp", sp.betainc, "betainc"),
    Row("stdtr", sp.stdtr, "at", sp.stdtr),
    Row("gammaincinv", sp.gammaincinv, "au", sp.gammaincinv),
    Row("betaincinv", sp.betaincinv, "abu", sp.betaincinv),
    Row("log_gammainc", log_gammainc, "ax"),
    Row("log_betainc", log_betainc, "abp"),
    Row("d/da gammainc", _slope(sp.gammainc, 1), "ax"),
    Row("d/da betainc", _slope(sp.betainc, 1), "abp"),
)


def data(n: int, low: float, high: float) -> dict[str, np.ndarray]:
    """Shapes whose logarithms are uniform, draws of their laws, and probabilities."""
    rng = np.random.default_rng(0)
    a, b = 10.0 ** rng.uniform(low, high, (2, n))
    x, p = np.maximum(rng.gamma(a), 1e-300), np.clip(rng.beta(a, b), 1e-12, 1.0 - 1e-12)
    return {"a": a, "b": b, "x": x, "p": p, "u": rng.uniform(0.001, 0.999, n), "t": rng.standard_t(3.0, n)}


def calls(row: Row, args: list[np.ndarray], jax: bool) -> dict[str, Call]:
    """What is timed, by its column in the table."""
    out: dict[str, Call] = {}
    native = probdiff.compile(row.ours)
    out["native"] = functools.partial(native, *args)
    if row.scipy is not None:
        out["SciPy"] = functools.partial(row.scipy, *args)
    if jax:
        xla = probdiff.compile(row.ours, backend="jax")
        out["jax backend"] = functools.partial(xla, *args)
    if jax and row.others is not None:
        out["jax.scipy"] = _in_jax(row.others, args)
    if row.others is not None:
        out |= _in_torch(row.others, args)
    return out


def _in_jax(name: str, args: list[np.ndarray]) -> Call:
    import jax

    from probdiff.compiler.xla.library import double

    function = jax.jit(getattr(jax.scipy.special, name))

    def call() -> Any:
        with double():
            return np.asarray(function(*args))

    return call


def _in_torch(name: str, args: list[np.ndarray]) -> dict[str, Call]:
    try:
        import torch
    except ModuleNotFoundError:
        return {}
    if not hasattr(torch.special, name):
        return {}
    tensors = [torch.from_numpy(a) for a in args]
    return {"torch": lambda: getattr(torch.special, name)(*tensors).numpy()}


def measure(row: Row, args: list[np.ndarray], seconds: float, jax: bool) -> dict[str, float]:
    """Best seconds of each, after all answers have been found to agree with ours."""
    running = calls(row, args, jax)
    reference = running["native"]()
    for who, call in running.items():
        if who != "jax.scipy" and who != "torch":  # these lose digits at large shapes
            np.testing.assert_allclose(call(), reference, rtol=RTOL, atol=RTOL * float(np.max(np.abs(reference))))
        else:
            np.testing.assert_allclose(call(), reference, rtol=1e-5, atol=1e-7)
    best = dict.fromkeys(running, np.inf)
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for who, call in running.items():
            before = time.perf_counter()
            call()
            best[who] = min(best[who], time.perf_counter() - before)
    return best


def main() -> None:
    """Measure and print milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=10**5)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--without-jax", action="store_true")
    arguments = parser.parse_args()
    columns = ("native", "jax backend", "SciPy", "jax.scipy", "torch")
    for low, high in ((-1.0, 1.5), (2.0, 5.0)):
        print(f"{f'shapes 10^{low} to 10^{high}':24}" + "".join(f"{c:>13}" for c in columns))
        columns_of = data(arguments.elements, low, high)
        for row in ROWS:
            found = measure(row, [columns_of[c] for c in row.columns], arguments.seconds, not arguments.without_jax)
            print(f"{row.name:24}" + "".join(f"{1e3 * found[c]:13.2f}" if c in found else f"{'':13}" for c in columns))


if __name__ == "__main__":
    main()
