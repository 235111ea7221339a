"""Posteriors of the zoo against posteriordb's reference draws: mean and standard deviation of every parameter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import arviz as az
import numpy as np
import pytest

from probdiff import sample
from probdiff.models import Posterior
from probdiff.models.zoo import eight_schools, kidscore_momhsiq

REFERENCE = Path(__file__).parent.parent / "reference" / "posteriordb"
SEEDS = (1, 2, 3)
# 26 means and standard deviations for each of 3 seeds: a limit of 4 is passed by chance in about one run of 200, and
# the seeds are fixed.
LIMIT = 4.0


def scalars(draws: np.ndarray) -> dict[str, np.ndarray]:
    """`name[k]`, counted from one as posteriordb does, for each component of draws of shape (chain, draw, ...)."""
    if draws.ndim == 2:
        return {"": draws}
    return {f"[{k + 1}]": draws[..., k] for k in range(draws.shape[-1])}


def error_of_mean(x: np.ndarray) -> float:
    """Monte Carlo standard error of the mean of draws (chain, draw)."""
    return float(np.squeeze(az.mcse(x, method="mean")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("model", "folder"),
    [
        (eight_schools, "eight_schools-eight_schools_noncentered"),
        (kidscore_momhsiq, "kidiq-kidscore_momhsiq"),
    ],
)
def test_moments(model: Callable[[], Posterior], folder: str, seed: int) -> None:
    reference = json.loads((REFERENCE / folder / "reference.json").read_text())["parameters"]
    draws = sample(model(), draws=1000, tune=1000, chains=4, seed=seed, progress=False)
    compared = 0
    for name in draws.posterior:
        for suffix, x in scalars(draws.posterior[name]).items():
            expected = reference.get(name + suffix)
            if expected is None:
                continue
            assert float(np.squeeze(az.rhat(x))) < 1.01, f"{name}{suffix} has not converged"
            for what, value, ours in (
                ("mean", x.mean(), error_of_mean(x)),
                ("sd", x.std(), error_of_mean((x - x.mean()) ** 2) / (2 * x.std())),  # delta method
            ):
                z = (value - expected[what]) / np.hypot(ours, expected[f"mcse_{what}"])
                assert abs(z) < LIMIT, (
                    f"{what} of {name}{suffix}: {value:.4g}, reference {expected[what]:.4g}, z = {z:.2f}"
                )
                compared += 1
    assert compared == 2 * len(reference)
