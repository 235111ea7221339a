"""`optimize` against closed forms: Gaussians, maximum likelihood with its standard errors, supports, and what fails."""

import numpy as np
import pytest

from probdiff import optimize
from probdiff.distributions import (
    Bernoulli,
    Categorical,
    Flat,
    HalfNormal,
    LogNormal,
    Normal,
    noncentered,
)
from probdiff.distributions.support import interval, ordered, positive, real, simplex, unit_vector
from probdiff.errors import InitialPointError, LinAlgError, ParameterError, UnsupportedError
from probdiff.models import Joint, LogDensity, Posterior
from probdiff.models.zoo import eight_schools_centered, kidscore_momhsiq
from probdiff.sampling import Target

Y = np.array([2.1, 1.7, 3.0, 2.4, 2.2, 0.9])
PRECISION = np.array([[4.0, 1.0, 0.0], [1.0, 300.0, 20.0], [0.0, 20.0, 5.0]])
CENTRE = np.array([1.0, -2.0, 3.0])


def gaussian():
    return LogDensity(lambda x: 1.5 - 0.5 * (x - CENTRE) @ PRECISION @ (x - CENTRE), np.zeros(3))


def flat_normal():
    prior = Joint(mu=Flat(real), sigma=Flat(positive))
    return Posterior(prior, lambda mu, sigma: Normal(mu, sigma).iid(len(Y)), Y, derived={"var": lambda sigma: sigma**2})


def test_a_gaussian_takes_one_newton_step():
    found = optimize(gaussian(), init=np.array([5.0, 5.0, -5.0]), max_iterations=1, seed=0)
    assert found.newton_steps == 1
    assert found.converged
    assert found.values["x"] == pytest.approx(CENTRE, rel=1e-12)
    assert found.log_density == pytest.approx(1.5, rel=1e-14)
    assert found.gradient_norm < 1e-9
    assert found.hessian == pytest.approx(-PRECISION, rel=1e-14)
    assert found.covariance == pytest.approx(np.linalg.inv(PRECISION), rel=1e-12)
    assert found.standard_errors["x"] == pytest.approx(np.sqrt(np.diag(np.linalg.inv(PRECISION))), rel=1e-12)
    assert found.notes == ()


def test_maximum_likelihood_and_its_standard_errors():
    model, n = flat_normal(), len(Y)
    found = optimize(model, seed=1)
    sigma = Y.std()
    assert found.values["mu"] == pytest.approx(Y.mean(), rel=1e-9)
    assert found.values["sigma"] == pytest.approx(sigma, rel=1e-7)
    assert found.log_density == pytest.approx(Normal(Y.mean(), sigma).logpdf(Y).sum(), rel=1e-12)
    # The inverse observed information: sigma²/n and sigma²/2n; the delta method for sigma².
    assert found.standard_errors["mu"] == pytest.approx(sigma / np.sqrt(n), rel=1e-6)
    assert found.standard_errors["sigma"] == pytest.approx(sigma / np.sqrt(2 * n), rel=1e-6)
    assert found.standard_errors["var"] == pytest.approx(2 * sigma * sigma / np.sqrt(2 * n), rel=1e-6)
    assert found.log_density == pytest.approx(model.log_density(found.values), rel=1e-14)
    assert found.scale == "the values (no log-Jacobians)"


def test_the_mode_of_the_unconstrained_density_is_another():
    model = flat_normal()
    found = optimize(model, seed=1, jacobian=True)
    # The log-Jacobian log sigma takes one observation away: sigma² = Σ (y - mean)² / (n - 1).
    assert found.values["sigma"] == pytest.approx(Y.std(ddof=1), rel=1e-7)
    assert found.log_density == pytest.approx(model.logdensity(found.q), rel=1e-14)
    assert found.scale == "the unconstrained coordinates (log-Jacobians included)"


def test_proportions():
    seen = np.array([1, 0, 0, 1, 0, 0, 0, 1, 0, 0])
    coin = Posterior(Joint(p=Flat(interval(0, 1))), lambda p: Bernoulli(p).iid(10), seen)
    found = optimize(coin, seed=0)
    assert found.values["p"] == pytest.approx(0.3, rel=1e-7)
    assert found.standard_errors["p"] == pytest.approx(np.sqrt(0.3 * 0.7 / 10), rel=1e-6)
    kinds = np.array([0, 1, 1, 2, 2, 2, 2, 0, 2, 2])
    dice = Posterior(Joint(w=Flat(simplex, 3)), lambda w: Categorical(w).iid(10), kinds)
    found = optimize(dice, seed=0)
    assert found.values["w"] == pytest.approx([0.2, 0.2, 0.6], rel=1e-6)
    # A multinomial proportion of n draws has variance w (1 - w) / n.
    w = np.array([0.2, 0.2, 0.6])
    assert found.standard_errors["w"] == pytest.approx(np.sqrt(w * (1 - w) / 10), rel=1e-5)


def test_a_direction():
    # By area on the sphere, exp(3 m'x) is highest at m, and 3 high, whatever length the coordinates have.
    m = np.array([0.6, 0.0, -0.8])
    found = optimize(LogDensity(lambda x: 3.0 * (x @ m), np.ones(3), {"x": unit_vector}), seed=0)
    assert found.converged and found.notes == ()
    assert found.values["x"] == pytest.approx(m, abs=1e-6)
    assert found.log_density == pytest.approx(3.0, rel=1e-12)
    # Curvature 3 in the two directions of the tangent plane.
    assert found.standard_errors["x"] == pytest.approx(np.sqrt((1 - m**2) / 3.0), rel=1e-5)


def test_a_noncentred_variable_is_its_standardised_one():
    prior = Joint(mu=Normal(0, 5), tau=HalfNormal(1), theta=lambda mu, tau: noncentered(Normal(mu, tau)).iid(3))
    y = np.array([1.0, 2.0, 4.0])
    found = optimize(Posterior(prior, lambda theta: Normal(theta, 1.0), y), seed=0)
    mu, tau, theta = (found.values[name] for name in ("mu", "tau", "theta"))
    expected = Normal(0, 5).logpdf(mu) + HalfNormal(1).logpdf(tau) + Normal(theta, 1.0).logpdf(y).sum()
    expected += Normal(0, 1).logpdf((theta - mu) / tau).sum()
    assert found.log_density == pytest.approx(expected, rel=1e-12)
    assert found.converged


def bounds_that_move():
    prior = Joint(a=HalfNormal(1), b=lambda a: Flat(interval(a, 2 * a)), c=Flat(ordered, 3), w=Flat(simplex, 3))
    return Posterior(prior, lambda b, c: Normal(b, 1.0 + c[2] - c[0]).iid(6), Y)


def imputed():
    seen = np.array([1.0, np.nan, 2.5])
    prior = Joint(mu=Normal(0, 1), s=HalfNormal(1))
    return Posterior(prior, lambda mu, s: LogNormal(mu, s).iid(3), seen, missing="impute")


@pytest.mark.parametrize("make", [bounds_that_move, imputed, eight_schools_centered, kidscore_momhsiq])
def test_without_jacobian_is_the_density_of_the_values(make):
    model, rng = make(), np.random.default_rng(5)
    for _ in range(5):
        q = rng.normal(size=model.dim)
        expected = model.log_density(model.constrain(q))
        assert model.without_jacobian.logdensity(q) == pytest.approx(expected, rel=1e-12)
        assert model.without_jacobian.value_and_grad(q)[0] == pytest.approx(expected, rel=1e-12)
        assert model.logdensity(q) - model.log_jacobian(q) == pytest.approx(expected, rel=1e-12)


def test_a_bare_density_without_jacobian():
    density = LogDensity(lambda p: -p["s"] - p["x"] ** 2, {"x": 0.0, "s": 1.0}, {"s": positive})
    assert density.log_jacobian(np.array([0.3, 2.0])) == 0.3
    assert density.without_jacobian.logdensity(np.array([0.3, 2.0])) == pytest.approx(-np.exp(0.3) - 4.0, rel=1e-15)


def test_the_search_turns_back_where_there_is_no_density():
    # log x - x has its maximum at 1, and no value below 0; one step of L-BFGS from 30 would lead there.
    density = LogDensity(lambda x: np.log(x) - x, 30.0)
    assert np.isnan(density.logdensity(np.array([-1.0])))
    for start in (30.0, 0.01, 2.9):
        found = optimize(density, init=np.array([start]))
        assert found.values["x"] == pytest.approx(1.0, rel=1e-7)
        assert found.converged


def test_the_highest_of_several_maxima():
    two = LogDensity(lambda x: np.logaddexp(-0.5 * (x + 4) ** 2, -1.0 - 0.5 * (x - 4) ** 2), 0.0)
    found = optimize(two, init=np.array([[3.0], [-3.0], [4.5]]))
    assert found.values["x"] == pytest.approx(-4.0, abs=1e-7)
    assert found.starts[1] == pytest.approx(-1.0, abs=1e-9)
    assert found.notes == ("There are lower maxima: some of 3 starts ended at log-density -1.",)


def test_a_density_without_maximum():
    found = optimize(eight_schools_centered(), seed=0)
    assert not found.converged
    assert found.log_density > 50.0  # nothing is lost: the best point is there
    assert found.notes[0].startswith("No convergence: the log-density ")
    assert found.notes[0].endswith("on the edge of a support; this is the best point found.")
    assert "not converged" in repr(found)


def test_a_flat_direction_is_named():
    found = optimize(LogDensity(lambda p: -((p["a"] - p["b"]) ** 2) - p["c"] ** 2, {"a": 1.0, "b": 0.0, "c": 2.0}))
    assert found.converged
    assert found.notes == ("The maximum is not isolated: the log-density is flat along a, b (together).",)
    with pytest.raises(LinAlgError) as caught:
        found.standard_errors  # noqa: B018
    assert str(caught.value) == (
        "There is no covariance at this point: the log-density is flat along a, b (together). "
        "Give these parameters a proper prior, or remove one of them."
    )


def test_a_plain_function():
    found = optimize(Target(lambda q: (-0.5 * float(q @ q), -q), 3), seed=0)
    assert found.converged
    assert found.values["x"] == pytest.approx(np.zeros(3), abs=1e-6)
    with pytest.raises(UnsupportedError) as caught:
        found.standard_errors  # noqa: B018
    assert str(caught.value) == (
        "Optimum.hessian needs second derivatives, and Target has no hvp. Build a Posterior or a LogDensity."
    )


def test_many_dimensions_do_without_the_hessian(monkeypatch):
    monkeypatch.setattr("probdiff.approximate.optimum.NEWTON_DIM", 2)
    found = optimize(gaussian(), seed=0)
    assert found.newton_steps == 0 and found.converged
    assert found.values["x"] == pytest.approx(CENTRE, abs=1e-5)
    assert "std. error" not in repr(found)
    cut = optimize(gaussian(), init=np.zeros(3), max_iterations=1)
    assert not cut.converged
    assert cut.notes[0].startswith("No convergence: the log-density still rises by about ")
    assert ", but max_iterations=1 were made. The maximum may be" in cut.notes[0]


def test_a_saddle_is_no_maximum():
    found = optimize(
        LogDensity(lambda p: p["a"] ** 2 - p["a"] ** 4 - p["b"] ** 2, {"a": 0.0, "b": 0.0}), init=np.zeros(2)
    )
    assert not found.converged
    assert found.notes[0].startswith("No convergence: the log-density rises to both sides along a. ")


def test_it_prints_a_table():
    found = optimize(flat_normal(), init={"mu": 2.0, "sigma": 1.0})
    lines = repr(found).splitlines()
    assert lines[0] == f"Optimum: log-density {found.log_density:.6g} of the values (no log-Jacobians)"
    assert lines[1].startswith("  converged, ")
    assert [line.split() for line in lines[2:]] == [
        ["value", "std.", "error"],
        ["mu", "2.05", f"{Y.std() / np.sqrt(6):.3g}"],
        ["sigma", f"{Y.std():.6g}", f"{Y.std() / np.sqrt(12):.3g}"],
        ["var", f"{Y.var():.6g}", f"{Y.var() / np.sqrt(3):.3g}"],
    ]


def test_the_table_has_labels():
    prior = Joint(theta=Normal(0, 1).iid("school"))
    model = Posterior(prior, lambda theta: Normal(theta, 1), [1.0, 2.0], coords={"school": ["A", "B"]})
    lines = repr(optimize(model, seed=0)).splitlines()
    assert [line.split()[:2] for line in lines[3:]] == [["theta[A]", "0.5"], ["theta[B]", "1"]]


def test_a_seed_gives_the_same_starts():
    first, again = (optimize(kidscore_momhsiq(), seed=4) for _ in range(2))
    assert first.starts == again.starts
    assert np.array_equal(first.q, again.q)
    assert optimize(kidscore_momhsiq(), starts=1).seed != optimize(kidscore_momhsiq(), starts=1).seed


ERRORS = [
    ({"starts": 0}, ParameterError, "optimize.starts must be a positive integer, got 0"),
    ({"max_iterations": 1.0}, ParameterError, "optimize.max_iterations must be a positive integer, got 1.0"),
    ({"jacobian": 1}, ParameterError, "optimize.jacobian must be True or False, got 1"),
    ({"seed": -3}, ParameterError, "optimize.seed must be a non-negative integer or None, got -3"),
    ({"init": np.zeros(2)}, ParameterError, "optimize.init must have shape (3,) or (starts, 3), got shape (2,)"),
]


@pytest.mark.parametrize(("arguments", "kind", "text"), ERRORS)
def test_errors_word_for_word(arguments, kind, text):
    with pytest.raises(kind) as caught:
        optimize(gaussian(), **arguments)
    assert str(caught.value) == text


def test_no_start():
    nowhere = LogDensity(lambda x: -np.inf * np.exp(x), 0.5)
    with pytest.raises(InitialPointError) as caught:
        optimize(nowhere, seed=0)
    text = str(caught.value)
    assert text.startswith(
        "optimize: no starting point with finite log-density and gradient was found in 100 tries; the last had "
        "log-density -inf at x="
    )
    assert text.endswith(": <lambda> returns -inf. Give init=, or check the support of the data.")
    with pytest.raises(InitialPointError) as caught:
        optimize(nowhere, init=np.array([0.25]))
    assert str(caught.value) == (
        "optimize: init has log-density -inf at x=0.25: <lambda> returns -inf. Give a point inside the support."
    )
    with pytest.raises(UnsupportedError, match=r"^optimize\.posterior must be a model with value_and_grad and dim"):
        optimize(lambda q: q)
