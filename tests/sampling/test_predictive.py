"""New data: at the old inputs, at others, and what stands in the way."""

import numpy as np
import pytest

from probdiff.distributions import HalfNormal, Normal
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.sampling import Draws, Target

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
NEW = np.array([[3.0, 0.0], [0.0, -1.0]])
Y = np.array([1.0, 2.0, 3.0, 4.0])


def by_default() -> Posterior:
    prior = Joint(beta=Normal(0, 5).iid(2), s=HalfNormal(1))
    return Posterior(prior, lambda beta, s, X=X: Normal(X @ beta, s), Y)


def by_constant() -> Posterior:
    prior = Joint(X=X, beta=Normal(0, 5).iid(2), eta=lambda X, beta: X @ beta, s=HalfNormal(1))
    return Posterior(prior, lambda eta, s: Normal(eta, s), Y)


def by_default_of_the_prior() -> Posterior:
    prior = Joint(beta=Normal(0, 5).iid(2), eta=lambda beta, X=X: X @ beta, s=HalfNormal(1))
    return Posterior(prior, lambda eta, s: Normal(eta, s), Y)


def draws(posterior, s=1e-9):
    """Draws that tell where they come from: beta = (c, i) for draw i of chain c."""
    beta = np.stack(np.meshgrid(np.arange(2.0), np.arange(5.0), indexing="ij"), axis=-1)
    return Draws({"beta": beta, "s": np.full((2, 5), s)}, {}, model=posterior)


@pytest.mark.parametrize("posterior", [by_default, by_constant, by_default_of_the_prior])
def test_other_inputs(posterior):
    given = draws(posterior())
    assert given.predict()["y"] == pytest.approx(given["beta"] @ X.T, abs=1e-7)
    assert given.predict(X=NEW)["y"] == pytest.approx(given["beta"] @ NEW.T, abs=1e-7)
    assert given.predict({"X": NEW[:1]})["y"].shape == (2, 5, 1)
    # The model is as it was.
    assert given.predict()["y"].shape == (2, 5, 4)


def test_a_generator_gives_the_same_data_again():
    given = draws(by_default(), s=1.0)
    one, other = (given.predict(rng=np.random.default_rng(0))["y"] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert np.std(one - given["beta"] @ X.T) == pytest.approx(1.0, abs=5 / np.sqrt(2 * 40))


def test_with_model_checks_names_and_shapes():
    given = draws(None)
    with pytest.raises(ParameterError, match=r"with_model: mu is a variable of the model, and not among the draws \(b"):
        given.with_model(Posterior(Joint(mu=Normal(0, 1)), loglike=lambda mu: -(mu**2)))
    with pytest.raises(ParameterError, match=r"with_model: beta has shape \(3,\) in the model and \(2,\) in the draws"):
        given.with_model(Posterior(Joint(beta=Normal(0, 1).iid(3)), loglike=lambda beta: -np.sum(beta**2)))
    assert given.with_model(by_default()).predict()["y"].shape == (2, 5, 4)
    assert given.model is None


ERRORS = [
    (
        lambda: draws(by_default()).predict(Z=1.0),
        ParameterError,
        "Z is no input of the model (X). An input is a constant of the prior, or an argument of observe with a "
        "default: lambda beta, X=X: …",
    ),
    (
        lambda: draws(by_default()).predict(beta=1.0),
        ParameterError,
        "beta is no input of the model (X). An input is a constant of the prior, or an argument of observe with a "
        "default: lambda beta, X=X: …",
    ),
    (
        lambda: Draws({"x": np.zeros((1, 5, 2))}, {}, model=Target(lambda q: (0.0, q), 2)).predict(),
        UnsupportedError,
        "Draws.predict needs a Posterior, which knows its observations, got Target.",
    ),
    (
        lambda: draws(None).predict(),
        ParameterError,
        "Draws.predict needs the model, and these draws have none: files keep only the draws. "
        "Give it: draws = draws.with_model(posterior).",
    ),
    (
        lambda: Draws(
            {"a": np.zeros((1, 5))}, {}, model=Posterior(Joint(a=Normal(0, 1)), loglike=lambda a, X=X: a)
        ).predict(X=NEW),
        UnsupportedError,
        "Posterior.loglike cannot draw data. Give observe, the distribution of the data, instead.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
