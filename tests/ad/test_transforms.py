"""The verbs of differentiation: arguments, structures, modes over modes, and what they refuse."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import probdiff
from probdiff import (
    fwddiff,
    grad,
    gradient,
    hessian,
    hvp,
    jacobian,
    pullback,
    pushforward,
    stop_gradient,
    unthunk,
    value_and_grad,
)
from probdiff.errors import DifferentiationError, ProbdiffError, ShapeError, UnsupportedError


@dataclasses.dataclass(frozen=True)
class Normal:
    loc: Any
    scale: Any


class Pair(NamedTuple):
    a: Any
    b: Any


V = np.array([0.5, -1.0, 2.0])
M = np.array([[1.0, 2.0, -1.0], [0.5, -0.3, 4.0]])


def product(x: Any, y: Any, z: Any) -> Any:
    return np.sum(x * y**2 * z**3)


# gradient


def test_one_gradient_per_argument() -> None:
    got = gradient(product, 2.0, V, 3.0)
    assert isinstance(got, tuple) and len(got) == 3
    assert type(got[0]) is float and type(got[2]) is float
    np.testing.assert_allclose(got[0], np.sum(V**2) * 27.0)
    np.testing.assert_allclose(got[1], 2.0 * 2.0 * V * 27.0)
    np.testing.assert_allclose(got[2], np.sum(2.0 * V**2) * 27.0)


def test_arguments_without_a_tangent_get_none() -> None:
    got = gradient(lambda x, n, flag, name, k: x**n * np.sum(k), 3.0, 2, True, "name", np.array([1, 2]))
    assert got == (18.0, None, None, None, None)


def test_unused_arguments_get_zeros() -> None:
    x, y, s = gradient(lambda x, y, s: 2.0 * s, V, M.astype(np.float32), 1.0)
    np.testing.assert_array_equal(x, np.zeros(3))
    np.testing.assert_array_equal(y, np.zeros((2, 3), np.float32))
    assert y.dtype == np.float32
    assert s == 2.0


def test_kinds_of_numbers() -> None:
    for x in (1.5, np.float64(1.5), np.float32(1.5), np.array(1.5), np.array(1.5, np.float32)):
        (g,) = gradient(lambda x: x * x, x)
        assert np.shape(g) == ()
        assert np.asarray(g).dtype == np.asarray(x).dtype
        assert g == 3.0
    assert type(gradient(lambda x: x * x, 1.5)[0]) is float


def test_structured_arguments() -> None:
    arg = {"d": (Normal(1.0, 2.0), Normal(V, np.float32(3.0))), "p": Pair([0.5, 1], None), "n": 3}

    def f(t: Any) -> Any:
        first, second = t["d"]
        return first.loc * first.scale**2 + np.sum(second.loc) * second.scale + t["p"].a[0] ** 3 * t["n"]

    (g,) = gradient(f, arg)
    assert isinstance(g["d"][0], Normal) and isinstance(g["p"], Pair)
    assert g["d"][0] == Normal(4.0, 4.0)
    np.testing.assert_array_equal(g["d"][1].loc, np.full(3, 3.0))
    assert g["d"][1].scale == np.sum(V) and g["d"][1].scale.dtype == np.float32
    assert g["p"].a[0] == 3 * 0.25 * 3 and g["p"].a[1] is None and g["p"].b is None
    assert g["n"] is None


def test_gradients_own_their_memory() -> None:
    x = V.copy()
    (g,) = gradient(lambda x: np.sum(x), x)
    g += 1.0  # a broadcast one would not be writable
    np.testing.assert_array_equal(g, np.full(3, 2.0))
    a, b = gradient(lambda a, b: np.sum(a + b), V, V)
    a += 1.0
    np.testing.assert_array_equal(b, np.ones(3))
    np.testing.assert_array_equal(x, V)


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: x, ShapeError, r"gradient needs a scalar output, got shape \(3,\). Sum it, or use jacobian."),
        (lambda x: x[:1], ShapeError, r"gradient needs a scalar output, got shape \(1,\)"),
        (lambda x: None, DifferentiationError, "gradient needs a real scalar output, got NoneType"),
        (lambda x: "text", DifferentiationError, "gradient needs a real scalar output, got str"),
        (lambda x: np.sum(x) > 0, DifferentiationError, "gradient needs a real scalar output, got bool"),
        (lambda x: np.argmax(x), DifferentiationError, "gradient needs a real scalar output, got int64"),
        (lambda x: (np.sum(x), 1.0), DifferentiationError, "gradient needs a real scalar output, got tuple"),
    ],
)
def test_outputs_that_have_no_gradient(f: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        gradient(f, V)


def test_complex_and_objects_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="complex numbers are not supported"):
        gradient(lambda x: x, 1.0 + 2.0j)
    with pytest.raises(UnsupportedError, match="arrays of objects are not supported"):
        gradient(lambda x: 1.0, np.array([None, 1.0]))


def test_an_error_of_the_function_passes_through() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        gradient(f, 1.0)


# grad and value_and_grad


def test_argnums() -> None:
    args = (2.0, V, 3.0)
    whole = gradient(product, *args)
    assert grad(product)(*args) == whole[0]
    assert grad(product, argnums=2)(*args) == whole[2]
    assert grad(product, argnums=-1)(*args) == whole[2]
    one = grad(product, argnums=(1,))(*args)
    assert isinstance(one, tuple) and len(one) == 1
    last, first = grad(product, argnums=(-1, 0))(*args)
    assert (last, first) == (whole[2], whole[0])
    value, (g,) = value_and_grad(product, argnums=(1,))(*args)
    np.testing.assert_array_equal(g, whole[1])
    assert value == product(*args)
    with pytest.raises(DifferentiationError, match="argnums 3 is out of range for a call with 3 positional arguments"):
        grad(product, argnums=3)(*args)


def test_aux() -> None:
    def f(x: Any, k: float = 1.0) -> Any:
        return k * np.sum(x**2), {"twice": 2.0 * x, "name": "aux"}

    (value, aux), g = value_and_grad(f, has_aux=True)(V, k=2.0)
    assert value == 2.0 * np.sum(V**2)
    assert type(aux["twice"]) is np.ndarray and aux["name"] == "aux"
    np.testing.assert_array_equal(aux["twice"], 2.0 * V)
    np.testing.assert_array_equal(g, 4.0 * V)
    g, aux = grad(f, has_aux=True)(V)
    np.testing.assert_array_equal(g, 2.0 * V)
    np.testing.assert_array_equal(aux["twice"], 2.0 * V)
    with pytest.raises(DifferentiationError, match="has_aux needs a function that returns"):
        grad(lambda x: x, has_aux=True)(1.0)


def test_names_survive() -> None:
    assert grad(product).__name__ == "product"


# pullback


def test_pullback_is_called_more_than_once() -> None:
    y, back = pullback(lambda x: np.exp(x), V)
    np.testing.assert_array_equal(y, np.exp(V))
    first = back(np.ones(3))[0]
    second = back(np.array([0.0, 2.0, 0.0]))[0]
    np.testing.assert_allclose(first, np.exp(V))
    np.testing.assert_allclose(second, [0.0, 2.0 * np.exp(-1.0), 0.0])
    np.testing.assert_allclose(first, np.exp(V))


def test_pullback_of_structures() -> None:
    y, back = pullback(lambda x, s: {"a": (x * s, np.sum(x)), "n": 3, "b": s**2}, V, 2.0)
    assert y["n"] == 3 and y["b"] == 4.0
    x_bar, s_bar = back({"a": (np.ones(3), 10.0), "n": None, "b": 1.0})
    np.testing.assert_array_equal(x_bar, np.full(3, 12.0))
    assert s_bar == np.sum(V) + 4.0
    x_bar, s_bar = back({"b": 1.0})  # keys left out are zero
    np.testing.assert_array_equal(x_bar, np.zeros(3))
    assert s_bar == 4.0
    x_bar, s_bar = back({"a": None, "b": 1.0})
    np.testing.assert_array_equal(x_bar, np.zeros(3))


def test_nested_pullbacks() -> None:
    """A pullback in a pullback, both called twice: d/dx of <v, f'(x)>."""

    def slope(x: Any) -> Any:
        y, back = pullback(lambda z: np.sum(np.sin(z) * z), x)
        one, two = back(1.0)[0], back(2.0)[0]
        return one + two + y

    expected = np.sin(V) + V * np.cos(V)
    y, back = pullback(slope, V)
    np.testing.assert_allclose(y, 3.0 * expected + np.sum(np.sin(V) * V), rtol=1e-14)
    for scale in (1.0, -2.0):
        got = back(np.array([scale, 0.0, 0.0]))[0]
        diagonal = np.zeros(3)
        diagonal[0] = 3.0 * (2.0 * np.cos(V[0]) - V[0] * np.sin(V[0]))
        np.testing.assert_allclose(got, scale * (diagonal + expected), rtol=1e-13)


@pytest.mark.parametrize(
    ("y_bar", "text"),
    [
        (np.ones(4), r"the cotangent has shape \(4,\), the result \(3,\)"),
        (np.ones((2, 3)), r"the cotangent has shape \(2, 3\), the result \(3,\)"),
    ],
)
def test_cotangents_of_another_shape(y_bar: Any, text: str) -> None:
    _, back = pullback(lambda x: x * 2.0, V)
    with pytest.raises(ShapeError, match=text):
        back(y_bar)


def test_cotangents_of_another_structure() -> None:
    _, back = pullback(lambda x: {"a": x, "b": x}, V)
    with pytest.raises(ShapeError, match=r"the cotangent has keys \['c'\] that the result has not"):
        back({"c": V})
    _, back = pullback(lambda x: (x, x), V)
    with pytest.raises(ShapeError, match="the cotangent has 3 entries, the result 2"):
        back((V, V, V))


# pushforward


def test_pushforward_of_numbers() -> None:
    assert pushforward(pow, 2, 3)(1, 0) == 12
    assert pushforward(pow, 2.0, 3)(1.0, None) == 12.0
    np.testing.assert_allclose(pushforward(pow, 2.0, 3.0)(0, 1.0), 8.0 * np.log(2.0))
    assert pushforward(lambda x, y: y, 2.0, 3.0)(1.0, None) == 0.0


def test_pushforward_of_structures() -> None:
    push = pushforward(lambda d, x: {"z": (x - d.loc) / d.scale, "d": Normal(d.scale, 1.0)}, Normal(1.0, 2.0), V)
    got = push(Normal(1.0, None), None)
    np.testing.assert_allclose(got["z"], np.full(3, -0.5))
    assert got["d"] == Normal(0.0, 0.0)
    got = push(Normal(0.0, 1.0), V)
    np.testing.assert_allclose(got["z"], V / 2.0 - (V - 1.0) / 4.0)
    assert got["d"].loc == 1.0


def test_several_directions() -> None:
    def f(x: Any, s: Any) -> Any:
        return np.sin(x) * s, np.sum(x) * s

    directions = np.random.default_rng(0).normal(size=(3, 4))
    scales = np.array([1.0, 0.0, 0.5, 2.0])
    y_dot, s_dot = pushforward(f, V, 2.0)(directions, scales)
    assert y_dot.shape == (3, 4) and s_dot.shape == (4,)
    for k in range(4):
        one, two = pushforward(f, V, 2.0)(directions[:, k], scales[k])
        np.testing.assert_allclose(y_dot[:, k], one, rtol=1e-15)
        np.testing.assert_allclose(s_dot[k], two, rtol=1e-15)
    only, _ = pushforward(f, V, 2.0)(None, scales)
    np.testing.assert_allclose(only, np.sin(V)[:, None] * scales)


def test_tangents_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match="pushforward of 2 arguments got 1 tangents"):
        pushforward(pow, 2.0, 3.0)(1.0)
    with pytest.raises(ShapeError, match=r"pushforward got a tangent of shape \(2,\) for an argument of shape \(3,\)"):
        pushforward(np.sum, V)(np.ones(2))
    with pytest.raises(ShapeError, match="pushforward got tangents with different numbers of directions"):
        pushforward(lambda x, y: x + y, V, V)(np.ones((3, 2)), np.ones((3, 4)))
    with pytest.raises(DifferentiationError, match="pushforward got a tangent for 'text', which has none"):
        pushforward(lambda x: x, "text")(1.0)


# Jacobians and Hessians


def tall(x: Any) -> Any:
    return np.concatenate([np.sin(x), x**2, np.outer(x, x).ravel()])


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("f", [tall, lambda x: np.stack([np.sum(x**2), np.prod(x)]), lambda x: np.sum(np.sin(x))])
def test_jacobian_in_both_modes(f: Any, n: int) -> None:
    x = np.random.default_rng(1).normal(size=n)
    got = jacobian(f)(x)
    y, back = pullback(f, x)
    y = np.asarray(y)
    forward = pushforward(f, x)(np.eye(n))
    seeds = np.eye(y.size).reshape(y.size, *y.shape)
    reverse = np.stack([back(s)[0] for s in seeds]).reshape(*y.shape, n)
    assert got.shape == y.shape + (n,)
    np.testing.assert_allclose(got, forward, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got, reverse, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [2, 30])  # forward mode, and reverse mode for many inputs
def test_jacobian_of_structures(n: int) -> None:
    x = {"a": np.linspace(0.1, 1.0, n), "s": 2.0}

    def f(t: Any) -> Any:
        return {"y": t["s"] * t["a"][:2], "z": (np.sum(t["a"]) * t["s"] ** 2,)}

    j = jacobian(f)(x)
    assert j["y"]["a"].shape == (2, n) and j["y"]["s"].shape == (2,)
    np.testing.assert_allclose(j["y"]["a"], 2.0 * np.eye(2, n))
    np.testing.assert_allclose(j["y"]["s"], x["a"][:2])
    np.testing.assert_allclose(j["z"][0]["a"], np.full(n, 4.0))
    np.testing.assert_allclose(j["z"][0]["s"], 4.0 * np.sum(x["a"]))


def test_jacobian_of_matrices_and_argnums() -> None:
    j = jacobian(lambda s, m: m * s, argnums=1)(2.0, M)
    assert j.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(j.reshape(6, 6), 2.0 * np.eye(6))
    np.testing.assert_array_equal(jacobian(lambda s, m: m * s, argnums=-2)(2.0, M), M)
    with pytest.raises(DifferentiationError, match="jacobian needs floating-point values in argument 0"):
        jacobian(lambda n: n * 1.0)(3)


def test_jacobian_of_nothing() -> None:
    assert jacobian(lambda x: x * 2.0)(np.zeros(0)).shape == (0, 0)


def quadratic(t: Any) -> Any:
    return t["a"] ** 2 * np.sum(t["b"] * np.arange(1.0, 3.0)) + np.prod(t["b"])


def test_hessian_of_several_leaves() -> None:
    t = {"a": 3.0, "b": np.array([0.5, 2.0])}
    h = hessian(quadratic)(t)
    np.testing.assert_allclose(h["a"]["a"], 2.0 * (0.5 + 4.0))
    np.testing.assert_allclose(h["a"]["b"], 6.0 * np.arange(1.0, 3.0))
    np.testing.assert_allclose(h["b"]["a"], 6.0 * np.arange(1.0, 3.0))
    np.testing.assert_allclose(h["b"]["b"], [[0.0, 1.0], [1.0, 0.0]])
    product = hvp(quadratic)(t, {"a": 1.0, "b": np.array([2.0, -1.0])})
    np.testing.assert_allclose(product["a"], 9.0 + 6.0 * (2.0 - 2.0))
    np.testing.assert_allclose(product["b"], 6.0 * np.arange(1.0, 3.0) + [-1.0, 2.0])


def test_hessian_is_symmetric_and_hvp_is_its_product() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(np.sin(x)) * np.roll(x, 1)) + np.linalg.norm(x) ** 3

    x = np.random.default_rng(2).normal(size=20)
    v = np.random.default_rng(3).normal(size=20)
    h = hessian(f)(x)
    np.testing.assert_allclose(h, h.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hvp(f)(x, v), h @ v, rtol=1e-12, atol=1e-12)
    step = 1e-5
    rows = [(gradient(f, x + d)[0] - gradient(f, x - d)[0]) / (2 * step) for d in step * np.eye(20)]
    np.testing.assert_allclose(h, np.stack(rows), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(probdiff.compile(hessian(f))(x), h, rtol=1e-11, atol=1e-11)


def test_third_derivatives() -> None:
    third = grad(grad(grad(lambda x: np.exp(2.0 * x) + x**4)))
    np.testing.assert_allclose(third(0.7), 8.0 * np.exp(1.4) + 24.0 * 0.7, rtol=1e-14)
    mixed = pushforward(grad(lambda x: pushforward(lambda y: y**5, x)(1.0)), 2.0)(1.0)
    np.testing.assert_allclose(mixed, 60.0 * 4.0)


# stop_gradient


def stopped(x: Any) -> Any:
    return np.sum(x * stop_gradient(x**2))


def test_stop_gradient_in_every_mode() -> None:
    np.testing.assert_array_equal(gradient(stopped, V)[0], V**2)
    np.testing.assert_array_equal(pushforward(stopped, V)(np.ones(3)), np.sum(V**2))
    np.testing.assert_array_equal(jacobian(stopped)(V), V**2)
    for mode in ("lazy", "single_pass"):
        _, back = pullback(fwddiff(stopped, mode=mode), V)
        np.testing.assert_array_equal(unthunk(back(1.0)[0]), V**2)
    for backend in ("native", "numpy"):
        np.testing.assert_array_equal(probdiff.compile(grad(stopped), backend=backend)(V), V**2)
    np.testing.assert_array_equal(hessian(stopped)(V), np.zeros((3, 3)))
    (g,) = gradient(lambda x: np.sum(gradient(stopped, x)[0]), V)
    np.testing.assert_array_equal(g, np.zeros(3))
    assert stopped(V) == np.sum(V**3)


def test_stop_gradient_of_structures() -> None:
    (g,) = gradient(lambda t: t["a"] * stop_gradient(t)["a"] + stop_gradient(t["b"])[0], {"a": 3.0, "b": [1.0, "x"]})
    assert g == {"a": 3.0, "b": [0.0, None]}
    same = stop_gradient({"a": V, "n": 3})
    assert same["a"] is V


# Errors all come from one root


def test_errors_are_of_one_family() -> None:
    for error in (DifferentiationError, ShapeError, UnsupportedError):
        assert issubclass(error, ProbdiffError)
