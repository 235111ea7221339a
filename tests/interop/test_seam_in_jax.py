"""`fwddiff` and `broadcast` called with JAX's arrays: operations of JAX, as through `to_jax`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import Ref, broadcast, fwddiff, gradient, while_loop
from probdiff.distributions import Exponential, Gamma, logpdf
from probdiff.errors import TracedValueError, UnsupportedError

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
double = pytest.importorskip("probdiff.compiler.xla.library").double

X = np.array([0.7, 1.3, 2.2])
Y = np.array([0.5, 3.0, 1.0])


@pytest.fixture(autouse=True)
def in_double() -> Any:
    with double():
        yield


def same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def loglike(scale: Any, data: Any) -> Any:
    return jnp.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Exponential))(scale), data))


def test_gradient_and_hessian() -> None:
    value, slopes = jax.jit(jax.value_and_grad(loglike, (0, 1)))(X, Y)
    same(value, np.sum(-np.log(X) - Y / X))
    same(slopes[0], Y / X**2 - 1 / X)
    same(slopes[1], -1 / X)
    same(jax.hessian(loglike)(X, Y), np.diag(1 / X**2 - 2 * Y / X**3))


def test_maps() -> None:
    rows = np.stack([X, Y, X * Y])
    found = jax.vmap(jax.grad(loglike), (0, None))(rows, Y)
    same(found, Y / rows**2 - 1 / rows)


def test_while_loops() -> None:
    def root(a: Any) -> Any:
        return while_loop(lambda x: np.abs(x * x - a) > 1e-13 * a, lambda x: 0.5 * (x + a / x), 1.0 + 0.0 * a)

    same(jax.grad(lambda x: jnp.sum(broadcast(fwddiff(root))(x)))(X), 0.5 / np.sqrt(X))
    same(jax.grad(lambda x: fwddiff(root)(x[0]))(X), [0.5 / np.sqrt(X[0]), 0.0, 0.0])


def test_distributions_refs_and_keywords() -> None:
    def total(shape: Any) -> Any:
        return jnp.sum(broadcast(fwddiff(logpdf))(Gamma(shape, 2.0), 0.9))

    same(jax.grad(total)(X), gradient(lambda shape: np.sum(Gamma(shape, 2.0).logpdf(0.9)), X)[0])
    held = broadcast(fwddiff(lambda x, w: x * np.sum(w**2)))
    same(jax.jacobian(lambda w: held(X, Ref(w)))(Y), 2 * X[:, None] * Y)
    same(jax.grad(lambda a: fwddiff(lambda x, a=1.0: np.sum(x * a))(X, a=a))(2.0), np.sum(X))


def test_refusals() -> None:
    with pytest.raises(TracedValueError, match="np.where"):
        jax.grad(fwddiff(lambda x: x**3 if x > 0 else -x))(2.0)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(UnsupportedError, match="a call has arrays of jax and of torch. Convert them to one"):
        broadcast(fwddiff(np.add))(jnp.ones(3), torch.ones(3))
