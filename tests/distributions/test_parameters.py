"""Construction: what is accepted, converted, computed from another parameterisation, and refused in which words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Exponential,
    Flat,
    Gamma,
    MvNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    Weibull,
)
from probdiff.errors import ParameterError, UnsupportedError

REFUSED = [
    (lambda: Normal(0, -1), "Normal.scale must be positive, got -1.0"),
    (lambda: Normal(0, [1, 2, 3, -1]), "Normal.scale must be positive, got -1.0 at index 3"),
    (lambda: Normal([[0.0, math.nan]]), "Normal.loc must be finite, got nan at index (0, 1)"),
    (lambda: Normal(0, math.inf), "Normal.scale must be finite, got inf"),
    (lambda: Normal("a"), "Normal.loc must be finite, got 'a'"),
    (lambda: Normal(1j), "Normal.loc must be finite, got 1j"),
    (lambda: Gamma(0, 1), "Gamma.shape must be positive, got 0.0"),
    (lambda: Uniform(0, 0), "Uniform needs low < high, got low=0.0, high=0.0"),
    (lambda: Uniform(1, 0), "Uniform needs low < high, got low=1.0, high=0.0"),
    (lambda: Binomial(2.5, 0.5), "Binomial.n must be a nonnegative integer, got 2.5"),
    (lambda: Exponential(rate=-1), "Exponential.rate must be positive, got -1.0"),
    (lambda: Exponential(2.0, rate=1), "Exponential takes scale or rate, not both"),
    (lambda: Exponential(scale=2.0, rate=1), "Exponential takes scale or rate, not both"),
    (lambda: Gamma(2.0, mean=1, sd=1), "Gamma takes shape or mean, not both"),
    (lambda: Bernoulli(0.5, logits=0.0), "Bernoulli takes p or logits, not both"),
    (lambda: Beta(mean=1.0, concentration=2.0), "Beta.mean must be in (0, 1), got 1.0"),
    (lambda: Categorical([0.5, 0.6]), "Categorical.p must be nonnegative numbers that sum to one, got [0.5 0.6]"),
    (
        lambda: MvNormal([0, 0], [[1, 2], [0, -1]]),
        "MvNormal.scale_tril must be lower triangular with positive diagonal, got [[ 1.  2.] [ 0. -1.]]",
    ),
    (
        lambda: MvNormal([0, 0], covariance=[[1, 2], [2, 1]]),
        "MvNormal.covariance must be symmetric and positive definite, got [[1. 2.] [2. 1.]]",
    ),
    (
        lambda: MvNormal([0, 0], np.eye(3)),
        "MvNormal needs loc and its scale of one length, got loc=[0.0, 0.0], scale_tril=float64[3, 3]",
    ),
]
MISUSED = [
    (lambda: Gamma(), "Gamma needs the parameter shape"),
    (lambda: Bernoulli(), "Bernoulli needs the parameter p or logits"),
    (lambda: Gamma(mean=1), "Gamma needs sd together with mean"),
    (lambda: Normal(sigma=1), "Normal has no parameter sigma. It takes loc, scale, precision."),
    (lambda: Normal(0, loc=0), "Normal got loc twice"),
    (lambda: Normal(0, 1, 2), "Normal takes at most 2 parameters, got 3"),
    (
        lambda: Normal().rand(rng=3),
        "Normal.rand: rng must be a Generator, got int. Use numpy.random.default_rng(seed).",
    ),
    (lambda: Normal().logpdf("a"), "a distribution takes real numbers, got an array of <U1"),
    (lambda: Flat().mean(), "Flat has no mean"),
]


@pytest.mark.parametrize(("build", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused_values(build: Any, text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build()
    assert str(caught.value) == text
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("build", "text"), MISUSED, ids=[text for _, text in MISUSED])
def test_misuse(build: Any, text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        build()
    assert str(caught.value) == text
    assert isinstance(caught.value, TypeError)


SAME = [
    (lambda: Normal(1.0, precision=4.0), lambda: Normal(1.0, 0.5)),
    (lambda: Exponential(rate=2), lambda: Exponential(0.5)),
    (lambda: Gamma(3, rate=2), lambda: Gamma(3, 0.5)),
    (lambda: Gamma(mean=6.0, sd=2.0), lambda: Gamma(9.0, 2 / 3)),
    (lambda: Beta(mean=0.25, concentration=8), lambda: Beta(2, 6)),
    (lambda: Bernoulli(logits=math.log(3)), lambda: Bernoulli(0.75)),
    (lambda: Binomial(7, logits=math.log(3)), lambda: Binomial(7, 0.75)),
    (lambda: NegativeBinomial(mean=3.0, dispersion=1.5), lambda: NegativeBinomial(1.5, 1 / 3)),
    (lambda: MvNormal([0, 0], covariance=[[4, 2], [2, 5]]), lambda: MvNormal([0, 0], [[2, 0], [1, 2]])),
]


@pytest.mark.parametrize(("other", "usual"), SAME)
def test_other_parameterisations(other: Any, usual: Any) -> None:
    assert type(other()) is type(usual())
    np.testing.assert_allclose(other().mean(), usual().mean(), rtol=1e-15)
    np.testing.assert_allclose(other().var(), usual().var(), rtol=1e-14)


def test_logits_are_precise_where_probabilities_round() -> None:
    assert Bernoulli(logits=-800.0).logpdf(1) == -800.0
    assert Bernoulli(logits=40.0).logpdf(0) == pytest.approx(-40.0, rel=1e-15)


def test_conversion() -> None:
    """Integers and lists become floating point, single precision stays, counts become integers; nothing is copied."""
    assert isinstance(Normal(1, 2).loc, np.float64)
    assert Normal([1, 2]).loc.dtype == np.float64
    assert Normal(np.uint8(200), True).loc == 200.0
    assert Normal(np.zeros(3, np.float32), 1.0).scale.dtype == np.float32
    assert Normal(np.zeros(3), np.float32(1.0)).scale.dtype == np.float32
    assert isinstance(Binomial(np.uint8(200), 0.5).n, int)
    assert Binomial(np.array([2.0, 3.0]), 0.5).n.dtype == np.int64
    scale = np.ones(5)
    assert Exponential(scale).scale is scale


def test_integer_counts_do_not_wrap_around() -> None:
    """A difference of unsigned counts is negative here, and -inf is what an impossible count has."""
    assert Binomial(np.uint8(200), 0.5).logpdf(np.uint8(201)) == -math.inf
    assert NegativeBinomial(3, 0.5).logpdf(np.int32(4)) == pytest.approx(-2.1439800628174073, rel=1e-14)
    k = np.array([1.0, 2.0, 3.0])
    expected = [-3.3905620875658995, -2.4742713556917444, -1.963445731925754]
    np.testing.assert_allclose(Poisson(5).logpdf(k), expected, rtol=1e-14)
    assert Poisson(2).logpdf(1.9999) == -math.inf


def test_frozen() -> None:
    with pytest.raises(AttributeError):
        Normal().loc = 1.0


def test_printed() -> None:
    assert repr(Normal()) == "Normal(loc=0.0, scale=1.0)"
    assert repr(Normal([0, 1], np.ones((10, 2)))) == "Normal(loc=[0.0, 1.0], scale=float64[10, 2])"
    assert repr(Bernoulli(logits=0.5)) == "Bernoulli(logits=0.5)"
    assert repr(Flat()) == "Flat(support=real)"


def test_limits_of_the_support() -> None:
    """At a finite end a density has its limit from inside."""
    assert [Weibull(k, 1).logpdf(0) for k in (1, 2, 0.5)] == [0.0, -math.inf, math.inf]
    assert Weibull(1, 1).logpdf(math.inf) == -math.inf
    assert Gamma(1, rate=2).logpdf(0.0) == Exponential(rate=2).logpdf(0.0) == pytest.approx(math.log(2), rel=1e-15)
    assert list(Beta(1, 1).logpdf([0.0, 1.0])) == [0.0, 0.0]


def test_student_with_very_many_degrees_of_freedom() -> None:
    df = np.array([1e6, 1e10, 1e15, 1e20, math.inf])
    expected = [-1.4189390332045895, -1.4189385332546727, -1.4189385332046733, -1.4189385332046727, -1.4189385332046727]
    np.testing.assert_allclose(StudentT(df).logpdf(1.0), expected, rtol=4e-16)
    normal, limit = Normal(), StudentT(math.inf)
    for method in ("mean", "var", "skewness", "kurtosis", "entropy"):
        assert getattr(limit, method)() == getattr(normal, method)()
    np.testing.assert_allclose(StudentT([99999.0, 100001.0]).entropy(), normal.entropy() + 1e-5, atol=1e-9)
    drawn = limit.rand(10, rng=np.random.default_rng(0))
    assert np.all(abs(drawn) < 5.0)


def test_fit() -> None:
    x = np.array([0.5, 2.0, 3.5])
    assert Normal.fit(x).parameters() == pytest.approx(Normal(2.0, math.sqrt(1.5)).parameters(), rel=1e-15)
    assert Exponential.fit(x).scale == pytest.approx(2.0, rel=1e-15)
    assert Uniform.fit(x) == Uniform(0.5, 3.5)
    assert Poisson.fit([1, 2, 3]).rate == pytest.approx(2.0, rel=1e-15)
    assert Bernoulli.fit([True, False, True, True]) == Bernoulli(0.75)
