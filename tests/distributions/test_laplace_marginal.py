"""Laplace's approximation of marginal likelihoods: exact where it is, differences, quadrature, in models."""

from __future__ import annotations

import numpy as np
import pytest

from probdiff import compile, gradient, value_and_grad
from probdiff.distributions import Bernoulli, LaplaceMarginal, MvNormal, Normal, Poisson, StudentT
from probdiff.errors import UnsupportedError

PLACES = np.linspace(0.0, 1.0, 8)
Y = np.array([0.3, 1.0, 0.2, -0.4, 0.5, 1.2, 2.0, 1.0])
COUNTS = np.array([0, 1, 3, 2, 0, 5, 7, 4])


def covariance(scale, length):
    steps = (PLACES[:, None] - PLACES) / length
    return scale * scale * np.exp(-0.5 * steps * steps) + 1e-4 * np.eye(8)


def latent(scale, length):
    return MvNormal(np.full(8, 0.2), covariance=covariance(scale, length))


def of_normal(scale, length, sd):
    return LaplaceMarginal(latent(scale, length), lambda f, sd: Normal(f, sd), (sd,)).logpdf(Y)


def of_counts(scale, length):
    return LaplaceMarginal(latent(scale, length), lambda f: Poisson(log_rate=f)).logpdf(COUNTS)


def of_robust(scale, df):
    return LaplaceMarginal(latent(scale, 0.3), lambda f, df: StudentT(df, f, 0.3), (df,)).logpdf(Y)


def test_normal_observations():
    """The approximation is the marginal density, and so are its derivatives of both orders."""

    def exact(scale, length, sd):
        return MvNormal(np.full(8, 0.2), covariance=covariance(scale, length) + sd * sd * np.eye(8)).logpdf(Y)

    at = (1.0, 0.3, 0.5)
    assert of_normal(*at) == pytest.approx(exact(*at), rel=1e-13)
    np.testing.assert_allclose(gradient(of_normal, *at), gradient(exact, *at), rtol=1e-9)
    d = LaplaceMarginal(latent(1.0, 0.3), lambda f: Normal(f, 0.5))
    K, S = covariance(1.0, 0.3), covariance(1.0, 0.3) + 0.25 * np.eye(8)
    np.testing.assert_allclose(d.latent_given(Y).mean(), 0.2 + K @ np.linalg.solve(S, Y - 0.2), rtol=1e-9)
    np.testing.assert_allclose(d.latent_given(Y).cov(), K - K @ np.linalg.solve(S, K), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("f", "at"), [(of_counts, (1.0, 0.3)), (of_robust, (1.0, 4.0))])
def test_derivatives(f, at):
    """Log-concave and other likelihoods: differences; compiled programs."""
    bars = gradient(f, *at)
    for i, step in enumerate((1e-5, 1e-5)):
        up, down = (f(*(v + s * (k == i) for k, v in enumerate(at))) for s in (step, -step))
        assert bars[i] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-8)
    value, slopes = compile(value_and_grad(f, argnums=(0, 1)))(*at)
    assert value == pytest.approx(f(*at), rel=1e-12)
    np.testing.assert_allclose(slopes, bars, rtol=1e-8)


def test_one_latent_number():
    """Against quadrature: a mean of 40 makes the law of f nearly normal, and the error that of the next order."""
    d = LaplaceMarginal(MvNormal([3.0], [[0.5]]), lambda f: Poisson(log_rate=f))
    f = np.linspace(0.0, 6.0, 20001)
    exact = np.log(np.trapezoid(np.exp(Poisson(log_rate=f).logpdf(40) + Normal(3.0, 0.5).logpdf(f)), f))
    assert d.logpdf([40]) == pytest.approx(exact, abs=3e-3)


def test_edges():
    """Impossible observations, draws, and what is refused."""
    d = LaplaceMarginal(latent(1.0, 0.3), lambda f: Bernoulli(logits=f))
    assert d.logpdf(np.full(8, 0.5)) == -np.inf
    drawn = d.rand(500, rng=np.random.default_rng(0))
    assert drawn.shape == (500, 8) and set(np.unique(drawn)) == {0, 1}
    # A normal latent with variance one seen through a logistic curve, to the accuracy of 4000 draws.
    expected = Normal(0.2, 1.0).expect(lambda f: 1 / (1 + np.exp(-f)))
    assert abs(np.mean(drawn) - expected) < 0.15
    with pytest.raises(UnsupportedError, match="^LaplaceMarginal.latent must be one MvNormal, got Normal.$"):
        LaplaceMarginal(Normal(), lambda f: Normal(f))
