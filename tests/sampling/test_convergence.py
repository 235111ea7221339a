"""Quick measures of convergence against ArviZ, against theory, and where they have no value."""

import numpy as np
import pytest

from probdiff.sampling.convergence import apart, e_bfmi, pareto_shape, split_r_hat, tail_shape, unmoved
from probdiff.sampling.to_arviz import import_arviz

RNG = np.random.default_rng(0)


def walk(phi, chains, draws):
    """AR(1) of unit variance."""
    x = np.empty((chains, draws))
    x[:, 0] = RNG.normal(size=chains)
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * RNG.normal(size=chains)
    return x


@pytest.mark.parametrize("chains, draws", [(4, 500), (3, 101), (1, 60)])
def test_split_r_hat_is_that_of_arviz(chains, draws):
    x = np.stack([walk(0.9, chains, draws), RNG.normal(size=(chains, draws)) + np.arange(chains)[:, None]], axis=-1)
    az = import_arviz()
    found = split_r_hat(x)
    assert found.shape == (2,)
    for k in range(2):
        # ArviZ wants two chains; the halves of one are its split.
        given = x[..., k] if chains > 1 else np.stack([x[0, : draws // 2, k], x[0, -(draws // 2) :, k]])
        method = "split" if chains > 1 else "identity"
        assert found[k] == pytest.approx(float(np.squeeze(az.rhat(given, method=method))), rel=1e-12)


def test_split_r_hat_where_nothing_moves():
    still = np.ones((4, 20))
    assert np.isnan(split_r_hat(still))
    assert split_r_hat(still * np.arange(4)[:, None]) == np.inf
    assert np.isnan(split_r_hat(np.full((4, 20), np.nan)))


def test_e_bfmi_of_an_autoregression():
    """E (E_t - E_{t-1})² / var E = 2 (1 - phi); ten standard errors of either estimate."""
    for phi in (0.0, 0.9):
        assert e_bfmi(walk(phi, 2, 20_000)) == pytest.approx(2 * (1 - phi), rel=0.1)
    x = walk(0.5, 3, 50)
    steps = [sum((b - a) ** 2 for a, b in zip(chain, chain[1:], strict=False)) / 49 for chain in x]
    assert e_bfmi(x) == pytest.approx(np.array(steps) / x.var(axis=1), rel=1e-12)


def test_unmoved():
    x = np.array([[1.0, 1, 2, 2, 2], [1, 2, 3, 4, 5]])
    assert unmoved(x).tolist() == [0.75, 0.0]
    assert unmoved(np.stack([x, x[::-1]], axis=-1)).tolist() == [0.0, 0.0]


def test_apart():
    near = np.tile(np.linspace(-1, 1, 101), (5, 1))
    assert apart(near) == [[0, 1, 2, 3, 4]]
    assert apart(near + np.array([5, 0, 5.1, 0.2, 20])[:, None]) == [[1, 3], [0, 2], [4]]


@pytest.mark.parametrize("k", [-0.5, 0.3, 1.0])
def test_the_shape_of_a_generalised_pareto_distribution(k):
    """Five standard deviations, (1 + k)/sqrt(n), beside the pull of the prior towards 1/2."""
    n = 5000
    x = np.sort((RNG.random(n) ** -k - 1) / k)
    assert pareto_shape(x) == pytest.approx(k + 10 * (0.5 - k) / (n + 10), abs=5 * (1 + k) / np.sqrt(n))
    assert pareto_shape(1e-307 * x) == pytest.approx(pareto_shape(x), rel=1e-6)


def test_the_shape_of_tails():
    """k = 1/nu for Student's t, far out; below zero where the support ends; none for a constant."""
    assert tail_shape(RNG.standard_t(1, 40_000)) == pytest.approx(1.0, abs=0.3)
    assert tail_shape(RNG.normal(size=4000)) < 0.5
    assert tail_shape(RNG.random(4000)) < 0
    assert tail_shape(np.concatenate([-(RNG.random(4000) ** -1.5), [0.0]])) > 1.0  # the lower tail alone
    assert tail_shape(np.ones(100)) == -np.inf
