"""The zoo against its references: the score identity at posteriordb's draws, and densities written with SciPy.

At draws from the density exp(f(u)), the score s = f'(u) has mean zero, and E[(u - E u) s] = -1 in each coordinate.
No sampler is needed to see a wrong density or a wrong gradient.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import HalfCauchy, Normal, noncentered
from probdiff.errors import ParameterError
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import MODELS, kidscore_momhsiq, load
from probdiff.models.zoo.data_sets import describe, names
from tests.models.zoo_references import REFERENCES, WITH_DRAWS

DATA = Path(__file__).parent.parent.parent / "models" / "zoo" / "data"
# Two statistics for 204 coordinates: chance puts one outside with probability 0.003, and the draws are fixed.
STANDARD_ERRORS = 4.5


@pytest.mark.parametrize("name", WITH_DRAWS)
def test_score_identity_at_reference_draws(name):
    posterior = MODELS[name]()
    u = np.array([posterior.unconstrain(point) for point in REFERENCES[name].points()])
    score = np.array([posterior.value_and_grad(row)[1] for row in u])
    product = (u - u.mean(axis=0)) * score + 1
    for statistic in (score, product):
        standard_error = statistic.std(axis=0, ddof=1) / np.sqrt(len(u))
        assert np.all(abs(statistic.mean(axis=0)) < STANDARD_ERRORS * standard_error)


def test_the_score_identity_notices_a_wrong_prior():
    """The check is itself checked: with a prior of mu five times too narrow, its score is many standard errors away."""
    data = load("eight_schools")
    prior = Joint(mu=Normal(0, 1), tau=HalfCauchy(5), theta=lambda mu, tau: noncentered(Normal(mu, tau)).iid("school"))
    wrong = Posterior(prior, lambda theta: Normal(theta, data.sigma), data.y, coords={"school": data.school})
    score = np.array(
        [wrong.value_and_grad(wrong.unconstrain(point))[1][0] for point in REFERENCES["eight_schools"].points()]
    )
    assert abs(score.mean()) > 2 * STANDARD_ERRORS * score.std() / np.sqrt(len(score))


# Models without reference draws: their log-densities once more, with SciPy.


def brownian_motion(step):
    data = load("brownian_motion")
    x, logp = np.cumsum(step), stats.norm.logpdf(step[0], 0, 0.1)
    for t in range(30):
        logp += stats.norm.logpdf(x[t], x[t - 1], 0.1) if t else 0.0
        logp += stats.norm.logpdf(data.y[t], x[t], 0.15) if t not in range(10, 20) else 0.0
    return logp


def logistic(weights):
    data = load("german_credit")
    X = np.hstack([stats.zscore(data.features, axis=0), np.ones((1000, 1))])
    return np.sum(stats.bernoulli.logpmf(data.bad.astype(int), 1 / (1 + np.exp(-X @ weights))))


def german_credit(w):
    return logistic(w) + np.sum(stats.norm.logpdf(w))


def german_credit_sparse(overall, local, z):
    scales = np.sum(stats.gamma.logpdf(np.append(local, overall), 0.5, scale=2))
    return logistic(z * local * overall) + scales + np.sum(stats.norm.logpdf(z))


def item_response(level, ability, difficulty):
    answers = load("item_response").answers
    asked = [(i, j, int(answer)) for i, row in enumerate(answers) for j, answer in enumerate(row) if answer != "."]
    student, question, correct = np.array(asked).T
    p = 1 / (1 + np.exp(-(level + ability[student] - difficulty[question])))
    prior = stats.norm.logpdf(level, 0.75, 1) + np.sum(stats.norm.logpdf(np.append(ability, difficulty)))
    return prior + np.sum(stats.bernoulli.logpmf(correct, p))


def cox_process(amplitude, length_scale, z):
    data = load("cox_process")
    s = np.sqrt(3) * np.array([[np.hypot(*(a - b)) for a in data.centres] for b in data.centres])
    s /= length_scale + 0.001
    K = (amplitude + 0.001) ** 2 * (1 + s) * np.exp(-s) + 1e-6 * np.eye(100)
    m, root = np.mean(np.log(data.counts / data.areas)), np.linalg.cholesky(K)
    f = m + root @ z
    # The density of z is that of f times det chol(K).
    logp = stats.multivariate_normal.logpdf(f, np.full(100, m), K) + np.sum(np.log(np.diag(root)))
    logp += stats.lognorm.logpdf(amplitude, 0.5, scale=np.exp(-1)) + stats.lognorm.logpdf(
        length_scale, 1, scale=np.exp(-1)
    )
    return logp + np.sum(stats.poisson.logpmf(data.counts, data.areas * np.exp(f)))


def stochastic_volatility(half, mu, scale, z):
    phi, h = 2 * half - 1, []
    sd = np.array([scale / np.sqrt(1 - phi**2)] + [scale] * 99)
    for t in range(100):
        h.append((phi * h[-1] if t else 0.0) + sd[t] * z[t])
    prior = stats.beta.logpdf(half, 20, 1.5) + stats.cauchy.logpdf(mu, 0, 5) + stats.halfcauchy.logpdf(scale, 0, 2)
    # The density of z is that of h times the product of the standard deviations.
    path = np.sum(stats.norm.logpdf(h, phi * np.array([0.0, *h[:-1]]), sd) + np.log(sd))
    return prior + path + np.sum(stats.norm.logpdf(load("sp500").returns, 0, np.exp((mu + np.array(h)) / 2)))


def radon(mean, scale, county_effect, w, sigma):
    data, logp = load("radon"), 0.0
    for county in range(85):
        here = data.county == county
        loc = w[0] * data.log_uranium[county] + w[1] * data.floor[here] + w[2] * np.mean(data.floor[here])
        logp += np.sum(stats.norm.logpdf(np.log(data.radon[here]), loc + county_effect[county], sigma))
    prior = stats.norm.logpdf(mean) + np.sum(stats.norm.logpdf(w)) + 2 * stats.uniform.logpdf(scale, 0, 100)
    return logp + prior + np.sum(stats.norm.logpdf(county_effect, mean, scale))


DENSITIES = [
    brownian_motion,
    cox_process,
    german_credit,
    german_credit_sparse,
    item_response,
    radon,
    stochastic_volatility,
]


@pytest.mark.parametrize("reference", DENSITIES)
def test_log_densities_differ_as_references_do(reference):
    """At three points near the origin of the unconstrained space, where nothing overflows."""
    posterior = MODELS[reference.__name__]()
    rng = np.random.default_rng(1)
    drawn = [posterior.constrain(0.5 * rng.standard_normal(posterior.dim)) for _ in range(3)]
    ours = np.array([posterior.log_density(point) for point in drawn])
    theirs = np.array([reference(**point) for point in drawn])
    # A covariance with a condition number of 1e6 costs that many digits.
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], rtol=1e-9)


@pytest.mark.parametrize("reference", DENSITIES)
def test_gradients_are_slopes_of_the_density(reference):
    """Along one direction, by central differences of the traced density's own values."""
    posterior = MODELS[reference.__name__]()
    rng = np.random.default_rng(2)
    q, direction, h = 0.5 * rng.standard_normal(posterior.dim), rng.standard_normal(posterior.dim), 1e-5
    ahead, behind = (posterior.value_and_grad(q + sign * h * direction)[0] for sign in (1, -1))
    slope = posterior.value_and_grad(q)[1] @ direction
    # Rounding: values of up to 1e6 with 1e-16 each, over 2e-5.
    assert (ahead - behind) / (2 * h) == pytest.approx(slope, rel=1e-6, abs=1e-3)


def test_every_model_has_a_reference():
    assert set(MODELS) == set(REFERENCES) == set(WITH_DRAWS) | {reference.__name__ for reference in DENSITIES}


@pytest.mark.parametrize("name", REFERENCES)
def test_our_parameters_are_those_of_the_reference(name):
    """As many coordinates, and for each parameter that has reference moments one of ours, of the same shape."""
    posterior, reference = MODELS[name](), REFERENCES[name]
    assert posterior.dim == reference.dim
    drawn = reference.theirs(posterior.constrain_many(np.random.default_rng(4).uniform(-1, 1, (2, 3, posterior.dim))))
    moments = reference.moments()
    assert {key: np.shape(each["mean"]) for key, each in moments.items()} == {
        key: values.shape[2:] for key, values in drawn.items() if key in moments
    }


@pytest.mark.parametrize("name", WITH_DRAWS)
def test_reference_draws_survive_the_way_into_our_variables_and_back(name):
    reference = REFERENCES[name]
    draws = reference.draws()
    back = reference.theirs(reference.ours(draws))
    for key, values in draws.items():
        # gp_poisson's covariance has a condition number of 1e10.
        np.testing.assert_allclose(back[key], values, rtol=1e-9, err_msg=key)


# Operations without machine code that a model may use.
OUTSIDE_NATIVE_CODE = {
    "brownian_motion": {"cumsum"},
    "gauss_mix": {"cumsum"},
    "hmm_drive": {"cumsum"},
    "hmm_example": {"cumsum"},
}


@pytest.mark.parametrize("name", MODELS)
def test_models_run_natively(name):
    """A gradient that leaves native code is slow, and a sampler could not call it by address."""
    posterior = MODELS[name]()
    posterior.value_and_grad(np.zeros(posterior.dim))
    outside = {op for step in posterior.compiled.explain().steps if step.kind == "NumPy" for op in step.operations}
    assert outside <= OUTSIDE_NATIVE_CODE.get(name, set())


@pytest.mark.parametrize("name", MODELS)
def test_coordinates_and_parameters_are_two_views_of_a_point(name):
    posterior = MODELS[name]()
    q = np.random.default_rng(3).uniform(-1, 1, posterior.dim)
    np.testing.assert_allclose(posterior.unconstrain(posterior.constrain(q)), q, rtol=1e-8, atol=1e-10)
    assert np.isfinite(posterior.log_density(posterior.constrain(q)))


def test_coordinates_have_names():
    assert kidscore_momhsiq().coordinate_names == ["beta[intercept]", "beta[mom_hs]", "beta[mom_iq]", "sigma"]


def test_data_sets_are_arrays():
    schools = load("eight_schools")
    assert schools.y.tolist() == [28, 8, -3, 7, -1, 1, 18, 12]
    assert schools.y.dtype == float
    assert schools.sigma.shape == schools.school.shape == (8,)
    children = load("kidiq")
    assert children.kid_score.shape == children.mom_hs.shape == children.mom_iq.shape == (434,)


def test_a_missing_observation_is_nan():
    assert np.flatnonzero(np.isnan(load("brownian_motion").y)).tolist() == list(range(10, 20))


@pytest.mark.parametrize("name", names())
def test_data_sets_name_source_and_licence(name):
    entry = describe(name)
    assert entry["title"] and entry["source"] and entry["licence"]
    assert re.match("https://", entry["licence_text"]) or (DATA / entry["licence_text"]).is_file()


def test_unknown_data_set():
    with pytest.raises(ParameterError) as caught:
        load("nine_schools")
    assert str(caught.value) == f"load: there is no data set 'nine_schools'; there are {', '.join(names())}."
