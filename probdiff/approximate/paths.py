"""`pathfinder`: Gaussians along the way of an optimiser, of which the one nearest to the posterior is drawn from.

Zhang, Carpenter, Gelman & Vehtari 2022, Pathfinder: parallel quasi-Newton variational inference, JMLR 23:306.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probdiff.approximate.climb import climb
from probdiff.approximate.importance import distinct, resampled, smoothed, warning
from probdiff.approximate.low_rank import LowRankNormal, along_path
from probdiff.approximate.points import (
    Init,
    Point,
    check_count,
    check_model,
    first_point,
    generator,
    given_points,
    log_densities,
    named_draws,
    settled_seed,
)
from probdiff.errors import InitialPointError, ParameterError
from probdiff.sampling.draws import Draws
from probdiff.sampling.target import Model

HISTORY = 6
ELBO_DRAWS = 5
MAX_ITERATIONS = 1000
INSTEAD = "Sample the posterior; these draws are starting points at best."


@dataclass(frozen=True, eq=False)
class Path:
    """One run of the optimiser: the ELBO at each point, from few draws, and the Gaussian where it is highest."""

    normal: LowRankNormal
    elbos: NDArray[np.float64]
    evaluations: int


@dataclass(frozen=True, eq=False, repr=False)
class Pathfinder:
    """What the paths found.

    draws         resampled by importance, by name, as one chain; `sample_stats` has `lp`, the posterior's log-density,
                  `log_ratio`, log p - log q, and `path`
    elbos         of the Gaussian of each path, from all its draws: lower bounds of the log-evidence
    pareto_k      shape of the tail of the importance ratios: above 0.7 the draws are not the posterior's
    paths         the Gaussian and the ELBOs of each path
    candidates    all draws as unconstrained vectors, and `log_weights`, their log-ratios with a smooth tail
    """

    posterior: Model
    draws: Draws
    elbos: NDArray[np.float64]
    pareto_k: float
    paths: tuple[Path, ...]
    candidates: NDArray[np.float64]
    log_weights: NDArray[np.float64]
    seed: int

    def initial_points(self, chains: int) -> NDArray[np.float64]:
        """Different draws, chosen by importance, as unconstrained vectors (chains, dim): for `sample(init=…)`."""
        check_count(chains, "initial_points.chains")
        if chains > len(self.candidates):
            raise ParameterError(f"initial_points.chains must be at most {len(self.candidates)}, got {chains}")
        return self.candidates[distinct(self.log_weights, chains, generator(self.seed, len(self.paths) + 1))]

    def __repr__(self) -> str:
        lines = [
            f"Pathfinder: {len(self.paths)} paths, {self.draws.draws} draws",
            f"  ELBO {', '.join(f'{elbo:.6g}' for elbo in self.elbos)}",
            f"  Pareto k {self.pareto_k:.2f}",
        ]
        return "\n".join([*lines, *(f"  ! {note}" for note in self.draws.notes)])


def pathfinder(
    posterior: Model, paths: int = 4, draws: int = 1000, seed: int | None = None, *, init: Init = None
) -> Pathfinder:
    """Variational inference by L-BFGS: fast draws from near a posterior, and starting points for `sample`.

    Parameters
    ----------
    posterior  a `Posterior`, a `LogDensity`, or a `Target` around a plain function
    paths      runs of the optimiser, each from its own start
    draws      number of draws from each path's Gaussian, and of those that are kept of all by importance resampling
    seed       a non-negative integer; the same seed gives the same draws
    init       where paths start: named values, an unconstrained vector (dim,), or one per path (paths, dim). None:
               candidates of the model

    At each point of a path L-BFGS has an estimate of the inverse Hessian, and so a Gaussian; the one with the highest
    ELBO (from 5 draws) is the path's approximation. Draws of all paths are resampled by Pareto-smoothed importance
    ratios p / q, where q is the mean of the paths' Gaussians (the paper takes that of the draw's own path): paths that
    end in one mode do not count it twice. InitialPointError if no path has a finite ELBO.
    """
    check_model(posterior, "pathfinder")
    check_count(paths, "pathfinder.paths")
    check_count(draws, "pathfinder.draws")
    seed = settled_seed(seed, "pathfinder")
    rngs = [generator(seed, k) for k in range(paths)]
    if init is None:
        starts = [first_point(posterior, posterior, rng, "pathfinder") for rng in rngs]
    else:
        starts = given_points(posterior, posterior, init, "pathfinder")
        if len(starts) not in (1, paths):
            raise ParameterError(
                f"pathfinder.init must have a row, or one for each of {paths} paths, got {len(starts)}"
            )
        starts = starts * (paths // len(starts))
    tried = [run_path(posterior, start, rng) for start, rng in zip(starts, rngs, strict=True)]
    kept = [(path, rng) for path, rng in zip(tried, rngs, strict=True) if path is not None]
    if not kept:
        raise InitialPointError(
            f"pathfinder: none of {paths} paths came to a Gaussian under which the log-density is finite. "
            "Give init=, or check the model; optimize says where its ascent ends."
        )
    found = tuple(path for path, _ in kept)
    q = np.concatenate([path.normal.draws(rng.standard_normal((draws, posterior.dim))) for path, rng in kept])
    lp = log_densities(posterior, q)
    log_normals = np.array([path.normal.logpdf(q) for path in found])
    log_q = np.logaddexp.reduce(log_normals, axis=0) - math.log(len(found))
    own = (lp - log_normals).reshape(len(found), len(found), draws)
    log_weights, pareto_k = smoothed(lp - log_q)
    chosen = resampled(log_weights, draws, generator(seed, paths))
    stats = {
        "lp": lp[None, chosen],
        "log_ratio": (lp - log_q)[None, chosen],
        "path": np.repeat([n for n, path in enumerate(tried) if path is not None], draws)[None, chosen],
    }
    notes = warning(pareto_k, "approximation by pathfinder", INSTEAD)
    if len(found) < paths:
        notes = (f"{paths - len(found)} of {paths} paths failed: no Gaussian with finite log-density.", *notes)
    attrs = {"seed": seed, "method": "pathfinder", "pareto_k": pareto_k}
    return Pathfinder(
        posterior=posterior,
        draws=named_draws(posterior, q[None, chosen], stats, attrs, notes),
        elbos=np.array([np.mean(own[k, k]) for k in range(len(found))]),
        pareto_k=pareto_k,
        paths=found,
        candidates=q,
        log_weights=log_weights,
        seed=seed,
    )


def run_path(model: Model, start: Point, rng: np.random.Generator) -> Path | None:
    """L-BFGS from `start`, and the best Gaussian on its way; None if under none of them log p is finite."""
    points = [start]
    done = climb(model, start, HISTORY, MAX_ITERATIONS, points.append)
    elbos = np.full(len(points), -np.inf)
    best, highest = None, -np.inf
    with np.errstate(all="ignore"):  # a Gaussian that rounding has spoilt has an ELBO that is not a number
        for k, normal in enumerate(along_path(points, HISTORY)):
            if normal is None:
                continue
            q = normal.draws(rng.standard_normal((ELBO_DRAWS, model.dim)))
            elbos[k] = np.mean(log_densities(model, q) - normal.logpdf(q))
            if elbos[k] > highest:
                best, highest = normal, elbos[k]
    return None if best is None else Path(best, elbos, done.evaluations + ELBO_DRAWS * len(points))
