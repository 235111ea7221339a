"""Warm-up: dual averaging, moments, windows, the step-size search, the widest direction."""

import numpy as np
import pytest

from probdiff.sampling.adaptation import (
    EPS_MAX,
    EPS_MIN,
    DualAveraging,
    Warmup,
    Welford,
    first_step_size,
    widest,
    window_ends,
)
from probdiff.sampling.hmc import HMC
from probdiff.sampling.kernel import State
from probdiff.sampling.metric import Metric


def gaussian(q):
    return -0.5 * float(q @ q), -q


@pytest.mark.parametrize("target", [0.6, 0.8, 0.95])
def test_dual_averaging_reaches_its_target(target):
    averaging = DualAveraging(1e-3, target)
    eps = 1e-3
    for _ in range(2000):
        eps = averaging.update(float(np.exp(-eps)))
    # Acceptance exp(-eps) is met at eps = -log(target); the average still remembers its way there a little.
    assert averaging.mean == pytest.approx(-np.log(target), rel=0.05)


def test_acceptance_of_a_run_is_near_its_target():
    rng = np.random.default_rng(1)
    kernel = HMC(target_accept=0.8)
    state = kernel.init(gaussian, np.zeros(50))
    warmup = Warmup(rng, gaussian, kernel, state, 2000)
    for i in range(2000):
        state, info = kernel.step(rng, gaussian, state, warmup.settings)
        warmup.update(i, state, info.acceptance_rate)
    accepted = []
    for _ in range(1000):
        state, info = kernel.step(rng, gaussian, state, warmup.settings)
        accepted.append(info.acceptance_rate)
    # The last 50 iterations set the step size: 0.8 is met up to their noise, on the careful side.
    assert 0.7 < np.mean(accepted) < 0.95


@pytest.mark.parametrize("accept", [0.0, 1.0])
def test_step_size_stays_finite_and_positive_whatever_happens(accept):
    averaging = DualAveraging(1.0, 0.8)
    for _ in range(100_000):
        eps = averaging.update(accept)
    assert EPS_MIN * 0.999 <= eps <= EPS_MAX * 1.001
    assert EPS_MIN * 0.999 <= averaging.mean <= EPS_MAX * 1.001


def test_welford_equals_two_passes():
    x = np.random.default_rng(0).normal(1e6, 1e-2, size=(500, 3))
    moments = Welford(3)
    for row in x:
        moments.add(row)
    np.testing.assert_allclose(moments.mean, x.mean(axis=0), rtol=1e-15)
    # Data with 1e8 times more offset than spread leave 8 of 16 digits.
    np.testing.assert_allclose(moments.variance(), x.var(axis=0, ddof=1), rtol=1e-7)


def test_windows_of_stan():
    assert window_ends(1000) == [75, 100, 150, 250, 450, 950]
    assert window_ends(2000)[-2:] == [850, 1950]
    assert window_ends(100) == [15, 90]
    assert window_ends(10) == [] == window_ends(0)


def test_windows_grow_and_end_before_the_last_phase():
    for tune in range(20, 2000):
        ends = window_ends(tune)
        assert all(b > a for a, b in zip(ends, ends[1:], strict=False))
        assert ends[-1] == tune - (50 if tune >= 150 else int(0.1 * tune))


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e5])
def test_search_finds_the_scale(scale):
    def logdensity(q):
        return -0.5 * float(q @ q) / scale**2, -q / scale**2

    state = State(np.zeros(3), 0.0, np.zeros(3))
    eps = first_step_size(np.random.default_rng(0), logdensity, state, Metric.diagonal(np.ones(3)), 0.1)
    assert 0.1 * scale < eps < 10 * scale


@pytest.mark.parametrize("logp, grad", [(np.nan, np.nan), (-np.inf, 0.0), (0.0, np.nan), (0.0, 0.0)])
def test_search_is_bounded(logp, grad):
    calls = []

    def logdensity(q):
        calls.append(q)
        return logp, np.full(2, grad)

    state = State(np.zeros(2), 0.0, np.ones(2))
    with np.errstate(all="ignore"):
        eps = first_step_size(np.random.default_rng(0), logdensity, state, Metric.diagonal(np.ones(2)), 0.1)
    assert len(calls) <= 51
    assert EPS_MIN <= eps <= EPS_MAX


def test_widest_direction_of_correlated_and_of_independent_columns():
    rng = np.random.default_rng(3)
    covariance = np.full((5, 5), 0.98) + 0.02 * np.eye(5)
    x = rng.multivariate_normal(np.zeros(5), covariance, size=500)
    # Largest eigenvalue 1 + 4 * 0.98; its estimate has relative standard error sqrt(2/500) = 0.063.
    assert widest(x) == pytest.approx(4.92, rel=0.3)
    # Independent: 1, however many columns. The largest eigenvalues of these samples are near 4 and near 16.
    # A variance along a direction found elsewhere has standard error sqrt(2/300) = 0.08.
    assert widest(rng.standard_normal((300, 300))) < 1.4
    assert widest(rng.standard_normal((300, 3000))) < 1.4
    assert widest(np.full((300, 2), np.nan)) == 1.0
    assert widest(np.zeros((5, 2))) == 1.0


def test_metric_of_scales_that_differ_by_a_million():
    sd = np.logspace(-3, 3, 5)

    def logdensity(q):
        return -0.5 * float((q / sd) @ (q / sd)), -q / sd**2

    rng = np.random.default_rng(0)
    kernel = HMC()
    state = kernel.init(logdensity, np.ones(5))
    with np.errstate(all="ignore"):
        warmup = Warmup(rng, logdensity, kernel, state, 500)
        for i in range(500):
            state, info = kernel.step(rng, logdensity, state, warmup.settings)
            warmup.update(i, state, info.acceptance_rate)
    # About 200 effective draws: a variance is known to 10 %, four times that is allowed.
    np.testing.assert_allclose(warmup.settings.inv_mass / sd**2, 1, atol=0.4)
    assert 1.5 < warmup.settings.path < 3.5
