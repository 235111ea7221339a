"""The gradient checker: quiet for right rules, and loud for each kind of wrong one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import check_gradient, custom
from probdiff.errors import GradientMismatch

X = np.array([0.3, -1.2, 2.0])


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: np.sum(np.sin(x) * x), (X,)),
        (lambda x, y: np.outer(x, np.exp(y)), (X, X)),
        (lambda t: {"a": t["x"] * t["s"], "n": 3, "b": (np.sum(t["x"]),)}, ({"x": X, "s": 2.0, "n": 3},)),
        (lambda x, n, name: x**n, (1.5, 3, "name")),
        (lambda x: np.linalg.norm(x), (X,)),
        (lambda x: np.where(x > 0, x, np.exp(x)), (X,)),
        (lambda x: 1e8 * np.cumsum(x), (X,)),
        (lambda x: 1e-8 * np.cumprod(x), (X,)),
        (lambda x: np.sort(x), (X,)),
        (lambda x: x * 0.0, (X,)),
        (lambda x: 1e6 + np.sin(x), (X,)),  # rounding in the value, magnified by the differences
        (lambda x: np.sin(30.0 * x), (X,)),
        (lambda x: np.sin(x).astype(np.float32), (X,)),
        (lambda x: np.sum(np.sin(x)), (X.astype(np.float32),)),
        (lambda x: np.exp(5.0 * x), (X,)),
        (np.abs, (np.array([0.0, 1.0]),)),  # at a kink, symmetric differences see the mean of both slopes
    ],
)
def test_right_derivatives_pass(f: Any, args: Any) -> None:
    check_gradient(f, *args)


def planted(frule: Any = None, rrule: Any = None) -> Any:
    """sin, with the given slopes for forward and reverse mode."""

    @custom
    def f(x: Any) -> Any:
        return np.sin(x)

    if frule is not None:
        f.frule(lambda dots, x: (np.sin(x), frule(x) * dots[0]))
    if rrule is not None:
        f.rrule(lambda x: (np.sin(x), lambda z_bar: (rrule(x) * z_bar,)))
    return f


def wrong(x: Any) -> Any:
    return np.cos(x) * 1.001


def test_right_rules_pass() -> None:
    check_gradient(planted(np.cos, np.cos), X)
    check_gradient(planted(np.cos), X)


def test_wrong_forward_rule() -> None:
    with pytest.raises(GradientMismatch, match="check_gradient: reverse mode gives .*, forward mode"):
        check_gradient(planted(wrong, np.cos), X)


def test_wrong_reverse_rule() -> None:
    with pytest.raises(GradientMismatch, match="check_gradient: reverse mode gives .*, forward mode"):
        check_gradient(planted(np.cos, wrong), X)


def test_both_rules_wrong_alike() -> None:
    with pytest.raises(GradientMismatch, match="check_gradient: both modes give .*, differences"):
        check_gradient(planted(wrong, wrong), X)
    with pytest.raises(GradientMismatch, match="check_gradient: both modes give .*, differences"):
        check_gradient(planted(wrong), X)


def test_one_wrong_element() -> None:
    def almost(x: Any) -> Any:
        return np.where(np.arange(3) == 1, 0.9, 1.0) * np.cos(x)

    with pytest.raises(GradientMismatch):
        check_gradient(planted(almost, np.cos), X)
    with pytest.raises(GradientMismatch):
        check_gradient(planted(almost, almost), X)


def test_nan_in_one_mode() -> None:
    with pytest.raises(GradientMismatch):
        check_gradient(planted(np.cos, lambda x: x * np.nan), X)


def test_discontinuity() -> None:
    """A step at the point: differences see it, derivatives do not."""
    with pytest.raises(GradientMismatch, match="both modes give"):
        check_gradient(lambda x: np.where(x > 0.3, x + 1.0, x), np.array([0.3]))


def test_a_hidden_dependence() -> None:
    """stop_gradient hides a dependence that differences see."""
    from probdiff import stop_gradient

    with pytest.raises(GradientMismatch, match="both modes give"):
        check_gradient(lambda x: x * stop_gradient(x), X)


def test_the_message_names_the_argument() -> None:
    bad = planted(wrong, wrong)

    def f(p: Any, s: Any) -> Any:
        return p["good"] * s + bad(p["bad"])

    with pytest.raises(GradientMismatch) as error:
        check_gradient(f, {"good": X, "bad": X}, 2.0)
    assert "all arguments together" in str(error.value) or "argument[0]['bad']" in str(error.value)
    with pytest.raises(GradientMismatch, match=r"\(argument\[0\]\['bad'\]\)"):
        check_gradient(lambda p: f(p, 2.0), {"good": 3, "bad": X})


def test_seed_and_tolerance() -> None:
    slightly = planted(lambda x: np.cos(x) * (1.0 + 1e-5), np.cos)
    with pytest.raises(GradientMismatch):
        check_gradient(slightly, X, seed=3)
    check_gradient(slightly, X, rtol=1e-3, seed=3)
