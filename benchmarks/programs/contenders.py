"""From a program's densities to the benchmark's contenders: flat NumPy parameters in, value and gradient out.

A density takes the flat parameters, then the data, in the arrays of its package. What a user would do once (moving the
data, compiling) is done once; what happens at every gradient is timed, conversions from and to NumPy included.
"""

from __future__ import annotations

import functools
import timeit
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from probdiff.benchmarks.harness import Contender

Call = Callable[[], Any]
Density = Callable[..., Any]
OURS, JAX, PYTENSOR, PYTORCH, STAN = "probdiff", "JAX jit", "PyTensor", "PyTorch", "stanli"
OUR_IMPORTS = ("scipy.special", "probdiff.compiler.native.program", "probdiff.special", "probdiff.linalg")
PEERS = (JAX, PYTENSOR, PYTORCH)
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LIMITS = ("Numba by hand", "NumPy by hand")
SUMS_ONCE = "the sums over the data that the density needs are made with the model, so the time does not grow with N"


def module_of(name: str) -> str:
    """The module of a program."""
    return f"probdiff.benchmarks.programs.{name}"


class Problem(NamedTuple):
    """Where to differentiate, and the data."""

    theta: Any
    data: tuple[Any, ...]


def ours(density: Density, at: Problem) -> Call:
    """The compiled gradient; the data are closed over."""
    from probdiff import compile, value_and_grad

    function = compile(value_and_grad(lambda theta: density(theta, *at.data)))
    return lambda: function(at.theta)


def jax(density: Density, at: Problem) -> Call:
    """`jit`, with the data as arguments so that they are no constants to fold."""
    import jax

    jax.config.update("jax_enable_x64", True)
    function = jax.jit(jax.value_and_grad(density))
    data = tuple(jax.device_put(a) for a in at.data)

    def call() -> Any:
        value, gradient = function(at.theta, *data)
        return float(value), np.asarray(gradient)

    return call


def pytensor(density: Density, at: Problem) -> Call:
    """A function of trusted input over shared data, results not copied."""
    import pytensor as pt
    import pytensor.tensor as ptt

    theta = ptt.vector("theta", dtype="float64", shape=at.theta.shape)
    data = [pt.shared(a, borrow=True, shape=np.shape(a)) for a in at.data]
    value = density(theta, *data)
    outputs = [pt.Out(o, borrow=True) for o in (value, pt.grad(value, theta))]
    function = pt.function([theta], outputs)
    function.trust_input = True
    return lambda: tuple(function(at.theta))


def pytorch(density: Density, at: Problem) -> Call:
    """Eager autograd; the data are tensors already. With one thread where that is faster."""
    import torch

    data = [torch.from_numpy(np.array(a, order="C")) for a in at.data]

    def call() -> Any:
        theta = torch.from_numpy(at.theta).requires_grad_()
        value = density(theta, *data)
        [gradient] = torch.autograd.grad(value, [theta])
        return value.item(), gradient.numpy()

    threads, best = torch.get_num_threads(), {}
    for n in sorted({1, threads}):
        torch.set_num_threads(n)
        call()
        best[n] = min(timeit.repeat(call, number=1, repeat=5))
    torch.set_num_threads(min(best, key=lambda n: best[n]))
    return call


def by_stan(code: str, data: Callable[..., dict[str, Any]], at: Problem) -> Call:
    """An interpreter of Stan, in its fast mode and with two threads for `reduce_sum`."""
    import stanli

    model = stanli.Model(stan_code=code, data=data(*at.data), fast_math=True, threads_per_chain=2)
    return lambda: model.log_prob_grad(at.theta)


def plain(function: Density, at: Problem) -> Call:
    """Value and gradient by hand."""
    return lambda: function(at.theta, *at.data)


def jitted(function: Density, finish: Density | None, at: Problem) -> Call:
    """Value and gradient by hand, a loop for Numba; sums may be taken in any order, as our own are."""
    import numba

    compiled = numba.njit(function, fastmath={"reassoc", "contract", "nsz", "arcp"})
    if finish is not None:
        return lambda: finish(at.theta, *at.data, compiled(at.theta, *at.data))
    return lambda: compiled(at.theta, *at.data)


def program(
    *,
    name: str,
    title: str,
    number: int,
    size: int,
    quick: int,
    problem: Callable[[int], Problem],
    reference: Density,
    probdiff: Density,
    jax_numpy: Density,
    tensor: Density,
    torch: Density,
    stan: str,
    stan_data: Callable[..., dict[str, Any]],
    stan_note: str = "",
    loop: Density | None = None,
    finish: Density | None = None,
    hand: bool = False,
    threads: int | None = None,
    more: Sequence[Contender] = (),
) -> SimpleNamespace:
    """The part of the benchmark that this program is.

    reference  value and gradient by hand in NumPy; with `hand`, fast enough to be a limit
    stan       a model of unconstrained parameters; `stan_data(*data)` are its data, `stan_note` says what is special
    threads    how many BLAS may use, where more are slower for everyone
    loop       value and gradient by hand as a loop for Numba; with `finish`, sums, from which that makes the result
    """
    contenders = [
        Contender(OURS, functools.partial(ours, probdiff), ours=True, imports=OUR_IMPORTS),
        Contender(JAX, functools.partial(jax, jax_numpy), package="jax", imports=("jax.numpy", "jax.scipy.special")),
        Contender(
            PYTENSOR,
            functools.partial(pytensor, tensor),
            package="pytensor",
            imports=("pytensor.tensor", "pytensor.link.numba.dispatch"),
        ),
        Contender(PYTORCH, functools.partial(pytorch, torch), package="torch", imports=("torch",)),
        Contender(STAN, functools.partial(by_stan, stan, stan_data), package="stanli", imports=("stanli",)),
    ]
    if loop is not None:
        by_loop = functools.partial(jitted, loop, finish)
        contenders.append(Contender(LIMITS[0], by_loop, package="numba", imports=("numba",)))
    if hand:
        contenders.append(Contender(LIMITS[1], functools.partial(plain, reference), ours=True))
    return SimpleNamespace(
        TITLE=title,
        NAME=name,
        NUMBER=number,
        NOTES={STAN: stan_note} if stan_note else {},
        SIZES=(size,),
        QUICK_SIZES=(quick,),
        BASE=OURS,
        RATIOS=(),
        RTOL=1e-10,
        inputs=problem,
        reference=lambda at: reference(at.theta, *at.data),
        ENVIRONMENT={} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads)),
        CONTENDERS=(*contenders, *more),
    )
