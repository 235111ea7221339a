"""LKJ: the constant, both densities, slopes, moments, draws, and correlations as unknowns of a model."""

from __future__ import annotations

import math
import pickle
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from probdiff import check_gradient, compile, gradient, hessian, sample, value_and_grad
from probdiff.distributions import LKJ, Beta, Gamma, LKJCholesky, MvNormal
from probdiff.distributions.matrix_bijectors import CorrelationCholesky, CorrelationMatrix
from probdiff.errors import ParameterError, ShapeError
from probdiff.models import Joint, Posterior
from probdiff.tree import flatten, unflatten

SETTINGS = [(2, 0.7), (3, 1.0), (4, 2.5), (6, 1.3)]
MATRIX = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])
FACTOR = np.linalg.cholesky(MATRIX)
COUNT = 20000


def coordinates(dim: int) -> np.ndarray:
    return np.linspace(-0.6, 0.8, dim * (dim - 1) // 2)


# ── Densities ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("dim", "eta"), [*SETTINGS, (12, 1e4), (40, 1.0)])
def test_the_constant_is_that_of_the_paper(dim: int, eta: float) -> None:
    """c of the vine: a product of Beta functions with equal arguments, where ours goes by rows."""
    log_c = mp.mpf(0)
    for k in range(1, dim):
        b = mp.mpf(eta) + mp.mpf(dim - k - 1) / 2
        log_c += (dim - k) * ((2 * mp.mpf(eta) - 2 + dim - k) * mp.log(2) + mp.log(mp.beta(b, b)))
    assert LKJ(dim, eta).logpdf(np.eye(dim)) == pytest.approx(float(-log_c), rel=1e-13)
    assert LKJCholesky(dim, eta).logpdf(np.eye(dim)) == pytest.approx(float(-log_c), rel=1e-13)


def test_volumes_of_correlation_matrices() -> None:
    """H. Joe (2006), Generating random correlation matrices based on partial correlations."""
    for dim, volume in ((1, 1.0), (2, 2.0), (3, math.pi**2 / 2), (4, 32 * math.pi**2 / 27)):
        assert LKJ(dim).logpdf(np.eye(dim)) == pytest.approx(-math.log(volume), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(("dim", "eta"), SETTINGS)
def test_one_density_is_the_other_times_the_jacobian(dim: int, eta: float) -> None:
    u, h = coordinates(dim), 1e-6
    factor = CorrelationCholesky().forward(u)
    i, j = np.tril_indices(dim, -1)

    def matrix_of(below: np.ndarray) -> np.ndarray:
        rows = np.zeros((dim, dim))
        rows[i, j] = below
        rows[np.arange(dim), np.arange(dim)] = np.sqrt(1 - np.sum(rows**2, axis=1))
        return (rows @ rows.T)[i, j]

    below = factor[i, j]
    columns = [(matrix_of(below + h * e) - matrix_of(below - h * e)) / (2 * h) for e in np.eye(len(below))]
    jacobian = np.linalg.slogdet(np.stack(columns, axis=1))[1]
    expected = LKJ(dim, eta).logpdf(factor @ factor.T) + jacobian
    # Central differences leave 1e-10 in each column.
    assert LKJCholesky(dim, eta).logpdf(factor) == pytest.approx(expected, abs=1e-8)
    powers = dim - np.arange(1, dim + 1)
    assert jacobian == pytest.approx(np.sum(powers * np.log(np.diagonal(factor))), abs=1e-8)


def test_two_variables_have_a_beta_correlation() -> None:
    for eta in (0.5, 3.0):
        for r in (-0.99, 0.0, 0.4):
            expected = Beta(eta, eta).logpdf((1 + r) / 2) - math.log(2)
            assert LKJ(2, eta).logpdf(np.array([[1, r], [r, 1]])) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(("dim", "eta"), SETTINGS)
def test_slopes(dim: int, eta: float) -> None:
    u = coordinates(dim)
    for family, bijector in ((LKJ, CorrelationMatrix()), (LKJCholesky, CorrelationCholesky())):
        check_gradient(lambda e, u, f=family, b=bijector: f(dim, e).logpdf(b.forward(u)), np.array(eta), u)
        x = bijector.forward(u)
        eager = gradient(lambda e, x, f=family: f(dim, e).logpdf(x), eta, x)
        _, native = compile(value_and_grad(lambda e, x, f=family: f(dim, e).logpdf(x), argnums=(0, 1)))(eta, x)
        for a, b in zip(native, eager, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_slope_in_the_matrix_is_its_inverse() -> None:
    np.testing.assert_allclose(gradient(LKJ(3, 2.5).logpdf, MATRIX)[0], 1.5 * np.linalg.inv(MATRIX), rtol=1e-13)
    # The first diagonal entry is always one: no power of it is in the density.
    expected = np.diag([0.0, 4.0 / FACTOR[1, 1], 3.0 / FACTOR[2, 2]])
    np.testing.assert_allclose(gradient(LKJCholesky(3, 2.5).logpdf, FACTOR)[0], expected, rtol=1e-14)


def test_second_slope_in_eta() -> None:
    second = hessian(lambda eta: LKJ(3, eta).logpdf(MATRIX))(2.0)
    log_c = mp.diff(lambda e: sum(mp.loggamma(e + (2 - k) / mp.mpf(2)) - mp.loggamma(e + 1) for k in (1, 2)), 2, 2)
    assert second == pytest.approx(float(-log_c), rel=1e-12)


@pytest.mark.parametrize(
    "outside",
    [
        np.ones((2, 2)),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[1.0, 0.5], [0.2, 1.0]]),
        2 * np.eye(2),
        np.array([[1.0, math.nan], [math.nan, 1.0]]),
        np.array([[1.0, math.inf], [0.0, 1.0]]),
    ],
    ids=["singular", "indefinite", "asymmetric", "covariance", "nan", "inf"],
)
def test_outside(outside: np.ndarray) -> None:
    for family in (LKJ, LKJCholesky):
        assert family(2, 2.0).logpdf(outside) == -math.inf
        slopes = gradient(lambda e, x, f=family: f(2, e).logpdf(x), 2.0, outside)
        for slope in slopes:
            np.testing.assert_array_equal(slope, 0.0)
    value, slope = compile(value_and_grad(LKJ(2, 2.0).logpdf))(outside)
    assert value == -math.inf
    np.testing.assert_array_equal(slope, 0.0)


# ── Moments and draws ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("dim", "eta"), SETTINGS)
@pytest.mark.parametrize("family", [LKJ, LKJCholesky])
def test_draws_have_the_moments(family: Any, dim: int, eta: float) -> None:
    d = family(dim, eta)
    drawn = d.rand(COUNT, rng=np.random.default_rng(11))
    assert np.all(d.support.contains(drawn))
    # Five standard errors, of a mean, of a variance (its kurtosis measured), and of a mean of -logpdf.
    assert np.all(abs(np.mean(drawn, axis=0) - d.mean()) <= 5 * np.sqrt(d.var() / COUNT) + 1e-12)
    squares = (drawn - d.mean()) ** 2
    assert np.all(abs(np.mean(squares, axis=0) - d.var()) <= 5 * np.std(squares, axis=0) / math.sqrt(COUNT) + 1e-12)
    surprise = -d.logpdf(drawn)
    assert abs(np.mean(surprise) - d.entropy()) <= 5 * np.std(surprise) / math.sqrt(COUNT) + 1e-12


@pytest.mark.parametrize(("dim", "eta"), SETTINGS)
def test_every_correlation_is_a_beta_on_minus_one_to_one(dim: int, eta: float) -> None:
    marginal = Beta(eta - 1 + dim / 2, eta - 1 + dim / 2)
    assert LKJ(dim, eta).var()[0, 1] == pytest.approx(4 * marginal.var(), rel=1e-13)
    factor = LKJCholesky(dim, eta).rand(COUNT, rng=np.random.default_rng(12))
    for drawn in (LKJ(dim, eta).rand(COUNT, rng=np.random.default_rng(13)), factor @ np.swapaxes(factor, -1, -2)):
        for i, j in zip(*np.tril_indices(dim, -1), strict=True):
            shares = np.sort((1 + drawn[:, i, j]) / 2)
            steps = np.arange(COUNT + 1) / COUNT
            distance = max(np.max(steps[1:] - marginal.cdf(shares)), np.max(marginal.cdf(shares) - steps[:-1]))
            # Kolmogorov-Smirnov: 2 exp(-2 t²) = 1e-6 at t = 2.69.
            assert math.sqrt(COUNT) * distance < 2.69


def test_determinants_are_products_of_betas() -> None:
    """det C = Π L_ii² with independent L_ii² ~ Beta(eta + (K - i) / 2, (i - 1) / 2): cumulants add up."""
    dim, eta = 5, 0.8
    log_det = np.linalg.slogdet(LKJ(dim, eta).rand(COUNT, rng=np.random.default_rng(14)))[1]
    parts = [stats.beta(eta + (dim - i) / 2, (i - 1) / 2) for i in range(2, dim + 1)]
    means = [part.expect(np.log) for part in parts]
    variances = [part.expect(lambda x: np.log(x) ** 2) - m**2 for part, m in zip(parts, means, strict=True)]
    assert abs(np.mean(log_det) - sum(means)) < 5 * math.sqrt(sum(variances) / COUNT)
    spread = (log_det - np.mean(log_det)) ** 2
    assert abs(np.mean(spread) - sum(variances)) < 5 * np.std(spread) / math.sqrt(COUNT)


def test_modes() -> None:
    for family in (LKJ, LKJCholesky):
        np.testing.assert_array_equal(family(3, [1.0, 4.0]).mode(), np.broadcast_to(np.eye(3), (2, 3, 3)))
        assert np.all(np.isnan(family(3, 0.9).mode()))
        d = family(3, 4.0)
        assert np.all(d.logpdf(d.rand(100, rng=np.random.default_rng(1))) < d.logpdf(d.mode()))


# ── Containers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_batches_and_containers() -> None:
    for family, x in ((LKJ, MATRIX), (LKJCholesky, FACTOR)):
        d = family(3, [0.5, 1.0, 4.0, 1.0])
        assert (d.batch_shape, d.event_shape) == ((4,), (3, 3))
        drawn = d.rand(5, rng=np.random.default_rng(2))
        assert drawn.shape == (5, 4, 3, 3)
        expected = [[family(3, e).logpdf(c) for e, c in zip(d.eta, row, strict=True)] for row in drawn]
        np.testing.assert_allclose(d.logpdf(drawn), expected, rtol=1e-12)
        assert d.iid(2).logpdf(np.broadcast_to(x, (4, 2, 3, 3))) == pytest.approx(2 * d.logpdf(x), rel=1e-14)
        one = family(dim=3, eta=2.0)
        leaves, spec = flatten(one)
        assert len(leaves) == 1
        assert unflatten(spec, leaves) == one == pickle.loads(pickle.dumps(one))
        assert one != family(4, 2.0)
        assert repr(one) == f"{family.__name__}(dim=3, eta=2.0)"
        single = family(3, np.float32(2.0)).logpdf(x.astype(np.float32))
        assert single.dtype == np.float32
        assert single == pytest.approx(one.logpdf(x), rel=1e-5)


@pytest.mark.parametrize("family", [LKJ, LKJCholesky])
def test_refusals(family: Any) -> None:
    name = family.__name__
    for dim in (0, 2.0, True, "two"):
        with pytest.raises(ParameterError) as caught:
            family(dim)
        assert str(caught.value) == f"{name}.dim must be a positive integer, the number of variables, got {dim!r}"
    with pytest.raises(ParameterError, match=rf"^{name}\.eta must be positive, got -1\.0$"):
        family(3, -1.0)
    for x in (np.eye(2), np.ones(3), 1.0):
        with pytest.raises(ShapeError) as refused:
            family(3).logpdf(x)
        assert str(refused.value) == f"{name}: a value must have shape (..., 3, 3), got {np.shape(x)}"


# ── Models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def within(draws: np.ndarray, expected: float) -> bool:
    """Whether a mean of draws (chains, draws) is that: five Monte Carlo errors."""
    import arviz as az

    error = float(np.squeeze(az.mcse(draws, method="mean")))
    return abs(float(np.mean(draws)) - expected) < 5 * error


@pytest.mark.parametrize("family", [LKJ, LKJCholesky])
def test_sampling_the_prior(family: Any) -> None:
    """The log-Jacobian and the density go together: the sampler finds the moments of exact draws."""
    dim, eta = 3, 1.5
    prior = Posterior(Joint(x=family(dim, eta)), loglike=lambda x: 0.0 * np.sum(x))
    x = sample(prior, 500, 300, 2, seed=5)["x"]
    d = family(dim, eta)
    for i, j in zip(*np.tril_indices(dim, -1), strict=True):
        assert within(x[..., i, j], 0.0)
        assert within(x[..., i, j] ** 2, d.var()[i, j])
    assert within(-d.logpdf(x), d.entropy())


def test_posterior_of_a_correlation() -> None:
    """Two variables of known scale: the posterior of their correlation is an integral over a line."""
    rng = np.random.default_rng(8)
    y = rng.multivariate_normal([0.0, 0.0], [[1.0, -0.6], [-0.6, 1.0]], 25)
    eta = 2.0
    (sxx, sxy), (_, syy) = y.T @ y

    def density(r: float) -> float:
        q = 1 - r * r
        return float(q ** (eta - 1 - 12.5) * np.exp(-0.5 * (sxx - 2 * r * sxy + syy) / q + 20))

    weight, mean, square = (quad(lambda r, k=k: r**k * density(r), -1, 1, epsabs=0, epsrel=1e-10)[0] for k in range(3))
    by_factor = Posterior(Joint(L=LKJCholesky(2, eta)), lambda L: MvNormal(np.zeros(2), L).iid(25), y)
    by_matrix = Posterior(Joint(C=LKJ(2, eta)), lambda C: MvNormal(np.zeros(2), covariance=C).iid(25), y)
    for posterior, name in ((by_factor, "L"), (by_matrix, "C")):
        r = sample(posterior, 500, 300, 2, seed=6)[name][..., 1, 0]
        assert within(r, mean / weight)
        assert within(r**2, square / weight)


def test_a_concentration_that_is_unknown() -> None:
    """eta has its own prior, and a flat likelihood leaves it as it is; groups share it."""
    prior = Joint(eta=Gamma(4.0, 0.5), L=lambda eta: LKJCholesky(3, eta).iid("group"))
    prior = prior.with_coords({"group": ["a", "b"]})
    assert prior.shapes["L"] == (2, 3, 3)
    eta = sample(Posterior(prior, loglike=lambda L: 0.0 * np.sum(L)), 1000, 300, 2, seed=7)["eta"]
    assert within(eta, 2.0)
    assert within((eta - 2.0) ** 2, 1.0)
    assert prior.rand(rng=np.random.default_rng(0), size=50)["L"].shape == (50, 2, 3, 3)
