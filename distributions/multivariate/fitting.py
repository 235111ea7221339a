"""Observations of vectors and their weights, checked, for the maxima of likelihoods that have closed forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.ad.transforms import value_and_grad
from probdiff.distributions.support import Support
from probdiff.errors import DataError
from probdiff.tree import Array

__all__ = ["averages", "climbed_vector", "scatter_factor", "weighted_rows"]

FARTHEST = 20.0  # in logs: parameters of e^20 times where the search began are no answer


def weighted_rows(family: Any, x: Any, weights: Any) -> tuple[Array, Array]:
    """Observations, one a row, and weights that add up to one; DataError for what cannot be fitted."""
    owner = family.__name__
    x = np.asarray(x, dtype=float)
    event_ndim = family.support.event_ndim if isinstance(family.support, Support) else 1
    if x.ndim != 1 + event_ndim or not x.size:
        kind = "a matrix of observations, one a row" if event_ndim == 1 else "matrices along a first axis"
        raise DataError(f"{owner}.fit needs {kind}, got shape {x.shape}.")
    if not np.all(np.isfinite(x)):
        raise DataError(f"{owner}.fit needs finite observations, got NaN or infinity.")
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != x.shape[:1]:
        raise DataError(f"{owner}.fit needs a weight for each observation, got shape {w.shape} for {len(x)}.")
    if not np.all(w >= 0) or not 0 < np.sum(w) < np.inf:
        raise DataError(f"{owner}.fit needs weights that are nonnegative, finite and not all zero.")
    return x[w > 0], w[w > 0] / np.sum(w)


def scatter_factor(family: Any, residuals: Array, w: Array) -> Array:
    """The Cholesky factor of Σ w r r'; DataError where the observations do not span the space."""
    scatter = (residuals * w[:, None]).T @ residuals
    rank = np.linalg.matrix_rank(residuals * np.sqrt(w)[:, None])
    if rank < scatter.shape[0]:
        raise DataError(
            f"{family.__name__}.fit: the observations lie in {rank} of {scatter.shape[0]} dimensions, where the "
            "likelihood has no maximum. Give more of them, or leave out variables that follow from others."
        )
    return np.linalg.cholesky(scatter)


def averages(family: Any, means: Sequence[Any]) -> list[Array]:
    """Averages of sufficient statistics as arrays; DataError unless they are finite and as many as needed."""
    owner, names = family.__name__, family.statistic_names
    found = [np.asarray(mean, dtype=float) for mean in means]
    if names and len(found) != len(names):
        raise DataError(f"{owner}.fit_statistics needs the averages of {' and '.join(names)}, got {len(found)} arrays.")
    if not all(np.all(np.isfinite(mean)) for mean in found):
        raise DataError(f"{owner}.fit_statistics needs finite averages.")
    return found


def climbed_vector(family: Any, loss: Callable[[Any], Any], start: Array) -> Array:
    """The vector with the smallest `loss`, by quasi-Newton steps; DataError where it has no minimum."""
    from scipy.optimize import minimize

    slope = value_and_grad(loss)
    found = minimize(slope, start, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    if not np.max(abs(found.jac)) < 1e-6 or np.max(abs(found.x - start)) > FARTHEST:
        raise DataError(f"{family.__name__}.fit found no maximum: the likelihood still rises {found.nit} steps on.")
    return found.x
