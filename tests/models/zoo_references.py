"""What posteriordb and inference_gym know of the zoo's models: draws and moments, in their names and in ours.

Draws are dicts of arrays by variable, with any leading axes (draws, or chains and draws).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from probdiff.models.zoo import load

FOLDER = Path(__file__).parent.parent / "reference"
Draws = dict[str, np.ndarray]


def same(draws: Draws) -> Draws:
    return draws


@dataclass(frozen=True)
class Reference:
    """One model's reference.

    place   its folder under tests/reference
    dim     the number of unconstrained coordinates
    ours    reference draws in the variables of our model (posteriordb only)
    theirs  draws of our model in the reference's parameters
    """

    place: str
    dim: int
    ours: Callable[[Draws], Draws] = same
    theirs: Callable[[Draws], Draws] = same

    def draws(self) -> Draws:
        """The reference draws by variable: `beta[1]`, `beta[2]`, … become beta of shape (400, 2)."""
        content = json.loads((FOLDER / self.place / "draws_thin.json").read_text())
        return gathered(content["names"], np.array(content["draws"]).T)

    def points(self) -> list[Draws]:
        """The reference draws one by one, in the variables of our model."""
        draws = self.ours(self.draws())
        return [{name: values[k] for name, values in draws.items()} for k in range(len(next(iter(draws.values()))))]

    def moments(self) -> dict[str, Draws]:
        """Per parameter: mean, sd and mcse_mean, and where they are known mcse_sd; exact ones have no error."""
        content = json.loads((FOLDER / self.place / "reference.json").read_text())
        found = content["parameters"]
        if self.place.startswith("inference_gym"):
            kinds = ("mean", "sd", "mcse_mean")
            return {name: {k: np.reshape(each[k], each["shape"]) for k in kinds} for name, each in found.items()}
        exact = content.get("exact", {}).get("parameters", {})
        rows = {name: {**each, **(exact.get(name, {}))} for name, each in found.items()}
        for name in exact:
            rows[name] |= {"mcse_mean": 0.0, "mcse_sd": 0.0}
        kinds = ("mean", "sd", "mcse_mean", "mcse_sd")
        columns = {k: gathered(list(rows), np.array([row[k] for row in rows.values()])) for k in kinds}
        return {name: {k: columns[k][name] for k in kinds} for name in columns["mean"]}


def gathered(names: list[str], rows: np.ndarray) -> Draws:
    """Rows by name, those of one vector as its last axis."""
    found: dict[str, list[np.ndarray]] = {}
    for name, row in zip(names, rows, strict=True):
        found.setdefault(name.split("[")[0], []).append(row)
    vectors = {name.split("[")[0] for name in names if "[" in name}
    return {name: np.stack(each, axis=-1) if name in vectors else each[0] for name, each in found.items()}


def renamed(**names: str) -> dict[str, Callable[[Draws], Draws]]:
    """The two ways between names, ours = theirs; what is not named stays out."""
    return {
        "ours": lambda draws: {ours: draws[theirs] for ours, theirs in names.items()},
        "theirs": lambda draws: {theirs: draws[ours] for ours, theirs in names.items()},
    }


def states(**names: str) -> dict[str, Callable[[Draws], Draws]]:
    """Hidden states: rows of the transition matrix are called theta1 and theta2."""
    others = renamed(**names)

    def ours(draws: Draws) -> Draws:
        return {"transition": np.stack([draws["theta1"], draws["theta2"]], axis=-2), **others["ours"](draws)}

    def theirs(draws: Draws) -> Draws:
        rows = {f"theta{k + 1}": draws["transition"][..., k, :] for k in range(2)}
        return {**rows, **others["theirs"](draws)}

    return {"ours": ours, "theirs": theirs}


def gp_factor(rho: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """chol(K) of gp_poisson."""
    x = load("gp_counts").x
    square = (x[:, None] - x) ** 2
    rho, alpha = rho[..., None, None], alpha[..., None, None]
    return np.linalg.cholesky(alpha**2 * np.exp(-square / (2 * rho**2)) + 1e-10 * np.eye(len(x)))


def gp_ours(draws: Draws) -> Draws:
    z = np.linalg.solve(gp_factor(draws["rho"], draws["alpha"]), draws["f"][..., None])[..., 0]
    return {"rho": draws["rho"], "alpha": draws["alpha"], "z": z}


def gp_theirs(draws: Draws) -> Draws:
    f = (gp_factor(draws["rho"], draws["alpha"]) @ draws["z"][..., None])[..., 0]
    return {"rho": draws["rho"], "alpha": draws["alpha"], "f": f}


def cox_theirs(draws: Draws) -> Draws:
    data = load("cox_process")
    distance = np.sqrt(np.sum((data.centres[:, None] - data.centres) ** 2, axis=-1))
    f = np.empty(draws["z"].shape)
    for k in np.ndindex(draws["amplitude"].shape):  # one by one: the matrices of all draws would fill the memory
        a, s = draws["amplitude"][k] + 0.001, np.sqrt(3) * distance / (draws["length_scale"][k] + 0.001)
        f[k] = np.linalg.cholesky(a**2 * (1 + s) * np.exp(-s) + 1e-6 * np.eye(100)) @ draws["z"][k]
    shift = np.mean(np.log(data.counts / data.areas))
    return {"amplitude": draws["amplitude"], "length_scale": draws["length_scale"], "log_intensity": shift + f}


def volatility_theirs(draws: Draws) -> Draws:
    phi, mu, scale, z = 2 * draws["half"] - 1, draws["mu"], draws["scale"], draws["z"]
    h = np.empty(z.shape)
    h[..., 0] = scale * z[..., 0] / np.sqrt(1 - phi**2)
    for t in range(1, z.shape[-1]):
        h[..., t] = phi * h[..., t - 1] + scale * z[..., t]
    return {
        "persistence_of_volatility": phi,
        "mean_log_volatility": mu,
        "white_noise_shock_scale": scale,
        "log_volatility": mu[..., None] + h,
    }


SCHOOLS = "posteriordb/eight_schools-eight_schools_noncentered"
REFERENCES = {
    "ar5": Reference("posteriordb/arK-arK", 7),
    "brownian_motion": Reference(
        "inference_gym/brownian_motion_missing_middle_observations",
        30,
        theirs=lambda draws: {"x": np.cumsum(draws["step"], axis=-1)},
    ),
    "correlated_regression": Reference("posteriordb/sblrc-blr", 6),
    "cox_process": Reference("inference_gym/synthetic_log_gaussian_cox_process", 102, theirs=cox_theirs),
    "diamonds": Reference("posteriordb/diamonds-diamonds", 26, **renamed(b="b", intercept="Intercept", sigma="sigma")),
    "earn_height": Reference("posteriordb/earnings-earn_height", 3),
    "eight_schools": Reference(SCHOOLS, 10),
    "eight_schools_centered": Reference(SCHOOLS, 10),
    "garch11": Reference("posteriordb/garch-garch11", 4),
    "gauss_mix": Reference("posteriordb/low_dim_gauss_mix-low_dim_gauss_mix", 5),
    "german_credit": Reference("inference_gym/german_credit_numeric_logistic_regression", 25, **renamed(w="x")),
    "german_credit_sparse": Reference(
        "inference_gym/german_credit_numeric_sparse_logistic_regression",
        51,
        **renamed(z="unscaled_weights", local="local_scales", overall="global_scale"),
    ),
    "gp_poisson": Reference("posteriordb/gp_pois_regr-gp_pois_regr", 13, gp_ours, gp_theirs),
    "hmm_drive": Reference("posteriordb/bball_drive_event_0-hmm_drive_0", 6, **states(phi="phi", lam="lambda")),
    "hmm_example": Reference("posteriordb/hmm_example-hmm_example", 4, **states(mu="mu")),
    "item_response": Reference(
        "inference_gym/synthetic_item_response_theory",
        501,
        **renamed(level="mean_student_ability", ability="centered_student_ability", difficulty="question_difficulty"),
    ),
    "kidscore_interaction": Reference("posteriordb/kidiq-kidscore_interaction", 5),
    "kidscore_mom_work": Reference("posteriordb/kidiq_with_mom_work-kidscore_mom_work", 5),
    "kidscore_momhsiq": Reference("posteriordb/kidiq-kidscore_momhsiq", 4),
    "kilpisjarvi": Reference("posteriordb/kilpisjarvi_mod-kilpisjarvi", 3),
    "logearn_interaction": Reference("posteriordb/earnings-logearn_interaction", 5),
    "logearn_interaction_z": Reference("posteriordb/earnings-logearn_interaction_z", 5),
    "logearn_logheight_male": Reference("posteriordb/earnings-logearn_logheight_male", 4),
    "logmesquite": Reference("posteriordb/mesquite-logmesquite", 8),
    "lotka_volterra": Reference(
        "posteriordb/hudson_lynx_hare-lotka_volterra", 8, **renamed(theta="theta", start="z_init", sigma="sigma")
    ),
    "mesquite": Reference("posteriordb/mesquite-mesquite", 8),
    "nes": Reference("posteriordb/nes1980-nes", 10),
    "one_compartment": Reference("posteriordb/one_comp_mm_elim_abs-one_comp_mm_elim_abs", 4),
    "radon": Reference(
        "inference_gym/radon_contextual_effects_minnesota",
        91,
        **renamed(
            scale="county_effect_scale",
            sigma="log_radon_scale",
            w="weight",
            mean="county_effect_mean",
            county_effect="county_effect",
        ),
    ),
    "stochastic_volatility": Reference(
        "inference_gym/stochastic_volatility_sp500_small", 103, theirs=volatility_theirs
    ),
}
WITH_DRAWS = [name for name, reference in REFERENCES.items() if reference.place.startswith("posteriordb")]
