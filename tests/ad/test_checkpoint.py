"""Checkpoints: the same derivatives, with the inside run again instead of remembered."""

from __future__ import annotations

from typing import Any

import numpy as np

import probdiff
from probdiff import check_gradient, checkpoint, grad, gradient, hessian, pullback, pushforward
from probdiff.ad.reverse import Variable

X = np.array([0.3, -1.2, 2.0])


def inner(x: Any, s: Any) -> Any:
    return np.sin(x) * np.exp(s * x)


def test_values_and_gradients_are_the_same() -> None:
    f = checkpoint(inner)
    np.testing.assert_array_equal(f(X, 0.5), inner(X, 0.5))
    for a, b in zip(
        gradient(lambda x, s: np.sum(f(x, s) ** 2), X, 0.5),
        gradient(lambda x, s: np.sum(inner(x, s) ** 2), X, 0.5),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-15)
    check_gradient(f, X, 0.5)
    assert f.__name__ == "inner"


def test_the_inside_is_run_again_and_not_taped() -> None:
    calls = []

    def noted(x: Any) -> Any:
        calls.append(type(x) is Variable)
        for _ in range(50):
            x = np.sin(x)
        return x

    tapes = []

    def f(x: Any) -> Any:
        y = np.sum(checkpoint(noted)(x))
        tapes.append(len(y.tape.entries))
        return y

    (g,) = gradient(f, X)
    assert calls == [False, True]
    assert tapes[0] < 5
    np.testing.assert_allclose(g, gradient(lambda x: np.sum(noted(x)), X)[0], rtol=1e-15)


def test_structures_and_several_results() -> None:
    f = checkpoint(lambda t, n: {"a": t["x"] * t["s"], "n": n, "b": (np.sum(t["x"]) ** n,)})
    (g,) = gradient(lambda t: np.sum(f(t, 2)["a"]) + f(t, 2)["b"][0] * f(t, 2)["n"], {"x": X, "s": 2.0})
    np.testing.assert_allclose(g["x"], 2.0 + 4.0 * np.sum(X))
    np.testing.assert_allclose(g["s"], np.sum(X))


def test_results_of_which_some_are_unused() -> None:
    f = checkpoint(lambda x: (np.sin(x), np.cos(x), 3))
    np.testing.assert_allclose(gradient(lambda x: np.sum(f(x)[1]), X)[0], -np.sin(X))


def test_closures_over_the_tape() -> None:
    """A checkpoint that reads a variable of the same tape from its closure is taped as usual."""
    (g,) = gradient(lambda x: np.sum(checkpoint(lambda y: y * np.sin(x))(2.0 * x)), X)
    np.testing.assert_allclose(g, 2.0 * np.sin(X) + 2.0 * X * np.cos(X))


def test_nested() -> None:
    f = checkpoint(lambda x: np.sum(checkpoint(np.sin)(x) * checkpoint(np.exp)(x)))
    np.testing.assert_allclose(gradient(f, X)[0], np.exp(X) * (np.sin(X) + np.cos(X)), rtol=1e-14)
    np.testing.assert_allclose(hessian(f)(X), np.diag(2.0 * np.exp(X) * np.cos(X)), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(pushforward(f, X)(np.ones(3)), np.sum(np.exp(X) * (np.sin(X) + np.cos(X))), rtol=1e-14)
    np.testing.assert_allclose(probdiff.compile(grad(f))(X), gradient(f, X)[0], rtol=1e-14)


def test_pullback_called_twice() -> None:
    y, back = pullback(checkpoint(np.exp), X)
    np.testing.assert_array_equal(y, np.exp(X))
    for scale in (1.0, 3.0):
        np.testing.assert_allclose(back(np.full(3, scale))[0], scale * np.exp(X))
