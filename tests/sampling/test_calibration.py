"""Simulation-based calibration: the rank of the truth among posterior draws is uniform (Talts et al. 2018)."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Gamma, Normal, Poisson
from probdiff.models import Joint, Posterior
from probdiff.sampling import sample

RUNS, RANKS, THIN = 400, 19, 10


def location_and_scale():
    prior = Joint(mu=Normal(0.0, 2.0), sigma=Gamma(3.0, 2.0))
    posterior = Posterior(prior, lambda mu, sigma: Normal(mu, sigma).iid(5), np.zeros(5))
    return posterior, lambda rng, mu, sigma: rng.normal(mu, sigma, 5)


def counts():
    prior = Joint(level=Normal(0.5, 1.0), slope=Normal(0.0, 0.7))
    x = np.linspace(-1.0, 1.0, 6)
    posterior = Posterior(prior, lambda level, slope: Poisson(np.exp(level + slope * x)), np.zeros(6, dtype=np.int64))
    return posterior, lambda rng, level, slope: rng.poisson(np.exp(level + slope * x))


@pytest.mark.slow
@pytest.mark.parametrize("model", [location_and_scale, counts])
def test_ranks_are_uniform(model):
    posterior, simulate = model()
    rng = np.random.default_rng(7)
    ranks = {}
    for k in range(RUNS):
        truth = posterior.prior.rand(rng=rng)
        draws = sample(posterior.with_data(simulate(rng, **truth)), RANKS * THIN, 200, 1, seed=k)
        for name, value in truth.items():
            thinned = draws[name][0, ::THIN]  # nearly independent
            ranks.setdefault(name, []).append(int(np.sum(thinned < value)))
    for found in ranks.values():
        assert stats.chisquare(np.bincount(found, minlength=RANKS + 1)).pvalue > 1e-5
