"""The gradient of an Exponential log-likelihood, in the scales and in the data, ours beside our peers'.

Value and both gradients of sum_i log p(data_i | X_i), p(x | X) = exp(-x / X) / X; NumPy arrays in, NumPy arrays out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from probdiff.benchmarks.harness import Contender

Call = Callable[[], Any]


class Inputs(NamedTuple):
    """Scales and observations, of one length."""

    X: Any
    data: Any


def inputs(size: int) -> Inputs:
    """Scales in [0.5, 2) and draws from their distributions."""
    rng = np.random.default_rng(20_241)
    X = rng.uniform(0.5, 2.0, size)
    return Inputs(X, rng.exponential(X))


def reference(at: Inputs) -> Any:
    """The closed form."""
    X, data = at
    return -np.sum(np.log(X) + data / X), (data / X**2 - 1 / X, -1 / X)


def reverse_scalars(at: Inputs) -> Call:
    """Reverse mode alone: every element is an argument of its own, and so is every operation a node."""
    from probdiff import value_and_grad
    from probdiff.distributions import Exponential, logpdf

    def loglike(X: Any, data: Any) -> Any:
        return sum(logpdf(Exponential(X[i]), data[i]) for i in range(len(data)))

    function = value_and_grad(loglike, argnums=(0, 1))

    def call() -> Any:
        value, (dX, ddata) = function(at.X.tolist(), at.data.tolist())
        return value, (np.array(dX), np.array(ddata))

    return call


def loglikes() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The log-likelihood over arrays, without and with the seam."""
    from probdiff import broadcast, fwddiff
    from probdiff.distributions import Exponential, logpdf

    def plain(X: Any, data: Any) -> Any:
        return np.sum(broadcast(logpdf)(broadcast(Exponential)(X), data))

    def seamed(X: Any, data: Any) -> Any:
        return np.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Exponential))(X), data))

    return plain, seamed


def reverse_arrays(at: Inputs) -> Call:
    from probdiff import value_and_grad

    function = value_and_grad(loglikes()[0], argnums=(0, 1))
    return lambda: function(at.X, at.data)


def fwddiff_eager(at: Inputs) -> Call:
    from probdiff import value_and_grad

    function = value_and_grad(loglikes()[1], argnums=(0, 1))
    return lambda: function(at.X, at.data)


def fwddiff_compiled(at: Inputs) -> Call:
    from probdiff import compile, value_and_grad

    function = compile(value_and_grad(loglikes()[1], argnums=(0, 1)))
    return lambda: function(at.X, at.data)


def fwddiff_compiled_out(at: Inputs) -> Call:
    from probdiff import compile, value_and_grad

    function = compile(value_and_grad(loglikes()[1], argnums=(0, 1)))
    out = (np.empty(()), (np.empty_like(at.X), np.empty_like(at.data)))

    def call() -> Any:
        function(at.X, at.data, out=out)
        return out

    return call


def numpy_by_hand(at: Inputs) -> Call:
    def call() -> Any:
        X, data = at
        inverse = 1 / X
        ratio = data * inverse
        return -np.sum(np.log(X) + ratio), ((ratio - 1) * inverse, -inverse)

    return call


def jax_jit(at: Inputs) -> Call:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    function = jax.jit(jax.value_and_grad(lambda X, data: -jnp.sum(jnp.log(X) + data / X), argnums=(0, 1)))

    def call() -> Any:
        value, (dX, ddata) = function(at.X, at.data)
        return float(value), (np.asarray(dX), np.asarray(ddata))

    return call


def pytorch(at: Inputs) -> Call:
    import torch

    def call() -> Any:
        X = torch.from_numpy(at.X).requires_grad_()
        data = torch.from_numpy(at.data).requires_grad_()
        value = -torch.sum(torch.log(X) + data / X)
        dX, ddata = torch.autograd.grad(value, (X, data))
        return value.item(), (dX.numpy(), ddata.numpy())

    return call


def autograd(at: Inputs) -> Call:
    import autograd as ag
    import autograd.numpy as anp

    function = ag.value_and_grad(lambda X, data: -anp.sum(anp.log(X) + data / X), argnum=(0, 1))
    return lambda: function(at.X, at.data)


def pytensor(at: Inputs) -> Call:
    import pytensor as pt
    import pytensor.tensor as ptt

    X, data = ptt.dvector("X"), ptt.dvector("data")
    value = -ptt.sum(ptt.log(X) + data / X)
    function = pt.function([X, data], [value, *pt.grad(value, [X, data])])

    def call() -> Any:
        found, dX, ddata = function(at.X, at.data)
        return found, (dX, ddata)

    return call


def drjit(at: Inputs) -> Call:
    import drjit as dr
    from drjit.llvm.ad import Float64

    def call() -> Any:
        X, data = Float64(at.X), Float64(at.data)
        dr.enable_grad(X, data)
        value = -dr.sum(dr.log(X) + data / X)
        dr.backward(value)
        gradients = dr.grad(X), dr.grad(data)
        dr.eval(value, *gradients)
        return value.numpy()[0], tuple(np.asarray(g.numpy()) for g in gradients)

    return call


def numba_by_hand(at: Inputs) -> Call:
    import math

    import numba

    def kernel(X: Any, data: Any) -> Any:
        dX, ddata, value = np.empty_like(X), np.empty_like(X), 0.0
        for i in range(X.size):
            inverse = 1.0 / X[i]
            ratio = data[i] * inverse
            value -= math.log(X[i]) + ratio
            dX[i] = (ratio - 1.0) * inverse
            ddata[i] = -inverse
        return value, (dX, ddata)

    function = numba.njit(kernel)
    return lambda: function(at.X, at.data)


GRADIENT = SimpleNamespace(
    TITLE="Exponential log-likelihood: value and both gradients",
    NAME="exponential",
    SIZES=(100, 1000, 100_000, 1_000_000),
    QUICK_SIZES=(100, 1000),
    BASE="fwddiff, compiled",
    RATIOS=(
        ("reverse, scalar by scalar", "fwddiff, eager", 1000),
        ("fwddiff, eager", "JAX jit", 1000),
        ("fwddiff, compiled", "JAX jit", 1000),
        ("fwddiff, compiled", "PyTensor", 1000),
        ("fwddiff, compiled", "JAX jit", 1_000_000),
        ("fwddiff, compiled, out=", "JAX jit", 1_000_000),
    ),
    RTOL=1e-10,
    inputs=inputs,
    reference=reference,
    CONTENDERS=(
        # Beyond 10⁵ elements this one takes minutes and gigabytes: a node for each operation on each element.
        Contender("reverse, scalar by scalar", reverse_scalars, largest=100_000, ours=True),
        Contender("reverse over arrays", reverse_arrays, ours=True),
        Contender("fwddiff, eager", fwddiff_eager, ours=True),
        Contender("fwddiff, compiled", fwddiff_compiled, ours=True),
        Contender("fwddiff, compiled, out=", fwddiff_compiled_out, ours=True),
        Contender("NumPy by hand", numpy_by_hand, ours=True),
        Contender("Numba by hand", numba_by_hand, package="numba"),
        Contender("JAX jit", jax_jit, package="jax"),
        Contender("PyTorch", pytorch, package="torch"),
        Contender("autograd", autograd, package="autograd"),
        Contender("PyTensor", pytensor, package="pytensor"),
        Contender("Dr.Jit", drjit, package="drjit"),
    ),
)

PARTS = (GRADIENT,)
