"""`pathfinder`: its Gaussians against dense updates, its draws against known posteriors, its starting points."""

import numpy as np
import pytest
from scipy import stats

from probdiff import pathfinder, sample
from probdiff.approximate.low_rank import along_path, compact, gaussian, next_diagonal
from probdiff.approximate.paths import run_path
from probdiff.approximate.points import Point, generator, given_points
from probdiff.errors import InitialPointError, ParameterError
from probdiff.models import LogDensity
from probdiff.models.zoo import ar5, eight_schools_centered, kidscore_interaction, nes
from probdiff.sampling import Target
from tests.models.zoo_references import REFERENCES


def quadratic_path(dim, steps, rng):
    """Points and gradients of a Gaussian log-density along some steps."""
    a = rng.normal(size=(dim, dim))
    precision = a @ a.T + np.eye(dim)
    q = rng.normal(size=(steps + 1, dim))
    return precision, [Point(x, float(-0.5 * x @ precision @ x), -precision @ x) for x in q]


def bfgs(inverse, s, z):
    """One dense update of an inverse Hessian (Nocedal & Wright, eq. 6.17)."""
    rho = 1.0 / (s @ z)
    left = np.eye(len(s)) - rho * np.outer(s, z)
    return left @ inverse @ left.T + rho * np.outer(s, s)


@pytest.mark.parametrize(("dim", "steps"), [(9, 3), (4, 6), (1, 2), (5, 0)])
def test_the_compact_form_is_the_dense_update(dim, steps):
    rng = np.random.default_rng(dim)
    _, points = quadratic_path(dim, steps, rng)
    alpha = rng.uniform(0.5, 2.0, dim)
    pairs = [(b.q - a.q, a.grad - b.grad) for a, b in zip(points, points[1:], strict=False)]
    dense = np.diag(alpha)
    for s, z in pairs:
        dense = bfgs(dense, s, z)
    normal = gaussian(points[-1], alpha, pairs)
    covariance = (root := normal.draws(np.eye(dim)) - normal.mean).T @ root
    assert covariance == pytest.approx(dense, rel=1e-8, abs=1e-10)
    assert normal.mean == pytest.approx(points[-1].q + dense @ points[-1].grad, rel=1e-8, abs=1e-10)
    x = rng.normal(size=(7, dim))
    expected = np.atleast_1d(stats.multivariate_normal(normal.mean, dense).logpdf(x))
    assert normal.logpdf(x) == pytest.approx(expected, rel=1e-8)


def test_the_diagonal_is_that_of_a_scaled_dense_update():
    rng = np.random.default_rng(0)
    _, points = quadratic_path(5, 1, rng)
    alpha = rng.uniform(0.5, 2.0, 5)
    s, z = points[1].q - points[0].q, points[0].grad - points[1].grad
    # B = diag(1/α), scaled so that z'B⁻¹z = s'z, then the dense update of B itself.
    b = np.diag(1 / alpha) * (z @ (alpha * z)) / (s @ z)
    updated = b + np.outer(z, z) / (s @ z) - np.outer(b @ s, b @ s) / (s @ b @ s)
    assert 1 / next_diagonal(alpha, s, z) == pytest.approx(np.diag(updated), rel=1e-12)


def test_a_step_along_which_the_density_curves_up_is_left_out():
    up = [Point(np.array([x]), 0.5 * x * x, np.array([x])) for x in (0.0, 1.0)]
    first, second = along_path(up, 6)
    assert first.root == second.root == np.ones(1)
    assert second.q.shape == (1, 0)
    assert compact(np.zeros((1, 0)), np.zeros((1, 0))).shape == (0, 0)


def test_an_isotropic_gaussian_is_found_exactly():
    model = LogDensity(lambda x: 2.5 - 0.5 * np.sum((x - 1.0) ** 2), np.zeros(8))
    found = pathfinder(model, paths=2, draws=500, seed=0)
    evidence = 2.5 + 4 * np.log(2 * np.pi)
    assert found.elbos == pytest.approx([evidence, evidence], rel=1e-12)
    assert found.draws.sample_stats["log_ratio"] == pytest.approx(np.full((1, 500), evidence), rel=1e-12)
    assert found.draws.notes == ()


def test_a_correlated_gaussian():
    precision, _ = quadratic_path(5, 0, np.random.default_rng(4))
    model = LogDensity(lambda x: -0.5 * (x - 2.0) @ precision @ (x - 2.0), np.zeros(5))
    evidence = 2.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    found = pathfinder(model, draws=4000, seed=1)
    for path, elbo in zip(found.paths, found.elbos, strict=True):
        root = path.normal.draws(np.eye(5)) - path.normal.mean
        ratio = root.T @ root @ precision
        off = path.normal.mean - 2.0
        divergence = 0.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 5.0 + off @ precision @ off)
        assert divergence < 1.0  # the isotropic Gaussian that a path starts with is 20 away, and more
        # log p - log q is a quadratic form of variance tr((ratio - 1)²) / 2 + off' P ratio off: five standard errors.
        deviation = np.sqrt(0.5 * np.sum((np.linalg.eigvals(ratio).real - 1) ** 2) + off @ precision @ ratio.T @ off)
        assert elbo == pytest.approx(evidence - divergence, abs=5 * deviation / np.sqrt(4000) + 1e-12)
    z = (found.draws["x"][0] - 2.0) @ np.linalg.cholesky(precision)
    # Five standard errors of 4000 draws; those of resampled ones are below.
    assert np.all(abs(z.mean(axis=0)) < 0.08)
    assert np.all(abs(z.T @ z / 4000 - np.eye(5)) < 0.11)


def test_two_paths_in_one_mode_do_not_count_it_twice():
    # Two well separated Gaussians with masses 0.3 and 0.7; two paths start near the first, one near the second.
    def f(x):
        first = np.log(0.3) - 0.5 * np.sum((x + 6.0) ** 2)
        return np.logaddexp(first, np.log(0.7) - 0.5 * np.sum((x - 6.0) ** 2))

    init = np.array([[-5.0, -7.0], [-7.0, -5.5], [5.0, 7.0]])
    found = pathfinder(LogDensity(f, np.zeros(2)), paths=3, draws=2000, seed=0, init=init)
    assert np.mean(found.draws["x"][0, :, 0] < 0) == pytest.approx(0.3, abs=1e-3)
    assert sorted(set(found.draws.sample_stats["path"][0])) == [0, 1, 2]


@pytest.mark.parametrize("model", [nes, ar5, kidscore_interaction])
def test_moments_of_posteriors_that_are_nearly_gaussian(model):
    reference = REFERENCES[model.__name__]
    found = pathfinder(model(), seed=2)
    assert found.pareto_k < 0.7
    theirs = reference.theirs(found.draws.posterior)
    for name, moments in reference.moments().items():
        x = theirs[name][0]
        # At 400 independent draws, 0.25 sd is five standard errors of a mean, and 0.2 nearly six of log sd.
        assert np.all(abs(x.mean(axis=0) - moments["mean"]) < 0.25 * moments["sd"]), name
        assert np.all(abs(np.log(x.std(axis=0) / moments["sd"])) < 0.2), name


def test_a_funnel_has_a_high_pareto_k():
    found = pathfinder(eight_schools_centered(), seed=3)
    assert found.pareto_k > 0.7
    assert found.draws.notes == (
        f"The approximation by pathfinder is far from the posterior: Pareto k is {found.pareto_k:.2f} (good: below "
        "0.7). Sample the posterior; these draws are starting points at best.",
    )
    assert repr(found).splitlines()[0] == "Pathfinder: 4 paths, 1000 draws"


def test_seeds_and_paths():
    first, again, fewer = (pathfinder(nes(), paths=n, draws=100, seed=7) for n in (3, 3, 2))
    assert np.array_equal(first.draws["sigma"], again.draws["sigma"])
    assert np.array_equal(first.elbos[:2], fewer.elbos)  # path 0 of three is path 0 of two
    fresh = pathfinder(nes(), paths=1, draws=10)
    assert fresh.seed == fresh.draws.attrs["seed"]


def test_a_path_that_starts_at_the_mode():
    model = LogDensity(lambda x: -0.5 * np.sum(x * x), np.zeros(2))
    path = run_path(model, given_points(model, model, np.zeros(2), "test")[0], generator(0, 0))
    assert path.elbos == pytest.approx([np.log(2 * np.pi)], rel=1e-12)


def test_a_pole_of_rounding_has_no_weight():
    # u ~ Normal(0, 300), except that exp(u) underflows below -745: there the density is infinite in floating point.
    model = LogDensity(lambda u: -0.5 * (u / 300.0) ** 2 - 1e-3 * np.log(np.exp(-abs(u))) - 1e-3 * abs(u), 1.0)
    assert model.logdensity(np.array([-800.0])) == np.inf
    found = pathfinder(model, seed=0, draws=4000)
    assert np.min(found.candidates) < -750.0
    assert np.min(found.draws["x"]) > -750.0


def test_initial_points_fit_sample():
    model = nes()
    found = pathfinder(model, draws=200, seed=0)
    init = found.initial_points(4)
    assert init.shape == (4, model.dim)
    assert len({tuple(q) for q in init}) == 4
    assert np.array_equal(init, found.initial_points(4))
    draws = sample(model, draws=100, tune=100, chains=4, seed=0, init=init, progress=False)
    assert draws["sigma"].shape == (4, 100)


def test_sample_starts_from_paths():
    model = nes()
    settings = {"draws": 100, "tune": 50, "seed": 3, "init": "pathfinder", "progress": False}
    four, two = (sample(model, chains=chains, keep_warmup=True, **settings) for chains in (4, 2))
    assert np.array_equal(four["sigma"][:2], two["sigma"])  # chain 0 of four is chain 0 of two
    init = pathfinder(model, seed=3).initial_points(4)
    same = sample(model, chains=4, **(settings | {"init": init}))
    assert np.array_equal(four["sigma"], same["sigma"])
    # They start in the typical set, where the log-density is within a few times dim of that of the draws.
    lp = four.sample_stats["lp"]
    assert np.all(abs(four.warmup_sample_stats["lp"][:, 0] - lp.mean()) < 8 * lp.std())
    with pytest.raises(ParameterError) as caught:
        sample(model, init="mode")
    assert str(caught.value) == "sample.init must be 'pathfinder', an array, named values or None, got 'mode'"


ERRORS = [
    ({"paths": 0}, "pathfinder.paths must be a positive integer, got 0"),
    ({"draws": 2.5}, "pathfinder.draws must be a positive integer, got 2.5"),
    ({"seed": "x"}, "pathfinder.seed must be a non-negative integer or None, got 'x'"),
    ({"init": np.zeros((3, 2))}, "pathfinder.init must have a row, or one for each of 4 paths, got 3"),
    ({"init": np.zeros(3)}, "pathfinder.init must have shape (2,) or (starts, 2), got shape (3,)"),
]


@pytest.mark.parametrize(("arguments", "text"), ERRORS)
def test_errors_word_for_word(arguments, text):
    model = LogDensity(lambda x: -0.5 * np.sum(x * x), np.zeros(2))
    with pytest.raises(ParameterError) as caught:
        pathfinder(model, **arguments)
    assert str(caught.value) == text
    with pytest.raises(ParameterError) as caught:
        pathfinder(model, draws=5, paths=1, seed=0).initial_points(6)
    assert str(caught.value) == "initial_points.chains must be at most 5, got 6"


def test_no_path_comes_to_a_gaussian():
    def spike(q):
        inside = bool(np.all(abs(q) < 1e-12))
        return (0.0, np.zeros(2)) if inside else (-np.inf, np.zeros(2))

    with pytest.raises(InitialPointError) as caught:
        pathfinder(Target(spike, 2), paths=2, init=np.zeros(2), seed=0)
    assert str(caught.value) == (
        "pathfinder: none of 2 paths came to a Gaussian under which the log-density is finite. "
        "Give init=, or check the model; optimize says where its ascent ends."
    )
