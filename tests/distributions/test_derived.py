"""What the base derives beyond what the battery asks: kinks, points, modes, generating functions, fits, inheritance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from probdiff import gradient
from probdiff.distributions import (
    Arcsine,
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Continuous,
    Dirac,
    DiscreteNonParametric,
    DiscreteUniform,
    FoldedNormal,
    Frechet,
    GeneralizedExtremeValue,
    GeneralizedPareto,
    Gumbel,
    HalfNormal,
    Histogram,
    Interpolated,
    Laplace,
    Levy,
    Logistic,
    LogitNormal,
    Lomax,
    Maxwell,
    Mixture,
    Moyal,
    NoncentralChiSquared,
    Normal,
    NormalInverseGaussian,
    Pareto,
    Poisson,
    PowerLaw,
    RaisedCosine,
    Rayleigh,
    Skellam,
    SkewNormal,
    StudentT,
    Triangular,
    Uniform,
    Zipf,
    affine,
    alternative,
    truncated,
)
from probdiff.distributions.support import Positive, Real, nonnegative, real
from probdiff.errors import DataError, ParameterError, UnsupportedError

# Kinks: E|X - c|³, exact for pieces of polynomials and exponentials.


def test_expectations_are_cut_at_the_kinks_of_the_density() -> None:
    d = Triangular(0.0, 3.0, 1.0)
    for order in (1, 2, 3, 4):
        # ∫ x^k p(x) dx, with p(x) = 2 x / 3 up to 1 and (3 - x) / 3 on.
        rising = 2 / 3 / (order + 2)
        falling = (3 * (3 ** (order + 1) - 1) / (order + 1) - (3 ** (order + 2) - 1) / (order + 2)) / 3
        assert d.expect(lambda x, k=order: x**k) == pytest.approx(rising + falling, rel=1e-14)
    cells = Histogram([0.0, 1.0, 3.0, 4.0], [1.0, 5.0, 2.0])
    fourth = (1 / 5 + 5 * (3**5 - 1) / 10 + 2 * (4**5 - 3**5) / 5) / 8
    assert cells.expect(lambda x: x**4) == pytest.approx(fourth, rel=1e-14)
    line = Interpolated([0.0, 1.0, 3.0], [0.0, 2.0, 0.0])
    assert line.expect(lambda x: x) == pytest.approx(4 / 3, rel=1e-14)
    assert line.expect(lambda x: (x - 4 / 3) ** 3) / line.std() ** 3 == pytest.approx(line.skewness(), rel=1e-13)


def test_kinks_of_combined_laws() -> None:
    pair = Mixture((Laplace(-1.0, 1.0), Uniform(0.0, 2.0)), weights=[0.4, 0.6])
    assert pair.expect(lambda x: x**2) == pytest.approx(0.4 * 3 + 0.6 * 4 / 3, rel=1e-12)
    several = Mixture(Laplace([-1.0, 2.0], [1.0, 0.5]), weights=[0.4, 0.6])
    assert several.expect(lambda x: x**2) == pytest.approx(0.4 * 3 + 0.6 * 4.5, rel=1e-12)
    moved = affine(AsymmetricLaplace(0.3, 1.0, 2.0), 1.0, 2.0)
    expected = 2 * AsymmetricLaplace(0.3, 1.0, 2.0).mean() + 1
    assert moved.expect(lambda x: x) == pytest.approx(expected, rel=1e-12)
    # Between 0 and 2 around the peak at 1: 1 - 2 exp(-1) / (1 - exp(-1)) + … is the mean distance from it.
    cut = truncated(Laplace(1.0, 1.0), 0.0, 2.0)
    distance = (1 - 2 * math.exp(-1.0)) / (1 - math.exp(-1.0))
    assert cut.expect(lambda x: abs(x - 1), kinks=[1.0]) == pytest.approx(distance, rel=1e-13)


def test_kinks_of_the_function_are_given() -> None:
    tail = Normal().pdf(0.3) - 0.3 * Normal().ccdf(0.3)
    assert Normal().expect(lambda x: np.maximum(x - 0.3, 0.0), kinks=[0.3]) == pytest.approx(tail, rel=1e-12)
    (slope,) = gradient(lambda k: Normal().expect(lambda x: np.maximum(x - k, 0.0), kinks=[k]), 0.3)
    assert slope == pytest.approx(-Normal().ccdf(0.3), rel=1e-12)


# Points, and divergences.


def test_divergences_of_points() -> None:
    p, q = DiscreteNonParametric([0.5, 2.0], [0.4, 0.6]), DiscreteNonParametric([0.5, 2.0, 3.0], [0.3, 0.5, 0.2])
    assert p.kl_divergence(q) == pytest.approx(0.4 * math.log(0.4 / 0.3) + 0.6 * math.log(0.6 / 0.5), rel=1e-14)
    assert q.kl_divergence(p) == math.inf
    whole = DiscreteNonParametric([1.0, 2.0], [0.5, 0.5])
    expected = 0.5 * math.log(0.5 / (2 * math.exp(-2))) * 2
    assert whole.kl_divergence(Poisson(2.0)) == pytest.approx(expected, rel=1e-14)
    assert Poisson(2.0).kl_divergence(whole) == math.inf
    assert Binomial(3, 0.4).kl_divergence(Poisson(2.0)) < math.inf == Poisson(2.0).kl_divergence(Binomial(3, 0.4))
    assert (Dirac(1.0).kl_divergence(Dirac(1.0)), Dirac(1.0).kl_divergence(Dirac(2.0))) == (0.0, math.inf)
    assert Dirac(3.0).kl_divergence(Poisson(2.0)) == pytest.approx(-Poisson(2.0).logpdf(3.0), rel=1e-14)
    with pytest.raises(UnsupportedError, match="discrete and continuous; they share no base measure"):
        p.kl_divergence(Normal())


def test_divergences_see_gaps_and_kinks() -> None:
    assert Uniform(0.0, 3.0).kl_divergence(Histogram([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0])) == math.inf
    expected = math.log(2) + math.sqrt(2 / math.pi) - 0.5 - 0.5 * math.log(2 * math.pi)
    assert Normal(0.3, 1.0).kl_divergence(Laplace(0.3, 1.0)) == pytest.approx(expected, rel=1e-12)
    shifted = Normal().expect(abs, kinks=[0.0]) - 0.5 - 0.5 * math.log(2 * math.pi) + math.log(2)
    assert Normal().kl_divergence(Laplace()) == pytest.approx(shifted, rel=1e-12)


# Modes.

MODES: list[tuple[Any, list[float]]] = [
    (Arcsine(-1.0, 2.0), [-1.0, 2.0]),
    (Beta(0.5, 0.7), [0.0, 1.0]),
    (Poisson(3.0), [2.0, 3.0]),
    (Binomial(9, 0.5), [4.0, 5.0]),
    (Bernoulli(0.5), [0.0, 1.0]),
    (DiscreteUniform(2, 5), [2.0, 3.0, 4.0, 5.0]),
    (Categorical([0.2, 0.4, 0.4]), [1.0, 2.0]),
    (DiscreteNonParametric([0.5, 2.0, 3.0], [0.4, 0.2, 0.4]), [0.5, 3.0]),
    (Histogram([0.0, 1.0, 3.0, 4.0], [2.0, 1.0, 2.0]), [0.5, 3.5]),
    (Interpolated([0.0, 1.0, 3.0, 4.0], [1.0, 5.0, 2.0, 5.0]), [1.0, 4.0]),
    (Mixture((Laplace(-1.0, 1.0), Laplace(2.0, 1.0)), weights=[0.5, 0.5]), [-1.0, 2.0]),
    (truncated(Normal(), 1.0), [1.0]),
    (Uniform(1.0, 3.0), [2.0]),
    (FoldedNormal(0.5, 1.0), [0.0]),
    (Zipf(1.5), [1.0]),
    (Skellam(1e5, 1e5), [0.0]),
]


@pytest.mark.parametrize(("d", "modes"), MODES, ids=[repr(d) for d, _ in MODES])
def test_modes(d: Any, modes: list[float]) -> None:
    assert d.modes().tolist() == modes
    assert d.mode() in modes


def test_modes_of_two_humps() -> None:
    """Of normal laws at ±2: x = 2 tanh(2 x). Of a logit-normal: logit x = scale² (2 x - 1), at loc 0."""
    (low, high) = Mixture(Normal([-2.0, 2.0], 1.0), weights=[0.5, 0.5]).modes()
    assert -low == pytest.approx(high, rel=1e-14) and high == pytest.approx(2 * math.tanh(2 * high), rel=1e-14)
    (low, high) = LogitNormal(0.0, 3.0).modes()
    assert math.log(high / (1 - high)) == pytest.approx(9 * (2 * high - 1), rel=1e-12)
    assert low + high == pytest.approx(1.0, rel=1e-14)


def test_searched_modes_of_a_batch_and_their_slopes() -> None:
    d = SkewNormal(0.0, 1.0, np.array([3.0, 4.0]))
    assert d.mode() == pytest.approx([SkewNormal(0.0, 1.0, a).mode() for a in (3.0, 4.0)], rel=1e-14)
    with pytest.raises(UnsupportedError, match=r"SkewNormal.modes is of one distribution, got the shape \(2,\)"):
        d.modes()
    loc, scale, _ = gradient(lambda *v: SkewNormal(*v).mode(), 0.5, 2.0, 3.0)
    assert (loc, scale) == pytest.approx((1.0, SkewNormal(0.0, 1.0, 3.0).mode()), rel=1e-12)
    (second,) = gradient(lambda a: gradient(lambda b: SkewNormal(0.0, 1.0, b).mode(), a)[0], 3.0)
    up, down = (gradient(lambda b: SkewNormal(0.0, 1.0, b).mode(), 3.0 + h)[0] for h in (1e-4, -1e-4))
    assert second == pytest.approx((up - down) / 2e-4, rel=1e-6)


# Generating functions.


@pytest.mark.parametrize(
    "d",
    [
        Gumbel(0.3, 0.7),
        Logistic(0.3, 0.7),
        HalfNormal(0.7),
        Rayleigh(0.7),
        Maxwell(0.7),
        Moyal(0.3, 0.7),
        FoldedNormal(0.5, 1.2),
        NoncentralChiSquared(3.0, 2.0),
        NormalInverseGaussian(0.3, 2.0, 0.5, 1.2),
        Triangular(-1.0, 2.0, 0.5),
        Beta(2.0, 3.0),
        Binomial(5, 0.3),
    ],
    ids=lambda d: type(d).__name__,
)
def test_generating_functions(d: Any) -> None:
    """Formulas are the expectations that they stand for; arrays of t have the results along their own axes."""
    assert (d.mgf(0.0), d.cf(0.0)) == pytest.approx((1.0, 1.0), rel=1e-14)
    for t in (-0.4, 0.15):
        assert d.mgf(t) == pytest.approx(d.expect(lambda x, t=t: np.exp(t * x)), rel=1e-11)
        assert d.cf(t) == pytest.approx(d.expect(lambda x, t=t: np.exp(1j * t * x)), rel=1e-11)
    assert d.cf(np.array([0.15, -0.4])) == pytest.approx([d.cf(0.15), d.cf(-0.4)], rel=1e-14)


def test_characteristic_function_of_student() -> None:
    t = np.array([-2.0, -0.1, 0.0, 0.5, 3.0])
    s = math.sqrt(3) * abs(t)
    np.testing.assert_allclose(StudentT(3.0).cf(t), (1 + s) * np.exp(-s), rtol=1e-13)
    np.testing.assert_allclose(StudentT(1.0, 0.2, 2.0).cf(t), np.exp(0.2j * t - 2 * abs(t)), rtol=1e-13)
    np.testing.assert_allclose(StudentT(math.inf).cf(t), np.exp(-0.5 * t * t), rtol=1e-13)


def test_generating_functions_of_a_heavy_tail() -> None:
    assert Lomax(5.0).mgf(0.1) == math.inf and Lomax(5.0).mgf(-0.1) < 1
    # 5 exp(-i t) E_6(-i t)
    assert Lomax(5.0).cf(0.1) == pytest.approx(0.999170295414696538 + 0.024959110865170379j, abs=1e-15)


# Fits.

ENDS = [
    (GeneralizedExtremeValue(1.0, 2.0, 0.2), {}),
    (GeneralizedExtremeValue(1.0, 2.0, -0.3), {}),
    (GeneralizedPareto(0.0, 2.0, 0.3), {"loc": 0.0}),
    (GeneralizedPareto(0.0, 2.0, -0.3), {"loc": 0.0}),
    (Levy(1.0, 2.0), {}),
    (RaisedCosine(1.0, 2.0), {}),
    (NormalInverseGaussian(1.0, 2.0, 0.5, 1.0), {}),
    (PowerLaw(2.5, 1.0, 4.0), {"low": 1.0, "high": 4.0}),
    (Triangular(1.0, 4.0, 2.0), {"peak": 2.0}),
    (Zipf(3.0), {}),
]


@pytest.mark.parametrize(("d", "held"), ENDS, ids=[repr(d) for d, _ in ENDS])
def test_fits_where_the_support_hangs_on_parameters(d: Any, held: dict[str, Any]) -> None:
    """The score vanishes at the fit, which is more likely than the truth, for any unit of the data."""
    x = np.asarray(d.rand(500, rng=np.random.default_rng(1)), dtype=float)
    fitted = type(d).fit(x, **held)
    free = {k: v for k, v in fitted.parameters().items() if k not in held}
    assert np.sum(fitted.logpdf(x)) >= np.sum(d.logpdf(x))

    def mean(*values: Any) -> Any:
        return np.mean(type(d)(**dict(zip(free, values, strict=True)), **held).logpdf(x))

    assert gradient(mean, *free.values()) == pytest.approx([0.0] * len(free), abs=2e-5)


def test_fits_at_extreme_observations() -> None:
    x = np.array([1.5, 2.0, 4.0, 7.0])
    assert Uniform.fit(x, low=0.0) == Uniform(0.0, 7.0)
    assert Arcsine.fit(x) == Arcsine(1.5, 7.0) and DiscreteUniform.fit([3, 5, 9], high=12) == DiscreteUniform(3, 12)
    assert GeneralizedPareto.fit(x).loc == 1.5
    assert Pareto.fit(x, shape=2.0) == Pareto(2.0, 1.5)
    shape = PowerLaw.fit(x).alpha
    mean_log = PowerLaw(shape, 1.5, 7.0).expect(np.log)
    assert mean_log == pytest.approx(np.mean(np.log(x)), rel=1e-8)


def test_fit_of_a_triangle() -> None:
    """Ends and peak together: none nearby is more likely, the peak is an observation, and the unit does not matter."""
    x = Triangular(1.0, 4.0, 2.0).rand(300, rng=np.random.default_rng(1))
    fitted = Triangular.fit(x)
    best = np.sum(fitted.logpdf(x))
    assert fitted.peak in x
    for low in (-0.02, 0.0, 0.02):
        for high in (-0.02, 0.0, 0.02):
            for peak in (*x[:40], fitted.peak):
                with np.errstate(all="ignore"):
                    near = Triangular(fitted.low + low, fitted.high + high, peak, check=False)
                    assert not np.sum(near.logpdf(x)) > best + 1e-9
    assert list(Triangular.fit(1e5 * x).parameters().values()) == pytest.approx(
        [1e5 * v for v in fitted.parameters().values()], rel=1e-4
    )
    with pytest.raises(DataError, match="Triangular.fit needs observations that are not all the same, got 2.0"):
        Triangular.fit([2.0, 2.0])


def test_fit_from_statistics_says_what_it_needs() -> None:
    with pytest.raises(ParameterError, match="Pareto.fit_statistics needs the parameter scale"):
        Pareto.fit_statistics(0.5)
    with pytest.raises(DataError, match="Normal.fit_statistics needs 2 averages, got 1"):
        Normal.fit_statistics(0.5)
    with pytest.raises(UnsupportedError, match="Cauchy has no exponential form|Logistic has no exponential form"):
        Logistic.fit_statistics(0.5)
    far = Normal.fit_statistics(1e6, 1e12 + 4.0)
    assert (far.loc, far.scale) == pytest.approx((1e6, 2.0), rel=1e-9)


# Discrete searches and edges.


@pytest.mark.parametrize("d", [Poisson(1e10), Skellam(1e6, 1.0), Binomial(10**9, 0.3)], ids=repr)
def test_quantiles_far_from_zero(d: Any) -> None:
    """The smallest k that has arrived, whatever the guess that the search starts from."""
    for p in (1e-300, 1e-9, 0.3, 0.999):
        k = d.quantile(p)
        assert d.logcdf(k) >= math.log(p) * (1 + 1e-13) and d.logcdf(k - 1) < math.log(p), p


def test_tails_at_minus_infinity() -> None:
    d = Skellam(3.0, 2.0)
    assert (d.cdf(-math.inf), d.ccdf(-math.inf), d.logcdf(-math.inf), d.logccdf(-math.inf)) == (0, 1, -math.inf, 0)


# Families that share an abstract parent.


class Stretched(Continuous, abstract=True):
    """p(x) of x = scale y: field, alternative and formulas of its children."""

    scale: Positive = 1.0

    @alternative
    def by_rate(rate: Positive) -> dict[str, Any]:
        return {"scale": 1 / rate}

    def mean(self) -> Any:
        return self.scale * self._unit_mean()

    def logccdf(self, x: Any) -> Any:
        return -self._hazard(x / self.scale)

    def _unit_mean(self) -> Any:
        raise NotImplementedError

    def _hazard(self, y: Any) -> Any:
        raise NotImplementedError


class Wait(Stretched):
    """The exponential law."""

    support = nonnegative

    def logpdf(self, x: Any) -> Any:
        return -x / self.scale - np.log(self.scale)

    def _unit_mean(self) -> Any:
        return 1.0

    def _hazard(self, y: Any) -> Any:
        return y


class Shifted(Stretched):
    """The same from `loc` on: a field before it in the file, after it in order."""

    loc: Real = 0.0

    support = real

    def logpdf(self, x: Any) -> Any:
        return np.where(x < self.loc, -np.inf, -(x - self.loc) / self.scale - np.log(self.scale))


def test_abstract_parents_give_fields_alternatives_and_guarded_formulas() -> None:
    d = Wait(rate=np.array([2.0, 4.0]))
    assert list(Wait.domains) == ["scale"] and list(Shifted.domains) == ["scale", "loc"]
    assert Shifted(loc=1.0).scale == 1.0 and repr(Wait(2.0)) == "Wait(scale=2.0)"
    assert d.mean().tolist() == [0.5, 0.25] and Wait(np.ones(3)).mean().shape == (3,)
    assert d.ccdf(-1.0).tolist() == [1.0, 1.0] and d.cdf(0.5) == pytest.approx(-np.expm1([-1.0, -2.0]), rel=1e-15)
    assert d == Wait(scale=[0.5, 0.25]) != Wait(scale=[0.5, 0.3])
    with pytest.raises(ParameterError, match="Wait.scale must be positive, got -1.0"):
        Wait(-1.0)


def test_moments_shared_by_families_of_powers() -> None:
    d = Frechet(5.0, 2.0)
    m1, m2 = math.gamma(0.8), math.gamma(0.6)
    assert d.var() == pytest.approx(4 * (m2 - m1 * m1), rel=1e-13)
    assert GeneralizedExtremeValue(2.0, 0.4, 0.2).var() == pytest.approx(d.var(), rel=1e-13)
    assert GeneralizedExtremeValue(2.0, 0.4, 0.2).skewness() == pytest.approx(d.skewness(), rel=1e-12)
    reversed_weibull = stats.genextreme(0.5).stats("s")
    assert GeneralizedExtremeValue(0.0, 1.0, -0.5).skewness() == pytest.approx(reversed_weibull, rel=1e-10)
