"""Missing observations: left out, or unknowns with the observation model as their density."""

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Exponential, HalfNormal, MvNormal, Normal, Poisson, Uniform
from probdiff.errors import DataError, ParameterError, UnsupportedError
from probdiff.models import Joint, Posterior

Y = np.array([1.0, np.nan, 2.0, 3.0, np.nan])
SEEN = np.array([0, 2, 3])
PRIOR = Joint(mu=Normal(0, 5), s=HalfNormal(2))
POINT = {"mu": 0.7, "s": 1.3}


def model(data=Y, missing="skip") -> Posterior:
    return Posterior(PRIOR, lambda mu, s: Normal(mu, s).iid(5), data, missing=missing)


def test_skipped_entries_contribute_nothing():
    posterior = model()
    expected = stats.norm.logpdf(Y[SEEN], 0.7, 1.3)
    assert posterior.log_likelihood(POINT) == pytest.approx(expected.sum(), rel=1e-14)
    pointwise = posterior.pointwise_log_likelihood(POINT)
    assert pointwise[SEEN] == pytest.approx(expected, rel=1e-14)
    assert pointwise[[1, 4]].tolist() == [0.0, 0.0]
    assert posterior.dim == 2
    without = Posterior(PRIOR, lambda mu, s: Normal(mu, s).iid(3), Y[SEEN])
    q = np.array([0.3, -0.2])
    value, gradient = posterior.value_and_grad(q)
    assert value == pytest.approx(without.value_and_grad(q)[0], rel=1e-14)
    assert gradient == pytest.approx(without.value_and_grad(q)[1], rel=1e-13)


def test_masked_arrays_are_missing_data_too():
    masked = np.ma.MaskedArray([1, 99, 2, 3, 99], mask=[0, 1, 0, 0, 1])
    counts = Posterior(Joint(rate=Exponential(1.0)), lambda rate: Poisson(rate).iid(5), masked, missing="skip")
    expected = stats.poisson.logpmf([1, 2, 3], 1.7).sum()
    assert counts.log_likelihood({"rate": 1.7}) == pytest.approx(expected, rel=1e-14)
    assert np.array_equal(counts.observed["y"], Y, equal_nan=True)


def test_imputed_entries_are_unknowns():
    posterior = model(missing="impute")
    assert posterior.coordinate_names == ["mu", "s", "y_missing[0]", "y_missing[1]"]
    filled = np.array([1.0, -0.4, 2.0, 3.0, 0.9])
    point = {**POINT, "y_missing": filled[[1, 4]]}
    expected = stats.norm.logpdf(filled, 0.7, 1.3)
    assert posterior.log_likelihood(point) == pytest.approx(expected.sum(), rel=1e-14)
    # They are no data: nothing for cross-validation to leave out.
    pointwise = posterior.pointwise_log_likelihood(point)
    assert pointwise == pytest.approx(np.where(np.isnan(Y), 0.0, expected), rel=1e-14)
    q = posterior.unconstrain(point)
    assert q == pytest.approx([0.7, np.log(1.3), -0.4, 0.9], rel=1e-14)
    assert posterior.logdensity(q) == pytest.approx(posterior.log_density(point) + np.log(1.3), rel=1e-14)
    assert posterior.value_and_grad(q)[0] == pytest.approx(posterior.logdensity(q), rel=1e-13)
    back = posterior.constrain(q)
    assert back["y_missing"] == pytest.approx(filled[[1, 4]], rel=1e-14)
    many = posterior.constrain_many(np.stack([q, q]))
    assert many["y_missing"].shape == (2, 2)


def test_integrating_imputed_entries_out_is_skipping_them():
    skip, impute = model(), model(missing="impute")
    grid = np.linspace(-15.0, 16.0, 621)
    point = lambda a, b: {**POINT, "y_missing": np.array([a, b])}  # noqa: E731
    # Each missing entry is independent given the parameters: one integral, squared.
    along = np.array([impute.log_likelihood(point(a, 0.7)) for a in grid])
    fixed = stats.norm.logpdf(0.7, 0.7, 1.3)
    integral = np.sum(np.exp(along - fixed)) * (grid[1] - grid[0])
    assert np.log(integral) == pytest.approx(skip.log_likelihood(POINT), rel=1e-10)


def test_bounds_of_imputed_entries_may_depend_on_variables_and_places():
    tops = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
    posterior = Posterior(Joint(a=Exponential(1.0)), lambda a: Uniform(0.0, a + tops), Y, missing="impute")
    q = np.array([0.2, 3.0, -1.0])
    point = posterior.constrain(q)
    width = np.exp(0.2) + tops[[1, 4]]
    assert point["y_missing"] == pytest.approx(width / (1 + np.exp(-q[1:])), rel=1e-14)
    jacobian = np.log(width).sum() + stats.logistic.logpdf(q[1:]).sum() + 0.2
    assert posterior.logdensity(q) == pytest.approx(posterior.log_density(point) + jacobian, rel=1e-13)
    assert posterior.unconstrain(point) == pytest.approx(q, rel=1e-13)
    h = 1e-6
    slopes = [(posterior.logdensity(q + h * e) - posterior.logdensity(q - h * e)) / (2 * h) for e in np.eye(3)]
    assert posterior.gradient(q) == pytest.approx(slopes, rel=1e-7, abs=1e-7)


def test_vectors_missing_as_a_whole_or_imputed_in_part():
    rows = np.array([[1.0, 2.0], [np.nan, np.nan], [0.5, np.nan]])
    prior = Joint(mu=Normal(0, 1))
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])

    def observe(mu):
        return MvNormal(mu * np.ones(2), covariance=cov).iid(3)

    whole = Posterior(prior, lambda mu: MvNormal(mu * np.ones(2), covariance=cov).iid(2), rows[:2], missing="skip")
    expected = stats.multivariate_normal.logpdf(rows[0], [0.3, 0.3], cov)
    assert whole.log_likelihood({"mu": 0.3}) == pytest.approx(expected, rel=1e-13)
    part = Posterior(prior, observe, rows, missing="impute")
    filled = np.array([[1.0, 2.0], [0.1, 0.2], [0.5, 0.3]])
    expected = stats.multivariate_normal.logpdf(filled, [0.3, 0.3], cov).sum()
    assert part.log_likelihood({"mu": 0.3, "y_missing": [0.1, 0.2, 0.3]}) == pytest.approx(expected, rel=1e-13)


def test_several_outcomes_and_other_data():
    posterior = Posterior(
        PRIOR, lambda mu, s: {"a": Normal(mu, s).iid(2), "b": Normal(mu, s).iid(2)},
        {"a": [0.0, np.nan], "b": [1.0, 2.0]}, missing="impute",
    )  # fmt: skip
    assert posterior.coordinate_names == ["mu", "s", "a_missing[0]"]
    other = posterior.with_data({"a": [0.0, 1.0], "b": [np.nan, np.nan]})
    assert other.coordinate_names == ["mu", "s", "b_missing[0]", "b_missing[1]"]
    assert model().with_data(np.full(5, np.nan)).log_likelihood(POINT) == 0.0


def test_the_table_names_what_is_imputed():
    assert model(missing="impute").table().splitlines()[-2:] == [
        "y          Normal        mu, s       (5,)   real",
        "y_missing  Normal        y           (2,)   real",
    ]


ERRORS = [
    (
        lambda: model(missing=None),
        DataError,
        '2 of 5 observations are NaN (first at index 1). Drop them, or pass missing="skip".',
    ),
    (
        lambda: model(np.ma.MaskedArray(np.zeros(5), mask=[0, 0, 1, 0, 0]), missing=None),
        DataError,
        '1 of 5 observations are masked (first at index 2). Drop them, or pass missing="skip".',
    ),
    (
        lambda: model(missing="drop"),
        ParameterError,
        "Posterior.missing must be 'skip', 'impute' or None, got 'drop'.",
    ),
    (
        lambda: Posterior(Joint(r=Exponential(1.0)), lambda r: Poisson(r).iid(2), [1.0, np.nan], missing="impute"),
        UnsupportedError,
        "y_missing would be discrete (Poisson), and a missing count is no coordinate. Pass missing='skip'.",
    ),
    (
        lambda: Posterior(
            Joint(m=Normal(0, 1)),
            lambda m: MvNormal(m * np.ones(2), np.eye(2)).iid(1),
            [[1.0, np.nan]],
            missing="skip",
        ),
        UnsupportedError,
        "y: a value of MvNormal is missing in part, and it has one density as a whole. "
        "Pass missing='impute', or take the whole value out.",
    ),
    (
        lambda: Posterior(
            Joint(y_missing=Normal(0, 1)), lambda y_missing: Normal(y_missing, 1).iid(1), [np.nan], missing="impute"
        ),
        ParameterError,
        "y_missing is the name of the missing observations. Rename the variable of the prior.",
    ),
    (
        lambda: model(missing="impute").log_likelihood(POINT),
        ParameterError,
        "There is no value for y_missing; the values given are mu, s.",
    ),
    (
        lambda: Posterior(
            Joint(a=Exponential(1.0)), lambda a: Exponential(a).iid(2), [1.0, np.nan], missing="impute"
        ).unconstrain({"a": 1.0, "y_missing": np.array([-1.0])}),
        ParameterError,
        "y_missing must be inside the support of Exponential (nonnegative), got [-1.].",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_word_for_word(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
