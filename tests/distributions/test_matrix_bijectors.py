"""Bijectors of unit vectors and matrices: there and back, log-Jacobians on the free coordinates, the ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from probdiff import compile, gradient, value_and_grad
from probdiff.distributions.bijectors import PositiveOrdered, SumToZero, UnitVector, bijector_for
from probdiff.distributions.matrix_bijectors import (
    CorrelationCholesky,
    CorrelationMatrix,
    CovarianceCholesky,
    CovarianceMatrix,
)
from probdiff.distributions.support import (
    correlation_cholesky,
    correlation_matrix,
    covariance_cholesky,
    covariance_matrix,
    lower_cholesky,
    ordered,
    positive_definite,
    positive_ordered,
    sum_to_zero,
    unit_vector,
)

# Bijector, support, and the diagonal from which on the entries are free.
MATRICES = [
    (CovarianceCholesky(), covariance_cholesky, 0),
    (CovarianceMatrix(), covariance_matrix, 0),
    (CorrelationCholesky(), correlation_cholesky, -1),
    (CorrelationMatrix(), correlation_matrix, -1),
]
U = np.array([-1.3, 0.4, 0.9, 0.2, -0.6, 1.1])
H = 1e-6


@pytest.mark.parametrize(("bijector", "support", "free"), MATRICES)
def test_there_and_back(bijector, support, free):
    for u in (U, 2 * U, np.stack([U, -U]), U[:1], U[:3]):
        x = bijector.forward(u)
        assert np.all(support.contains(x))
        # A correlation matrix of entries near one holds its coordinates in differences from one: cosh(u)^2 roundings.
        assert bijector.inverse(x) == pytest.approx(u, abs=1e-10)
        assert bijector.unconstrained_shape(x.shape) == u.shape


@pytest.mark.parametrize(("bijector", "support", "free"), MATRICES)
def test_log_jacobian_on_the_free_entries(bijector, support, free):
    size = bijector.forward(U).shape[-1]
    i, j = np.tril_indices(size, free)
    columns = [
        (bijector.forward(U + H * e)[i, j] - bijector.forward(U - H * e)[i, j]) / (2 * H) for e in np.eye(len(U))
    ]
    # Central differences with h = 1e-6: relative error about 1e-9 in each of six columns.
    assert bijector.log_jacobian(U) == pytest.approx(np.linalg.slogdet(np.stack(columns, axis=1))[1], abs=1e-7)
    assert bijector.log_jacobian(np.stack([U, -U])).shape == (2,)


@pytest.mark.parametrize("bijector", [*(each for each, *_ in MATRICES), UnitVector(), SumToZero(), PositiveOrdered()])
def test_derivatives(bijector):
    def f(u):
        x = bijector.forward(u)
        return np.sum(x * np.arange(1.0, x.shape[-1] + 1)) + np.sum(bijector.log_jacobian(u))

    slopes = [(f(U + H * e) - f(U - H * e)) / (2 * H) for e in np.eye(len(U))]
    by_reverse = gradient(f, U)[0]
    assert by_reverse == pytest.approx(slopes, rel=1e-7, abs=1e-7)
    value, compiled = compile(value_and_grad(f))(U)
    assert value == pytest.approx(f(U), rel=1e-13)
    assert compiled == pytest.approx(by_reverse, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("bijector", [CorrelationCholesky(), CorrelationMatrix(), CovarianceCholesky()])
def test_far_out_nothing_is_lost(bijector):
    far = np.array([300.0, -300.0, 250.0])
    assert np.all(np.isfinite(bijector.forward(far)))
    assert np.all(np.isfinite(gradient(bijector.log_jacobian, far)[0]))


def test_correlation_factors_keep_coordinates_up_to_where_doubles_end():
    u = np.array([30.0, -25.0, 40.0])
    x = CorrelationCholesky().forward(u)
    assert np.sum(x * x, axis=-1) == pytest.approx(np.ones(3), rel=1e-15)
    assert CorrelationCholesky().inverse(x) == pytest.approx(u, rel=1e-13)


def test_a_flat_correlation_of_two_is_uniform():
    """With one correlation r, log |dr/du| at u is log sech²(u): the density of r is flat on (-1, 1)."""
    u = np.array([0.7])
    for bijector in (CorrelationMatrix(), CorrelationCholesky()):
        assert bijector.log_jacobian(u) == pytest.approx(-2 * np.log(np.cosh(0.7)), rel=1e-14)


def test_unit_vectors():
    bijector = UnitVector()
    u = np.array([0.3, -2.0, 1.1])
    x = bijector.forward(u)
    assert unit_vector.contains(x)
    assert bijector.forward(bijector.inverse(x)) == pytest.approx(x, abs=1e-16)
    assert bijector.forward(1e-200 * u) == pytest.approx(x, abs=1e-15)
    assert bijector.forward(1e200 * u) == pytest.approx(x, abs=1e-15)
    # du = r² dr dx, and r has the chi distribution with three degrees of freedom.
    r = np.sqrt(np.sum(u * u))
    assert bijector.log_jacobian(u) == pytest.approx(stats.chi.logpdf(r, 3) - 2 * np.log(r), rel=1e-13)


def test_sums_of_zero():
    bijector = SumToZero()
    u = U[:4]
    x = bijector.forward(u)
    assert sum_to_zero.contains(x)
    assert np.sum(x * x) == pytest.approx(np.sum(u * u), rel=1e-14)
    assert bijector.inverse(x) == pytest.approx(u, abs=1e-15)


def test_orders():
    x = PositiveOrdered().forward(U)
    assert positive_ordered.contains(x)
    assert ordered.contains(x - 100.0)
    assert not positive_ordered.contains(x - 100.0)
    assert np.isfinite(PositiveOrdered().log_jacobian(800.0 * U))


def test_names_of_the_same_set_have_the_same_bijector():
    assert bijector_for(lower_cholesky) == bijector_for(covariance_cholesky) == CovarianceCholesky()
    assert bijector_for(positive_definite) == bijector_for(covariance_matrix) == CovarianceMatrix()
    assert bijector_for(correlation_cholesky) == CorrelationCholesky()
    assert bijector_for(correlation_matrix) == CorrelationMatrix()
    assert bijector_for(unit_vector) == UnitVector()
    assert bijector_for(sum_to_zero) == SumToZero()
    assert bijector_for(positive_ordered) == PositiveOrdered()


def test_members_of_the_supports():
    eye = np.eye(2)
    assert correlation_cholesky.contains(np.array([[1.0, 0.0], [0.6, 0.8]]))
    assert not correlation_cholesky.contains(2 * eye)
    assert not correlation_cholesky.contains(np.array([[1.0, 0.6], [0.0, 0.8]]))
    assert correlation_matrix.contains(np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert not correlation_matrix.contains(2 * eye)
    assert covariance_matrix.contains(2 * eye)
    assert ordered.contains(np.array([[1.0, 2.0], [2.0, 2.0]])).tolist() == [True, False]
    assert unit_vector.contains(np.array([[0.6, 0.8], [0.6, 0.7]])).tolist() == [True, False]
    assert sum_to_zero.contains(np.array([[1.0, -1.0], [1.0, np.nan]])).tolist() == [True, False]


def test_a_flat_simplex_by_its_moments():
    """The stick-breaking density at random u, weighted, has the moments of the uniform simplex: E x_k = 1/3."""
    from probdiff.distributions.bijectors import Simplex

    grid = np.linspace(-25.0, 25.0, 401)
    u = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.exp(Simplex().log_jacobian(u)) * (grid[1] - grid[0]) ** 2
    assert weight.sum() == pytest.approx(1 / special.gamma(3), rel=1e-8)
    assert (weight @ Simplex().forward(u)) / weight.sum() == pytest.approx(np.full(3, 1 / 3), rel=1e-8)
