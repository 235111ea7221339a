"""The metric: its linear maps, what warm-up makes of draws and gradients, and the parts of a warm-up."""

import numpy as np
import pytest

from probdiff.sampling.adaptation import windows
from probdiff.sampling.metric import Metric, learn, most_directions, spectrum, worthwhile
from probdiff.sampling.trajectory import stretched

RNG = np.random.default_rng


def matrix(metric):
    """L"""
    return metric.spread(np.eye(len(metric.scale))).T


def gaussian(covariance, n, seed=0):
    """Draws and gradients."""
    draws = RNG(seed).multivariate_normal(np.arange(len(covariance)), covariance, n)
    return draws, -(draws - np.arange(len(covariance))) @ np.linalg.inv(covariance)


def fit(draws, grads, kind="auto", first=False):
    dim = draws.shape[1]
    return learn(draws, grads, kind, first, Metric.diagonal(np.ones(dim), most_directions(kind, dim)))


def correlated(dim, condition=1e4, seed=0):
    rotation = np.linalg.qr(RNG(seed).normal(size=(dim, dim)))[0]
    return (rotation * np.geomspace(1 / condition, 1, dim)) @ rotation.T


def metric_of_rank_two():
    vectors = np.linalg.qr(RNG(0).normal(size=(4, 4)))[0][:2]
    return Metric(np.array([1.0, 2, 3, 0.1]), np.pad(vectors, ((0, 1), (0, 0))), np.array([3.0, -0.9, 0]), np.int64(2))


def test_its_maps_are_those_of_its_formula():
    metric = metric_of_rank_two()
    v, s = metric.vectors, metric.stretch
    L = np.diag(metric.scale) @ (np.eye(4) + v.T @ np.diag(s) @ v)
    np.testing.assert_allclose(matrix(metric), L, rtol=1e-14, atol=1e-15)
    x = RNG(1).normal(size=(5, 4))
    np.testing.assert_allclose(metric.pull(x), x @ L, rtol=1e-13)
    np.testing.assert_allclose(metric.unpull(metric.pull(x)), x, rtol=1e-13)
    np.testing.assert_allclose(stretched(metric, x[0]), metric.spread(x[0]) / metric.scale, rtol=1e-14)


@pytest.mark.parametrize("kind", ["auto", "low_rank", "dense"])
@pytest.mark.parametrize("dim", [2, 12])
def test_a_gaussian_is_known_from_few_draws_and_gradients(kind, dim):
    covariance = correlated(dim)
    metric = fit(*gaussian(covariance, dim + 4), kind)
    round_ = np.linalg.solve(matrix(metric), np.linalg.cholesky(covariance))
    widths = np.linalg.svd(round_, compute_uv=False)
    # Exact but for the ridge and the directions too round to be worth a row: the condition number was 1e4.
    assert widths[0] / widths[-1] < 2.1


def test_the_spectrum_solves_the_equation_of_the_geometric_mean():
    x, g = gaussian(correlated(6, 30.0), 400)
    x, g = x - x.mean(axis=0), g - g.mean(axis=0) + 0.3 * RNG(2).normal(size=g.shape)
    value, vectors = spectrum(x, g)
    S = (vectors * value) @ vectors.T
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(S @ (g.T @ g) @ S, x.T @ x, rtol=1e-2, atol=1e-2 * np.abs(x.T @ x).max())


def test_fewer_draws_than_dimensions_find_the_directions_that_stand_out():
    dim = 300
    v = RNG(3).normal(size=dim)
    v /= np.linalg.norm(v)
    covariance = np.eye(dim) + (1e4 - 1) * np.outer(v, v)
    metric = fit(*gaussian(covariance, 60))
    assert 1 <= metric.rank <= 120  # draws and gradients span no more
    assert metric.vectors.shape == (128, dim)
    widths = np.linalg.svd(np.linalg.solve(matrix(metric), np.linalg.cholesky(covariance)), compute_uv=False)
    plain = np.linalg.svd(np.linalg.cholesky(covariance) / metric.scale[:, None], compute_uv=False)
    assert widths[0] / widths[-1] < 0.25 * plain[0] / plain[-1]


def test_rows_are_taken_as_long_as_they_pay():
    """sqrt(100) in one direction pays, a few that are three times as wide do not pay for each other."""
    assert worthwhile(np.array([100.0, 1.1, 0.95])) == 1
    assert worthwhile(np.array([1e-2, 100.0, 1.1, 0.95])) == 2
    assert worthwhile(np.array([1.9, 0.6])) == 0
    assert worthwhile(np.full(128, 3.0)) == 0
    assert worthwhile(np.full(128, 1e3)) == 128


def test_no_correlation_is_no_correlation():
    metric = fit(*gaussian(np.diag(np.geomspace(1e-6, 1e6, 8)), 200))
    assert metric.rank == 0
    np.testing.assert_allclose(metric.scale, np.geomspace(1e-3, 1e3, 8), rtol=0.3)  # of 200 draws


def test_a_few_huge_gradients_leave_the_rest_in_order():
    """Eigenvalues 1e16 apart are lost in rounding; that must not make them negative."""
    dim = 103
    draws, grads = gaussian(np.eye(dim), 25)
    grads[3] *= 1e8
    metric = fit(draws, grads)
    assert np.all(np.isfinite(matrix(metric)))
    assert np.linalg.cond(matrix(metric)) < 1e6


def test_kinds():
    draws, grads = gaussian(correlated(5), 100)
    assert fit(draws, grads, "diagonal").rank == 0
    assert fit(draws, grads, "dense").rank == 5
    assert 2 <= fit(draws, grads, "low_rank").rank <= 5


def test_what_is_not_finite_or_does_not_move_is_passed_over():
    draws, grads = gaussian(correlated(4), 100)
    spoilt_draws, spoilt_grads = (np.concatenate([x, x[:3]]) for x in (draws, grads))
    spoilt_grads[100], spoilt_draws[101, 2], spoilt_grads[102, 1] = np.inf, np.nan, -np.inf
    for mine, other in zip(fit(draws, grads), fit(spoilt_draws, spoilt_grads), strict=True):
        np.testing.assert_array_equal(mine, other)
    with np.errstate(all="ignore"):
        wild = fit(draws, grads * np.logspace(0, 300, 100)[:, None])  # the squares of the last ones are infinite
    assert np.all(np.isfinite(matrix(wild)))
    old = metric_of_rank_two()
    assert learn(draws[:1], grads[:1], "auto", False, old) is old
    draws[:, 1] = grads[:, 1] = 3.0
    metric = fit(draws, grads)
    assert metric.scale[1] == 1.0
    assert np.all(np.isfinite(matrix(metric)))


@pytest.mark.parametrize("tune", [0, 1, 19, 20, 37, 149, 150, 163, 1000, 5000])
def test_the_parts_of_a_warm_up(tune):
    parts = windows(tune)
    ends = [part.end for part in parts]
    assert ends == sorted(ends)
    assert ends[-1] == tune
    assert [part.learns for part in parts] == [True] * (len(parts) - 1) + [False]
    if tune >= 20:
        assert parts[0].depth < parts[1].depth
    if tune == 1000:
        assert ends == [25, 50, 75, 100, 150, 250, 450, 950, 1000]
