"""Points in the cells of a grid: a log-Gaussian Cox process (Møller, Syversveen & Waagepetersen 1998)."""

from __future__ import annotations

import numpy as np

from probdiff.distributions import LogNormal, Normal, Poisson
from probdiff.models.joint import Joint
from probdiff.models.posterior import Posterior
from probdiff.models.zoo.data_sets import load
from probdiff.tree import Array


def cox_process() -> Posterior:
    """counts ~ Poisson(areas exp(f)),  f = m + chol(K) z,  K = a² (1 + s) exp(-s) + 1e-6 I,  s = √3 distance / l."""
    data = load("cox_process")
    distance = np.linalg.norm(data.centres[:, None] - data.centres, axis=-1)
    jitter = 1e-6 * np.eye(len(distance))
    m = np.mean(np.log(data.counts) - np.log(data.areas))

    def process(amplitude: Array, length_scale: Array, z: Array) -> Array:
        a, s = amplitude + 0.001, np.sqrt(3) * distance / (length_scale + 0.001)
        return m + np.linalg.cholesky(a**2 * (1 + s) * np.exp(-s) + jitter) @ z

    prior = Joint(
        amplitude=LogNormal(-1, 0.5), length_scale=LogNormal(-1, 1), z=Normal(0, 1).iid(len(distance)), f=process
    )
    return Posterior(prior, lambda f: Poisson(data.areas * np.exp(f)), data.counts)
