"""The classical Runge-Kutta method on a fixed grid of times, differentiable in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.control import scan
from probdiff.tree import Array


def runge_kutta(slope: Callable[[Array, Array], Array], start: Array, times: np.ndarray) -> Array:
    """y at times[1:] for dy/dt = slope(t, y) with y = start at times[0]; the error is of order step⁴.

    Hairer, Nørsett & Wanner (1993), Solving Ordinary Differential Equations I, table II.1.2.
    """

    def advance(y: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        t, step = interval
        k1 = slope(t, y)
        k2 = slope(t + step / 2, y + step / 2 * k1)
        k3 = slope(t + step / 2, y + step / 2 * k2)
        k4 = slope(t + step, y + step * k3)
        y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    path: Any = scan(advance, start, (times[:-1], np.diff(times)))[1]
    return path
