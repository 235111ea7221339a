"""Party identification in 1980: a regression with flat priors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from probdiff.benchmarks.posteriors import flat_regression

STAN = flat_regression.stan("")


def data() -> dict[str, Any]:
    """Ones, ideology, race, three age groups, education, gender and income."""
    from probdiff.models.zoo import load

    d = load("nes1980")
    ages = [d.age_discrete == group for group in (2, 3, 4)]
    X = np.stack([np.ones_like(d.income), d.real_ideo, d.race_adj, *ages, d.educ1, d.gender, d.income], axis=1)
    return {"N": X.shape[0], "K": X.shape[1], "X": X, "y": d.partyid7}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    from numpyro import distributions as dist
    from numpyro.distributions import constraints

    return flat_regression.numpyro(d, dist.ImproperUniform(constraints.positive, (), ()))


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    return flat_regression.pymc(d, pm.HalfFlat)
