"""Pareto smoothing against ArviZ and known tails; resampling against its probabilities."""

import numpy as np
import pytest
from scipy.special import logsumexp

from probdiff.approximate.importance import distinct, fitted_pareto, resampled, smoothed, warning
from probdiff.sampling.to_arviz import import_arviz, uses_datatree


def by_arviz(log_ratios):
    az = import_arviz()
    if uses_datatree(az.__version__):
        from arviz_stats.base import array_stats

        weights, k = array_stats.psislw(-log_ratios)  # of log-likelihoods: ratios are turned round
    else:
        weights, k = az.psislw(log_ratios)
    return np.asarray(weights), float(k)


# Numbers whose tails, min(n/5, 3 sqrt(n)), are whole: ArviZ 0.x rounds them up, as we do, and ArviZ 1.x down.
@pytest.mark.parametrize("n", [30, 100, 900, 4096])
@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_smoothing_agrees_with_arviz(n, scale):
    log_ratios = -700.0 + scale * np.random.default_rng(n).normal(size=n)
    ours, k = smoothed(log_ratios)
    weights, expected = by_arviz(log_ratios)
    assert k == pytest.approx(expected, rel=1e-10)
    assert ours - logsumexp(ours) == pytest.approx(weights, abs=1e-10)


@pytest.mark.parametrize("k", [0.2, 0.5, 1.0])
def test_the_shape_of_a_pareto_tail(k):
    p = (np.arange(20_000) + 0.5) / 20_000
    shape, scale = fitted_pareto(3.0 * np.expm1(-k * np.log1p(-p)) / k)  # its quantiles
    # The estimator's standard error at n = 20000 is (1 + k) / sqrt(n) < 0.015.
    assert shape == pytest.approx(k, abs=0.03)
    assert scale == pytest.approx(3.0, rel=0.03)


def test_ratios_that_are_all_the_same_need_no_smoothing():
    ours, k = smoothed(np.full(50, 3.25))
    assert np.array_equal(ours, np.full(50, 3.25))
    assert k == -np.inf


def test_a_density_that_no_draw_meets():
    log_ratios = np.full(200, -np.inf)
    log_ratios[:3] = [0.0, -1.0, -2.0]
    ours, k = smoothed(log_ratios)
    assert k == np.inf
    assert np.array_equal(ours, log_ratios)
    assert warning(k, "thing", "Sample.") == (
        "The thing is far from the posterior: Pareto k is not defined: hardly any draw has weight (good: below 0.7). "
        "Sample.",
    )
    assert warning(0.69, "thing", "Sample.") == ()


def test_resampling_repeats_each_index_as_often_as_its_weight_says():
    weights = np.array([0.05, 0.4, 0.0, 0.25, 0.3])
    with np.errstate(divide="ignore"):
        chosen = resampled(np.log(weights) + 500.0, 1000, np.random.default_rng(0))
    counts = np.bincount(chosen, minlength=5)
    assert np.all(abs(counts - 1000 * weights) < 1.0)  # rounded up or down
    assert counts[2] == 0
    assert not np.array_equal(chosen, np.sort(chosen))


def test_distinct_indices_follow_the_weights():
    log_weights = np.log(np.array([0.1, 0.2, 0.7]))
    rng = np.random.default_rng(1)
    pairs = np.array([distinct(log_weights, 2, rng) for _ in range(4000)])
    assert np.all(pairs[:, 0] != pairs[:, 1])
    first = np.bincount(pairs[:, 0], minlength=3) / 4000
    assert first == pytest.approx([0.1, 0.2, 0.7], abs=0.04)  # five standard errors
    # The second after a first 2 is 1 with probability 0.2 / 0.3.
    after = pairs[pairs[:, 0] == 2, 1]
    assert np.mean(after == 1) == pytest.approx(2 / 3, abs=0.045)
