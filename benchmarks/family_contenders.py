"""How each contender computes what `benchmarks.distributions` compares; one process is one contender.

A builder takes a family, a quantity and the inputs, and returns a call without arguments, or None where the contender
has no such thing. What a user does once (compiling, moving data) is done once; results are arrays of the contender's.
"""

from __future__ import annotations

import math
import os
import time
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from probdiff.benchmarks.families import FAMILIES, Family

__all__ = ["CONTENDERS", "PACKAGES", "QUANTITIES", "Inputs", "serve"]

Call = Callable[[], Any]
QUANTITIES = ("gradient", "logpdf", "cdf", "quantile", "rand", "scalar")
PACKAGES = {
    "probdiff": "probdiff",
    "eager": "probdiff",
    "compiled": "probdiff",
    "SciPy": "scipy",
    "NumPyro": "numpyro",
    "PyTorch": "torch",
}


METHODS = {"logpdf": "log_prob", "scalar": "log_prob", "cdf": "cdf", "quantile": "icdf"}  # of NumPyro and PyTorch


class Inputs(NamedTuple):
    """Values of the family, and probabilities."""

    x: Any
    p: Any


def split(family: Family) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The parameters without a derivative, which come first, and those with one."""
    fixed = tuple(v for v in family.parameters if isinstance(v, int))
    return fixed, family.parameters[len(fixed) :]


def ours(family: Family, quantity: str, at: Inputs) -> Call | None:
    """Log-densities and their gradients compiled, as a sampler has them; else methods of the distribution itself."""
    from probdiff import compile, value_and_grad

    if quantity == "logpdf":
        return within_program(family, quantity, at)
    if quantity != "gradient":
        return method(family, quantity, at)
    make, fixed, theta = parts(family)
    argnums = (0,) if family.discrete else (0, 1)
    gradient = compile(value_and_grad(lambda theta, x: np.sum(make(*fixed, *theta).logpdf(x)), argnums=argnums))

    def call() -> Any:
        value, bars = gradient(theta, at.x)
        return value, *bars[0], *bars[1:]

    return call


def eager(family: Family, quantity: str, at: Inputs) -> Call | None:
    """Log-densities by the method of the distribution itself."""
    return method(family, quantity, at) if quantity == "logpdf" else None


def compiled(family: Family, quantity: str, at: Inputs) -> Call | None:
    """Distribution functions and quantiles in compiled programs."""
    return within_program(family, quantity, at) if quantity in ("cdf", "quantile") else None


def within_program(family: Family, quantity: str, at: Inputs) -> Call:
    """A method as a compiled function of the parameters and the values."""
    from probdiff import compile

    make, fixed, theta = parts(family)
    function = compile(lambda theta, x: getattr(make(*fixed, *theta), quantity)(x))
    x = at.p if quantity == "quantile" else at.x
    return lambda: function(theta, x)


def method(family: Family, quantity: str, at: Inputs) -> Call:
    """A method of a distribution with plain numbers."""
    make, fixed, theta = parts(family)
    d = make(*fixed, *theta)
    if quantity == "rand":
        rng = np.random.default_rng(0)
        return lambda: d.rand(len(at.x), rng=rng)
    if quantity == "scalar":
        first = at.x[0].item()
        return lambda: d.logpdf(first)
    call, x = getattr(d, quantity), at.p if quantity == "quantile" else at.x
    return lambda: call(x)


def parts(family: Family) -> tuple[Any, tuple[float, ...], tuple[float, ...]]:
    """Our family, and its parameters without and with a derivative."""
    from probdiff import distributions

    return getattr(distributions, family.name), *split(family)


def scipy(family: Family, quantity: str, at: Inputs) -> Call | None:
    """A frozen distribution; no gradient."""
    from scipy import stats

    d = family.scipy(stats, *family.parameters)
    if quantity == "gradient":
        return None
    if quantity == "rand":
        rng = np.random.default_rng(0)
        return lambda: d.rvs(len(at.x), random_state=rng)
    if quantity == "quantile":
        return lambda: d.ppf(at.p)
    density = d.logpmf if family.discrete else d.logpdf
    if quantity == "scalar":
        first = at.x[0].item()
        return lambda: density(first)
    method = d.cdf if quantity == "cdf" else density
    return lambda: method(at.x)


def numpyro(family: Family, quantity: str, at: Inputs) -> Call | None:
    """`jax.jit`; the arrays are JAX's already."""
    import jax
    import jax.numpy as jnp
    from numpyro import distributions

    jax.config.update("jax_enable_x64", True)
    if family.numpyro is None:
        return None
    build = family.numpyro
    fixed, theta = split(family)
    x = jnp.asarray(at.p if quantity == "quantile" else at.x[0] if quantity == "scalar" else at.x)

    def made(theta: Any) -> Any:
        return build(distributions, *fixed, *theta)

    if quantity == "rand":
        draw = jax.jit(lambda key, theta: made(theta).sample(key, (len(at.x),)))
        keys = iter(range(10**9))
        return lambda: draw(jax.random.key(next(keys)), theta).block_until_ready()
    if quantity == "gradient":
        argnums = (0,) if family.discrete else (0, 1)
        gradient = jax.jit(jax.value_and_grad(lambda theta, x: jnp.sum(made(theta).log_prob(x)), argnums=argnums))

        def call() -> Any:
            value, bars = jax.block_until_ready(gradient(theta, x))
            return value, *bars[0], *bars[1:]

        return call
    method = METHODS[quantity]
    function = jax.jit(lambda theta, x: getattr(made(theta), method)(x))
    return lambda: function(theta, x).block_until_ready()


def torch(family: Family, quantity: str, at: Inputs) -> Call | None:
    """Eager, with autograd; the arrays are tensors already."""
    import torch
    from torch import distributions

    torch.set_default_dtype(torch.float64)
    distributions.Distribution.set_default_validate_args(False)
    if family.torch is None:
        return None
    build = family.torch
    fixed, theta = split(family)
    x = torch.from_numpy(np.asarray(at.p if quantity == "quantile" else at.x, float))  # counts, too, are floats here
    x = x[:1] if quantity == "scalar" else x
    tensors = [torch.tensor(v, dtype=torch.float64) for v in theta]
    d = build(distributions, *fixed, *tensors)
    if quantity == "rand":
        return by_threads(lambda: d.sample((len(at.x),)))
    if quantity == "gradient":

        def call() -> Any:
            given = [v.requires_grad_() for v in tensors]
            wrt = given if family.discrete else [*given, x.requires_grad_()]
            value = torch.sum(build(distributions, *fixed, *given).log_prob(x))
            return value.detach(), *torch.autograd.grad(value, wrt, materialize_grads=True)

        return by_threads(call)
    method = getattr(d, METHODS[quantity])
    return by_threads(lambda: method(x))


def by_threads(call: Call) -> Call:
    """The call, with PyTorch set to use one thread or all, whichever is faster."""
    import torch

    threads, best = os.cpu_count() or 1, {}
    for n in sorted({1, threads}):
        torch.set_num_threads(n)
        call()
        best[n] = min(timeit.repeat(call, number=1, repeat=5))
    torch.set_num_threads(min(best, key=lambda n: best[n]))
    return call


CONTENDERS: dict[str, Callable[[Family, str, Inputs], Call | None]] = {
    "probdiff": ours,
    "eager": eager,
    "compiled": compiled,
    "SciPy": scipy,
    "NumPyro": numpyro,
    "PyTorch": torch,
}


def serve(contender: str, pipe: Any) -> None:
    """Answer requests until None comes: (name, quantity, inputs) by the arrays of a first call, or None where there is
    no such thing; a number of seconds by the time of a call, measured for so long.
    """
    call: Call | None = None
    build = CONTENDERS[contender]
    while (request := pipe.recv()) is not None:
        if isinstance(request, float):
            pipe.send(fastest(call, request) if call is not None else math.nan)
            continue
        try:
            name, quantity, at = request
            [family] = [f for f in FAMILIES if f.name == name]
            with np.errstate(all="ignore"):
                call = build(family, quantity, at)
                pipe.send(None if call is None else arrays(call()))
        except (NotImplementedError, ImportError):  # how NumPyro and PyTorch say that they have no such method
            call = None
            pipe.send(None)


def arrays(answer: Any) -> list[Any]:
    """NumPy arrays of a result."""
    return [np.asarray(a) for a in answer] if isinstance(answer, tuple) else [np.asarray(answer)]


def fastest(call: Call, seconds: float) -> float:
    """The least time of a call, in seconds, of as many as fit."""
    best, start = math.inf, time.perf_counter()
    while (before := time.perf_counter()) - start < seconds or best == math.inf:
        call()
        best = min(best, time.perf_counter() - before)
    return best
