"""The way up a log-density by L-BFGS, SciPy's, kept on the side where the density is finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from probdiff.approximate.points import Point, evaluate

WALL = 10.0
"""How much steeper than the density the wall rises: the line search then comes back by about a factor of twenty."""
LEAST_GAIN = 1e-13
"""Relative gain of an iteration that is still worth another (Zhang et al. 2022)."""


class Climb(NamedTuple):
    """Where a climb ended, and what it took. `gain` estimates how much higher the log-density goes."""

    end: Point
    iterations: int
    evaluations: int
    gain: float
    stopped: str


def climb(
    density: Any, start: Point, history: int, max_iterations: int, visit: Callable[[Point], None] | None = None
) -> Climb:
    """L-BFGS from `start`; `visit` is called with the point of each iteration.

    Where the log-density is not finite the search meets a wall: a plane that falls, from the best point on, as the
    density rose there, and more steeply. The line search turns back from it.
    """
    from scipy.optimize import minimize

    best = last = start
    evaluations = 0

    def descent(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, last, evaluations
        evaluations += 1
        point = evaluate(density, q)
        if not point.is_finite:
            rise = float(best.grad @ (q - best.q))
            return WALL * abs(rise) - best.logp, WALL * np.sign(rise) * best.grad
        last = point
        if point.logp > best.logp:
            best = point
        return -point.logp, -point.grad

    def after(intermediate_result: Any) -> None:
        if visit is not None:
            q = intermediate_result.x
            visit(last if np.array_equal(last.q, q) else evaluate(density, q))

    options: Any = {"maxcor": history, "maxiter": max_iterations, "maxfun": 20 * max_iterations, "maxls": 50,
               "ftol": LEAST_GAIN, "gtol": 1e-9}  # fmt: skip
    with np.errstate(all="ignore"):
        found: Any = minimize(descent, start.q, jac=True, method="L-BFGS-B", callback=after, options=options)
        gain = 0.5 * float(best.grad @ found.hess_inv.matvec(best.grad))
    stopped = {0: "the gain of an iteration was lost in rounding", 1: f"max_iterations={max_iterations} were made"}
    return Climb(best, int(found.nit), evaluations, gain, stopped.get(found.status, "the line search found no gain"))
