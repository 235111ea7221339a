"""Truncated: densities, distribution functions and draws against SciPy, traced bounds, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from probdiff import check_gradient, compile, gradient, value_and_grad
from probdiff.distributions import Cauchy, Exponential, MvNormal, Normal, Pareto, Poisson, StudentT, Weibull, truncated
from probdiff.distributions.bijectors import AboveLower, bijector_for
from probdiff.distributions.support import nonnegative
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
    assert d.support is nonnegative
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


@pytest.mark.parametrize(
    ("d", "reference"),
    [
        (truncated(Exponential(2.0), upper=3.0), stats.truncexpon(1.5, scale=2.0)),
        (truncated(Pareto(1.5, 2.0), upper=9.0), stats.truncpareto(1.5, 4.5, scale=2.0)),
        (truncated(Weibull(1.3, 2.0), 1.0, 4.0), stats.truncweibull_min(1.3, 0.5, 2.0, scale=2.0)),
    ],
)
def test_other_families(d: Any, reference: Any) -> None:
    """Their own bounds count where they are tighter, and the ends belong to the support."""
    p = np.array([0.0, 1e-9, 0.2, 0.9, 1.0])
    x = d.quantile(p)
    np.testing.assert_allclose(x, reference.ppf(p), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(d.logpdf(x), reference.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(d.cdf(x), reference.cdf(x), rtol=1e-7, atol=1e-15)
    assert (d.support.lower, d.support.upper) == reference.support()
    assert (d.mean(), d.var(), d.entropy()) == pytest.approx((*reference.stats("mv"), reference.entropy()), rel=1e-9)


def test_cauchy_far_out() -> None:
    """Between 1e10 and 2e10 the density is 1 / (π x²) over 1 / (2e10 π), to twenty digits."""
    d = truncated(Cauchy(), 1e10, 2e10)
    x = np.array([1.1e10, 1.5e10, 1.9e10])
    np.testing.assert_allclose(d.pdf(x), 2e10 / x**2, rtol=1e-14)
    np.testing.assert_allclose(d.cdf(x), 2e10 * (1e-10 - 1 / x), rtol=1e-13)
    np.testing.assert_allclose(d.quantile(d.cdf(x)), x, rtol=1e-13)


def test_slopes_of_tails_and_quantiles_in_the_bounds() -> None:
    for method, at in (("logcdf", 0.9), ("logccdf", 0.9), ("quantile", 0.3), ("cquantile", 0.01)):

        def f(v: Any, loc: Any, lower: Any, upper: Any, method: str = method) -> Any:
            return getattr(truncated(Normal(loc, 1.3), lower, upper), method)(v)

        check_gradient(f, at, 0.2, -0.4, 2.5)
        program = compile(value_and_grad(f, argnums=(0, 1, 2, 3)))
        value, bars = program(at, 0.2, -0.4, 2.5)
        assert value == pytest.approx(f(at, 0.2, -0.4, 2.5), rel=1e-12)
        assert bars == pytest.approx(gradient(f, at, 0.2, -0.4, 2.5), rel=1e-10)


def test_unconstrained_coordinates_lead_between_the_tighter_bounds() -> None:
    move = bijector_for(truncated(Exponential(2.0), upper=3.0).support)
    u = np.array([-30.0, 0.0, 30.0])
    assert np.all((move.forward(u) >= 0) & (move.forward(u) <= 3))
    assert isinstance(bijector_for(truncated(Exponential(2.0), lower=1.0).support), AboveLower)


def test_refusals() -> None:
    with pytest.raises(ParameterError) as caught:
        truncated(Normal(), 1.0, 0.5)
    assert str(caught.value) == "truncated: lower must be below upper, got 1.0 and 0.5."
    with pytest.raises(ParameterError) as empty:
        truncated(Poisson(2.0), 1.2, 1.8)
    assert str(empty.value) == "truncated: there must be whole numbers between the bounds, got 1.2 and 1.8."
    with pytest.raises(UnsupportedError) as refused:
        truncated(MvNormal(np.zeros(2), np.eye(2)))
    assert str(refused.value) == "truncated: MvNormal is not a distribution of real or whole numbers."


def test_whole_numbers() -> None:
    """Masses between the bounds, both included, add up to one; tails, quantiles, moments and draws follow them."""
    base = Poisson(3.2)
    for lower, upper in ((1, math.inf), (2.5, 7), (-math.inf, 4), (60, 64)):
        d = truncated(base, lower, upper)
        k = np.arange(math.ceil(max(0, lower)), min(upper, 160) + 1)
        mass = np.exp(base.logpdf(k) - base.logpdf(k[0]))
        mass /= np.sum(mass)
        np.testing.assert_allclose(d.pdf(k), mass, rtol=1e-12)
        np.testing.assert_allclose(d.cdf(k), np.cumsum(mass), rtol=1e-12)
        beyond = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
        np.testing.assert_allclose(d.ccdf(k)[:100], beyond[:100], rtol=1e-11)
        np.testing.assert_array_equal(d.logpdf(np.array([k[0] - 1, k[0] + 0.5, upper + 1])), -math.inf)
        assert d.cdf(k[0] - 0.5) == 0 and d.quantile(0.0) == k[0]
        likely = k[mass > 1e-10]
        np.testing.assert_array_equal(d.quantile(d.cdf(likely)), likely)
        assert d.mean() == pytest.approx(np.sum(mass * k), rel=1e-12)
        drawn = d.rand(2000, rng=np.random.default_rng(4))
        # Five standard errors.
        assert np.mean(drawn) == pytest.approx(d.mean(), abs=5 * d.std() / math.sqrt(2000) + 1e-12)
        check_gradient(lambda rate, d=d, k=k: truncated(Poisson(rate), d.lower, d.upper).logpdf(k[0] + 1.0), 3.2)


def test_the_divergence_is_infinite_where_the_other_has_no_mass():
    narrow, wide = truncated(Normal(), 0.0, 1.0), truncated(Normal(), -1.0, 2.0)
    assert wide.kl_divergence(narrow) == np.inf
    masses = stats.norm.cdf([-1.0, 0.0, 1.0, 2.0])
    expected = np.log((masses[3] - masses[0]) / (masses[2] - masses[1]))
    assert narrow.kl_divergence(wide) == pytest.approx(expected, rel=1e-11)
