"""`optimize`: the highest point of a log-density, by L-BFGS from several starts and Newton steps at the end."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.approximate.climb import Climb, climb
from probdiff.approximate.curvature import Curvature, Matrix, hessian
from probdiff.approximate.points import (
    Init,
    Point,
    check_count,
    check_model,
    evaluate,
    first_point,
    generator,
    given_points,
    named_draws,
    settled_seed,
)
from probdiff.errors import LinAlgError, ParameterError
from probdiff.sampling.kernel import Vector
from probdiff.sampling.target import Model

HISTORY = 10
NEWTON_STEPS = 30
NEWTON_DIM = 1000
"""Dimensions up to which the whole Hessian is computed unasked."""
DONE = 1e-14
"""A Newton step that promises less than this is not made."""
CONVERGED = 1e-8
"""Most that the log-density may still be below its maximum, to second order."""
SADDLE = 1e-8
"""Upward curvature, next to that of single coordinates, that is not rounding."""
SAME = 1e-3
"""Maxima whose log-densities differ by less are taken for one."""
ROWS_SHOWN = 60


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """The highest point that was found.

    q             its unconstrained vector; `values` are the named values there
    log_density   at the point, on the scale that `scale` says
    gradient      of it, with respect to q
    gain          how much higher the log-density goes, to second order: half the Newton decrement g' P^-1 g
    converged     whether `gain` is below 1e-8 and the density curves up in no direction
    iterations, newton_steps, evaluations   what it took, the latter of all starts
    starts        log-densities where L-BFGS ended, highest first
    notes         what a reader should know first: no convergence, flat directions, lower maxima
    """

    posterior: Any
    density: Any
    jacobian: bool
    q: Vector
    log_density: float
    gradient: Vector
    gain: float
    converged: bool
    iterations: int
    newton_steps: int
    evaluations: int
    starts: tuple[float, ...]
    seed: int
    notes: tuple[str, ...]

    @property
    def scale(self) -> str:
        """Of which density this is the maximum."""
        if self.jacobian:
            return "the unconstrained coordinates (log-Jacobians included)"
        return "the values (no log-Jacobians)"

    @property
    def gradient_norm(self) -> float:
        """|gradient|, in unconstrained coordinates."""
        return float(np.linalg.norm(self.gradient))

    @functools.cached_property
    def values(self) -> dict[str, NDArray[Any]]:
        """The named values, derived ones included."""
        found: dict[str, NDArray[Any]] = self.posterior.constrain(self.q)
        return found

    @functools.cached_property
    def hessian(self) -> Matrix:
        """Of the log-density with respect to q, exact."""
        return hessian(self.density, self.q, "Optimum.hessian")

    @functools.cached_property
    def covariance(self) -> Matrix:
        """The inverse of minus the Hessian: of q, in unconstrained coordinates. LinAlgError if it has none."""
        curvature = Curvature(self.hessian, self.posterior.coordinate_names)
        if not curvature.is_positive:
            raise LinAlgError(
                f"There is no covariance at this point: the log-density {curvature.flat_direction()}. "
                "Give these parameters a proper prior, or remove one of them."
            )
        return curvature.covariance()

    @functools.cached_property
    def standard_errors(self) -> dict[str, NDArray[Any]]:
        """By name, from the covariance and the slopes of the values at q.

        At a maximum without log-Jacobians these are exactly those of the observed information of the values.
        """
        from probdiff import jacobian

        covariance = self.covariance
        slopes = jacobian(self.posterior.located)(self.q)
        return {
            name: np.sqrt(np.einsum("...i,ij,...j->...", slope, covariance, slope))
            for name, slope in ((name, np.asarray(slope)) for name, slope in slopes.items())
        }

    def __repr__(self) -> str:
        steps = f"{self.newton_steps} Newton step{'' if self.newton_steps == 1 else 's'}"
        lines = [
            f"Optimum: log-density {self.log_density:.6g} of {self.scale}",
            f"  {'converged' if self.converged else 'not converged'}, {self.iterations} iterations and {steps}, "
            f"|gradient| {self.gradient_norm:.2g}",
        ]
        scalars = named_draws(self.posterior, self.q[None, None], {}, {}).scalars()
        errors = self._errors()
        rows = [("", "value", "std. error" if errors else "")]
        rows += [
            (label, f"{x.item():.6g}", f"{errors[k]:.3g}" if errors else "")
            for k, (label, x) in enumerate(scalars.items())
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        shown = rows[: ROWS_SHOWN + 1]
        lines += [f"  {n:<{widths[0]}}  {x:>{widths[1]}}  {e:>{widths[2]}}".rstrip() for n, x, e in shown]
        if len(rows) > len(shown):
            lines.append(f"  ... {len(rows) - len(shown)} more")
        return "\n".join([*lines, *(f"  ! {note}" for note in self.notes)])

    def _errors(self) -> list[float]:
        """Standard errors of all scalars in order; none where they are not to be had, or cost a large Hessian."""
        if not self.converged or not hasattr(self.density, "hvp") or len(self.q) > NEWTON_DIM:
            return []
        try:
            return [float(x) for each in self.standard_errors.values() for x in np.ravel(each)]
        except LinAlgError:
            return []  # a flat direction, which the notes name


def optimize(
    posterior: Model,
    init: Init = None,
    *,
    jacobian: bool = False,
    starts: int = 4,
    seed: int | None = None,
    max_iterations: int = 1000,
) -> Optimum:
    """The mode of a posterior (MAP); with flat priors, the maximum of the likelihood (MLE).

    Parameters
    ----------
    posterior       a `Posterior`, a `LogDensity`, or a `Target` around a plain function
    init            where to start: named values, an unconstrained vector (dim,), or several (starts, dim). None: as
                    many candidates of the model as `starts` says, as `sample` has them
    jacobian        False: the mode of the values, log p(values | data), whatever the coordinates of the search. True:
                    the mode of the unconstrained density, log-Jacobians included, which is what a sampler moves in.
                    A variable that is `noncentered` or `transport` is its standardised variable in both
    starts, seed    number of searches, and of the random numbers that choose where they start
    max_iterations  of L-BFGS, for each start

    L-BFGS (SciPy's, with exact gradients) climbs from each start; Newton steps with the exact Hessian go on from its
    end, up to 1000 dimensions. The highest end that converged is returned; if none did, the highest of all, and `notes`
    says why. InitialPointError if no start has a finite log-density.
    """
    check_model(posterior, "optimize")
    check_count(starts, "optimize.starts")
    check_count(max_iterations, "optimize.max_iterations")
    if not isinstance(jacobian, bool):
        raise ParameterError(f"optimize.jacobian must be True or False, got {jacobian!r}")
    seed = settled_seed(seed, "optimize")
    density: Any = posterior if jacobian else getattr(posterior, "without_jacobian", posterior)
    if init is None:
        points = [first_point(posterior, density, generator(seed, k), "optimize") for k in range(starts)]
    else:
        points = given_points(posterior, density, init, "optimize")
    climbs = sorted((climb(density, p, HISTORY, max_iterations) for p in points), key=lambda c: -c.end.logp)
    ends: list[End] = []
    for each in climbs:
        if not any(end.converged and abs(end.point.logp - each.end.logp) < SAME for end in ends):
            ends.append(_polish(density, each, posterior.coordinate_names))
    best = max(ends, key=lambda end: (end.converged, end.point.logp))
    evaluations = sum(each.evaluations for each in climbs) + sum(end.newton_steps for end in ends)
    return Optimum(
        posterior, density, jacobian, best.point.q, best.point.logp, best.point.grad, best.gain, best.converged,
        best.climb.iterations, best.newton_steps, evaluations, tuple(each.end.logp for each in climbs), seed,
        _notes(best, ends, len(climbs)),
    )  # fmt: skip


@dataclass(frozen=True)
class End:
    """The end of a climb after Newton steps; `fault` says why it is no isolated maximum."""

    climb: Climb
    point: Point
    newton_steps: int
    gain: float
    converged: bool
    fault: str


def _polish(density: Any, before: Climb, names: Any) -> End:
    """Newton steps q + P^-1 g, halved until they gain, as long as they promise a gain."""
    point = before.end
    if not hasattr(density, "hvp") or len(point.q) > NEWTON_DIM:
        converged = before.gain <= CONVERGED
        fault = "" if converged else f"the log-density still rises by about {before.gain:.2g}, but {before.stopped}"
        return End(before, point, 0, before.gain, converged, fault)
    for steps in range(NEWTON_STEPS + 1):
        try:
            curvature = Curvature(hessian(density, point.q, "optimize"), names)
        except LinAlgError as error:
            return End(before, point, steps, before.gain, False, str(error).rstrip("."))
        step = curvature.ascent(point.grad)
        gain = 0.5 * float(point.grad @ step)
        better = _step(density, point, step, gain, curvature) if gain > DONE and steps < NEWTON_STEPS else None
        if better is None:
            break
        point = better
    converged = gain <= CONVERGED and bool(curvature.w[0] > -SADDLE)
    fault = ""
    if not curvature.is_positive:
        fault = f"the log-density {curvature.flat_direction()}"
    elif not converged:
        fault = f"the log-density still rises by about {gain:.2g}, and {steps} Newton steps did not get there"
    return End(before, point, steps, gain, converged, fault)


def _step(density: Any, point: Point, step: Vector, gain: float, curvature: Curvature) -> Point | None:
    """The first of the steps 1, 1/2, 1/4, ... that leads higher or, where rounding hides that, to flatter ground."""
    lost = 1e-12 * (1.0 + abs(point.logp))
    for halvings in range(12):
        tried = evaluate(density, point.q + 0.5**halvings * step)
        if tried.is_finite and tried.logp > point.logp - lost:
            left = 0.5 * float(tried.grad @ curvature.ascent(tried.grad))
            if tried.logp > point.logp + lost or left < gain:
                return tried
    return None


def _notes(best: End, ends: list[End], starts: int) -> tuple[str, ...]:
    notes = []
    if not best.converged:
        notes.append(
            f"No convergence: {best.fault}. The maximum may be at infinity or on the edge of a support; this is the "
            "best point found."
        )
    elif best.fault:
        notes.append(f"The maximum is not isolated: {best.fault}.")
    others = [end for end in ends if end is not best and abs(end.point.logp - best.point.logp) > SAME]
    if lower := [f"{end.point.logp:.6g}" for end in others if end.converged]:
        notes.append(f"There are lower maxima: some of {starts} starts ended at log-density {', '.join(lower)}.")
    if lost := [end.point.logp for end in others if not end.converged]:
        notes.append(f"{len(lost)} of {starts} starts did not converge; the best of them came to {max(lost):.6g}.")
    return tuple(notes)
