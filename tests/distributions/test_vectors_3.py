"""Urns, rankings and directions: enumeration, quadrature and laws of their draws."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from probdiff import compile, gradient, pushforward
from probdiff.distributions import (
    Beta,
    HalfNormal,
    Hypergeometric,
    LogNormal,
    Multinomial,
    MultivariateHypergeometric,
    MvLogNormal,
    MvNormal,
    PlackettLuce,
    PowerSpherical,
    ProjectedNormal,
    StickBreaking,
)
from probdiff.errors import DataError, ParameterError
from probdiff.models import Joint, Posterior

RNG = np.random.default_rng(8)


def slopes_agree(logpdf: Any, *args: Any) -> None:
    """Reverse mode, central differences extrapolated once, forward mode and the compiled program."""
    bars = gradient(logpdf, *args)
    for i, bar in enumerate(bars):
        for index in np.ndindex(np.shape(args[i])):
            unit = np.zeros_like(args[i])
            unit[index] = 1.0

            def at(h: float, i: int = i, unit: Any = unit) -> Any:
                return logpdf(*(a + h * unit if j == i else a for j, a in enumerate(args)))

            once = [(at(h) - at(-h)) / (2 * h) for h in (1e-3, 5e-4)]
            difference = (4 * once[1] - once[0]) / 3
            np.testing.assert_allclose(np.asarray(bar)[index], difference, rtol=1e-7, atol=1e-9)
            moved = pushforward(logpdf, *args)(*(unit if j == i else np.zeros_like(a) for j, a in enumerate(args)))
            np.testing.assert_allclose(moved, np.asarray(bar)[index], rtol=1e-12, atol=1e-13)
    for native, bar in zip(compile(lambda *at: gradient(logpdf, *at))(*args), bars, strict=True):
        np.testing.assert_allclose(native, bar, rtol=1e-12, atol=1e-14)


def test_hypergeometric_table():
    sizes, n = np.array([4, 0, 7, 3]), 6
    d = MultivariateHypergeometric(sizes, n)
    table = np.array([k for k in itertools.product(range(n + 1), repeat=4) if sum(k) == n], dtype=float)
    mass = d.pdf(table)
    np.testing.assert_allclose(mass, stats.multivariate_hypergeom(sizes, n).pmf(table.astype(int)), rtol=1e-12)
    assert mass.sum() == pytest.approx(1, rel=1e-13)
    mean = mass @ table
    np.testing.assert_allclose(d.mean(), mean, rtol=1e-13)
    np.testing.assert_allclose(d.cov(), (table - mean).T @ ((table - mean) * mass[:, None]), atol=1e-13)
    np.testing.assert_allclose(d.var(), np.diagonal(d.cov()), rtol=1e-13)
    x = d.rand(20_000, rng=RNG)
    assert np.all(x.sum(axis=-1) == n) and np.all(x <= sizes)
    # Five standard errors.
    assert np.all(abs(x.mean(axis=0) - mean) <= 5 * np.sqrt(d.var() / 20_000))
    large = MultivariateHypergeometric([10**9, 2 * 10**9], 10**6)
    pair = Hypergeometric(10**9, 2 * 10**9, 10**6)
    np.testing.assert_allclose(large.logpdf([333_000.0, 667_000.0]), pair.logpdf(333_000), rtol=1e-12)
    assert MultivariateHypergeometric([2, 3], 0).logpdf([0.0, 0.0]) == 0.0
    assert MultivariateHypergeometric([2, 3], 5).logpdf([2.0, 3.0]) == 0.0
    batch = MultivariateHypergeometric(sizes, np.array([2, 5]))
    assert batch.logpdf(np.array([[1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 2.0, 1.0]])).shape == (2,)
    for wrong in ([3.0, 1.0, 1.0, 1.0], [5.0, 0.0, 1.0, 0.0], [2.5, 0.0, 2.5, 1.0], [1.0, 0.0, 1.0, 1.0]):
        assert d.logpdf(wrong) == -math.inf
    with pytest.raises(ParameterError, match="sizes must be nonnegative integers"):
        MultivariateHypergeometric([2.5, 3], 1)
    with pytest.raises(ParameterError, match="n <= the sum of sizes"):
        MultivariateHypergeometric([2, 3], 6)


def test_rankings():
    scores = np.array([0.3, -1.0, 1.2, 0.0])
    d = PlackettLuce(scores)
    table = np.array(list(itertools.permutations(range(4))), dtype=float)
    assert d.pdf(table).sum() == pytest.approx(1, rel=1e-14)
    w = np.exp(scores)
    first = w[1] / w.sum() * w[3] / (w[0] + w[2] + w[3]) * w[2] / (w[0] + w[2])
    assert d.logpdf([1, 3, 2, 0]) == pytest.approx(math.log(first), rel=1e-14)
    np.testing.assert_allclose(PlackettLuce(scores + 1e4).logpdf(table), d.logpdf(table), rtol=1e-11)
    np.testing.assert_array_equal(d.mode(), table[np.argmax(d.logpdf(table))])
    x = d.rand(20_000, rng=RNG)
    for ranking, mass in zip(table, d.pdf(table), strict=True):
        share = np.mean(np.all(x == ranking, axis=-1))
        assert abs(share - mass) < 5 * math.sqrt(mass / 20_000)
    assert d.logpdf([0, 0, 1, 2]) == d.logpdf([0.5, 1.0, 2.0, 3.0]) == d.logpdf([1, 2, 3, 4]) == -math.inf
    slopes_agree(lambda s: np.sum(PlackettLuce(s).logpdf(x[:20])), scores)
    batch = PlackettLuce(np.stack([scores, -scores]))
    np.testing.assert_allclose(batch.logpdf(table[:2])[1], PlackettLuce(-scores).logpdf(table[1]), rtol=1e-14)
    model = Posterior(Joint(s=MvNormal(np.zeros(4), scale_diag=np.ones(4))), lambda s: PlackettLuce(s).iid(50), x[:50])
    assert np.isfinite(model.logdensity(np.zeros(4)))


def test_rankings_fit():
    """The slope of the likelihood vanishes at the fit."""
    x = PlackettLuce([0.3, -1.0, 1.2, 0.0]).rand(200, rng=RNG)
    weights = RNG.random(200)
    fitted = PlackettLuce.fit(x, weights)
    (slope,) = gradient(lambda s: np.sum(weights * PlackettLuce(s).logpdf(x)), fitted.scores)
    assert np.max(abs(slope)) < 1e-9 and abs(np.sum(fitted.scores)) < 1e-12
    with pytest.raises(DataError, match="found no maximum"):
        PlackettLuce.fit([[0, 1, 2], [0, 2, 1]])
    with pytest.raises(DataError, match="must be a permutation"):
        PlackettLuce.fit([[0, 1, 1], [0, 2, 1]])


def direction(dim: int) -> np.ndarray:
    loc = np.arange(1.0, dim + 1)
    return loc / np.linalg.norm(loc)


def area(dim: int) -> float:
    return 2 * math.pi ** (dim / 2) / math.gamma(dim / 2)


def zonal(d: Any, axis: np.ndarray, g: Any) -> float:
    """∫ g(t) p dx over the sphere of a density that hangs on t = cos(angle to the axis)."""
    dim = axis.size
    other = np.eye(dim)[0] - axis[0] * axis
    other = other / np.linalg.norm(other)
    across = area(dim - 1) if dim > 2 else 2.0

    def integrand(angle: float) -> float:
        x = math.cos(angle) * axis + math.sin(angle) * other
        return g(math.cos(angle)) * d.pdf(x) * across * math.sin(angle) ** (dim - 2)

    return float(integrate.quad(integrand, 0, math.pi, epsabs=1e-10, epsrel=1e-10, limit=300)[0])


@pytest.mark.parametrize(("dim", "k"), [(2, 3.0), (3, 0.0), (3, 5.5), (8, 40.0), (3, 1e5)])
def test_power_spherical(dim: int, k: float):
    loc = direction(dim)
    d = PowerSpherical(loc, k)
    assert zonal(d, loc, lambda t: 1.0) == pytest.approx(1, rel=1e-9)
    mean = zonal(d, loc, lambda t: t)
    np.testing.assert_allclose(d.mean(), mean * loc, rtol=1e-9, atol=1e-10)
    along = zonal(d, loc, lambda t: (t - mean) ** 2)
    assert loc @ d.cov() @ loc == pytest.approx(along, rel=1e-7)
    # The coordinates' squares add up to one.
    assert np.trace(d.cov()) == pytest.approx(1 - d.mean() @ d.mean(), rel=1e-11)
    x = d.rand(20_000, rng=RNG)
    np.testing.assert_allclose(np.sum(x * x, axis=-1), 1.0, rtol=1e-12)
    assert abs(np.mean(x @ loc) - mean) < 5 * math.sqrt(along / 20_000)
    log_density = d.logpdf(x)
    assert abs(np.mean(-log_density) - d.entropy()) <= 5 * np.std(log_density) / math.sqrt(20_000) + 1e-12
    if 0 < k < 100:
        slopes_agree(lambda k: PowerSpherical(loc, k).logpdf(x[0]), np.array(k))


def test_power_spherical_ends():
    loc = direction(3)
    assert PowerSpherical(loc, 0.0).logpdf(-loc) == pytest.approx(-math.log(4 * math.pi), rel=1e-14)
    assert PowerSpherical(loc, 2.0).logpdf(-loc) < -60
    # The ratio to uniform is (k + 1) ((1 + t) / 2)^k in three dimensions.
    x = np.array([[1.0, 0.0, 0.0]])
    expected = math.log(8.0 / (4 * math.pi)) + 7 * math.log((1 + loc[0]) / 2)
    assert PowerSpherical(loc, 7.0).logpdf(x)[0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("dim", "length"), [(2, 0.0), (2, 2.5), (3, 1.0), (7, 6.0), (3, 300.0)])
def test_projected_normal(dim: int, length: float):
    axis = direction(dim)
    d = ProjectedNormal(length * axis)
    # A narrow peak is found by quadrature only next to an end, which it is.
    assert zonal(d, axis, lambda t: 1.0) == pytest.approx(1, rel=1e-8)
    assert d.logpdf(axis) >= d.logpdf(-axis)
    mean = zonal(d, axis, lambda t: t)
    spread = zonal(d, axis, lambda t: (t - mean) ** 2)
    x = d.rand(20_000, rng=RNG)
    assert abs(np.mean(x @ axis) - mean) <= 5 * math.sqrt(spread / 20_000)
    if length < 100:
        slopes_agree(lambda loc: ProjectedNormal(loc).logpdf(x[0]), length * axis)


def test_projected_normal_of_two():
    """The density of the angle, by the normal distribution function (Mardia & Jupp, section 3.5.6)."""
    loc = np.array([0.4, -1.5])
    for angle in (0.0, 2.0, 4.5):
        x = np.array([math.cos(angle), math.sin(angle)])
        t = x @ loc
        bracket = 1 + t * stats.norm.cdf(t) / stats.norm.pdf(t)
        expected = -0.5 * loc @ loc - math.log(2 * math.pi) + math.log(bracket)
        assert ProjectedNormal(loc).logpdf(x) == pytest.approx(expected, rel=1e-13)
    # Opposite to a far mean: ∫ r exp(-(r + t)² / 2) dr is exp(-t² / 2) / t² (1 - 6 / t² + …) / (2π).
    far = ProjectedNormal(np.array([1e4, 0.0])).logpdf([-1.0, 0.0])
    assert far == pytest.approx(-0.5e8 - 2 * math.log(1e4) - math.log(2 * math.pi), rel=1e-14)
    np.testing.assert_array_equal(ProjectedNormal(loc).mode(), loc / np.linalg.norm(loc))


def test_stick_breaking():
    alpha, dim = 2.5, 4
    d = StickBreaking(alpha, dim)
    x = d.rand(20_000, rng=RNG)
    np.testing.assert_allclose(x.sum(axis=-1), 1.0, rtol=1e-14)
    # The density of the broken shares, each of what is left.
    left = np.concatenate([np.ones((5, 1)), 1 - np.cumsum(x[:5, :-2], axis=-1)], axis=-1)
    shares = x[:5, :-1] / left
    expected = np.sum(Beta(1.0, alpha).logpdf(shares) - np.log(left), axis=-1)
    np.testing.assert_allclose(d.logpdf(x[:5]), expected, rtol=1e-12)
    assert d.mean().sum() == pytest.approx(1, rel=1e-14)
    # Five standard errors, of the variance with a generous fourth moment.
    np.testing.assert_array_less(abs(x.mean(axis=0) - d.mean()), 5 * np.sqrt(d.var() / 20_000))
    np.testing.assert_allclose(x.var(axis=0), d.var(), rtol=0.1)
    np.testing.assert_allclose(StickBreaking(1.0, 2).logpdf(np.array([1.0, 0.0])), 0.0, atol=0)
    slopes_agree(lambda a: np.sum(StickBreaking(a, dim).logpdf(x[:20])), np.array(alpha))
    fitted = StickBreaking.fit(x[:50])
    (slope,) = gradient(lambda a: np.sum(StickBreaking(a, dim).logpdf(x[:50])), fitted.alpha)
    assert abs(slope) < 1e-10 and fitted.dim == dim
    prior = Joint(alpha=HalfNormal(2.0), weights=lambda alpha: StickBreaking(alpha, dim))
    model = Posterior(prior, lambda weights: Multinomial(9, weights), np.array([4.0, 3.0, 0.0, 2.0]))
    assert np.isfinite(model.logdensity(np.zeros(4)))
    with pytest.raises(ParameterError, match="StickBreaking.dim must be an integer of at least 2, got 1"):
        StickBreaking(1.0, 1)


def test_log_normal():
    loc, factor = np.array([0.3, -0.5]), np.array([[0.6, 0.0], [-0.2, 0.4]])
    d = MvLogNormal(loc, factor)
    x = d.rand(50_000, rng=RNG)
    np.testing.assert_allclose(d.logpdf(x[:9]), MvNormal(loc, factor).logpdf(np.log(x[:9])) - np.log(x[:9]).sum(axis=1))
    single = LogNormal(0.3, 0.6)
    np.testing.assert_allclose([d.mean()[0], d.var()[0]], [single.mean(), single.var()], rtol=1e-14)
    np.testing.assert_allclose(np.diagonal(d.cov()), d.var(), rtol=1e-13)
    # Of 50 000 draws a covariance is good to about two per cent.
    np.testing.assert_allclose(np.cov(x.T), d.cov(), atol=0.04)
    (slope,) = gradient(lambda x: d.logpdf(x), d.mode())
    np.testing.assert_allclose(slope, 0.0, atol=1e-13)
    assert abs(np.mean(-d.logpdf(x)) - d.entropy()) < 5 * np.std(d.logpdf(x)) / math.sqrt(50_000)
    assert d.logpdf([1.0, 0.0]) == d.logpdf([-1.0, 1.0]) == -math.inf
    slopes_agree(lambda loc, c, x: np.sum(MvLogNormal(loc, np.tril(c)).logpdf(x)), loc, factor, x[:3])
    logs = MvNormal.fit(np.log(x[:40]))
    np.testing.assert_allclose(MvLogNormal.fit(x[:40]).scale_tril, logs.scale_tril, rtol=1e-13)
    np.testing.assert_allclose(MvLogNormal(loc, covariance=factor @ factor.T).scale_tril, factor, rtol=1e-12)
    model = Posterior(Joint(x=d), lambda x: MvNormal(x, scale_diag=np.ones(2)), np.array([1.0, 2.0]))
    q = np.array([0.1, -0.4])
    expected = MvNormal(loc, factor).logpdf(q) + MvNormal(np.exp(q), scale_diag=np.ones(2)).logpdf([1.0, 2.0])
    assert model.logdensity(q) == pytest.approx(expected, rel=1e-12)
