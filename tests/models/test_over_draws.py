"""Densities and predictions over draws: the same as one by one, in blocks, with the leading axes of the draws."""

import math

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import (
    Bernoulli,
    Binomial,
    Exponential,
    Flat,
    HalfNormal,
    MvNormal,
    Normal,
    Poisson,
    noncentered,
)
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.models.rows import ROWS, Rows

SIGMA = np.array([1.0, 2.0, 0.5])
Y = np.array([1.0, -0.5, 2.0])


def schools() -> Posterior:
    prior = Joint(mu=Normal(0, 5), tau=HalfNormal(5), theta=lambda mu, tau: noncentered(Normal(mu, tau)).iid(3))
    return Posterior(prior, lambda theta: Normal(theta, SIGMA), Y)


def draws(posterior: Posterior, *lead: int):
    return posterior.constrain_many(np.random.default_rng(3).uniform(-2, 2, (*lead, posterior.dim)))


@pytest.mark.parametrize("count", [1, 7, ROWS, ROWS + 1, 2 * ROWS + 3])
def test_rows_are_the_function_of_each_row(count):
    rows = Rows(lambda row: {"sum": np.sum(row["a"]) + row["b"], "twice": 2 * row["a"], "one": 1.0})
    a, b = np.random.default_rng(0).normal(size=(count, 3)), np.arange(count)
    found = rows({"a": a, "b": b})
    assert found["sum"] == pytest.approx(a.sum(axis=1) + b, abs=1e-12)
    assert np.array_equal(found["twice"], 2 * a)
    assert found["one"].tolist() == [1.0] * count


def test_constants_of_a_model_are_its_own():
    """Two functions of one structure may share machine code, but not their constants."""
    rows = [Rows(lambda row, c=c: {"row": row, "constant": c, "array": np.full(2, c)}) for c in (1.0, 2.5)]
    for each, c in zip(rows, (1.0, 2.5), strict=True):
        found = each(np.arange(3.0))
        assert found["constant"].tolist() == [c] * 3
        assert found["array"].tolist() == [[c, c]] * 3
    nothing_moves = Rows(lambda row: {"constant": 3.0})
    assert nothing_moves(np.arange(3.0))["constant"].tolist() == [3.0] * 3


def test_what_cannot_be_traced_is_called_row_by_row():
    rows = Rows(lambda x: math.floor(float(x)), size=4)
    assert rows(np.array([0.5, 1.5, 2.7, -0.1, 9.0])).tolist() == [0, 1, 2, -1, 9]


@pytest.mark.parametrize("chunk", [None, 1, 5, 100])
def test_log_likelihoods_come_in_chunks(chunk):
    posterior = schools()
    given = draws(posterior, 2, 6)
    chunks = list(posterior.log_likelihood_draws(given, chunk=chunk))
    assert [len(each) for each in chunks] == {None: [12], 1: [1] * 12, 5: [5, 5, 2], 100: [12]}[chunk]
    terms = np.concatenate(chunks)
    expected = stats.norm.logpdf(Y, given["theta"].reshape(12, 3), SIGMA)
    assert terms == pytest.approx(expected, rel=1e-12)


def test_log_likelihoods_by_outcome():
    posterior = Posterior(
        Joint(rate=Exponential(1.0)),
        lambda rate: {"counts": Poisson(rate).iid(2), "times": Exponential(rate).iid(3)},
        {"counts": [1, 2], "times": [0.5, 1.0, 2.0]},
    )
    (only,) = posterior.log_likelihood_draws({"rate": np.array([0.5, 2.0])})
    assert only["counts"].shape == (2, 2)
    assert only["times"] == pytest.approx(stats.expon.logpdf([0.5, 1.0, 2.0], scale=[[0.5], [2.0]]), rel=1e-13)


def test_log_priors_have_the_axes_of_the_draws():
    posterior = schools()
    given = draws(posterior, 2, 3)
    found = posterior.log_prior_draws(given)
    assert found.shape == (2, 3)
    one = {name: value[1, 2] for name, value in given.items()}
    assert found[1, 2] == pytest.approx(posterior.log_prior(one), rel=1e-13)


def test_new_data_have_the_moments_of_their_distributions():
    """Parameters of different ranks, integers, vectors and `iid` in one model; five standard errors of each mean."""
    n = 4000
    posterior = Posterior(
        Joint(mu=Normal(0, 1), p=Flat()),
        lambda mu, p: {
            "a": Normal(mu, SIGMA),
            "b": Normal(mu + np.arange(2.0), 1.0).iid(3),
            "c": Binomial(10, 0.3 + 0.0 * p).iid(2),
            "v": MvNormal(mu * np.ones(2), np.array([[1.0, 0.0], [0.6, 0.8]])).iid(2),
        },
        {"a": Y, "b": np.zeros((2, 3)), "c": [1, 2], "v": np.zeros((2, 2))},
    )
    given = {"mu": np.full((4, n // 4), 1.5), "p": np.zeros((4, n // 4))}
    new = posterior.posterior_predictive(given, np.random.default_rng(1))
    assert {name: value.shape[2:] for name, value in new.items()} == {"a": (3,), "b": (2, 3), "c": (2,), "v": (2, 2)}
    flat = {name: value.reshape(n, *value.shape[2:]) for name, value in new.items()}
    assert np.all(abs(flat["a"].mean(axis=0) - 1.5) < 5 * SIGMA / np.sqrt(n))
    assert np.all(abs(flat["b"].mean(axis=0) - np.array([[1.5], [2.5]])) < 5 / np.sqrt(n))
    assert np.all(abs(flat["c"].mean(axis=0) - 3.0) < 5 * np.sqrt(2.1 / n))
    assert flat["c"].dtype.kind == "i"
    assert abs(np.cov(flat["v"][:, 0].T)[0, 1] - 0.6) < 5 * np.sqrt((1 + 0.36) / n)
    # Rows are drawn independently of one another.
    assert abs(np.corrcoef(flat["a"][:-1, 0], flat["a"][1:, 0])[0, 1]) < 5 / np.sqrt(n)


def test_new_data_follow_the_draws_row_by_row():
    posterior = Posterior(Joint(mu=Normal(0, 1)), lambda mu: Normal(mu, 1e-9).iid(2), Y[:2])
    mu = np.arange(700.0)
    new = posterior.posterior_predictive({"mu": mu}, np.random.default_rng(0))["y"]
    assert new == pytest.approx(np.stack([mu, mu], axis=1), abs=1e-7)


def test_many_prior_draws_are_those_of_the_model():
    inner = Joint(s=HalfNormal(1), x=lambda s: Normal(0, s).iid(2))
    joint = Joint(
        n=3, mu=Normal(3.0, 2.0), x=lambda mu, n: noncentered(Normal(mu, 1.0)).iid(n), g=inner, twice=lambda mu: 2 * mu,
        last=lambda x, g: Bernoulli(logits=np.sum(x) + g["x"]),
    )  # fmt: skip
    many = joint.rand(rng=np.random.default_rng(5), size=4000)
    few = joint.rand(rng=np.random.default_rng(5), size=3)
    assert list(many) == list(few) == list(joint.names)
    assert {k: np.shape(v)[1:] for k, v in many.items() if k != "g"} == {
        k: np.shape(v)[1:] for k, v in few.items() if k != "g"
    }
    assert many["g"]["x"].shape == (4000, 2)
    assert np.array_equal(many["twice"], 2 * many["mu"])
    # E x = 3, var x = 5, cov(x1, x2) = 4. Five standard errors of each estimate: false alarm below 1e-6.
    assert np.all(abs(many["x"].mean(axis=0) - 3.0) < 5 * np.sqrt(5.0 / 4000))
    assert abs(np.cov(many["x"].T)[0, 1] - 4.0) < 5 * np.sqrt((25.0 + 16.0) / 4000)


def test_many_prior_draws_where_a_function_returns_a_joint():
    joint = Joint(m=Normal(0, 1), pair=lambda m: Joint(a=Normal(m, 1e-9)))
    many = joint.rand(rng=np.random.default_rng(0), size=600)
    assert many["pair"]["a"] == pytest.approx(many["m"], abs=1e-7)


def test_many_prior_predictive_draws():
    new = schools().prior_predictive(np.random.default_rng(0), 600)
    assert {name: value.shape for name, value in new.items()} == {
        "mu": (600,), "tau": (600,), "theta": (600, 3), "y": (600, 3),
    }  # fmt: skip
    assert np.std(new["y"] - new["theta"], axis=0) == pytest.approx(SIGMA, rel=0.2)


def test_no_row_is_no_work():
    assert schools().constrain_many(np.zeros((2, 0, 5)))["theta"].shape == (2, 0, 3)


ERRORS = [
    (
        lambda: schools().log_likelihood_draws({}, chunk=0),
        ParameterError,
        "log_likelihood_draws.chunk must be a positive integer, got 0",
    ),
    (
        lambda: schools().log_prior_draws({"mu": np.zeros(2)}),
        ParameterError,
        "There is no value for tau; the values given are mu.",
    ),
    (
        lambda: schools().log_prior_draws({"mu": np.zeros(0), "tau": np.zeros(0), "theta": np.zeros((0, 3))}),
        ShapeError,
        "There are no draws: the leading axes are (0,).",
    ),
    (
        lambda: Posterior(Joint(a=Normal(0, 1)), loglike=lambda a: a).posterior_predictive(
            {"a": np.zeros(3)}, np.random.default_rng(0)
        ),
        UnsupportedError,
        "Posterior.loglike cannot draw data. Give observe, the distribution of the data, instead.",
    ),
    (
        lambda: Joint(a=Flat()).rand(rng=np.random.default_rng(0), size=1000),
        UnsupportedError,
        "a is Flat, and an improper prior cannot be drawn from. Give it a proper one.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
