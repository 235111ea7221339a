"""Maximum likelihood for families without a closed form, by quasi-Newton steps with the library's own gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.transforms import value_and_grad
from probdiff.distributions.bijectors import bijector_for
from probdiff.distributions.support import Support
from probdiff.errors import DataError, UnsupportedError

__all__ = ["climbed", "free_parameters", "inside", "maximum_likelihood", "weighted"]

Numbers = np.ndarray[Any, Any]
FARTHEST = 300.0  # unconstrained: scales of e^300 are no answer
PLACES = ("loc", "low", "high", "peak")
IMPOSSIBLE = 1e300  # in place of an infinite loss, which BFGS cannot compare


def weighted(family: Any, x: Any, weights: Any) -> tuple[Numbers, Numbers]:
    """Observations and weights as flat arrays, the weights adding up to one; DataError for what cannot be fitted."""
    owner = family.__name__
    x = np.ravel(np.asarray(x, dtype=float))
    if x.size == 0 or not np.all(np.isfinite(x)):
        raise DataError(f"{owner}.fit needs finite observations, got {'NaN or infinity' if x.size else 'none'}.")
    w = np.ones(x.size) if weights is None else np.ravel(np.asarray(weights, dtype=float))
    if w.shape != x.shape:
        raise DataError(f"{owner}.fit needs a weight for each observation, got {w.size} for {x.size}.")
    if not np.all(w >= 0) or not 0 < np.sum(w) < np.inf:
        raise DataError(f"{owner}.fit needs weights that are nonnegative, finite and not all zero.")
    x, w = x[w > 0], w[w > 0] / np.sum(w)
    if isinstance(family.support, Support) and not np.all(family.support.contains(x)):
        first = x[np.argmin(family.support.contains(x))]
        raise DataError(f"{owner}.fit: an observation must be {family.support.rule}, got {first!r}.")
    return x, w


def maximum_likelihood(family: Any, x: Numbers, w: Numbers, fixed: dict[str, Any]) -> Any:
    """The member of `family` with the largest weighted log-likelihood; the parameters in `fixed` are given."""
    names = free_parameters(family, fixed)
    start, spread = _start(family, names, x, w)
    # What moves with the data is measured in their spread; the others are logs, or of the order of one.
    units = dict.fromkeys(PLACES, spread)
    return climbed(family, names, start, fixed, lambda member: -np.sum(w * member.logpdf(x)), units)


def climbed(
    family: Any,
    names: list[str],
    start: dict[str, float],
    fixed: dict[str, Any],
    loss: Callable[[Any], Any],
    units: dict[str, float],
) -> Any:
    """The member with the smallest `loss`, by quasi-Newton steps from `start` in unconstrained coordinates."""
    from scipy.optimize import minimize

    owner = family.__name__
    if not names:
        return family(**fixed)
    maps = {name: bijector_for(family.domains[name]) for name in names}
    first = np.array([maps[name].inverse(np.array([start[name]]))[0] for name in names])
    unit = np.array([units.get(name, 1.0) for name in names])

    def values_at(u: Any) -> dict[str, Any]:
        return {name: maps[name].forward(u[k : k + 1])[0] for k, name in enumerate(names)}

    slope = value_and_grad(lambda u: loss(family(**values_at(u), **fixed, check=False)))

    def of(u: Numbers) -> tuple[float, Numbers]:
        with np.errstate(all="ignore"):
            value, gradient = slope(first + unit * u)
        finite = np.isfinite(value) and np.all(np.isfinite(gradient))
        return (float(value), gradient * unit) if finite else (IMPOSSIBLE, np.zeros_like(u))

    if of(np.zeros(len(names)))[0] == IMPOSSIBLE:
        raise DataError(
            f"{owner}.fit: the likelihood is not finite where the search starts. Is an observation impossible, or on "
            "an edge of the support where the density is zero or infinite?"
        )
    found = minimize(of, np.zeros(len(names)), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000})
    values = {name: float(value) for name, value in values_at(first + unit * found.x).items()}
    if not np.max(abs(found.jac)) < 1e-5 or np.max(abs(found.x)) > FARTHEST:
        shown = ", ".join(f"{name}={value:.6g}" for name, value in values.items())
        raise DataError(f"{owner}.fit found no maximum: the likelihood still rises at {shown}, {found.nit} steps on.")
    return family(**values, **fixed)


def free_parameters(family: Any, fixed: dict[str, Any]) -> list[str]:
    """The scalar real parameters to find; of alternatives the first."""
    unknown = [name for name in fixed if name not in family.domains]
    if unknown:
        raise UnsupportedError(
            f"{family.__name__}.fit: {unknown[0]} is no parameter. It has {', '.join(family.domains)}."
        )
    names = []
    chosen = [name for name in family.exclusive if name in fixed] or list(family.exclusive[:1])
    for name, domain in family.domains.items():
        if name in fixed or (name in family.exclusive and name not in chosen):
            continue
        if domain is None or domain.event_ndim or domain.discrete:
            raise UnsupportedError(f"{family.__name__}.fit cannot find {name}. Give it: fit(x, {name}=…).")
        names.append(name)
    return names


def _start(family: Any, names: list[str], x: Numbers, w: Numbers) -> tuple[dict[str, float], float]:
    """Where the search begins, and the spread of the data: location and scale by median and spread, others in the
    middle of their domain.
    """
    order = np.argsort(x)
    levels = np.cumsum(w[order])
    places = np.minimum(np.searchsorted(levels, [0.25, 0.5, 0.75]), x.size - 1)
    low, middle, high = x[order][places]
    spread = high - low or np.sqrt(np.sum(w * (x - np.sum(w * x)) ** 2)) or 1.0
    typical = {
        "loc": middle,
        "scale": spread / 1.35 if "loc" in names else np.sum(w * abs(x)) or 1.0,
        "rate": 1 / spread,
    }
    typical.update(family.start(x, w))
    result = {}
    for name in names:
        domain = family.domains[name]
        value = float(typical.get(name, np.nan))
        result[name] = value if domain.lower < value < domain.upper else inside(domain)
    return result, float(spread)


def inside(domain: Support) -> float:
    """A number amid a domain."""
    lower, upper = domain.lower, domain.upper
    if np.isfinite(lower):
        return float(0.5 * (lower + upper) if np.isfinite(upper) else lower + 1)
    return float(upper - 1) if np.isfinite(upper) else 1.0
