"""Functions with their own rules: in both modes, nested, compiled, for structures, and what is refused."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import probdiff
from probdiff import check_gradient, custom, grad, gradient, hessian, jacobian, pullback, pushforward
from probdiff.errors import DifferentiationError, ShapeError


class Pair(NamedTuple):
    a: Any
    b: Any


X = np.array([0.3, -1.2, 2.0])


def make(forward: bool = True, reverse: bool = True) -> Any:
    """x² y, with rules that count their calls."""

    @custom
    def f(x: Any, y: Any) -> Any:
        return x**2 * y

    f.calls = {"frule": 0, "rrule": 0}
    if forward:

        @f.frule
        def _(dots: Any, x: Any, y: Any) -> Any:
            f.calls["frule"] += 1
            x_dot, y_dot = dots
            z_dot = 0.0
            if x_dot is not None:
                z_dot = z_dot + 2.0 * x * y * x_dot
            if y_dot is not None:
                z_dot = z_dot + x**2 * y_dot
            return x**2 * y, z_dot

    if reverse:

        @f.rrule
        def _(x: Any, y: Any) -> Any:
            f.calls["rrule"] += 1
            return x**2 * y, lambda z_bar: (2.0 * x * y * z_bar, x**2 * z_bar)

    return f


def test_plain_calls_do_not_use_the_rules() -> None:
    f = make()
    np.testing.assert_array_equal(f(X, 2.0), 2.0 * X**2)
    assert f.calls == {"frule": 0, "rrule": 0}
    assert f.__name__ == "f"


def test_each_mode_uses_its_rule() -> None:
    f = make()
    np.testing.assert_array_equal(gradient(lambda x: np.sum(f(x, 2.0 * X)), X)[0], 4.0 * X**2)
    assert f.calls == {"frule": 0, "rrule": 1}
    np.testing.assert_array_equal(pushforward(f, X, X)(np.ones(3), None), 2.0 * X**2)
    assert f.calls == {"frule": 1, "rrule": 1}


@pytest.mark.parametrize("wrapped", [lambda f: f, lambda f: lambda x, y: np.sin(f(x, y)) + f(y, x)])
def test_rules_agree_with_differences(wrapped: Any) -> None:
    check_gradient(wrapped(make()), X, X + 0.5)
    check_gradient(wrapped(make()), 1.5, 2.5)


def test_forward_rule_alone_serves_reverse_mode() -> None:
    f = make(reverse=False)
    x_bar, y_bar = gradient(lambda x, y: np.sum(f(x, y) * np.arange(1.0, 4.0)), X, X + 1.0)
    np.testing.assert_allclose(x_bar, 2.0 * X * (X + 1.0) * np.arange(1.0, 4.0))
    np.testing.assert_allclose(y_bar, X**2 * np.arange(1.0, 4.0))
    assert gradient(f, 2.0, 3.0) == (12.0, 4.0)


def test_reverse_rule_alone_refuses_forward_mode() -> None:
    f = make(forward=False)
    assert gradient(f, 2.0, 3.0) == (12.0, 4.0)
    with pytest.raises(
        DifferentiationError, match="f has an rrule only, and forward mode met it. Give it an frule: @f.frule"
    ):
        pushforward(f, 2.0, 3.0)(1.0, 0.0)


def test_without_rules_it_is_the_function() -> None:
    f = make(forward=False, reverse=False)
    assert gradient(f, 2.0, 3.0) == (12.0, 4.0)
    assert pushforward(f, 2.0, 3.0)(1.0, 0.0) == 12.0


def test_nested_modes() -> None:
    f = make()
    h = hessian(lambda v: f(v[0], v[1]))(np.array([2.0, 3.0]))
    np.testing.assert_allclose(h, [[6.0, 4.0], [4.0, 0.0]])
    np.testing.assert_allclose(grad(grad(lambda x: f(x, 3.0)))(2.0), 6.0)
    np.testing.assert_allclose(pushforward(lambda x: pushforward(lambda z: f(z, 3.0), x)(1.0), 2.0)(1.0), 6.0)
    np.testing.assert_allclose(jacobian(f)(X, 2.0), np.diag(4.0 * X))


def test_wrong_rules_are_followed() -> None:
    """The rule is the truth: a clipped gradient stays clipped."""

    @custom
    def clipped(x: Any) -> Any:
        return x**2

    @clipped.rrule
    def _(x: Any) -> Any:
        return x**2, lambda z_bar: (np.clip(2.0 * x * z_bar, -1.0, 1.0),)

    np.testing.assert_array_equal(gradient(lambda x: np.sum(clipped(x)), X)[0], [0.6, -1.0, 1.0])


def test_compiled() -> None:
    f = make()
    compiled = probdiff.compile(grad(lambda x: np.sum(f(x, 2.0))))
    np.testing.assert_allclose(compiled(X), 4.0 * X)
    assert f.calls["rrule"] >= 1


def test_structures_in_and_out() -> None:
    @custom
    def f(p: Pair, k: int) -> Any:
        return {"s": p.a + k * p.b, "d": p.a - p.b}

    @f.frule
    def _(dots: Any, p: Pair, k: int) -> Any:
        (a_dot, b_dot), _ = dots
        a_dot, b_dot = (0.0 if d is None else d for d in (a_dot, b_dot))
        return f.f(p, k), {"s": a_dot + k * b_dot, "d": a_dot - b_dot}

    @f.rrule
    def _(p: Pair, k: int) -> Any:
        def back(bars: Any) -> Any:
            s, d = (0.0 if bars[name] is None else bars[name] for name in ("s", "d"))
            return Pair(s + d, k * s - d), None

        return f.f(p, k), back

    (g,) = gradient(lambda p: np.sum(f(p, 3)["s"] * 2.0 + f(p, 3)["d"]), Pair(X, X + 1.0))
    np.testing.assert_array_equal(g.a, np.full(3, 3.0))
    np.testing.assert_array_equal(g.b, np.full(3, 5.0))
    dot = pushforward(lambda a: f(Pair(a, 2.0), 3), 1.0)(1.0)
    assert dot == {"s": 1.0, "d": 1.0}
    y, back = pullback(lambda p: f(p, 3), Pair(1.0, 2.0))
    assert y == {"s": 7.0, "d": -1.0}
    assert back({"s": 1.0, "d": None})[0] == Pair(1.0, 3.0)


def test_shapes_of_cotangents() -> None:
    """A scalar argument of an array-valued function: a rule that forgets to sum is told so."""
    f = make()
    with pytest.raises(
        ShapeError, match=r"f.rrule: the cotangent of argument\[1\] has shape \(3,\), the argument \(\)"
    ):
        gradient(lambda x, y: np.sum(f(x, y)), X, 2.0)
    g = make(reverse=False)
    x_bar, y_bar = gradient(lambda x, y: np.sum(g(x, y)), X, 2.0)
    np.testing.assert_allclose(x_bar, 4.0 * X)
    np.testing.assert_allclose(y_bar, np.sum(X**2))
    assert type(y_bar) is float


def test_number_of_cotangents() -> None:
    @custom
    def f(x: Any, y: Any) -> Any:
        return x * y

    @f.rrule
    def _(x: Any, y: Any) -> Any:
        return x * y, lambda z_bar: (y * z_bar,)

    with pytest.raises(DifferentiationError, match="an rrule's pullback returned 1 cotangents for 2 arguments"):
        gradient(f, 1.0, 2.0)
