"""The classical Runge-Kutta method with a fixed step, differentiable in both modes."""

from __future__ import annotations

from collections.abc import Callable

from probdiff.ad.control import scan
from probdiff.tree import Array


def runge_kutta(slope: Callable[[Array, Array], Array], start: Array, step: float, count: int) -> Array:
    """y after each of `count` steps from `start` at t = 0, for dy/dt = slope(t, y); the error is of order step⁴."""

    def advance(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        t, y = state
        k1 = slope(t, y)
        k2 = slope(t + step / 2, y + step / 2 * k1)
        k3 = slope(t + step / 2, y + step / 2 * k2)
        k4 = slope(t + step, y + step * k3)
        y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return (t + step, y), y

    _, path = scan(advance, (0.0, start), length=count)
    return path
