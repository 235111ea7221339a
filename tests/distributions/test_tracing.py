"""Distributions whose parameters are being differentiated: no checks, -inf where invalid, containers for gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff import gradient, value_and_grad
from probdiff.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Exponential,
    Gamma,
    NegativeBinomial,
    Normal,
    StudentT,
    Uniform,
    Weibull,
    logpdf,
)

INVALID = [
    (lambda v: Exponential(v), np.float64(-1.0)),
    (lambda v: Normal(0.0, v), np.float64(0.0)),
    (lambda v: Normal(v, 1.0), np.float64(math.nan)),
    (lambda v: Beta(v, 2.0), np.float64(-0.5)),
    (lambda v: Bernoulli(v), np.float64(1.5)),
    (lambda v: Uniform(v, 0.0), np.float64(0.5)),
    (lambda v: NegativeBinomial(3.0, v), np.float64(0.0)),
    (lambda v: Categorical(v), np.array([0.7, 0.7])),
]


@pytest.mark.parametrize(("build", "value"), INVALID)
def test_invalid_traced_parameters_have_no_density(build: Any, value: Any) -> None:
    """A sampler may step outside a domain: that point has log-density -inf and slope 0, and raises nothing."""
    density, bar = value_and_grad(lambda v: build(v).logpdf(0.0))(value)
    assert density == -math.inf
    np.testing.assert_array_equal(bar, np.zeros_like(value))


def test_gradient_of_a_distribution_is_a_container() -> None:
    d = Normal(1.0, np.array([2.0, 4.0]))
    (bar,) = gradient(lambda d: np.sum(logpdf(d, 3.0)), d)
    assert type(bar) is Normal
    np.testing.assert_allclose(bar.loc, 2 / 4 + 2 / 16, rtol=1e-14)
    np.testing.assert_allclose(bar.scale, [4 / 8 - 1 / 2, 4 / 64 - 1 / 4], rtol=1e-14)
    (bar,) = gradient(lambda d: logpdf(d, 1), Bernoulli(logits=np.float64(0.0)))
    assert bar.p is None and bar.logits == 0.5


def test_other_parameterisations_differentiate() -> None:
    """The chain rule through mean and sd, against the derivative in shape and scale."""
    mean, sd = np.float64(6.0), np.float64(2.0)
    bars = gradient(lambda mean, sd: Gamma(mean=mean, sd=sd).logpdf(5.0), mean, sd)
    shape_bar, scale_bar = gradient(lambda a, s: Gamma(a, s).logpdf(5.0), np.float64(9.0), np.float64(2 / 3))
    expected = (
        shape_bar * 2 * mean / sd**2 - scale_bar * sd**2 / mean**2,
        -shape_bar * 2 * mean**2 / sd**3 + scale_bar * 2 * sd / mean,
    )
    np.testing.assert_allclose(bars, expected, rtol=1e-12)


def test_gradient_of_an_iid_product() -> None:
    x = np.array([0.5, 1.5, 4.0])
    bars = gradient(lambda s, x: Exponential(s).iid(3).logpdf(x), np.float64(2.0), x)
    np.testing.assert_allclose(bars[0], np.sum(x) / 4 - 3 / 2, rtol=1e-14)
    np.testing.assert_allclose(bars[1], -0.5, rtol=1e-14)


def test_slopes_at_the_end_of_the_support() -> None:
    """At x = 0 the slope is the limit from inside."""
    zero = np.float64(0.0)
    for d in (Exponential(rate=2.0), Gamma(1.0, rate=2.0), Weibull(1.0, 0.5)):
        assert gradient(lambda x, d=d: d.logpdf(x), zero) == (-2.0,)
    assert gradient(lambda x: Beta(1.0, 3.0).logpdf(x), zero) == (-2.0,)


def test_slope_of_student_in_very_many_degrees_of_freedom() -> None:
    """-(x⁴ - 2x² - 1) / (4 df²): what is left of terms that are 1 / df each."""
    for x, df, expected, rtol in ((1.0, 1e6, 4.999998333333333e-13, 1e-6), (3.0, 1e10, -1.549999997975e-19, 1e-4)):
        (bar,) = gradient(lambda df, x=x: StudentT(df).logpdf(x), np.float64(df))
        assert bar == pytest.approx(expected, rel=rtol)


def test_labels_that_are_traced() -> None:
    p = np.array([0.2, 0.3, 0.5])
    (bar, _) = gradient(lambda p, x: np.sum(Categorical(p, check=False).logpdf(x)), p, np.array([2.0, 0.0, 2.0]))
    np.testing.assert_allclose(bar, [5.0, 0.0, 4.0], rtol=1e-14)
