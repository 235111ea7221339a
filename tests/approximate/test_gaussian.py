"""`laplace`: exact for Gaussians, evidence included; what it says where a posterior is none."""

import numpy as np
import pytest
from scipy import stats

from probdiff import laplace
from probdiff.distributions import Exponential, Flat, HalfNormal, Normal
from probdiff.distributions.support import positive, real
from probdiff.errors import LinAlgError, ParameterError, UnsupportedError
from probdiff.models import Joint, LogDensity, Posterior
from probdiff.models.zoo import eight_schools, eight_schools_centered
from probdiff.sampling import Target

Y = np.array([2.1, 1.7, 3.0, 2.4, 2.2])


def conjugate():
    """Normal data around mu + shift: a Gaussian posterior of two correlated coordinates."""
    prior = Joint(mu=Normal(0, 5), shift=Normal(1, 0.5))
    return Posterior(prior, lambda mu, shift: Normal(mu + shift, 2.0).iid(5), Y)


def test_a_gaussian_posterior_is_exact():
    found = laplace(conjugate(), draws=4000, seed=1)
    # Integrated by hand: y ~ N(1, 4 I + (25 + 0.25) 1 1').
    evidence = stats.multivariate_normal(np.full(5, 1.0), 4 * np.eye(5) + 25.25).logpdf(Y)
    assert found.log_evidence == pytest.approx(evidence, rel=1e-10)
    assert found.log_evidence_importance == pytest.approx(evidence, rel=1e-8)
    precision = np.array([[1 / 25, 0], [0, 4]]) + 5 / 4
    covariance = np.linalg.inv(precision)
    assert found.covariance == pytest.approx(covariance, rel=1e-10)
    mean = covariance @ np.array([Y.sum() / 4, Y.sum() / 4 + 4.0])
    assert found.optimum.q == pytest.approx(mean, rel=1e-8)
    assert found.draws.sample_stats["log_ratio"] == pytest.approx(np.full((1, 4000), evidence), rel=1e-9)
    x = np.stack([found.draws["mu"][0], found.draws["shift"][0]])
    z = np.linalg.solve(np.linalg.cholesky(covariance), x - mean[:, None])
    # Five standard errors of 4000 standard normal numbers: 0.08 for a mean or a product, 0.11 for a variance.
    assert np.all(abs(z.mean(axis=1)) < 0.08)
    assert np.all(abs(z @ z.T / 4000 - np.eye(2)) < 0.11)
    assert found.draws.notes == ()


def test_an_exponential_variable():
    # u = log x has the density exp(u - e^u): its mode is 0, -1 high, with curvature -1; its integral is 1.
    found = laplace(LogDensity(lambda x: -x, 1.0, {"x": positive}), draws=20_000, seed=0)
    assert found.log_evidence == pytest.approx(-1.0 + 0.5 * np.log(2 * np.pi), rel=1e-10)
    assert found.optimum.values["x"] == pytest.approx(1.0, rel=1e-7)
    # The ratios are e^{-1} √2π exp(u - e^u + 1 + u²/2); smoothing costs little of their heavy left tail.
    assert found.log_evidence_importance == pytest.approx(0.0, abs=0.03)
    better = found.resampled(20_000, seed=1)["x"]
    raw = found.draws["x"]
    assert abs(better.mean() - 1.0) < 0.1 < abs(raw.mean() - 1.0)  # lognormal draws have mean e^{1/2}
    assert found.draws.sample_stats["lp"].shape == (1, 20_000)


def test_it_says_how_far_off_it_is():
    found = laplace(eight_schools(), seed=0)
    assert found.pareto_k > 0.7
    assert found.draws.notes == (
        f"The Laplace approximation is far from the posterior: Pareto k is {found.pareto_k:.2f} (good: below 0.7). "
        "Sample the posterior, or start from pathfinder.",
    )
    assert found.draws.attrs["method"] == "laplace"
    assert found.draws["theta"].shape == (1, 1000, 8)
    assert found.draws.dims["theta"] == ("school",)
    assert repr(found).splitlines()[:2] == [
        "Laplace: a Gaussian in 10 unconstrained coordinates",
        f"  log-evidence {found.log_evidence:.6g} (by importance sampling {found.log_evidence_importance:.6g})",
    ]


def test_a_flat_direction_is_an_error_that_names_it():
    prior = Joint(a=Flat(real), b=Flat(real), s=HalfNormal(1))
    model = Posterior(prior, lambda a, b, s: Normal(a + b, s).iid(5), Y)
    with pytest.raises(LinAlgError) as caught:
        laplace(model, seed=0)
    assert str(caught.value) == (
        "laplace needs a density that curves down in every direction; at the mode it is flat along a, b (together). "
        "Give these parameters a proper prior, reparameterise, or use pathfinder."
    )
    with pytest.raises(LinAlgError, match=r"^laplace needs .*; at the best point found, which is no mode, it "):
        laplace(eight_schools_centered(), seed=0)


def test_units_do_not_make_a_direction_flat():
    model = LogDensity(lambda p: -0.5 * ((p["x"] / 1e-9) ** 2 + (p["y"] / 1e9) ** 2), {"x": 0.0, "y": 0.0})
    found = laplace(model, init={"x": 1e-9, "y": 1e8}, seed=0)
    assert np.diag(found.covariance) == pytest.approx([1e-18, 1e18], rel=1e-12)
    assert found.log_evidence == pytest.approx(np.log(2 * np.pi), rel=1e-10)


def test_the_same_seed_gives_the_same_draws():
    model = Posterior(Joint(rate=Exponential(2.0)), lambda rate: Exponential(rate).iid(5), Y)
    first, again, other = (laplace(model, draws=10, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.draws["rate"], again.draws["rate"])
    assert not np.array_equal(first.draws["rate"], other.draws["rate"])
    kept = laplace(model, draws=10)
    assert np.array_equal(laplace(model, draws=10, seed=kept.draws.attrs["seed"]).draws["rate"], kept.draws["rate"])


def test_errors():
    with pytest.raises(ParameterError) as caught:
        laplace(conjugate(), draws=0)
    assert str(caught.value) == "laplace.draws must be a positive integer, got 0"
    with pytest.raises(UnsupportedError, match=r"Target has no hvp\. Build a Posterior or a LogDensity\.$"):
        laplace(Target(lambda q: (-0.5 * float(q @ q), -q), 2))
