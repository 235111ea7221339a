"""Truncated: densities, distribution functions and draws against SciPy, traced bounds, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from probdiff import check_gradient
from probdiff.distributions import MvNormal, Normal, Poisson, StudentT, truncated
from probdiff.distributions.support import positive
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.tree import Array

CASES = [
    (truncated(Normal(1, 0.5), lower=0.0), stats.truncnorm(-2, math.inf, 1, 0.5)),
    (truncated(Normal(1, 0.5), upper=1.2), stats.truncnorm(-math.inf, 0.4, 1, 0.5)),
    # The upper tail, where one minus the distribution function has no digits left.
    (truncated(Normal(), 9.0, 9.5), stats.truncnorm(9.0, 9.5)),
]


@pytest.mark.parametrize(("d", "reference"), CASES)
def test_against_scipy(d: Any, reference: Any) -> None:
    x = reference.ppf([0.1, 0.5, 0.95])
    np.testing.assert_allclose(d.logpdf(x), reference.logpdf(x), rtol=1e-9)
    outside = np.array([d.lower - 0.1, d.upper + 0.1, math.nan])
    np.testing.assert_array_equal(d.logpdf(outside), -math.inf)


@pytest.mark.parametrize(("d", "reference"), CASES[:2])
def test_distribution_function_and_draws(d: Any, reference: Any) -> None:
    x = reference.ppf([0.1, 0.5, 0.95])
    np.testing.assert_allclose(d.cdf(x), [0.1, 0.5, 0.95], rtol=1e-9)
    np.testing.assert_allclose(d.quantile(np.array([0.1, 0.5, 0.95])), x, rtol=1e-9)
    drawn = d.rand(4000, rng=np.random.default_rng(2))
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-3  # the seed is fixed


def test_half_of_a_symmetric_family_doubles() -> None:
    d = truncated(StudentT(3, 0, 10), lower=0.0)
    assert d.support is positive
    assert d.logpdf(4.0) == pytest.approx(StudentT(3, 0, 10).logpdf(4.0) + math.log(2), rel=1e-14)


def test_bounds_and_parameters_have_slopes() -> None:
    def logpdf(loc: Array, lower: Array) -> Array:
        return truncated(Normal(loc, 1.3), lower=lower).logpdf(0.9)

    check_gradient(logpdf, 0.2, -0.4)


def test_batches() -> None:
    d = truncated(Normal([1.0, 0.05], [0.5, 0.05]), lower=0.0)
    assert d.batch_shape == (2,)
    expected = [truncated(Normal(1, 0.5), lower=0.0).logpdf(0.7), truncated(Normal(0.05, 0.05), lower=0.0).logpdf(0.1)]
    np.testing.assert_allclose(d.logpdf(np.array([0.7, 0.1])), expected, rtol=1e-14)


def test_refusals() -> None:
    with pytest.raises(ParameterError) as caught:
        truncated(Normal(), 1.0, 0.5)
    assert str(caught.value) == "truncated: lower must be below upper, got 1.0 and 0.5."
    for other in (Poisson(2.0), MvNormal(np.zeros(2), np.eye(2))):
        with pytest.raises(UnsupportedError) as refused:
            truncated(other)
        assert str(refused.value) == f"truncated: {type(other).__name__} is not a distribution of real numbers."
