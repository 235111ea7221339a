"""Maximum likelihood, modes and moments of vectors: closed forms, enumeration and the slope of the likelihood."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import (
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    DiscreteNonParametric,
    InverseWishart,
    LogisticNormal,
    Multinomial,
    MvNormal,
    MvStudentT,
    VonMisesFisher,
    Wishart,
)
from probdiff.errors import DataError, UnsupportedError

RNG = np.random.default_rng(11)
WEIGHTS = RNG.random(60)
LOC, FACTOR = np.array([0.5, -1.0]), np.array([[1.2, 0.0], [0.4, 0.8]])


def test_normal():
    x = MvNormal(LOC, FACTOR).rand(60, rng=RNG)
    d = MvNormal.fit(x, WEIGHTS)
    np.testing.assert_allclose(d.loc, np.average(x, axis=0, weights=WEIGHTS), rtol=1e-13)
    np.testing.assert_allclose(d.cov(), np.cov(x.T, aweights=WEIGHTS, ddof=0), rtol=1e-12)
    # Whole weights count observations.
    counted = np.repeat(x[:5], [1, 2, 3, 1, 2], axis=0)
    np.testing.assert_allclose(MvNormal.fit(x[:5], [1, 2, 3, 1, 2]).cov(), MvNormal.fit(counted).cov(), rtol=1e-12)
    y = LogisticNormal(LOC, FACTOR).rand(60, rng=RNG)
    fitted = LogisticNormal.fit(y, WEIGHTS)
    np.testing.assert_allclose(fitted.loc, np.average(np.log(y[:, :2] / y[:, 2:]), axis=0, weights=WEIGHTS), rtol=1e-12)


@pytest.mark.parametrize("a", [[2.0, 3.0, 5.0], [0.3, 0.02, 1.5], [4000.0, 20.0, 900.0]])
def test_dirichlet(a):
    """The slope of the likelihood vanishes at the fit."""
    x = np.maximum(Dirichlet(a).rand(60, rng=RNG), 1e-200)
    d = Dirichlet.fit(x, WEIGHTS)
    (slope,) = gradient(lambda c: np.sum(WEIGHTS * Dirichlet(c).logpdf(x)), d.concentration)
    curve = np.sum(WEIGHTS) * np.abs(1 / d.concentration)
    assert np.all(abs(slope) < 1e-9 * curve)


def test_dirichlet_moments():
    a, b = np.array([2.0, 3.0, 5.0]), np.array([1.5, 4.0, 0.7])
    d = Dirichlet(a)
    x = d.rand(200_000, rng=RNG)
    np.testing.assert_allclose(np.cov(x.T), d.cov(), atol=5e-4)
    np.testing.assert_allclose(np.diagonal(d.cov()), d.var(), rtol=1e-13)
    assert np.all(d.logpdf(x[:2000]) <= d.logpdf(d.mode()))
    average = np.mean(d.logpdf(x) - Dirichlet(b).logpdf(x))
    assert d.kl_divergence(Dirichlet(b)) == pytest.approx(average, abs=0.02)
    assert d.kl_divergence(d) == pytest.approx(0, abs=1e-13)
    np.testing.assert_array_equal(Dirichlet([0.5, 3.0, 2.0]).mode(), [0.0, 2 / 3, 1 / 3])


def test_multinomial():
    """The most likely counts, of all; the shares."""
    for n, p in ((7, [0.2, 0.3, 0.5]), (1, [0.1, 0.1, 0.8]), (12, [0.33, 0.34, 0.33]), (0, [0.2, 0.3, 0.5])):
        d = Multinomial(n, p)
        table = [k for k in itertools.product(range(n + 1), repeat=3) if sum(k) == n]
        assert np.sum(d.mode()) == n
        assert d.logpdf(d.mode()) == pytest.approx(np.max(d.logpdf(np.array(table, dtype=float))), abs=1e-13)
    assert Multinomial(np.array([3, 10]), [0.2, 0.3, 0.5]).mode().sum(axis=-1).tolist() == [3.0, 10.0]
    fitted = Multinomial.fit([[1, 2, 3], [0, 2, 4], [3, 3, 0]], [1.0, 1.0, 2.0])
    np.testing.assert_allclose(fitted.p, np.array([7, 10, 7]) / 24, rtol=1e-14)
    assert fitted.n == 6


@pytest.mark.parametrize(("dim", "k"), [(2, 3.0), (3, 0.5), (3, 40.0), (10, 25.0)])
def test_directions(dim, k):
    loc = np.ones(dim) / np.sqrt(dim)
    d = VonMisesFisher(loc, k)
    x = d.rand(100_000, rng=RNG)
    # A standard error of a mean is at most 1 / sqrt(100 000).
    np.testing.assert_allclose(np.mean(x, axis=0), d.mean(), atol=0.017)
    np.testing.assert_allclose(np.cov(x.T), d.cov(), atol=0.017)
    np.testing.assert_allclose(np.trace(d.cov()) + np.sum(d.mean() ** 2), 1.0, rtol=1e-12)
    assert d.entropy() == pytest.approx(-np.mean(d.logpdf(x)), abs=0.02)
    if dim == 3:
        assert d.resultant() == pytest.approx(1 / np.tanh(k) - 1 / k, rel=1e-12)
    fitted = VonMisesFisher.fit(x[:60], WEIGHTS)
    slope = gradient(lambda k: np.sum(WEIGHTS * VonMisesFisher(fitted.loc, k).logpdf(x[:60])), fitted.concentration)[0]
    assert abs(slope) < 1e-8
    np.testing.assert_allclose(VonMisesFisher(loc, 0.0).cov(), np.eye(dim) / dim, atol=1e-15)


@pytest.mark.parametrize(
    ("fit", "text"),
    [
        (lambda: MvNormal.fit([1.0, 2.0]), "MvNormal.fit needs a matrix of observations, one a row, got shape (2,)."),
        (lambda: MvNormal.fit([[1.0, 2.0], [3.0, np.nan]]), "MvNormal.fit needs finite observations, got NaN or"),
        (lambda: MvNormal.fit([[1.0, 2.0], [2.0, 4.0]]), "MvNormal.fit: the observations lie in 1 of 2 dimensions"),
        (lambda: MvNormal.fit([[1.0, 2.0]], [-1.0]), "MvNormal.fit needs weights that are nonnegative"),
        (lambda: Dirichlet.fit([[0.5, 0.5], [0.0, 1.0]]), "Dirichlet.fit: an observation must be positive numbers"),
        (lambda: Multinomial.fit([[1, 2], [2, 2]]), "Multinomial.fit: an observation must be nonnegative integers"),
        (lambda: VonMisesFisher.fit([[1.0, 1.0]]), "VonMisesFisher.fit: an observation must have length one, got"),
        (lambda: VonMisesFisher.fit([[1.0, 0.0]]), "VonMisesFisher.fit found no maximum: the mean of the observations"),
    ],
)
def test_refusals(fit, text):
    with pytest.raises(DataError) as caught:
        fit()
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("df", [1.5, 4.0, None])
def test_student(df):
    """The slope of the likelihood vanishes at the fit, of all parameters or with df held."""
    x = MvStudentT(2.5, LOC, FACTOR).rand(60, rng=RNG)
    d = MvStudentT.fit(x, WEIGHTS) if df is None else MvStudentT.fit(x, WEIGHTS, df=df)

    def loss(df, loc, factor):
        return np.sum(WEIGHTS * MvStudentT(df, loc, factor).logpdf(x))

    slopes = gradient(loss, d.df, d.loc, d.scale_tril)
    assert np.max(abs(slopes[1])) < 1e-8 and np.max(abs(np.tril(slopes[2]))) < 1e-8
    assert abs(slopes[0]) < 1e-8 if df is None else d.df == df


def test_student_of_normal_data():
    """Observations with lighter tails than normal ones are fitted by the normal law."""
    x = RNG.uniform(-1, 1, (300, 2))
    d = MvStudentT.fit(x)
    assert d.df == np.inf
    np.testing.assert_allclose(d.cov(), MvNormal.fit(x).cov(), rtol=1e-11)
    with pytest.raises(DataError, match="in 1 of 2 dimensions"):
        MvStudentT.fit(np.outer(np.arange(5.0), [1.0, 2.0]))
    with pytest.raises(UnsupportedError, match="MvStudentT.fit finds the parameters of vectors, and holds df: loc"):
        MvStudentT.fit(x, loc=0.0)


@pytest.mark.parametrize("family", [Wishart, InverseWishart])
def test_scatter(family):
    x = family(7.5, FACTOR).rand(60, rng=RNG)
    d = family.fit(x, WEIGHTS)
    df_bar, factor_bar = gradient(lambda f, c: np.sum(WEIGHTS * family(f, c).logpdf(x)), d.df, d.scale_tril)
    assert abs(df_bar) < 1e-8 and np.max(abs(np.tril(factor_bar))) < 1e-8
    with pytest.raises(DataError, match="the matrices must differ"):
        family.fit(x[:1])
    with pytest.raises(DataError, match="positive definite"):
        family.fit(-x)
    with pytest.raises(DataError, match="matrices along a first axis"):
        family.fit(x[:, 0])


def test_dirichlet_multinomial():
    x = DirichletMultinomial(20, [0.7, 2.0, 4.0]).rand(60, rng=RNG)
    d = DirichletMultinomial.fit(x, WEIGHTS)
    (slope,) = gradient(lambda a: np.sum(WEIGHTS * DirichletMultinomial(20, a).logpdf(x)), d.concentration)
    assert d.n == 20 and np.max(abs(slope)) < 1e-5
    with pytest.raises(DataError, match="found no maximum"):
        DirichletMultinomial.fit([[10, 10], [10, 10], [11, 9]])
    with pytest.raises(DataError, match="nonnegative integers that sum to n"):
        DirichletMultinomial.fit([[10, 10], [10, 11]])


def test_labels():
    d = Categorical.fit([0, 2, 2, 1], [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(d.p, [0.1, 0.4, 0.5], rtol=1e-15)
    with pytest.raises(DataError, match="nonnegative integer"):
        Categorical.fit([0, 1.5])
    d = DiscreteNonParametric.fit([0.5, -1.0, 0.5], [1.0, 1.0, 2.0])
    assert d.values.tolist() == [-1.0, 0.5] and d.p.tolist() == [0.25, 0.75]


MEMBERS = [
    (MvNormal(LOC, FACTOR), MvNormal(LOC + 1, precision_tril=FACTOR)),
    (MvNormal(LOC, FACTOR), MvNormal(-LOC, scale_diag=np.array([0.5, 2.0]))),
    (Wishart(4.5, FACTOR), Wishart(9.0, np.eye(2))),
    (InverseWishart(4.5, FACTOR), InverseWishart(9.0, np.eye(2))),
    (Dirichlet([2.0, 0.3, 5.0]), Dirichlet([1.0, 1.0, 4.0])),
    (Multinomial(9, [0.2, 0.3, 0.5]), Multinomial(9, logits=np.array([0.0, 1.0, -1.0]))),
    (VonMisesFisher([0.6, 0.8], 4.0), VonMisesFisher([1.0, 0.0], 0.3)),
    (Categorical([0.2, 0.3, 0.5]), Categorical(logits=np.array([0.0, 1.0, -1.0]))),
]


@pytest.mark.parametrize(("p", "q"), MEMBERS, ids=lambda d: type(d).__name__)
def test_statistics(p, q):
    """log p - log q is linear in the statistics; the fit of their averages is the fit of the observations."""
    x = p.rand(40, rng=RNG)

    def linear(d):
        pairs = zip(d.natural_parameters(), d.sufficient_statistics(x), strict=True)
        terms = [np.reshape(eta * t, (40, -1)).sum(axis=-1) if np.ndim(t) > 1 else eta * t for eta, t in pairs]
        return sum(terms) - d.log_partition()

    np.testing.assert_allclose(linear(p) - linear(q), p.logpdf(x) - q.logpdf(x), rtol=1e-11, atol=1e-11)
    means = [np.tensordot(WEIGHTS[:40], t, 1) / np.sum(WEIGHTS[:40]) for t in p.sufficient_statistics(x)]
    fitted, direct = type(p).fit_statistics(*means), type(p).fit(x, WEIGHTS[:40])
    for name, value in direct.parameters().items():
        np.testing.assert_allclose(getattr(fitted, name), value, rtol=1e-9, atol=1e-12)


def test_statistics_refused():
    with pytest.raises(DataError, match="needs the averages of x and x x', got 1 arrays"):
        MvNormal.fit_statistics([0.0, 1.0])
    with pytest.raises(DataError, match="positive definite covariance"):
        MvNormal.fit_statistics([1.0, 1.0], np.ones((2, 2)))
    with pytest.raises(UnsupportedError, match="MvStudentT has no fit_statistics"):
        MvStudentT.fit_statistics([0.0, 1.0])
    with pytest.raises(DataError, match="exp of the averages"):
        Dirichlet.fit_statistics(np.log([0.3, 0.7]))
