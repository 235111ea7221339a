"""Children's test scores: a regression whose predictors are not centred."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from probdiff.benchmarks.posteriors import flat_regression

STAN = flat_regression.stan("sigma ~ cauchy(0, 2.5);")


def data() -> dict[str, Any]:
    """Ones, the mother's schooling, her IQ, and their product."""
    from probdiff.models.zoo import load

    d = load("kidiq")
    X = np.stack([np.ones_like(d.mom_iq), d.mom_hs, d.mom_iq, d.mom_hs * d.mom_iq], axis=1)
    return {"N": X.shape[0], "K": X.shape[1], "X": X, "y": d.kid_score}


def numpyro(d: SimpleNamespace) -> Any:
    """The model for NumPyro."""
    from numpyro import distributions as dist

    return flat_regression.numpyro(d, dist.HalfCauchy(2.5))


def pymc(d: SimpleNamespace) -> Any:
    """The model for PyMC."""
    import pymc as pm

    return flat_regression.pymc(d, lambda name: pm.HalfCauchy(name, 2.5))
