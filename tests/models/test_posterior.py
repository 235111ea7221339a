"""Posteriors: densities by hand, coordinates, gradients, predictions, and errors word for word."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Bernoulli, Exponential, Flat, HalfCauchy, Normal, Poisson, Uniform, noncentered
from probdiff.errors import DataError, ParameterError, ShapeError, UnsupportedError
from probdiff.models import Joint, Posterior

Y = np.array([1.0, -0.5, 2.0])
SIGMA = np.array([1.0, 2.0, 0.5])


def schools(centre=noncentered) -> Posterior:
    prior = Joint(mu=Normal(0, 5), tau=HalfCauchy(5), theta=lambda mu, tau: centre(Normal(mu, tau)).iid("school"))
    return Posterior(prior, lambda theta: Normal(theta, SIGMA), Y, coords={"school": ["A", "B", "C"]})


def bounded() -> Posterior:
    """A bound that is itself a variable, and one of each other kind of coordinate."""
    prior = Joint(
        top=Exponential(2.0),
        x=lambda top: Uniform(0.0, top).iid(2),
        slope=Flat(),
        spread=Exponential(1.0),
    )
    return Posterior(prior, lambda x, slope, spread: Normal(slope + x, spread), Y[:2])


POINT = {"mu": 0.3, "tau": 1.5, "theta": np.array([0.2, -0.4, 1.1])}


def log_prior_by_hand(point) -> float:
    return (
        stats.norm.logpdf(point["mu"], 0, 5)
        + stats.halfcauchy.logpdf(point["tau"], scale=5)
        + stats.norm.logpdf(point["theta"], point["mu"], point["tau"]).sum()
    )


def test_densities_at_named_parameters():
    posterior = schools()
    terms = stats.norm.logpdf(Y, POINT["theta"], SIGMA)
    assert posterior.log_prior(POINT) == pytest.approx(log_prior_by_hand(POINT), rel=1e-14)
    assert posterior.log_likelihood(POINT) == pytest.approx(terms.sum(), rel=1e-14)
    assert posterior.log_density(POINT) == pytest.approx(log_prior_by_hand(POINT) + terms.sum(), rel=1e-14)
    assert posterior.pointwise_log_likelihood(POINT) == pytest.approx(terms, rel=1e-14)
    assert posterior.log_density({**POINT, "tau": -1.0}) == -np.inf


def test_non_centred_coordinates_are_standardised():
    posterior = schools()
    z = (POINT["theta"] - POINT["mu"]) / POINT["tau"]
    q = np.concatenate([[POINT["mu"], np.log(POINT["tau"])], z])
    assert posterior.unconstrain(POINT) == pytest.approx(q, rel=1e-14)
    expected = (
        stats.norm.logpdf(POINT["mu"], 0, 5)
        + stats.halfcauchy.logpdf(POINT["tau"], scale=5)
        + np.log(POINT["tau"])
        + stats.norm.logpdf(z).sum()
        + stats.norm.logpdf(Y, POINT["theta"], SIGMA).sum()
    )
    assert posterior.logdensity(q) == pytest.approx(expected, rel=1e-14)


def log_jacobian_by_differences(posterior: Posterior, q: np.ndarray) -> float:
    def values(at):
        return np.concatenate([np.ravel(x) for x in posterior.constrain(at).values()])

    h = 1e-6
    columns = [(values(q + h * e) - values(q - h * e)) / (2 * h) for e in np.eye(len(q))]
    return np.linalg.slogdet(np.stack(columns, axis=1))[1]


@pytest.mark.parametrize("model", [schools, lambda: schools(lambda d: d), bounded])
def test_the_density_of_coordinates_is_that_of_parameters_times_the_jacobian(model):
    posterior = model()
    q = posterior.initial(np.random.default_rng(3))
    point = posterior.constrain(q)
    expected = posterior.log_density(point) + log_jacobian_by_differences(posterior, q)
    # Central differences with h = 1e-6 carry errors near 1e-9 in each of up to 6 columns.
    assert posterior.logdensity(q) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("model", [schools, lambda: schools(lambda d: d), bounded])
def test_there_and_back(model):
    posterior = model()
    Q = np.random.default_rng(4).uniform(-2, 2, (5, 2, posterior.dim))
    many = posterior.constrain_many(Q)
    for index in np.ndindex(5, 2):
        one = posterior.constrain(Q[index])
        assert posterior.unconstrain(one) == pytest.approx(Q[index], abs=1e-12)
        for name, value in one.items():
            # Rows are transformed together: the same arithmetic, though perhaps another order of vector instructions.
            assert many[name][index] == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("model", [schools, lambda: schools(lambda d: d), bounded])
def test_value_and_gradient_against_differences(model):
    posterior = model()
    q = posterior.initial(np.random.default_rng(6))
    value, gradient = posterior.value_and_grad(q)
    assert isinstance(value, float)
    assert value == pytest.approx(posterior.logdensity(q), rel=1e-12)
    h = 1e-6
    for i, e in enumerate(np.eye(posterior.dim)):
        slope = (posterior.logdensity(q + h * e) - posterior.logdensity(q - h * e)) / (2 * h)
        assert gradient[i] == pytest.approx(slope, abs=1e-6, rel=1e-6)


def test_coordinates_shapes_and_dimensions():
    posterior = schools()
    assert posterior.dim == 5
    assert posterior.coordinate_names == ["mu", "tau", "theta[A]", "theta[B]", "theta[C]"]
    assert posterior.dims == {"theta": ("school",)}
    assert list(posterior.coords) == ["school"]
    assert posterior.coords["school"].tolist() == ["A", "B", "C"]
    assert list(posterior.observed) == ["y"]
    assert bounded().coordinate_names == ["top", "x[0]", "x[1]", "slope", "spread"]
    two_axes = Posterior(
        Joint(a=Normal(0, 1).iid("row", 2)), lambda a: Normal(a, 1), Y[:2, None] * Y[:2], coords={"row": 2}
    )
    assert two_axes.dims == {"a": ("row", "a_dim_1")}
    assert two_axes.coordinate_names == ["a[0,0]", "a[0,1]", "a[1,0]", "a[1,1]"]
    long_label = Posterior(
        Joint(a=Normal(0, 1).iid("place")), lambda a: Normal(a, 1), Y[:2], coords={"place": ["a", "very long name"]}
    )
    assert long_label.coordinate_names == ["a[0]", "a[1]"]


def test_initial_points_are_within_two_units():
    q = schools().initial(np.random.default_rng(0))
    assert q.shape == (5,)
    assert np.all(abs(q) < 2)


def test_several_outcomes():
    prior = Joint(rate=Exponential(1.0))
    counts, times = np.array([3, 1, 2]), np.array([0.5, 1.5])
    posterior = Posterior(
        prior,
        lambda rate: {"counts": Poisson(rate).iid(3), "times": Exponential(1 / rate).iid(2)},
        {"counts": counts, "times": times},
    )
    expected_counts = stats.poisson.logpmf(counts, 1.7)
    expected_times = stats.expon.logpdf(times, scale=1 / 1.7)
    pointwise = posterior.pointwise_log_likelihood({"rate": 1.7})
    assert pointwise["counts"] == pytest.approx(expected_counts, rel=1e-13)
    assert pointwise["times"] == pytest.approx(expected_times, rel=1e-13)
    total = expected_counts.sum() + expected_times.sum()
    assert posterior.log_likelihood({"rate": 1.7}) == pytest.approx(total, rel=1e-13)


def test_a_log_likelihood_in_place_of_an_observation_model():
    posterior = Posterior(Joint(mu=Normal(0, 1)), loglike=lambda mu: -0.5 * (Y - mu) ** 2)
    assert posterior.log_likelihood({"mu": 0.5}) == pytest.approx(-0.5 * np.sum((Y - 0.5) ** 2), rel=1e-14)
    assert posterior.pointwise_log_likelihood({"mu": 0.5}) == pytest.approx(-0.5 * (Y - 0.5) ** 2, rel=1e-14)
    assert posterior.observed == {}


def test_no_data_leaves_the_prior():
    posterior = Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1).iid(0), np.zeros(0))
    assert posterior.log_likelihood({"mu": 0.5}) == 0
    assert posterior.log_density({"mu": 0.5}) == pytest.approx(stats.norm.logpdf(0.5), rel=1e-14)


def test_with_data_keeps_the_model():
    other = schools().with_data(Y + 1)
    assert other.observed["y"].tolist() == (Y + 1).tolist()
    expected = stats.norm.logpdf(Y + 1, POINT["theta"], SIGMA).sum()
    assert other.log_likelihood(POINT) == pytest.approx(expected, rel=1e-14)


def test_the_total_of_matching_shapes():
    """Three trials with their own logits: the value of broadcasting to three by three, -6.959, must not appear."""
    logits, y = np.array([0.0, 1.0, -1.0]), np.array([1, 0, 1])
    prior = Joint(shift=Normal(0, 1))
    posterior = Posterior(prior, lambda shift: Bernoulli(logits=logits + shift), y)
    assert posterior.log_likelihood({"shift": 0.0}) == pytest.approx(-3.319670555596391, rel=1e-14)
    with pytest.raises(DataError):
        posterior.with_data(y[:, None])


def test_predictive_draws():
    posterior = schools()
    prior = posterior.prior_predictive(np.random.default_rng(1), 6)
    assert {name: value.shape for name, value in prior.items()} == {
        "mu": (6,),
        "tau": (6,),
        "theta": (6, 3),
        "y": (6, 3),
    }
    theta = np.tile(POINT["theta"], (4, 500, 1))
    draws = {"mu": np.zeros((4, 500)), "tau": np.ones((4, 500)), "theta": theta}
    y = posterior.posterior_predictive(draws, np.random.default_rng(2))["y"]
    assert y.shape == (4, 500, 3)
    # Five standard errors over 2000 draws: false alarm below 1e-6.
    assert np.all(abs(y.mean(axis=(0, 1)) - POINT["theta"]) < 5 * SIGMA / np.sqrt(2000))


@pytest.mark.parametrize("model", [schools, lambda: schools(lambda d: d), bounded])
def test_far_out_the_density_is_zero_rather_than_an_error(model):
    """Scales overflow and vanish there: invalid parameters, which are nobody's mistake."""
    posterior = model()
    for far in (800.0, -800.0):
        q = np.full(posterior.dim, far)
        value = posterior.logdensity(q)
        assert not np.isnan(value)
        compiled = posterior.value_and_grad(q)[0]
        # Infinite terms of both signs meet in compiled code, which samplers refuse like a density of zero.
        assert compiled == pytest.approx(value, rel=1e-12) if np.isfinite(value) else not np.isfinite(compiled)
        assert set(posterior.constrain(q)) == set(posterior.layout.slots)
    assert schools(lambda d: d).logdensity(np.full(5, -800.0)) == -np.inf
    assert schools(lambda d: d).logdensity(np.full(5, 800.0)) == -np.inf


def test_a_bound_that_moves_refuses_no_data():
    """Whether an observation is inside is for the sampler to find out, even if no draw of the prior contains it."""
    posterior = Posterior(Joint(top=Exponential(1.0)), lambda top: Uniform(0.0, top).iid(2), [50.0, 60.0])
    assert posterior.log_likelihood({"top": 40.0}) == -np.inf
    assert posterior.log_likelihood({"top": 80.0}) == pytest.approx(-2 * np.log(80.0), rel=1e-14)


def test_derivatives_by_name():
    posterior = schools()
    q, v = np.array([0.3, -0.2, 0.5, 0.1, 1.0]), np.array([1.0, 0.5, 0.0, -1.0, 2.0])
    assert posterior.gradient(q).tolist() == posterior.value_and_grad(q)[1].tolist()
    h = 1e-6
    slope = (posterior.gradient(q + h * v) - posterior.gradient(q - h * v)) / (2 * h)
    assert posterior.hvp(q, v) == pytest.approx(slope, rel=1e-7, abs=1e-7)


def test_repr_and_table():
    assert repr(schools()) == (
        "Posterior(Joint(mu=Normal(loc=0.0, scale=5.0), tau=HalfCauchy(scale=5.0), theta=(mu, tau) -> …), "
        "y: 3 observations, 5 coordinates)"
    )
    assert schools().table().splitlines() == [
        "variable  distribution  depends on  shape  support      dims",
        "────────  ────────────  ──────────  ─────  ───────────  ──────",
        "mu        Normal                    ()     real",
        "tau       HalfCauchy                ()     nonnegative",
        "theta     Normal        mu, tau     (3,)   real         school",
        "y         Normal        theta       (3,)   real",
    ]


def with_observations(data, family=lambda mu: Normal(mu, 1).iid(1000)):
    return Posterior(Joint(mu=Normal(0, 1)), family, data)


def holes(*index):
    data = np.zeros(1000)
    data[list(index)] = np.nan
    return data


ERRORS = [
    (
        lambda: with_observations(holes(17, 30, 999)),
        DataError,
        '3 of 1000 observations are NaN (first at index 17). Drop them, or pass missing="skip".',
    ),
    (
        lambda: Posterior(
            Joint(mu=Normal(0, 1)), lambda mu: {"a": Normal(mu, 1).iid(2, 2)}, {"a": [[0.0, np.nan], [1.0, np.nan]]}
        ),
        DataError,
        'a: 2 of 4 observations are NaN (first at index (0, 1)). Drop them, or pass missing="skip".',
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1).iid(3)), lambda mu: Normal(mu, 1), Y[:, None]),
        DataError,
        "data has shape (3, 1), but observe gives Normal of shape (3,). Nothing is broadcast: reshape one of them.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1), Y),
        DataError,
        "data has shape (3,), but observe gives Normal of shape (). "
        "For independent observations use Normal(...).iid(3).",
    ),
    (
        lambda: Posterior(Joint(rate=Exponential(1.0)), lambda rate: Poisson(rate).iid(4), [3, 0, -2, 1.5]),
        DataError,
        "2 of 4 observations are outside the support of Poisson (a nonnegative integer) (first at index 2: -2.0). "
        "Correct them, or choose a distribution that allows them.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1).iid(2), ["a", "b"]),
        DataError,
        "data must be real numbers, got str32.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1)),
        DataError,
        "Posterior.observe has no data. Pass the observations as the third argument.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu, sigma: Normal(mu, sigma), Y),
        ParameterError,
        "Posterior.observe takes 'sigma', which is no variable (mu). Rename the argument, or add the variable.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu: {"a": Normal(mu, 1)}, {"b": 0.0}),
        DataError,
        "Posterior.observe gives the outcomes a, and data has b. They must be the same.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu: mu, Y),
        UnsupportedError,
        "Posterior.observe must return a distribution, got float. "
        "Pass a function that returns a log-likelihood as loglike.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, -1.0), 0.0),
        ParameterError,
        "Normal.scale must be positive, got -1.0",
    ),
    (
        lambda: Posterior(Normal(0, 1), lambda mu: Normal(mu, 1), 0.0),
        UnsupportedError,
        "Posterior.prior must be a Joint, got Normal. Name its variables: Joint(mu=Normal(0, 1)).",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1))),
        ParameterError,
        "Posterior takes either observe and data, or loglike.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), data=Y, loglike=lambda mu: mu),
        ParameterError,
        "Posterior.loglike takes no data: let the function hold it, or give observe instead.",
    ),
    (
        lambda: Posterior(Joint(k=Poisson(3.0)), lambda k: Normal(k, 1), 0.0).initial(np.random.default_rng(0)),
        UnsupportedError,
        "k is discrete (Poisson), and Hamiltonian Monte Carlo moves through real numbers. "
        "Marginalise it: sum the likelihood over its values with probdiff.special.logsumexp.",
    ),
    (
        lambda: Posterior(Joint(k=2.0), lambda k: Normal(k, 1), 0.0).check_sampleable(),
        UnsupportedError,
        "The prior has no random variable: there is nothing to sample.",
    ),
    (
        lambda: schools().unconstrain({**POINT, "tau": -1.0}),
        ParameterError,
        "tau must be inside the support of HalfCauchy (nonnegative), got -1.0.",
    ),
    (
        lambda: schools().logdensity(np.zeros(4)),
        ShapeError,
        "logdensity needs a vector of length 5, got shape (4,).",
    ),
    (
        lambda: schools().log_density({"mu": 0.0, "tau": 1.0}),
        ParameterError,
        "There is no value for theta; the values given are mu, tau.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), loglike=lambda mu: mu).pointwise_log_likelihood({"mu": 0.0}),
        UnsupportedError,
        "Posterior.loglike returns one number. Return an array of terms, one for each observation.",
    ),
    (
        lambda: Posterior(Joint(mu=Normal(0, 1)), loglike=lambda mu: mu).prior_predictive(np.random.default_rng(0)),
        UnsupportedError,
        "Posterior.loglike cannot draw data. Give observe, the distribution of the data, instead.",
    ),
    (
        lambda: schools().posterior_predictive(
            {"mu": np.zeros(2), "tau": np.ones(3), "theta": np.zeros((2, 3))}, np.random.default_rng(0)
        ),
        ShapeError,
        "Draws of different variables have different leading axes: [(2,), (3,)].",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
