"""Simulation-based calibration: the rank of the truth among posterior draws is uniform (Talts et al. 2018)."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Gamma, HalfNormal, LKJCholesky, MvNormal, Normal, Poisson, noncentered
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


def hierarchy():
    prior = Joint(tau=HalfNormal(1.5), theta=lambda tau: noncentered(Normal(0.0, tau)).iid(4))
    posterior = Posterior(prior, lambda theta: Normal(theta, 0.7), np.zeros(4))
    return posterior, lambda rng, tau, theta: rng.normal(theta, 0.7)


def correlation():
    prior = Joint(scale=Gamma(4.0, 0.3), L=LKJCholesky(2, 1.5))
    posterior = Posterior(prior, lambda scale, L: MvNormal(np.zeros(2), scale * L).iid(8), np.zeros((8, 2)))
    return posterior, lambda rng, scale, L: scale * rng.normal(size=(8, 2)) @ L.T


def moving(truth):
    """Each scalar that is not the same in every draw: its name, its place and its value."""
    for name, value in truth.items():
        for place in np.ndindex(np.shape(value)):
            if name != "L" or place in ((1, 0), (1, 1)):
                yield name, place, np.asarray(value)[place]


@pytest.mark.slow
@pytest.mark.parametrize("model", [location_and_scale, counts, hierarchy, correlation])
def test_ranks_are_uniform(model):
    posterior, simulate = model()
    rng = np.random.default_rng(7)
    ranks = {}
    for k in range(RUNS):
        truth = posterior.prior.rand(rng=rng)
        draws = sample(posterior.with_data(simulate(rng, **truth)), RANKS * THIN, 200, 1, seed=k)
        for name, place, value in moving(truth):
            thinned = draws.scalar(name, place)[0, ::THIN]  # nearly independent
            ranks.setdefault((name, place), []).append(int(np.sum(thinned < value)))
    for found in ranks.values():
        assert stats.chisquare(np.bincount(found, minlength=RANKS + 1)).pvalue > 1e-5
