"""Forward mode at both ends of its range: one scalar, and a whole network through BLAS.

The scalar function is h(x) = tanh(log(x sin 1) + cos(exp(x + 1))); the network is dense 784-32-10 with tanh in float32,
pushed forward in its input, a batch of 100.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from probdiff.benchmarks.harness import Contender

Call = Callable[[], Any]


def h(x: Any) -> Any:
    """The scalar function."""
    return np.tanh(np.log(x * np.sin(1.0)) + np.cos(np.exp(x + 1.0)))


def h_dot(x: float) -> float:
    """Its derivative by hand: (1 - h²) (1/x - sin(e^(x+1)) e^(x+1))."""
    e = np.exp(x + 1.0)
    return float((1 - h(x) ** 2) * (1 / x - np.sin(e) * e))


def scalar_eager(x: float) -> Call:
    from probdiff import pushforward

    return lambda: pushforward(h, x)(1.0)


def scalar_compiled(x: float) -> Call:
    from probdiff import compile, pushforward

    function = compile(lambda x: pushforward(h, x)(1.0))
    return lambda: function(x)


def scalar_jax(x: float) -> Call:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    derivative = jax.grad(lambda x: jnp.tanh(jnp.log(x * jnp.sin(1.0)) + jnp.cos(jnp.exp(x + 1.0))))
    function = jax.jit(derivative)
    return lambda: float(function(x))


def scalar_torch(x: float) -> Call:
    import torch

    def call() -> Any:
        at = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        y = torch.tanh(torch.log(at * np.sin(1.0)) + torch.cos(torch.exp(at + 1.0)))
        return torch.autograd.grad(y, at)[0].item()

    return call


def scalar_autograd(x: float) -> Call:
    import autograd as ag
    import autograd.numpy as anp

    function = ag.grad(lambda x: anp.tanh(anp.log(x * anp.sin(1.0)) + anp.cos(anp.exp(x + 1.0))))
    return lambda: function(x)


class Network(NamedTuple):
    """Weights and biases of two layers, the batch (features first) and its tangent."""

    w1: Any
    b1: Any
    w2: Any
    b2: Any
    x: Any
    x_dot: Any


def network() -> Network:
    """Random weights scaled by fan-in, and a random batch and direction, in float32."""
    rng = np.random.default_rng(784)
    shapes = ((32, 784), (32, 1), (10, 32), (10, 1), (784, 100), (784, 100))
    scales = (784**-0.5, 0.1, 32**-0.5, 0.1, 1.0, 1.0)
    return Network(*[(s * rng.standard_normal(n)).astype(np.float32) for n, s in zip(shapes, scales, strict=True)])


def forward(net: Network, x: Any) -> Any:
    """The primal."""
    return np.tanh(net.w2 @ np.tanh(net.w1 @ x + net.b1) + net.b2)


def network_reference(net: Network) -> Any:
    """Value and tangent by the chain rule, in double precision."""
    w1, b1, w2, b2, x, x_dot = (a.astype(np.float64) for a in net)
    hidden = np.tanh(w1 @ x + b1)
    y = np.tanh(w2 @ hidden + b2)
    return (1 - y**2) * (w2 @ ((1 - hidden**2) * (w1 @ x_dot)))


def network_primal(net: Network) -> Call:
    """The primal alone, in NumPy: the cost that the others are compared with. Its answer is checked elsewhere."""
    truth = network_reference(net)

    def call() -> Any:
        forward(net, net.x)
        return truth

    return call


def network_eager(net: Network) -> Call:
    from probdiff import pushforward

    return lambda: pushforward(lambda x: forward(net, x), net.x)(net.x_dot)


def network_compiled(net: Network) -> Call:
    from probdiff import compile, pushforward

    function = compile(lambda x, x_dot: pushforward(lambda x: forward(net, x), x)(x_dot))
    return lambda: function(net.x, net.x_dot)


def network_jax(net: Network) -> Call:
    import jax
    import jax.numpy as jnp

    w1, b1, w2, b2 = (jnp.asarray(a) for a in net[:4])

    def primal(x: Any) -> Any:
        return jnp.tanh(w2 @ jnp.tanh(w1 @ x + b1) + b2)

    function = jax.jit(lambda x, x_dot: jax.jvp(primal, (x,), (x_dot,))[1])
    return lambda: np.asarray(function(net.x, net.x_dot))


def network_torch(net: Network) -> Call:
    import torch

    w1, b1, w2, b2 = (torch.from_numpy(a) for a in net[:4])

    def primal(x: Any) -> Any:
        return torch.tanh(w2 @ torch.tanh(w1 @ x + b1) + b2)

    def call() -> Any:
        with torch.no_grad():
            return torch.func.jvp(primal, (torch.from_numpy(net.x),), (torch.from_numpy(net.x_dot),))[1].numpy()

    return call


SCALAR = SimpleNamespace(
    TITLE="Derivative of a scalar function",
    NAME="pushforward-scalar",
    SIZES=(1,),
    QUICK_SIZES=(1,),
    BASE="pushforward, compiled",
    RATIOS=(("pushforward, eager", "JAX jit", 1), ("pushforward, compiled", "JAX jit", 1)),
    RTOL=1e-10,
    inputs=lambda size: 0.7,
    reference=h_dot,
    CONTENDERS=(
        Contender("pushforward, eager", scalar_eager, ours=True),
        Contender("pushforward, compiled", scalar_compiled, ours=True),
        Contender("derivative by hand, NumPy", lambda x: lambda: h_dot(x), ours=True),
        Contender("JAX jit", scalar_jax, package="jax"),
        Contender("PyTorch", scalar_torch, package="torch"),
        Contender("autograd", scalar_autograd, package="autograd"),
    ),
)

NETWORK = SimpleNamespace(
    TITLE="Pushforward through a dense 784-32-10 network, batch of 100, float32",
    NAME="pushforward-network",
    SIZES=(100,),
    QUICK_SIZES=(100,),
    BASE="primal, NumPy",
    RATIOS=(("pushforward, eager", "primal, NumPy", 100), ("pushforward, compiled", "primal, NumPy", 100)),
    RTOL=1e-4,  # sums of 784 products in float32
    inputs=lambda size: network(),
    reference=network_reference,
    CONTENDERS=(
        Contender("primal, NumPy", network_primal, ours=True),
        Contender("pushforward, eager", network_eager, ours=True),
        Contender("pushforward, compiled", network_compiled, ours=True),
        Contender("JAX jit", network_jax, package="jax"),
        Contender("PyTorch", network_torch, package="torch"),
    ),
)

PARTS = (SCALAR, NETWORK)
