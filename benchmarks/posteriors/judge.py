"""How good draws are: effective sample sizes, R-hat, and moments beside the reference's."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.benchmarks.posteriors.reference import Arrays
from probdiff.sampling.to_arviz import import_arviz

TAILS = (0.05, 0.95)  # quantiles whose effective sample sizes are those of the tails


@dataclass(frozen=True)
class Quality:
    """The worst of all scalars: least effective sample sizes, largest R-hat, largest |z| of means and deviations.

    z is the distance to the reference over the Monte Carlo standard errors of both.
    """

    ess_bulk: float
    ess_tail: float
    r_hat: float
    z_mean: float
    z_sd: float


def judge(draws: Arrays, moments: Mapping[str, Arrays], doubtful: Collection[str] = ()) -> Quality:
    """Draws (chain, draw, *shape) of each variable of `moments`; those `doubtful` are not compared with it."""
    az = import_arviz()
    bulk, tail, r_hat, z_mean, z_sd = [], [], [], [0.0], [0.0]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, x, known in scalars(draws, moments):
            moves = float(np.ptp(x) > 0)  # ArviZ says that draws which are all the same are all independent
            bulk.append(moves * number(az.ess(x, method="bulk"), 0.0))
            tail.append(moves * number(az.ess(x, method="tail", prob=TAILS), 0.0))
            r_hat.append(number(az.rhat(x, method="rank"), np.inf))
            if name not in doubtful:
                z = deviations(az, x, known)
                z_mean.append(abs(z[0]))
                z_sd.append(abs(z[1]))
    return Quality(min(bulk), min(tail), max(r_hat), max(z_mean), max(z_sd))


Scalar = tuple[str, np.ndarray, dict[str, float]]


def scalars(draws: Arrays, moments: Mapping[str, Arrays]) -> Iterator[Scalar]:
    """Every scalar of the reference: its variable, its draws (chain, draw), and what is known of it."""
    for name, known in moments.items():
        for index in np.ndindex(known["mean"].shape):
            x = draws[name][(slice(None), slice(None), *index)]
            yield name, np.asarray(x, dtype=float), {kind: float(value[index]) for kind, value in known.items()}


def deviations(az: Any, x: np.ndarray, known: Mapping[str, float]) -> tuple[float, float]:
    """z of the mean and of the standard deviation.

    The error of an sd is that of the mean of squares over 2 sd (delta method). Where the reference does not state its
    own, it is its mean's error times sqrt(kurtosis - 1) / 2, as for independent draws, with the kurtosis of ours.
    """
    mean, sd = x.mean(), x.std()
    squares = (x - mean) ** 2
    kurtosis = np.mean(squares**2) / sd**4
    theirs = known.get("mcse_sd", known["mcse_mean"] * np.sqrt(kurtosis - 1) / 2)
    errors = np.hypot(error_of_mean(az, x), known["mcse_mean"]), np.hypot(error_of_mean(az, squares) / (2 * sd), theirs)
    return number((mean - known["mean"]) / errors[0], np.inf), number((sd - known["sd"]) / errors[1], np.inf)


def error_of_mean(az: Any, x: np.ndarray) -> float:
    """The Monte Carlo standard error of the mean of draws (chain, draw)."""
    return float(np.squeeze(az.mcse(x, method="mean")))


def number(value: Any, otherwise: float) -> float:
    """As a float; draws that stand still have no effective sample size and no R-hat."""
    found = float(np.squeeze(value))
    return found if np.isfinite(found) else otherwise
