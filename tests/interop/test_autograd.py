"""Our functions as primitives of autograd: both modes, every order, structures, dtypes, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from probdiff import Ref, broadcast, fwddiff, gradient, hessian, while_loop
from probdiff.distributions import Exponential, Gamma, Normal, logpdf
from probdiff.errors import ParameterError, UnsupportedError

autograd = pytest.importorskip("autograd", reason="autograd is not installed")
anp = pytest.importorskip("autograd.numpy")
check_grads = pytest.importorskip("autograd.test_util").check_grads

X = np.array([0.7, 1.3, 2.2])
Y = np.array([0.5, 3.0, 1.0])


def same(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-14)


def loglike(scale: Any, data: Any) -> Any:
    return anp.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Exponential))(scale), data))


def root(a: Any) -> Any:
    return while_loop(lambda x: np.abs(x * x - a) > 1e-13 * a, lambda x: 0.5 * (x + a / x), 1.0 + 0.0 * a)


WHOLE = fwddiff(lambda x, y: np.sum(Normal(x, np.exp(y[0])).logpdf(y)) * np.prod(x))
MANY = fwddiff(lambda x, y: {"a": np.cumsum(np.sin(x)) * y, "b": (np.outer(x, y), 3, "text")})
ROOTS = broadcast(fwddiff(root))
ROOT = fwddiff(lambda a: np.sum(root(a[0]) * a))


def many(x: Any, y: Any) -> Any:
    found = MANY(x, y)
    return found["a"] + anp.sum(found["b"][0], axis=0)


@pytest.mark.parametrize("f", [loglike, WHOLE, many], ids=["per element", "scalar", "several results"])
def test_derivatives_against_differences(f: Any) -> None:
    """autograd's own check by finite differences, of two orders in both modes and all their pairs."""
    check_grads(f, modes=["fwd", "rev"], order=2)(X, Y)


@pytest.mark.parametrize("f", [ROOTS, ROOT], ids=["per element", "whole"])
def test_while_loops_inside_fwddiff(f: Any) -> None:
    check_grads(f, modes=["fwd", "rev"], order=2)(X)


def test_third_derivatives() -> None:
    fourth = broadcast(fwddiff(lambda x: x**4))
    third = autograd.elementwise_grad(autograd.elementwise_grad(autograd.elementwise_grad(fourth)))
    same(third(X), 24 * X)


def test_values_and_slopes() -> None:
    value, slopes = autograd.value_and_grad(loglike, (0, 1))(X, Y)
    same(value, np.sum(-np.log(X) - Y / X))
    same(slopes[0], Y / X**2 - 1 / X)
    same(slopes[1], -1 / X)


def test_hessian() -> None:
    def ours(x: Any) -> Any:
        return np.sum(x * Normal(x, 1.0 + x**2).logpdf(0.5)) + x[0] * x[2]

    same(autograd.hessian(fwddiff(ours))(X), hessian(ours)(X), 1e-11)


def test_one_evaluation() -> None:
    """Values and partials come from one call: the function itself runs once, while it is recorded."""
    calls: list[int] = []

    def counted(x: Any, y: Any) -> Any:
        calls.append(1)
        return np.exp(x) * y

    kernel = broadcast(fwddiff(counted))
    slopes = autograd.grad(lambda x, y: anp.sum(kernel(x, y)), (0, 1))
    slopes(X, Y)
    before = len(calls)
    same(slopes(2 * X, Y)[1], np.exp(2 * X))
    assert len(calls) == before <= 2


def test_shapes_that_broadcast() -> None:
    kernel = broadcast(fwddiff(lambda a, b, c: a * b**c))
    found = autograd.grad(lambda a, b: anp.sum(kernel(a, b, 2)), (0, 1))(np.ones((2, 1)), X)
    same(found[0], np.full((2, 1), np.sum(X**2)))
    same(found[1], 4 * X)


def test_structures_and_refs() -> None:
    def total(p: Any) -> Any:
        return anp.sum(fwddiff(lambda p, k: np.stack([p["a"] ** k, np.sum(p["b"][0])]))(p, 3)) * p["a"]

    found = autograd.grad(total)({"a": 2.0, "b": (X, Y)})
    same(found["a"], 4 * 2.0**3 + np.sum(X))
    same(found["b"][0], np.full(3, 2.0))
    same(found["b"][1], np.zeros(3))
    held = broadcast(fwddiff(lambda x, w: x * np.sum(w**2)))
    same(autograd.jacobian(lambda w: held(X, Ref(w)))(Y), 2 * X[:, None] * Y)


def test_distributions_hold_boxes() -> None:
    def total(shape: Any) -> Any:
        return anp.sum(broadcast(fwddiff(logpdf))(Gamma(shape, 2.0), 0.9))

    same(autograd.grad(total)(X), gradient(lambda shape: np.sum(Gamma(shape, 2.0).logpdf(0.9)), X)[0])


def test_single_precision_stays() -> None:
    kernel = broadcast(fwddiff(lambda x, a: a * x**2))
    slope = autograd.elementwise_grad(kernel)(X.astype(np.float32), 2.5)
    assert (kernel(X.astype(np.float32), 2.5).dtype, slope.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(slope, 5 * X, rtol=1e-6)


def test_branches_in_python() -> None:
    f = fwddiff(lambda x: x**3 if x > 0 else -x)
    assert (autograd.grad(f)(-2.0), autograd.grad(f)(2.0), autograd.grad(autograd.grad(f))(2.0)) == (-1.0, 12.0, 12.0)


def test_nothing_leaks_from_the_side_that_is_not_taken() -> None:
    roots = broadcast(fwddiff(np.sqrt))
    slopes = autograd.elementwise_grad(lambda x: anp.where(x > 0, roots(x), 0.0))
    same(slopes(np.array([-1.0, 0.0, 4.0])), [0.0, 0.0, 0.25])
    same(autograd.elementwise_grad(slopes)(np.array([-1.0, 0.0, 4.0])), [0.0, 0.0, -1 / 32])


def test_refusals() -> None:
    def closure(x: Any) -> Any:
        return fwddiff(lambda y: x * y)(x)

    with pytest.raises(ParameterError, match="an array of autograd from its closure. Pass it as an argument"):
        autograd.grad(closure)(2.0)
    with pytest.raises(UnsupportedError, match="complex numbers are not supported"):
        autograd.grad(lambda x: anp.real(ROOTS(x)))(1.0 + 1.0j)


def test_without_autograd_everything_else_works() -> None:
    code = (
        "import sys\n"
        "sys.modules['autograd'] = None\n"
        "import numpy as np, probdiff\n"
        "assert probdiff.fwddiff(lambda x: np.sum(x * x))(np.ones(3)) == 3.0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
