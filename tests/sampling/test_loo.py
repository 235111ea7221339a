"""PSIS-LOO against the closed form of a conjugate model and against ArviZ, missing data, and files on the way."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Exponential, Normal, Poisson
from probdiff.errors import DataError, ParameterError, UnsupportedError
from probdiff.models import Joint, Posterior
from probdiff.sampling import Draws, Target, predictive
from probdiff.sampling.to_arviz import import_arviz, uses_datatree

RNG = np.random.default_rng(0)
Y = np.array([0.3, -1.2, 0.8, 2.1, 0.1, 1.4])
PRIOR_VAR = 4.0


def conjugate(y=Y, **settings):
    """mu ~ Normal(0, 2), y ~ Normal(mu, 1), with exact draws of the posterior."""
    posterior = Posterior(Joint(mu=Normal(0, 2)), lambda mu: Normal(mu, 1).iid(len(y)), y, **settings)
    var = 1 / (1 / PRIOR_VAR + np.sum(~np.isnan(y)))
    mu = RNG.normal(var * np.nansum(y), np.sqrt(var), (4, 2500))
    return Draws({"mu": mu}, {}, observed=posterior.observed, model=posterior)


def left_out(y, i):
    """log p(y_i | the others): Normal(their posterior mean, 1 + their posterior variance)."""
    others = np.delete(y, i)
    var = 1 / (1 / PRIOR_VAR + len(others))
    return stats.norm.logpdf(y[i], var * others.sum(), np.sqrt(1 + var))


def test_the_closed_form():
    loo = conjugate().loo()
    exact = np.array([left_out(Y, i) for i in range(len(Y))])
    assert loo.elpd_i["y"] == pytest.approx(exact, abs=0.02)  # the error of 10,000 draws is about 0.002
    assert loo.elpd == pytest.approx(loo.elpd_i["y"].sum(), rel=1e-13)
    assert loo.se == pytest.approx(np.sqrt(6) * np.std(loo.elpd_i["y"], ddof=1), rel=1e-13)
    assert loo.observations == 6 and loo.draws == 10_000 and loo.k_limit == 0.7
    assert loo.pareto_k["y"].shape == (6,) and np.all(loo.pareto_k["y"] < 0.7)
    lppd = stats.norm.logpdf(Y, *mean_and_sd())
    assert loo.p_loo == pytest.approx(np.sum(lppd - exact), abs=0.05)
    assert loo.warning == "" and loo.above == []


def mean_and_sd():
    var = 1 / (1 / PRIOR_VAR + len(Y))
    return var * Y.sum(), np.sqrt(1 + var)


def test_it_is_what_arviz_says():
    draws = conjugate()
    az = import_arviz()
    theirs, ours = az.loo(draws.to_arviz(log_likelihood=True), pointwise=True), draws.loo()
    elpd_i = theirs.elpd_i if uses_datatree(az.__version__) else theirs.loo_i
    np.testing.assert_allclose(ours.elpd_i["y"], np.asarray(elpd_i), rtol=1e-10)
    np.testing.assert_allclose(ours.pareto_k["y"], np.asarray(theirs.pareto_k), rtol=1e-8)
    p_loo = theirs.p if uses_datatree(az.__version__) else theirs.p_loo
    assert ours.p_loo == pytest.approx(p_loo, abs=1e-6)


def test_an_outlier_is_named():
    y = np.concatenate([Y, [14.0]])
    loo = conjugate(y).loo()
    ((label, k),) = loo.above
    assert label == "y[6]" and k == loo.pareto_k["y"][6] > 0.7
    assert loo.warning == (
        f"Pareto k is above 0.70 for 1 of 7 observations, worst y[6] ({k:.2f}): the posterior changes so much without "
        "them that their part of elpd is not reliable. Fit the model without these, or give it an observation model "
        "with heavier tails."
    )
    lines = repr(loo).splitlines()
    assert lines[0] == "PSIS-LOO: 7 observations, 10000 draws"
    assert lines[-1] == f"! {loo.warning}"


def test_missing_observations_do_not_count():
    y = np.array([0.3, np.nan, 0.8, 2.1, np.nan])
    loo = conjugate(y, missing="skip").loo()
    assert np.isnan(loo.elpd_i["y"]).tolist() == [False, True, False, False, True]
    assert loo.observations == 3
    seen = y[~np.isnan(y)]
    assert loo.elpd == pytest.approx(sum(left_out(seen, i) for i in range(3)), abs=0.05)


def test_outcomes_together_and_alone():
    posterior = Posterior(
        Joint(rate=Exponential(1.0)),
        lambda rate: {"counts": Poisson(rate).iid(2), "times": Exponential(rate).iid(3)},
        {"counts": [1, 2], "times": [0.5, 1.0, 2.0]},
    )
    draws = Draws({"rate": RNG.gamma(6.0, 1 / 6.5, (4, 500))}, {}, observed=posterior.observed, model=posterior)
    both, counts, times = draws.loo(), draws.loo("counts"), draws.loo("times")
    assert both.elpd == pytest.approx(counts.elpd + times.elpd, rel=1e-12)
    assert both.p_loo == pytest.approx(counts.p_loo + times.p_loo, rel=1e-12)
    assert both.observations == 5
    with pytest.raises(ParameterError, match="Draws.loo: 'sizes' is not among the outcomes counts, times."):
        draws.loo("sizes")


def test_what_is_too_large_for_memory_goes_through_a_file(monkeypatch):
    draws = conjugate()
    inside = draws.loo()
    monkeypatch.setattr(predictive, "IN_MEMORY", 0)
    assert isinstance(predictive.by_outcome(draws.model, draws.posterior, 10_000)["y"], np.memmap)
    assert draws.loo().elpd == inside.elpd


def test_blocks_of_observations_make_no_difference(monkeypatch):
    draws = conjugate()
    whole = draws.loo()
    monkeypatch.setattr("probdiff.sampling.loo.BLOCK", 20_000)
    np.testing.assert_array_equal(draws.loo().elpd_i["y"], whole.elpd_i["y"])


def test_log_likelihoods_by_a_function():
    posterior = Posterior(Joint(mu=Normal(0, 2)), loglike=lambda mu: -0.5 * (Y - mu) ** 2)
    draws = Draws({"mu": RNG.normal(size=(2, 50))}, {}, model=posterior)
    assert list(draws.log_likelihood()) == ["loglike"]
    expected = -0.5 * (Y - draws["mu"][..., None]) ** 2
    np.testing.assert_allclose(draws.log_likelihood()["loglike"], expected, rtol=1e-13)


ERRORS = [
    (
        lambda: Draws({"mu": np.zeros((1, 5))}, {}).loo(),
        ParameterError,
        "Draws.loo needs the model, and these draws have none: files keep only the draws. "
        "Give it: draws = draws.with_model(posterior).",
    ),
    (
        lambda: Draws({"x": np.zeros((1, 5, 2))}, {}, model=Target(lambda q: (0.0, q), 2)).log_likelihood(),
        UnsupportedError,
        "Draws.log_likelihood needs a Posterior, which knows its observations, got Target.",
    ),
    (
        lambda: Draws(
            {"mu": np.zeros((1, 50))}, {}, model=Posterior(Joint(mu=Normal(0, 1)), loglike=lambda mu: np.log(Y * mu))
        ).loo(),
        DataError,
        "Draws.loo: the log-likelihood of loglike[0] is not finite in every draw. "
        "Look at it with Draws.log_likelihood().",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
