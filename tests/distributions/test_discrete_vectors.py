"""Discrete families whose parameters are vectors: ordered categories, sums of trials, tables; the relaxed simplex."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff import compile, gradient, pushforward
from probdiff.distributions import (
    BetaBinomial,
    Dirac,
    DiscreteNonParametric,
    DiscreteUniform,
    FisherNoncentralHypergeometric,
    HalfNormal,
    Normal,
    OrderedLogistic,
    OrderedProbit,
    PoissonBinomial,
    RelaxedCategorical,
    YuleSimon,
    Zipf,
)
from probdiff.errors import ParameterError
from probdiff.models import Joint, Posterior
from tests.distributions.case import EXTREME

CUTS = np.array([-1.0, 0.0, 1.5])
TRIALS = np.array([0.1, 0.5, 0.93, 0.3, 1e-9])


def differences(f: Any, at: np.ndarray) -> np.ndarray:
    """Central differences, extrapolated once."""
    steps = 1e-4 * np.eye(at.size)
    once = [np.array([(f(at + h * e) - f(at - h * e)) / (2 * h * 1e-4) for e in steps]) for h in (1.0, 0.5)]
    return (4 * once[1] - once[0]) / 3


@pytest.mark.parametrize("row", EXTREME["OrderedLogistic"]["points"], ids=lambda row: f"{row['params']}-{row['x']}")
def test_ordered_logistic_of_mpmath(row: dict[str, Any]) -> None:
    eta, cuts = row["params"]["eta"], np.array(row["params"]["cutpoints"])
    # What a rounding of the inputs is worth.
    assert OrderedLogistic(eta, cuts).logpdf(row["x"]) == pytest.approx(float(row["logpdf"]), rel=1e-15, abs=1e-15)
    bars = gradient(lambda e, c: OrderedLogistic(e, c).logpdf(row["x"]), eta, cuts)
    for bar, name in zip(bars, ("eta", "cutpoints"), strict=True):
        expected = np.array(row["dlogpdf_dparams"][name], dtype=float)
        # exp(a - b) / (1 - exp(a - b)) for cutpoints 1e-6 apart has lost six digits of their difference.
        np.testing.assert_allclose(bar, expected, rtol=1e-9 if np.min(np.diff(cuts)) < 1e-3 else 1e-14, atol=1e-16)


@pytest.mark.parametrize("family", [OrderedLogistic, OrderedProbit])
def test_ordered_categories(family: Any) -> None:
    d = family(0.4, CUTS)
    k = np.arange(4.0)
    np.testing.assert_allclose(np.cumsum(d.pdf(k)), d.cdf(k), rtol=1e-14)
    np.testing.assert_allclose(d.mean(), np.sum(k * d.pdf(k)), rtol=1e-14)
    np.testing.assert_array_equal(d.quantile(d.cdf(k)), k)
    np.testing.assert_array_equal(d.logpdf([-1.0, 0.5, 4.0, math.nan, math.inf]), -math.inf)
    drawn = d.rand(20000, rng=np.random.default_rng(1))
    # Five standard deviations of a frequency.
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20000, d.pdf(k), atol=5 * math.sqrt(0.25 / 20000))
    batch = family(np.array([0.4, -2.0]), CUTS)
    np.testing.assert_allclose(batch.logpdf([1.0, 2.0]), [d.logpdf(1), family(-2.0, CUTS).logpdf(2)], rtol=1e-14)

    def total(eta: Any, cuts: Any, x: Any) -> Any:
        return np.sum(family(eta, cuts).logpdf(x))

    bars = gradient(total, 0.4, CUTS, k)[:2]
    assert bars[0] == pytest.approx(differences(lambda e: total(e[0], CUTS, k), np.array([0.4]))[0], rel=1e-8)
    np.testing.assert_allclose(bars[1], differences(lambda c: total(0.4, c, k), CUTS), rtol=1e-8)
    native = compile(lambda *at: gradient(total, *at)[:2])(0.4, CUTS, k)
    for got, bar in zip(native, bars, strict=True):
        np.testing.assert_allclose(got, bar, rtol=1e-12)
    with pytest.raises(ParameterError, match="cutpoints must be finite numbers that rise strictly"):
        family(0.0, [1.0, 0.0])


def test_ordered_probit_far_out() -> None:
    """mpmath's differences of normal distribution functions, far out and between close cutpoints."""
    for eta, cuts, k in [(0.0, [20.0, 21.0], 1), (30.0, [-1.0, 2.0], 1), (0.0, [0.3, 0.3 + 1e-9], 1), (-9.0, [0.0], 1)]:
        with mp.workdps(400):
            edges = [-mp.inf, *map(mp.mpf, cuts), mp.inf]
            expected = float(mp.log(mp.ncdf(edges[k + 1] - eta) - mp.ncdf(edges[k] - eta)))
        assert OrderedProbit(eta, cuts).logpdf(k) == pytest.approx(expected, rel=1e-14)


def test_ordered_regression() -> None:
    """As an observation: the gradient of the log-density is that of differences."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=50)
    y = OrderedLogistic(1.3 * x, CUTS).rand(rng=rng)
    model = Posterior(
        Joint(slope=Normal(0, 2), s=HalfNormal(1)), lambda slope, s: OrderedLogistic(slope * x, s * CUTS), y
    )
    u = np.array([0.7, 0.2])
    np.testing.assert_allclose(gradient(model.logdensity, u)[0], differences(model.logdensity, u), rtol=1e-7)


def test_poisson_binomial() -> None:
    """All subsets of trials, one by one."""
    d = PoissonBinomial(TRIALS)
    k = np.arange(6.0)
    expected = np.zeros(6)
    for outcome in itertools.product((0, 1), repeat=5):
        expected[sum(outcome)] += np.prod(np.where(outcome, TRIALS, 1 - TRIALS))
    np.testing.assert_allclose(d.pdf(k), expected, rtol=1e-14)
    np.testing.assert_allclose(d.cdf(k), np.cumsum(expected), rtol=1e-14)
    np.testing.assert_allclose(d.ccdf(k)[:-1], np.cumsum(expected[::-1])[::-1][1:], rtol=1e-14)
    center = np.sum(k * expected)
    moments = [np.sum((k - center) ** j * expected) for j in (2, 3, 4)]
    np.testing.assert_allclose([d.mean(), d.var()], [center, moments[0]], rtol=1e-14)
    np.testing.assert_allclose(d.skewness(), moments[1] / moments[0] ** 1.5, rtol=1e-13)
    np.testing.assert_allclose(d.kurtosis(), moments[2] / moments[0] ** 2 - 3, rtol=1e-12)
    assert d.mgf(0.3) == pytest.approx(np.sum(np.exp(0.3 * k) * expected), rel=1e-14)
    assert d.mode() == np.argmax(expected)
    np.testing.assert_array_equal(d.quantile(d.cdf(k)), k)
    drawn = d.rand(20000, rng=np.random.default_rng(1))
    # Five standard deviations of a frequency.
    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / 20000, expected, atol=5 * math.sqrt(0.25 / 20000))
    np.testing.assert_array_equal(PoissonBinomial([0.0, 1.0, 0.5]).pdf([0, 1, 2, 3, 4]), [0.0, 0.5, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(PoissonBinomial(np.full((2, 4), 0.5)).pdf(2.0), [0.375, 0.375], rtol=1e-14)
    # Masses that are no numbers any more; two thousand additions to a logarithm round two thousand times.
    assert PoissonBinomial(np.full(2000, 0.5)).logpdf(0) == pytest.approx(2000 * math.log(0.5), rel=2000 * 2.2e-16)


def test_poisson_binomial_slopes() -> None:
    p = TRIALS[:4]
    for method in ("logpdf", "logcdf", "logccdf"):

        def f(p: Any, x: Any, method: str = method) -> Any:
            return getattr(PoissonBinomial(p), method)(x)

        (bar, _) = gradient(f, p, 2.0)
        np.testing.assert_allclose(bar, differences(lambda p, f=f: f(p, 2.0), p), rtol=1e-7)
        np.testing.assert_allclose(compile(lambda p, x, f=f: gradient(f, p, x)[0])(p, 2.0), bar, rtol=1e-12)
        assert pushforward(f, p, 2.0)(p, None) == pytest.approx(np.sum(bar * p), rel=1e-12)


def test_dirac() -> None:
    d = Dirac(0.5)
    np.testing.assert_array_equal(d.logpdf([0.5, 0.4, math.nan, math.inf]), [0.0, -math.inf, -math.inf, -math.inf])
    np.testing.assert_array_equal(d.cdf([0.4, 0.5, 2.0, -math.inf, math.inf]), [0.0, 1.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(d.quantile([0.0, 0.3, 1.0]), 0.5)
    np.testing.assert_array_equal(d.rand((2, 3), rng=np.random.default_rng(0)), np.full((2, 3), 0.5))
    assert (d.mean(), d.var(), d.entropy(), d.expect(lambda x: x**2)) == (0.5, 0.0, 0.0, 0.25)
    assert d.kl_divergence(Dirac(0.5)) == 0 and d.kl_divergence(Dirac(0.6)) == math.inf
    assert gradient(lambda v: Dirac(v).quantile(0.3), 0.5) == (1.0,)
    np.testing.assert_array_equal(Dirac(np.array([0.0, 1.0])).logpdf(1.0), [-math.inf, 0.0])


def test_discrete_non_parametric() -> None:
    values, p = np.array([-1.5, 0.0, 2.5]), np.array([0.2, 0.3, 0.5])
    d = DiscreteNonParametric(values, p)
    np.testing.assert_allclose(d.pdf([-1.5, 0.0, 2.5, 1.0]), [0.2, 0.3, 0.5, 0.0], rtol=1e-15)
    np.testing.assert_allclose(d.cdf([-2.0, -1.5, 0.5, 2.5]), [0.0, 0.2, 0.5, 1.0], rtol=1e-15)
    np.testing.assert_allclose(d.ccdf([-2.0, -1.5, 0.5, 2.5]), [1.0, 0.8, 0.5, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(d.quantile([0.0, 0.2, 0.21, 0.5, 1.0]), [-1.5, -1.5, 0.0, 0.0, 2.5])
    np.testing.assert_array_equal(d.cquantile([1.0, 0.8, 0.79, 0.5, 0.0]), [-1.5, -1.5, 0.0, 0.0, 2.5])
    mean = np.sum(values * p)
    var = np.sum((values - mean) ** 2 * p)
    np.testing.assert_allclose([d.mean(), d.var(), d.mode()], [mean, var, 2.5], rtol=1e-15)
    np.testing.assert_allclose(d.skewness(), np.sum((values - mean) ** 3 * p) / var**1.5, rtol=1e-14)
    other = DiscreteNonParametric(values=[-1.5, 0.0, 2.5], logits=[0.0, 1.0, 2.0])
    expected = np.sum(p * (np.log(p) - other.logpdf(values)))
    assert d.kl_divergence(other) == pytest.approx(expected, rel=1e-14)
    drawn = d.rand(20000, rng=np.random.default_rng(1))
    # Five standard deviations of a frequency.
    np.testing.assert_allclose([np.mean(drawn == v) for v in values], p, atol=5 * math.sqrt(0.25 / 20000))
    (bar,) = gradient(lambda p: DiscreteNonParametric(values, p).logcdf(0.0), p)
    # Up to a constant: probabilities move within the simplex.
    np.testing.assert_allclose(bar - bar[2], [2.0, 2.0, 0.0], rtol=1e-14)
    (bar,) = gradient(lambda v: DiscreteNonParametric(v, p).mean(), values)
    np.testing.assert_allclose(bar, p, rtol=1e-15)
    with pytest.raises(ParameterError, match="one probability for each value"):
        DiscreteNonParametric(values, [0.5, 0.5])


def test_relaxed_categorical() -> None:
    """Draws have the density: weights of two temperatures by importance, and the density of Maddison et al."""
    p, temperature = np.array([0.3, 0.2, 0.5]), 0.7
    d = RelaxedCategorical(temperature, p)
    x = np.array([0.2, 0.3, 0.5])
    powers = p * x**-temperature
    expected = 2 * temperature**2 * np.prod(powers / x) / np.sum(powers) ** 3
    assert d.logpdf(x) == pytest.approx(math.log(expected), rel=1e-13)
    assert RelaxedCategorical(temperature, logits=np.log(p) + 3).logpdf(x) == pytest.approx(d.logpdf(x), rel=1e-13)
    drawn = d.rand(40000, rng=np.random.default_rng(3))
    np.testing.assert_allclose(np.sum(drawn, axis=-1), 1.0, rtol=1e-14)
    # The largest entry has the law of the label; five standard deviations of a frequency.
    np.testing.assert_allclose(np.bincount(np.argmax(drawn, axis=-1)) / 40000, p, atol=5 * math.sqrt(0.25 / 40000))
    warmer = RelaxedCategorical(0.8, p)
    ratio = np.exp(warmer.logpdf(drawn) - d.logpdf(drawn))
    assert np.mean(ratio) == pytest.approx(1, abs=5 * np.std(ratio) / 200)
    bars = gradient(lambda t, p, x: RelaxedCategorical(t, p).logpdf(x), temperature, p, x)
    np.testing.assert_allclose(
        bars[1], differences(lambda p: RelaxedCategorical(temperature, p, check=False).logpdf(x), p)
    )
    model = Posterior(Joint(x=RelaxedCategorical(0.7, p)), lambda x: Normal(x, 0.3), np.array([0.1, 0.2, 0.7]))
    u = np.array([0.3, -0.4])
    np.testing.assert_allclose(gradient(model.logdensity, u)[0], differences(model.logdensity, u), rtol=1e-7)


def test_power_laws_with_heavy_tails() -> None:
    """mpmath's zeta and beta functions, where the battery's moments do not exist."""
    for s, k in itertools.product((1.001, 1.5, 2.5), (1, 7, 40, 10**6)):
        with mp.workdps(40):
            zeta = mp.zeta(mp.mpf(s))
            upper = mp.zeta(mp.mpf(s), k + 1) / zeta
            expected = [float(v) for v in (-mp.mpf(s) * mp.log(k) - mp.log(zeta), mp.log1p(-upper), mp.log(upper))]
        d = Zipf(s)
        got = [d.logpdf(float(k)), d.logcdf(float(k)), d.logccdf(float(k))]
        # The upper tail of power 1.001 is the ratio of two sums near a thousand.
        np.testing.assert_allclose(got, expected, rtol=2e-13)
    for alpha, k in itertools.product((0.01, 0.8, 2.5), (1, 7, 40, 10**6)):
        with mp.workdps(40):
            upper = k * mp.beta(k, mp.mpf(alpha) + 1)
            expected = [float(mp.log(mp.mpf(alpha) * mp.beta(k, mp.mpf(alpha) + 1))), float(mp.log(upper))]
        d = YuleSimon(alpha)
        np.testing.assert_allclose([d.logpdf(float(k)), d.logccdf(float(k))], expected, rtol=2e-14)
    # Half of the draws of YuleSimon(1) are 1, and P(X > 9) = 1 / 10; five standard deviations of a frequency.
    for d in (YuleSimon(1.0), Zipf(1.2), Zipf(3.0)):
        drawn = d.rand(20000, rng=np.random.default_rng(4))
        for k in (1.0, 9.0, 1e6):
            assert np.mean(drawn > k) == pytest.approx(d.ccdf(k), abs=5 * math.sqrt(0.25 / 20000))


def test_counts_that_do_not_go_together() -> None:
    with pytest.raises(ParameterError, match=r"^DiscreteUniform needs low <= high, got low=3, high=2$"):
        DiscreteUniform(3, 2)
    with pytest.raises(ParameterError, match="^FisherNoncentralHypergeometric needs draws <= successes \\+ failures"):
        FisherNoncentralHypergeometric(2, 3, 6, 1.0)
    assert DiscreteUniform(-3, 4).mean() == 0.5 and DiscreteUniform(-3, 4).pdf(-3.0) == pytest.approx(1 / 8)


def test_beta_binomial_by_mean() -> None:
    d = BetaBinomial(10, mean=0.25, concentration=8.0)
    assert (d.alpha, d.beta, d.mean()) == (2.0, 6.0, 2.5)
