"""Points of a model: where a search starts, and many of them as draws by name."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probdiff.errors import InitialPointError, ParameterError, UnsupportedError
from probdiff.sampling.chain import describe, explained
from probdiff.sampling.draws import Draws
from probdiff.sampling.kernel import Vector
from probdiff.sampling.target import Model

TRIES = 100
Init = ArrayLike | Mapping[str, Any] | None


class Point(NamedTuple):
    """An unconstrained vector with its log-density and gradient."""

    q: Vector
    logp: float
    grad: Vector

    @property
    def is_finite(self) -> bool:
        return isfinite(self.logp) and bool(np.all(np.isfinite(self.grad)))


def evaluate(model: Any, q: Vector) -> Point:
    """The point at `q`, which is copied."""
    with np.errstate(all="ignore"):
        logp, grad = model.value_and_grad(q)
    return Point(np.array(q), float(logp), np.asarray(grad))


def log_densities(model: Any, q: NDArray[np.float64]) -> Vector:
    """The log-density of each row of `q`; -inf where it is not finite, as where rounding makes a value a pole."""
    with np.errstate(all="ignore"):
        values = np.array([model.value_and_grad(row)[0] for row in q])
    return np.where(np.isfinite(values), values, -np.inf)


def check_model(posterior: Any, owner: str) -> None:
    """UnsupportedError unless it is a model whose every parameter is continuous."""
    if not hasattr(posterior, "value_and_grad") or not hasattr(posterior, "dim"):
        raise UnsupportedError(
            f"{owner}.posterior must be a model with value_and_grad and dim, got {type(posterior).__name__}. "
            "Build a Posterior, or wrap a function q -> (log-density, gradient) as Target(function, dim=...)."
        )
    posterior.check_sampleable()


def check_count(value: object, owner: str) -> None:
    """ParameterError unless `value` is a positive integer."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{owner} must be a positive integer, got {value!r}")


def settled_seed(seed: int | None, owner: str) -> int:
    """`seed`, or a fresh one that can be told afterwards."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise ParameterError(f"{owner}.seed must be a non-negative integer or None, got {seed!r}")
    return int(seed)


def generator(seed: int, path: int) -> np.random.Generator:
    """The random numbers of one search: a stream of its own, apart from those of the chain with the same number."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(path, 1))))


def first_point(model: Model, density: Any, rng: np.random.Generator, owner: str) -> Point:
    """The first of 100 candidates with finite log-density and gradient."""
    for _ in range(TRIES):
        point = evaluate(density, np.asarray(model.initial(rng), dtype=np.float64))
        if point.is_finite:
            return point
    raise InitialPointError(
        f"{owner}: no starting point with finite log-density and gradient was found in {TRIES} tries; the last had "
        f"{_fault(model, point)}. Give init=, or check the support of the data."
    )


def given_points(model: Model, density: Any, init: ArrayLike | Mapping[str, Any], owner: str) -> list[Point]:
    """The points that `init` says: named values, a vector (dim,), or several (k, dim)."""
    if isinstance(init, Mapping):
        unconstrain = getattr(model, "unconstrain", None)
        if unconstrain is None:
            raise UnsupportedError(f"{owner}.init must be an array for this model, got named values")
        init = unconstrain(init)
    vectors = np.asarray(init, dtype=np.float64)
    if vectors.ndim not in (1, 2) or vectors.shape[-1] != model.dim or vectors.size == 0:
        raise ParameterError(
            f"{owner}.init must have shape ({model.dim},) or (starts, {model.dim}), got shape {vectors.shape}"
        )
    points = [evaluate(density, q) for q in np.atleast_2d(vectors)]
    for k, point in enumerate(points):
        if not point.is_finite:
            which = f" {k}" if len(points) > 1 else ""
            raise InitialPointError(
                f"{owner}: init{which} has {_fault(model, point)}. Give a point inside the support."
            )
    return points


def _fault(model: Model, point: Point) -> str:
    at = f"at {describe(model, point.q)}"
    if not isfinite(point.logp):
        return f"log-density {point.logp} {at}{explained(model, point.q)}"
    bad = [name for name, g in zip(model.coordinate_names, point.grad, strict=True) if not isfinite(g)]
    return f"log-density {point.logp:.6g} and a gradient that is not finite in {', '.join(bad[:8])}, {at}"


def named_draws(
    model: Model,
    q: NDArray[np.float64],
    stats: Mapping[str, NDArray[Any]],
    attrs: dict[str, Any],
    notes: tuple[str, ...] = (),
) -> Draws:
    """`q` (chain, draw, dim) as draws, with statistics (chain, draw) of each."""
    chains, n, dim = q.shape
    values = model.constrain_many(np.ascontiguousarray(q).reshape(chains * n, dim))
    return Draws(
        posterior={name: np.reshape(x, (chains, n, *np.shape(x)[1:])) for name, x in values.items()},
        sample_stats=dict(stats),
        observed=dict(model.observed),
        dims=dict(model.dims),
        coords=dict(model.coords),
        attrs=attrs,
        notes=notes,
    )
