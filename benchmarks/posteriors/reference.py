"""The zoo's models and what posteriordb and inference_gym know of them: moments, and the gradients that Stan spent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
MOMENTS = HERE.parents[1] / "tests" / "reference"
Arrays = dict[str, np.ndarray]


class Reference:
    """One model's reference.

    place   its folder under tests/reference
    names   variables of our model by those of the reference; two of theirs are the rows of one of ours. Those that are
            not named have the same name
    doubtful  variables whose tails are too heavy for moments to be compared
    """

    def __init__(self, place: str, doubtful: tuple[str, ...] = (), **names: str | tuple[str, ...]) -> None:
        self.place, self.doubtful, self.names = place, doubtful, names

    def moments(self) -> dict[str, Arrays]:
        """mean, sd, mcse_mean and, from posteriordb, mcse_sd of each variable; closed forms have no error."""
        found = _moments(self.place)
        renamed = {}
        for ours, theirs in self.names.items():
            if isinstance(theirs, str):
                renamed[ours] = found.pop(theirs)
            else:
                rows = [found.pop(row) for row in theirs]
                renamed[ours] = {kind: np.stack([row[kind] for row in rows]) for kind in rows[0]}
        return renamed | found


@dataclass(frozen=True)
class StanScheme:
    """Effective draws for a thousand gradients, warm-up included, of Stan's NUTS with each of its metrics."""

    diagonal: float
    dense: float | None

    @property
    def better(self) -> float:
        """Of the two, where both were run."""
        return max(self.diagonal, self.dense or 0.0)


def _moments(place: str) -> dict[str, Arrays]:
    """Moments by the reference's own names."""
    path = MOMENTS / place / "reference.json"
    if not path.exists():
        raise SystemExit(f"{path} is missing: the benchmark needs a clone of the repository, with its tests.")
    content = json.loads(path.read_text())
    if place.startswith("inference_gym"):
        return {name: _shaped(each) for name, each in content["parameters"].items()}
    exact = content.get("exact", {}).get("parameters", {})
    kinds = ("mean", "sd", "mcse_mean", "mcse_sd")
    grouped: dict[str, list[Mapping[str, float]]] = {}
    for label, each in content["parameters"].items():
        row = {**each, **exact[label], "mcse_mean": 0.0, "mcse_sd": 0.0} if label in exact else each
        grouped.setdefault(label.split("[")[0], []).append(row)
    scalars = {label for label in content["parameters"] if "[" not in label}
    return {
        name: {k: np.array([r[k] for r in rows] if name not in scalars else rows[0][k]) for k in kinds}
        for name, rows in grouped.items()
    }


def _shaped(each: Mapping[str, Any]) -> Arrays:
    """Arrays of the shape that the reference states."""
    return {kind: np.reshape(each[kind], each["shape"]) for kind in ("mean", "sd", "mcse_mean")}


def stan_schemes() -> dict[str, StanScheme]:
    """What Stan's sampler spends, by the name of our model; the figures' origin is in the file."""
    content = json.loads((HERE / "stan_scheme.json").read_text())
    return {name: StanScheme(**figures) for name, figures in content["ess_per_1000_gradients"].items()}


SCHOOLS = "posteriordb/eight_schools-eight_schools_noncentered"
ROWS = ("theta1", "theta2")  # of a transition matrix
REFERENCES = {
    "ar5": Reference("posteriordb/arK-arK"),
    "brownian_motion": Reference("inference_gym/brownian_motion_missing_middle_observations"),
    "correlated_regression": Reference("posteriordb/sblrc-blr"),
    "cox_process": Reference("inference_gym/synthetic_log_gaussian_cox_process", f="log_intensity"),
    "diamonds": Reference("posteriordb/diamonds-diamonds", intercept="Intercept"),
    "earn_height": Reference("posteriordb/earnings-earn_height"),
    "eight_schools": Reference(SCHOOLS),
    "eight_schools_centered": Reference(SCHOOLS),
    "garch11": Reference("posteriordb/garch-garch11"),
    "gauss_mix": Reference("posteriordb/low_dim_gauss_mix-low_dim_gauss_mix"),
    "german_credit": Reference("inference_gym/german_credit_numeric_logistic_regression", w="x"),
    "german_credit_sparse": Reference(
        "inference_gym/german_credit_numeric_sparse_logistic_regression",
        doubtful=("local",),
        z="unscaled_weights",
        local="local_scales",
        overall="global_scale",
    ),
    "gp_poisson": Reference("posteriordb/gp_pois_regr-gp_pois_regr"),
    "hmm_drive": Reference("posteriordb/bball_drive_event_0-hmm_drive_0", transition=ROWS, lam="lambda"),
    "hmm_example": Reference("posteriordb/hmm_example-hmm_example", transition=ROWS),
    "item_response": Reference(
        "inference_gym/synthetic_item_response_theory",
        level="mean_student_ability",
        ability="centered_student_ability",
        difficulty="question_difficulty",
    ),
    "kidscore_interaction": Reference("posteriordb/kidiq-kidscore_interaction"),
    "kidscore_mom_work": Reference("posteriordb/kidiq_with_mom_work-kidscore_mom_work"),
    "kidscore_momhsiq": Reference("posteriordb/kidiq-kidscore_momhsiq"),
    "kilpisjarvi": Reference("posteriordb/kilpisjarvi_mod-kilpisjarvi"),
    "logearn_interaction": Reference("posteriordb/earnings-logearn_interaction"),
    "logearn_interaction_z": Reference("posteriordb/earnings-logearn_interaction_z"),
    "logearn_logheight_male": Reference("posteriordb/earnings-logearn_logheight_male"),
    "logmesquite": Reference("posteriordb/mesquite-logmesquite"),
    "lotka_volterra": Reference("posteriordb/hudson_lynx_hare-lotka_volterra", start="z_init"),
    "mesquite": Reference("posteriordb/mesquite-mesquite"),
    "nes": Reference("posteriordb/nes1980-nes"),
    "one_compartment": Reference("posteriordb/one_comp_mm_elim_abs-one_comp_mm_elim_abs"),
    "radon": Reference(
        "inference_gym/radon_contextual_effects_minnesota",
        scale="county_effect_scale",
        sigma="log_radon_scale",
        w="weight",
        mean="county_effect_mean",
    ),
    "stochastic_volatility": Reference(
        "inference_gym/stochastic_volatility_sp500_small",
        phi="persistence_of_volatility",
        mu="mean_log_volatility",
        scale="white_noise_shock_scale",
    ),
}
