"""Golden cases 66-73: scores, supports, tails and laws of the distributions, differentiated in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, psi

from probdiff import gradient
from probdiff.distributions import (
    Bernoulli,
    Beta,
    BetaBinomial,
    Binomial,
    Categorical,
    Cauchy,
    Chi,
    ChiSquared,
    ExGaussian,
    Exponential,
    Gamma,
    Geometric,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    InverseGaussian,
    Laplace,
    Logistic,
    LogitNormal,
    LogNormal,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    Poisson,
    SkewNormal,
    StudentT,
    Uniform,
    Weibull,
    logpdf,
    truncated,
)
from tests.golden.modes import assert_gradient

SCORES = [
    (Beta(1.5, 3.0), 0.7, -5.9523809523809526),
    (Chi(5.0), 5.5, -4.7727272727272725),
    (ChiSquared(7.0), 12.0, -0.29166666666666663),
    (Exponential(2.0), 7.0, -0.5),
    (Gamma(9.0, 0.5), 11.0, -1.2727272727272727),
    (Gumbel(3.5, 1.0), 4.0, -0.3934693402873666),
    (Laplace(7.0, 1.0), 34.0, -1.0),
    (Logistic(-6.0, 1.0), 1.0, -0.9981778976111987),
    (LogNormal(5.5, 1.0), 2.0, 1.9034264097200273),
    (Normal(-4.5, 2.0), 1.6, -1.525),
    (StudentT(8.0), 9.1, -0.9018830525272548),
    (Weibull(2.0, 1.0), 3.5, -6.714285714285714),
    (Uniform(-1.0, 1.0), 0.3, 0.0),
    (LogNormal(0.0, 1.0), 1.0, -1.0),
    (LogNormal(0.0, 1.0), np.exp(-1.0), 0.0),
    (LogitNormal(0.0, 1.0), 1 / (1 + np.exp(1.0)), 2 * (1 + np.exp(-1.0))),
    (LogitNormal(0.0, 1.0), 0.5, 0.0),
]


@pytest.mark.parametrize(("d", "x", "score"), SCORES, ids=[f"{d}@{x}" for d, x, _ in SCORES])
def test_case_66_and_67_score(d: Any, x: float, score: float) -> None:
    assert_gradient(lambda x: logpdf(d, x), x, expected=(score,), rtol=1e-13, atol=1e-14)


OUTSIDE = [
    (Beta(1.5, 3.0), 1.7),
    (ChiSquared(7.0), -1.0),
    (Exponential(2.0), -7.0),
    (Gamma(9.0, 0.5), -1.0),
    (HalfCauchy(0.1), -3.0),
    (HalfNormal(1.0), -1.0),
    (InverseGamma(2.0, 1.0), -1.0),
    (LogNormal(0.0, 1.0), -1.0),
    (LogitNormal(0.0, 1.0), 1.5),
    (Chi(5.0), -1.0),
    (Uniform(-1.0, 1.0), 1.5),
    (Weibull(2.0, 1.0), -0.5),
]


@pytest.mark.parametrize(("d", "x"), OUTSIDE, ids=[f"{d}@{x}" for d, x in OUTSIDE])
def test_case_67_outside_the_support(d: Any, x: float) -> None:
    assert logpdf(d, x) == -np.inf
    assert_gradient(lambda x: logpdf(d, x), x, expected=(0.0,))


@pytest.mark.parametrize(("d", "x"), OUTSIDE, ids=[f"{d}@{x}" for d, x in OUTSIDE])
def test_case_67_outside_the_support_in_the_parameters(d: Any, x: float) -> None:
    def f(*parameters: Any) -> Any:
        return logpdf(type(d)(*parameters), x)

    values = tuple(d.parameters().values())
    assert_gradient(f, *values, expected=tuple(0.0 for _ in values))


def test_case_68_multivariate_normal() -> None:
    mean, cov = np.array([1.0, 2.0]), np.array([[1.0, 0.1], [0.1, 1.0]])
    expected = (np.array([0.191919191919192, 1.080808080808081]),)
    assert_gradient(lambda x: logpdf(MvNormal(mean, covariance=cov), x), np.array([0.7, 0.9]), expected=expected)


def test_case_68_multivariate_student() -> None:
    mean, scale = np.array([1.0, 2.0]), np.array([[1.0, 0.1], [0.1, 1.0]])
    expected = (np.array([0.2150711513583442, 1.2111901681759383]),)
    f = MvStudentT(5.0, mean, scale_matrix=scale)
    assert_gradient(lambda x: logpdf(f, x), np.array([0.7, 0.9]), expected=expected)


def test_case_68_student_of_infinite_degrees_is_normal() -> None:
    x = np.array([-2.0, 0.3, 1.0])
    np.testing.assert_allclose(StudentT(np.inf).logpdf(x), Normal(0.0, 1.0).logpdf(x), rtol=1e-13)
    assert_gradient(lambda x: StudentT(np.inf).logpdf(x), 0.3, expected=(-0.3,))


def test_case_69_loglikelihood_of_a_normal() -> None:
    data = np.array([1.0, 2.0, 3.0])
    assert_gradient(lambda loc, scale: np.sum(Normal(loc, scale).logpdf(data)), 0.0, 1.0, expected=(6.0, 11.0))


CONTINUOUS = [
    (Normal(0.3, 1.2), 0.7),
    (HalfNormal(1.3), 0.7),
    (StudentT(5.0), 0.7),
    (Cauchy(0.1, 1.2), 0.7),
    (HalfCauchy(1.2), 0.7),
    (Exponential(2.0), 0.7),
    (Gamma(2.5, 0.8), 1.7),
    (InverseGamma(2.5, 0.8), 0.7),
    (Beta(1.5, 3.0), 0.4),
    (Uniform(-1.0, 2.0), 0.7),
    (LogNormal(0.2, 0.7), 0.7),
    (Laplace(0.2, 0.7), 0.7),
    (Logistic(0.2, 0.7), 0.7),
    (Gumbel(0.2, 0.7), 0.7),
    (Weibull(1.5, 0.7), 0.7),
    (ChiSquared(4.0), 2.7),
]
DISCRETE = [
    (Bernoulli(0.3), 0),
    (Binomial(7, 0.3), 2),
    (Poisson(2.5), 2),
    (NegativeBinomial(3.0, 0.4), 2),
    (Geometric(0.3), 2),
]
named = {"argvalues": CONTINUOUS, "ids": [type(d).__name__ for d, _ in CONTINUOUS]}


@pytest.mark.parametrize(("d", "x"), **named)
def test_case_70_slope_of_the_distribution_function_is_the_density(d: Any, x: float) -> None:
    # Special functions of the distribution functions are right to about 1e-13.
    assert_gradient(lambda x: d.cdf(x), x, expected=(d.pdf(x),), rtol=1e-10)


@pytest.mark.parametrize(("d", "x"), **named)
def test_case_70_tails_add_to_one(d: Any, x: float) -> None:
    assert np.exp(d.logcdf(x)) + np.exp(d.logccdf(x)) == pytest.approx(1.0, rel=1e-13)


@pytest.mark.parametrize(("d", "x"), **named)
def test_case_70_quantile_inverts_the_distribution_function(d: Any, x: float) -> None:
    assert d.quantile(d.cdf(x)) == pytest.approx(x, rel=1e-10)  # numerical inverses stop near 1e-12


@pytest.mark.parametrize(("d", "x"), **named)
def test_case_70_float32_stays(d: Any, x: float) -> None:
    single = type(d)(*(np.float32(v) for v in d.parameters().values()))
    value = single.logpdf(np.float32(x))
    assert np.asarray(value).dtype == np.float32
    assert value == pytest.approx(d.logpdf(x), rel=1e-4)  # 24 bits, some lost in differences of log-gammas


@pytest.mark.parametrize(("d", "x"), **named)
def test_case_70_gradient_in_the_parameters_is_that_of_differences(d: Any, x: float) -> None:
    def f(*parameters: Any) -> Any:
        return logpdf(type(d)(*parameters), x)

    values, eps = tuple(d.parameters().values()), 1e-6
    expected = []
    for k, value in enumerate(values):
        up, down = ((*values[:k], value + step, *values[k + 1 :]) for step in (eps, -eps))
        expected.append((f(*up) - f(*down)) / (2 * eps))
    # Central differences lose six digits of sixteen.
    assert_gradient(f, *values, expected=tuple(expected), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("d", "k"), DISCRETE, ids=[type(d).__name__ for d, _ in DISCRETE])
def test_case_70_masses_add_up_to_the_distribution_function(d: Any, k: int) -> None:
    total = sum(np.exp(d.logpdf(j)) for j in range(k + 1))
    assert d.cdf(k) == pytest.approx(total, rel=1e-12)


FITTED = [Normal, HalfNormal, Exponential, LogNormal, Laplace]


@pytest.mark.parametrize("family", FITTED, ids=lambda family: family.__name__)
def test_case_70_score_vanishes_at_the_fit(family: Any) -> None:
    data = np.array([0.3, 0.9, 1.4, 2.2, 3.1])
    fitted = family.fit(data)
    names = list(fitted.parameters())
    bars = gradient(lambda *p: np.sum(logpdf(family(*p), data)), *fitted.parameters().values())
    # At the median the Laplace likelihood has a kink; with an odd sample its documented slope is 0 there.
    for name, bar in zip(names, bars, strict=True):
        assert bar == pytest.approx(0.0, abs=1e-12), name


def test_case_70_categorical_scores() -> None:
    p = np.array([0.2, 0.3, 0.5])
    (p_bar,) = gradient(lambda logits: np.sum(Categorical(logits=logits).logpdf(np.array([0, 2, 2]))), np.log(p))
    np.testing.assert_allclose(p_bar, np.array([1.0, 0.0, 2.0]) - 3 * p, rtol=1e-12, atol=1e-14)


GENERATING = [Normal(0.3, 1.2), Exponential(2.0), Gamma(2.5, 0.8), Laplace(0.2, 0.7), Poisson(2.5), Beta(1.5, 3.0)]


@pytest.mark.parametrize("d", GENERATING, ids=lambda d: type(d).__name__)
def test_case_70_slope_of_the_generating_function_is_the_mean(d: Any) -> None:
    assert_gradient(d.mgf, 0.0, expected=(d.mean(),), rtol=1e-11)


def test_case_71_truncated_tails() -> None:
    d, e = truncated(Normal(), 8.0, 9.0), truncated(Normal(), 9.0, 10.0)
    assert d.cdf(8.1) == pytest.approx(0.5583754014201, rel=1e-12)
    assert d.quantile([0.5, 0.9]) == pytest.approx([8.0848888990, 8.2786090370], rel=1e-10)
    assert e.cdf(9.1) == pytest.approx(0.5998422102635, rel=1e-12)
    assert e.quantile(0.9) == pytest.approx(9.2493533764, rel=1e-10)


def test_case_71_no_upper_bound() -> None:
    """log p(x) = log φ(x - m) - log Φ(m) above zero: the slope in m is x - m - φ(m) / Φ(m)."""
    hazard = Normal().pdf(0.4) / Normal().cdf(0.4)
    assert_gradient(lambda m: truncated(Normal(m, 1.0), 0.0).logpdf(1.5), 0.4, expected=(1.1 - hazard,))


def test_case_72_robustness() -> None:
    assert InverseGaussian(1.65, 590.0).cdf(2.0) == pytest.approx(1.0, abs=1e-3)
    d = InverseGaussian(17.848, 163.707)
    assert d.cdf(d.quantile(0.99999819)) == pytest.approx(0.99999819, rel=1e-13)
    assert BetaBinomial(1000, 0.1, 20.0).quantile(1.0) == 1000.0


def test_case_73_slopes_of_draws() -> None:
    """A mean of draws has the slope of the mean: of a gamma in its shape, the scale; of a beta, b / (a + b)²."""

    def average(family: Any, seed: int) -> Any:
        return lambda *p: np.mean(family(*p).rand(20_000, rng=np.random.default_rng(seed)))

    # Five standard errors of a mean of 20000 slopes, whose standard deviations are 1.1 and 0.12.
    assert gradient(average(Gamma, 1), 3.0, 2.0)[0] == pytest.approx(2.0, abs=0.04)
    assert gradient(average(Beta, 2), 1.0, 1.0)[0] == pytest.approx(0.25, abs=0.005)
    assert gradient(average(Beta, 3), 2.0, 2.0)[0] == pytest.approx(0.125, abs=0.005)


def test_dt04_student_near_the_normal_law() -> None:
    df = np.array([1e6, 1e10, 1e15, 1e20])
    expected = [-1.4189390332045895, -1.4189385332546727, -1.4189385332046733, -1.4189385332046727]
    np.testing.assert_allclose(StudentT(df).logpdf(1.0), expected, rtol=1e-15)
    assert_gradient(lambda df: StudentT(df).logpdf(1.0), 1e6, expected=(4.999998333333333e-13,), rtol=1e-6)
    assert_gradient(lambda df: StudentT(df).logpdf(3.0), 1e10, expected=(-1.549999997975e-19,), rtol=1e-4)


def test_dt09_thin_tails_of_compounds() -> None:
    d = ExGaussian(0.0, 1.0, 40.0)
    assert d.logpdf(1.0) == pytest.approx(-1.394277110263608, rel=1e-14)
    slopes = (-0.9743925800698915, -0.0006074199301084564)
    assert_gradient(lambda x, rate: ExGaussian(0.0, 1.0, rate).logpdf(x), 1.0, 40.0, expected=slopes, rtol=1e-11)
    assert SkewNormal(0.0, 1.0, 10.0).logpdf(-10.0) == pytest.approx(-5055.75000004685, rel=1e-14)
    f = SkewNormal(0.0, 1.0, 10.0)
    assert_gradient(lambda x: f.logpdf(x), -10.0, expected=(1010.0999800099926,), rtol=1e-12)


def test_cq04_derivatives_of_log_gamma() -> None:
    for x, trigamma in ((-16.5, 9.810797812993576), (1e-10, 1e20), (1e8, 1.000000005e-8)):
        assert gradient(psi, x)[0] == pytest.approx(trigamma, rel=1e-13)
    digammas = ((1.5, 0.03648997397857652), (1e-10, -10000000000.577215), (1e15, 34.538776394910684))
    for x, digamma in digammas:
        assert gradient(gammaln, x)[0] == pytest.approx(digamma, rel=1e-13)
    assert gradient(gammaln, 1.4616321449683622)[0] == pytest.approx(-9.241265521729427e-17, abs=5e-17)
