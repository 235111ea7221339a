"""Dirichlet: densities and moments against SciPy, slopes, batches, draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from probdiff import check_gradient
from probdiff.distributions import Beta, Dirichlet
from probdiff.errors import ParameterError

CONCENTRATIONS = [[1.0, 1.0], [0.5, 2.0, 7.0], [30.0, 0.1, 4.0, 4.0]]


@pytest.mark.parametrize("a", CONCENTRATIONS)
def test_density_and_moments(a: list[float]) -> None:
    d, reference = Dirichlet(a), stats.dirichlet(a)
    # A fixed seed: no proportion comes near zero, where SciPy refuses.
    for x in reference.rvs(5, random_state=3):
        assert d.logpdf(x) == pytest.approx(reference.logpdf(x), rel=1e-12)
    np.testing.assert_allclose(d.mean(), reference.mean(), rtol=1e-14)
    np.testing.assert_allclose(d.var(), reference.var(), rtol=1e-13)
    assert d.entropy() == pytest.approx(reference.entropy(), rel=1e-12)


def test_two_proportions_are_a_beta() -> None:
    assert Dirichlet([2.0, 3.5]).logpdf([0.2, 0.8]) == pytest.approx(Beta(2.0, 3.5).logpdf(0.2), rel=1e-14)


def test_outside_the_simplex_and_on_its_edge() -> None:
    d = Dirichlet([1.0, 2.0])
    np.testing.assert_array_equal(d.logpdf([[0.5, 0.6], [-0.1, 1.1], [math.nan, 1.0], [1.0, 0.0]]), -math.inf)
    # Concentration one: the density at the edge is that of the inside.
    assert Dirichlet([1.0, 1.0, 1.0]).logpdf([0.0, 0.5, 0.5]) == pytest.approx(math.log(2), rel=1e-15)


def test_slopes() -> None:
    x = np.array([0.2, 0.3, 0.5])
    check_gradient(lambda a: Dirichlet(a).logpdf(x), np.array([0.7, 2.0, 5.0]))
    # On the simplex, in its first two coordinates.
    check_gradient(lambda u: Dirichlet([0.7, 2.0, 5.0]).logpdf(np.stack([u[0], u[1], 1 - u[0] - u[1]])), x[:2])


def test_rows_are_independent() -> None:
    d = Dirichlet(np.array([[1.0, 2.0, 3.0], [4.0, 1.0, 1.0]]))
    assert (d.batch_shape, d.event_shape) == ((2,), (3,))
    drawn = d.rand(20000, rng=np.random.default_rng(5))
    assert drawn.shape == (20000, 2, 3)
    np.testing.assert_allclose(drawn.sum(axis=-1), 1.0, rtol=1e-14)
    # Five standard errors of a mean.
    assert np.all(abs(drawn.mean(axis=0) - d.mean()) < 5 * np.sqrt(d.var() / 20000))
    expected = [Dirichlet(a).logpdf(x) for a, x in zip(d.concentration, drawn[0], strict=True)]
    np.testing.assert_allclose(d.logpdf(drawn[0]), expected, rtol=1e-12)


def test_refusal() -> None:
    with pytest.raises(ParameterError) as caught:
        Dirichlet([1.0, -1.0])
    assert str(caught.value).startswith("Dirichlet.concentration must be positive, got ")


def test_draws_of_tiny_concentrations_are_corners():
    """Gamma variables of shape 1e-4 are mostly too small for a number; their proportions are not."""
    x = Dirichlet(np.array([1e-4, 1e-4, 3e-4])).rand(4000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(x.sum(axis=-1), 1.0, rtol=1e-14)
    # Each is next to a corner, chosen with probability concentration / sum: 0.2, 0.2, 0.6 to five standard errors.
    np.testing.assert_allclose(x.mean(axis=0), [0.2, 0.2, 0.6], atol=5 * np.sqrt(0.24 / 4000))
