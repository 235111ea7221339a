"""Inside JAX: our gradients beside `jax.grad` of the same model in jax.numpy.

Three comparisons, answers checked first: an exponential log-likelihood of 10^6 data by its formula, the same by the
library's `Exponential` (which has density zero outside the support, so the other side has that test too), and the sum
of cube roots of 10^5 numbers by 50 steps of Newton's method each, which jax.grad takes through `lax.scan`.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from probdiff import broadcast, fori_loop, fwddiff, to_jax
from probdiff.distributions import Exponential, logpdf

RTOL = 1e-12


class Comparison(NamedTuple):
    """Two gradients of one function: best seconds a call, and bytes that each needs beside arguments and results."""

    name: str
    ours: float
    theirs: float
    our_memory: int
    their_memory: int


def loglike(X: Any, data: Any) -> Any:
    """The log-likelihood of the library's distribution."""
    return np.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Exponential))(X), data))


def formula(X: Any, data: Any) -> Any:
    """The log-likelihood as a formula."""
    return np.sum(broadcast(fwddiff(lambda scale, x: -np.log(scale) - x / scale))(X, data))


def plain(X: Any, x: Any) -> Any:
    """`formula` in jax.numpy."""
    import jax.numpy as jnp

    return -jnp.sum(jnp.log(X) + x / X)


def checked(X: Any, x: Any) -> Any:
    """`loglike` in jax.numpy: minus infinity outside the domain of the scale, and of the data."""
    import jax.numpy as jnp

    inside = (X > 0) & (X < jnp.inf) & (x >= 0) & (x < jnp.inf)
    return jnp.sum(jnp.where(inside, -jnp.log(X) - x / X, -jnp.inf))


def roots(a: Any, steps: int = 50) -> Any:
    """The sum of cube roots of a."""
    return np.sum(broadcast(fwddiff(lambda a: fori_loop(0, steps, lambda i, x: _newton(x, a), 1.0 + 0.0 * a)))(a))


def _newton(x: Any, a: Any) -> Any:
    return x - (x * x * x - a) / (3.0 * x * x)


def fastest(calls: list[Callable[[], Any]], seconds: float = 2.0) -> list[float]:
    """Seconds of the fastest of many calls of each, taken in turns."""
    import jax

    found = [np.inf] * len(calls)
    for call in calls:
        jax.block_until_ready(call())
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for k, call in enumerate(calls):
            before = time.perf_counter()
            jax.block_until_ready(call())
            found[k] = min(found[k], time.perf_counter() - before)
    return found


def compare(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], args: tuple[Any, ...]) -> Comparison:
    """Check that the gradients agree, then time both."""
    import jax

    pair = [jax.jit(jax.grad(f, argnums=tuple(range(len(args))))) for f in (ours, theirs)]
    for a, b in zip(pair[0](*args), pair[1](*args), strict=True):
        np.testing.assert_allclose(a, b, rtol=RTOL, atol=RTOL * float(np.max(np.abs(b))))
    memory = [f.lower(*args).compile().memory_analysis().temp_size_in_bytes for f in pair]
    ours_seconds, their_seconds = fastest([functools.partial(f, *args) for f in pair])
    return Comparison(name, ours_seconds, their_seconds, *memory)


def run(data: int, elements: int) -> list[Comparison]:
    """All comparisons, in float64."""
    import jax
    import jax.numpy as jnp

    from probdiff.compiler.xla.library import double

    def by_scan(a: Any) -> Any:
        return jnp.sum(jax.lax.scan(lambda x, _: (_newton(x, a), None), jnp.ones_like(a), None, length=50)[0])

    rng = np.random.default_rng(0)
    with double():
        pair = (jnp.asarray(rng.uniform(0.5, 2.0, data)), jnp.asarray(rng.exponential(size=data)))
        numbers = (jnp.asarray(rng.uniform(0.5, 2.0, elements)),)
        return [
            compare(f"exponential, formula, {data}", to_jax(formula), plain, pair),
            compare(f"exponential, library, {data}", to_jax(loglike), checked, pair),
            compare(f"cube roots, 50 steps, {elements}", to_jax(roots), by_scan, numbers),
        ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=int, default=10**6)
    parser.add_argument("--elements", type=int, default=10**5)
    arguments = parser.parse_args()
    print(f"{'gradient of':36}{'ours ms':>10}{'jax ms':>10}{'ratio':>8}{'ours MB':>10}{'jax MB':>10}")
    for c in run(arguments.data, arguments.elements):
        memory = f"{c.our_memory / 1e6:10.1f}{c.their_memory / 1e6:10.1f}"
        print(f"{c.name:36}{1e3 * c.ours:10.2f}{1e3 * c.theirs:10.2f}{c.theirs / c.ours:8.2f}{memory}")


if __name__ == "__main__":
    main()
