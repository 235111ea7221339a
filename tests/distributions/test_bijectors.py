"""Bijectors: there and back, log-Jacobians against numerical ones, and the ends of the scale."""

import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions.bijectors import (
    AboveLower,
    Affine,
    BelowUpper,
    Identity,
    Interval,
    Ordered,
    Positive,
    PositiveOrdered,
    Simplex,
    SumToZero,
    bijector_for,
)
from probdiff.distributions.support import (
    Support,
    interval,
    nonnegative,
    nonnegative_integers,
    open_unit_interval,
    positive,
    real,
    real_vector,
    simplex,
    unit_interval,
)
from probdiff.errors import UnsupportedError

SCALAR = [
    Identity(),
    Positive(),
    AboveLower(-3.0),
    BelowUpper(2.0),
    Interval(-1.0, 4.0),
    Interval(np.array([0.0, -1.0, 2.0]), 5.0),
    Affine(1.0, 2.5),
]
VECTOR = [Simplex(), Ordered(), PositiveOrdered(), SumToZero()]
U = np.array([-1.3, 0.4, 2.1])


@pytest.mark.parametrize("bijector", [*SCALAR, *VECTOR])
def test_there_and_back(bijector):
    for u in (U, 3 * U, np.stack([U, -U])):
        assert bijector.inverse(bijector.forward(u)) == pytest.approx(u, abs=1e-12)


def jacobian_by_differences(bijector, u):
    h = 1e-6
    columns = [(bijector.forward(u + h * e) - bijector.forward(u - h * e)) / (2 * h) for e in np.eye(len(u))]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("bijector", SCALAR)
def test_log_jacobian_of_scalars(bijector):
    slopes = np.diag(jacobian_by_differences(bijector, U))
    # Central differences with h = 1e-6: relative error about 1e-9.
    assert bijector.log_jacobian(U) == pytest.approx(np.log(slopes), abs=1e-8)


@pytest.mark.parametrize("bijector", VECTOR)
def test_log_jacobian_of_vectors(bijector):
    square = jacobian_by_differences(bijector, U)[: len(U)]
    assert bijector.log_jacobian(U) == pytest.approx(np.linalg.slogdet(square)[1], abs=1e-8)
    assert bijector.log_jacobian(np.stack([U, -U])).shape == (2,)


@pytest.mark.parametrize("bijector", [*SCALAR, *VECTOR])
def test_derivatives(bijector):
    weights = np.arange(1.0, 5.0)

    def f(u):
        x = bijector.forward(u)
        return np.sum(weights[: x.shape[-1]] * x) + np.sum(bijector.log_jacobian(u))

    h = 1e-6
    slopes = [(f(U + h * e) - f(U - h * e)) / (2 * h) for e in np.eye(3)]
    assert gradient(f, U)[0] == pytest.approx(slopes, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(("u", "expected"), [(20.0, -20.000000004122306), (40.0, -40.0), (800.0, -800.0)])
def test_log_jacobian_of_a_saturated_sigmoid(u, expected):
    unit = Interval(0.0, 1.0)
    assert unit.log_jacobian(u) == pytest.approx(expected, rel=1e-15, abs=0)
    assert unit.log_jacobian(-u) == pytest.approx(expected, rel=1e-15, abs=0)
    slope = -np.tanh(u / 2)
    assert gradient(unit.log_jacobian, u)[0] == pytest.approx(slope, rel=1e-14, abs=0)


def test_beside_a_bound_values_stay_within_it():
    narrow = Interval(-1.0, 1e-7)
    for x in (np.nextafter(1e-7, -1.0), np.nextafter(-1.0, 0.0), 0.0):
        assert -1.0 <= narrow.forward(narrow.inverse(x)) <= 1e-7
    u = np.array([-800.0, -40.0, 40.0, 800.0])
    assert np.all((narrow.forward(u) >= -1.0) & (narrow.forward(u) <= 1e-7))


def test_simplex_sums_to_one_and_has_its_centre_at_zero():
    stick = Simplex()
    assert stick.forward(np.zeros(4)) == pytest.approx(np.full(5, 0.2), rel=1e-14)
    x = stick.forward(np.array([30.0, -700.0, 5.0, 1.0]))
    assert np.all(np.isfinite(x))
    assert x.sum() == pytest.approx(1.0, abs=1e-15)
    assert np.isfinite(stick.log_jacobian(np.array([800.0, -800.0])))


def test_ordered_rises():
    assert np.all(np.diff(Ordered().forward(np.array([3.0, -2.0, 0.0, 1.0]))) > 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (real, Identity()),
        (real_vector, Identity()),
        (positive, Positive()),
        (nonnegative, Positive()),
        (unit_interval, Interval(0.0, 1.0)),
        (open_unit_interval, Interval(0.0, 1.0)),
        (interval(-2.0, 3.0), Interval(-2.0, 3.0)),
        (interval(-2.0, np.inf), AboveLower(-2.0)),
        (interval(-np.inf, 3.0), BelowUpper(3.0)),
        (simplex, Simplex()),
    ],
)
def test_each_support_has_its_bijector(given, expected):
    assert bijector_for(given) == expected


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (nonnegative_integers, "nonnegative_integers is discrete: no smooth map leads from the reals onto it."),
        (
            Support("odd_things", "odd"),
            "There is no bijector for the support odd_things; there is one for real, real_vector, real_matrix, "
            "positive, nonnegative, positive_vector, simplex, ordered, positive_ordered, unit_vector, sum_to_zero, "
            "lower_cholesky, covariance_cholesky, correlation_cholesky, positive_definite, covariance_matrix, "
            "correlation_matrix, interval.",
        ),
    ],
)
def test_supports_without_a_bijector(given, text):
    with pytest.raises(UnsupportedError) as caught:
        bijector_for(given)
    assert str(caught.value) == text
