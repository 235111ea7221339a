"""Tails, inverses, draws and fits that users of other systems met wrong, by the identifiers of cases.jsonl or alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from probdiff import compile, gradient, value_and_grad
from probdiff.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Cauchy,
    ChiSquared,
    Exponential,
    Gamma,
    Gumbel,
    InverseGamma,
    Laplace,
    Logistic,
    LogNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Weibull,
    kl_divergence,
    truncated,
)
from probdiff.errors import DataError, UnsupportedError


def test_dt01_normal_tails_and_their_inverse() -> None:
    d = Normal()
    assert d.logcdf(-40.0) == pytest.approx(-804.608442013754, rel=1e-14)
    assert gradient(d.logcdf, -40.0)[0] == pytest.approx(40.0249688472073, rel=1e-14)
    assert d.logcdf(9.0) == pytest.approx(-1.12858840595384e-19, rel=1e-13)
    assert d.logccdf(10.0) == pytest.approx(-53.2312851505125, rel=1e-14)
    assert d.invlogcdf(-1000.0) == pytest.approx(-44.6157477319694, rel=1e-14)
    assert d.invlogcdf(-1e-20) == pytest.approx(9.26234008979841, rel=1e-14)


def test_dt02_normal_between_bounds_far_out() -> None:
    def height(loc: float, scale: float, low: float, high: float, x: float) -> Any:
        return truncated(Normal(loc, scale), low, high).logpdf(x)

    assert height(1.35, 0.01, -20.0, -1.0, -15.0) == pytest.approx(-1308989.93522619, rel=1e-13)
    assert gradient(height, 1.35, 0.01, -20.0, -1.0, -15.0)[0] == pytest.approx(-139999.574483495, rel=1e-12)
    assert height(-1.0, 1.0, 14.91, 20.06, 17.0) == pytest.approx(-32.6650898665486, rel=1e-13)
    assert gradient(height, -1.0, 1.0, 14.91, 20.06, 17.0)[0] == pytest.approx(2.02763353022819, rel=1e-12)
    beyond = truncated(Normal(), 10.0)
    assert beyond.mean() == pytest.approx(10.0980932339625, rel=1e-13)
    assert gradient(lambda loc: truncated(Normal(loc, 1.0), 1.0, math.inf).logpdf(2.0), 0.0)[0] == pytest.approx(
        2.0 - stats.norm.pdf(1) / stats.norm.sf(1), rel=1e-13
    )


def test_truncated_tails() -> None:
    """Quantiles and distribution functions between bounds far out (true values; Distributions.jl's were wrong)."""
    for d, x, below, level, point in (
        (truncated(Normal(), 8.0, 9.0), 8.1, 0.5583754014201, 0.9, 8.2786090370),
        (truncated(Normal(), 9.0, 10.0), 9.1, 0.5998422102635, 0.9, 9.2493533764),
    ):
        assert d.cdf(x) == pytest.approx(below, rel=1e-12)
        assert d.quantile(level) == pytest.approx(point, rel=1e-10)
    assert truncated(Normal(), 8.0, 9.0).median() == pytest.approx(8.0848888990, rel=1e-10)


def test_rd03_draws_between_bounds_far_out() -> None:
    narrow = truncated(Normal(1.1, 0.005), -1.0, 1.0)
    drawn = narrow.rand(1000, rng=np.random.default_rng(3))
    assert np.all((drawn >= -1) & (drawn <= 1)) and np.unique(drawn).size == 1000
    # Five standard errors of the mean of 1000.
    assert np.mean(drawn) == pytest.approx(0.999751234657361, abs=5 * 0.000248 / math.sqrt(1000))
    assert narrow.std() == pytest.approx(0.000248156282161673, rel=1e-9)


def test_dt05_student_with_few_degrees_of_freedom() -> None:
    d = StudentT(0.1)
    np.testing.assert_allclose(d.cdf(np.array([-1e8, -1e20])), [0.06615032178778671, 0.004173803137173217], rtol=1e-13)
    assert d.logcdf(-1e200) == pytest.approx(-46.9254593094019, rel=1e-14)
    assert d.quantile(1e-300) == -math.inf  # -1e3000 is no number


def test_cq05_ends_of_quantiles() -> None:
    for d in (Cauchy(), Gumbel(), Normal(), Logistic(), StudentT(3.0)):
        for kind in (np.float32, np.float64):
            np.testing.assert_array_equal(d.quantile(np.array([0, 1], kind)), [-math.inf, math.inf])
            np.testing.assert_array_equal(d.cquantile(np.array([0, 1], kind)), [math.inf, -math.inf])
        assert np.all(np.isnan(d.quantile(np.array([2.0, -0.1]))))
        assert d.invlogcdf(-math.inf) == -math.inf and d.invlogccdf(-math.inf) == math.inf
        assert math.isnan(d.invlogcdf(0.1))
    assert gradient(Cauchy().quantile, 0.25)[0] == pytest.approx(2 * math.pi, rel=1e-14)


def test_cq06_degenerate_counts() -> None:
    assert Poisson(3.0).quantile(0.0) == 0
    assert Binomial(10, 0.0).quantile(0.4) == 0
    assert Binomial(0, 0.5).quantile(0.5) == 0
    for d in (Poisson(3.0), Binomial(12, 0.3), NegativeBinomial(2.5, 0.2)):
        k = np.arange(12.0)
        np.testing.assert_array_equal(d.quantile(d.cdf(k)), k)
        np.testing.assert_array_equal(d.invlogccdf(d.logccdf(k[:-1])), k[:-1])


def test_cq07_quantile_of_gamma_in_its_shape() -> None:
    value, slopes = value_and_grad(lambda a, p: Gamma(a, 1.0).quantile(p), argnums=(0, 1))(1.5, 0.3)
    assert value == pytest.approx(0.7118261215176398, rel=1e-14)
    assert slopes == pytest.approx((0.747326015060287, 2.1404256010505), rel=1e-13)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda a: Gamma(a, 2.0), 2.0),  # E = 2 a
        (lambda a: Beta(a, 3.0), 3.0 / 16.0),  # E = a / (a + 3), at a = 1
        (lambda a: StudentT(5.0, a, 2.0), 1.0),
        (lambda a: InverseGamma(7.0, a), 1.0 / 6.0),
        (lambda a: Weibull(1.0, a), 1.0),
    ],
)
def test_pathwise_gradients_of_means(f: Any, expected: float) -> None:
    """The slope of an average of draws is that of the mean, to five standard errors."""

    def average(a: Any) -> Any:
        return f(a).rand(4000, rng=np.random.default_rng(5))

    drawn = f(1.0).rand(4000, rng=np.random.default_rng(5))
    slopes = np.array([gradient(lambda a, x=x: f(a).pathwise(x), 1.0)[0] for x in drawn[:200]])
    assert gradient(lambda a: np.mean(average(a)), 1.0)[0] == pytest.approx(
        expected, abs=5 * np.std(slopes) / math.sqrt(4000) + 1e-12
    )


def test_draws_in_a_compiled_program_are_refused() -> None:
    with pytest.raises(UnsupportedError) as caught:
        compile(lambda a: Gamma(a, 1.0).rand(rng=np.random.default_rng(0)))(2.0)
    assert str(caught.value) == (
        "Gamma.rand: a compiled program has no random numbers. Draw outside and use pathwise(x), or pass uniform noise "
        "to quantile(u)."
    )
    moved = compile(value_and_grad(lambda a: Gamma(a, 1.0).pathwise(1.7)))(2.0)
    assert moved[1] == pytest.approx(gradient(lambda a: Gamma(a, 1.0).pathwise(1.7), 2.0)[0], rel=1e-12)


def test_rd02_logs_of_draws_too_small_for_a_number() -> None:
    rng = np.random.default_rng(0)
    drawn = Gamma(0.001, 1.0).log_rand(20000, rng=rng)
    assert np.all(np.isfinite(drawn))
    # Mean psi(a), variance psi'(a), and the kurtosis of an exponential; five standard errors.
    assert np.mean(drawn) == pytest.approx(-1000.57557193181, abs=5 * 1000 / math.sqrt(20000))
    assert np.var(drawn) == pytest.approx(1000001.64253, rel=5 * math.sqrt(8 / 20000))
    for d in (Beta(0.001, 2.0), ChiSquared(0.002), InverseGamma(0.001, 1.0), LogNormal(0.0, 1.0)):
        assert np.all(np.isfinite(d.log_rand((3, 4), rng=rng))) and d.log_rand((3, 4), rng=rng).shape == (3, 4)


def test_intervals_that_are_narrow_in_a_tail() -> None:
    """log of density times width, to the second order: mpmath's log(Phi(-30) - Phi(-30 - 1e-9)) ends alike."""
    d = Normal()
    x, h = 30.0, 2.0**-30
    expected = d.logpdf(x + h / 2) + math.log(h)  # the curvature adds (x h)² / 24 = 3e-17
    assert d.logdiffcdf(x, x + h) == pytest.approx(expected, rel=1e-15)
    assert gradient(lambda a, b: d.logdiffcdf(a, b), x, x + h)[1] == pytest.approx(1 / h - x / 2, rel=1e-9)
    # Stan's test: log(Phi(31) - Phi(30)).
    assert d.logdiffcdf(30.0, 31.0) == pytest.approx(-454.3212439563433, rel=1e-14)


def test_seed_72_saturated_counts() -> None:
    assert Binomial(1000, 1e-6).quantile(1.0) == 1000
    # The masses fall by 5/6 from one to the next, by a little more each time: log 6, less about 30 / 1.2e6.
    expected = Poisson(1e6).logpdf(1200001) + math.log(6)
    assert Poisson(1e6).logccdf(1.2e6) == pytest.approx(expected, abs=1e-4)


FITTED = [
    Gamma(2.5, 3.0),
    Beta(2.0, 5.0),
    StudentT(4.0, 1.0, 2.0),
    Weibull(1.7, 0.4),
    Gumbel(-1.0, 2.0),
    Logistic(0.5, 3.0),
    Cauchy(1.0, 0.2),
    Gumbel(1e6, 3.0),
    InverseGamma(3.0, 2.0),
    ChiSquared(4.0),
    NegativeBinomial(3.0, 0.4),
]


@pytest.mark.parametrize("d", FITTED, ids=lambda d: type(d).__name__)
def test_fits_have_no_slope_left(d: Any) -> None:
    x = d.rand(400, rng=np.random.default_rng(11))
    w = np.random.default_rng(12).random(400)
    found = type(d).fit(x, weights=w)
    values = found.parameters()
    bars = gradient(lambda *p: np.sum(w * type(d)(**dict(zip(values, p, strict=True))).logpdf(x)), *values.values())
    # Slopes in a location in spreads of the data, and in the log of the others.
    spread = np.subtract(*np.quantile(x, [0.75, 0.25]))
    for bar, (name, value) in zip(bars, values.items(), strict=True):
        assert abs(bar) * (spread if name == "loc" else value) < 1e-5 * np.sum(w), name
    # A weight counts like a repetition.
    twice = type(d).fit(np.concatenate([x, x[:50]]))
    assert twice.parameters() == pytest.approx(
        type(d).fit(x, np.where(np.arange(400) < 50, 2, 1)).parameters(), rel=1e-5
    )


def test_fits_of_counts_and_refusals() -> None:
    assert Binomial.fit([3, 4, 5], n=10).p == pytest.approx(0.4, rel=1e-7)
    refused = [
        (lambda: Gamma.fit([1.0, -1.0]), "Gamma.fit: an observation must be nonnegative, got -1.0."),
        (lambda: Gamma.fit([1.0, math.nan]), "Gamma.fit needs finite observations, got NaN or infinity."),
        (lambda: Gamma.fit([]), "Gamma.fit needs finite observations, got none."),
        (lambda: Normal.fit([1.0, 2.0], [1.0]), "Normal.fit needs a weight for each observation, got 1 for 2."),
        (lambda: Normal.fit([1.0], [-1.0]), "Normal.fit needs weights that are nonnegative, finite and not all zero."),
    ]
    for call, text in refused:
        with pytest.raises(DataError) as caught:
            call()
        assert (
            str(caught.value) == text.replace("-1.0.", f"{np.float64(-1.0)!r}.") if "observation must" in text else text
        )
    with pytest.raises(DataError, match="^Beta.fit found no maximum: the likelihood still rises at alpha="):
        Beta.fit([0.5])
    with pytest.raises(DataError, match="^Beta.fit: the likelihood is not finite where the search starts. Is an obs"):
        Beta.fit([0.5, 1.0])
    with pytest.raises(UnsupportedError) as unknown:
        Binomial.fit([3, 4])
    assert str(unknown.value) == "Binomial.fit cannot find n. Give it: fit(x, n=…)."


def test_divergences_of_pairs_without_a_formula() -> None:
    p, q = Gamma(2.0, 1.0), Exponential(2.0)
    # E log p - E log q with E X = 2, E log X = psi(2).
    expected = (1 - np.euler_gamma) - 2.0 - (-math.log(2.0) - 1.0)
    assert kl_divergence(p, q) == pytest.approx(expected, rel=1e-11)
    slope = gradient(lambda s: kl_divergence(Gamma(2.0, 1.0), Exponential(s)), 2.0)[0]
    assert slope == pytest.approx(1 / 2.0 - 2.0 / 4.0, abs=1e-11)
    assert kl_divergence(Laplace(0.0, 1.0), Normal(0.0, 1.0)) == pytest.approx(
        0.5 * math.log(2 * math.pi) + 1.0 - math.log(2.0) - 1.0, rel=1e-10
    )
    with pytest.raises(UnsupportedError, match="^kl_divergence: Poisson and Normal are discrete and continuous"):
        kl_divergence(Poisson(2.0), Normal())
    assert kl_divergence(Bernoulli(0.3), Bernoulli(1.0)) == math.inf


def test_plot_draws_densities_and_masses() -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    axis = Normal(1.0, 2.0).plot()
    x, y = axis.lines[0].get_data()
    np.testing.assert_allclose(y, Normal(1.0, 2.0).pdf(x))
    masses = Poisson(3.0).plot(pyplot.subplots()[1])
    assert masses.get_title() == "Poisson(rate=3.0)"
    with pytest.raises(UnsupportedError):
        Normal([0.0, 1.0], 1.0).plot()
    pyplot.close("all")


def test_slopes_at_the_ends_of_quantiles() -> None:
    """At probability zero an infinite quantile does not move with a parameter, and no slope is NaN."""
    assert gradient(lambda df: StudentT(df).quantile(0.0), 3.0) == (0.0,)
    assert gradient(lambda a: Beta(a, 2.0).quantile(1.0), 3.0) == (0.0,)
    assert gradient(lambda lp: StudentT(3.0).invlogcdf(lp), -math.inf) == (math.inf,)


@pytest.mark.parametrize(
    "d", [Gamma(1e8), Gamma(1e-3), Beta(1e8, 2e8), Beta(1e-3, 30.0), StudentT(1e8), ChiSquared(1e9)]
)
def test_quantiles_of_extreme_shapes(d: Any) -> None:
    p = np.array([1e-300, 1e-20, 0.3, 0.9])
    for inverse, tail in ((d.quantile, d.logcdf), (d.cquantile, d.logccdf)):
        x = inverse(p)
        seen = x != d.support.lower  # a quantile below the smallest number is the end of the support
        with np.errstate(all="ignore"):
            # The rounding of x is what the tail cannot do better than: 1e8 of it where the shape is 1e8.
            rounding = 8 * 2.2e-16 * abs(x) * np.exp(d.logpdf(x) - tail(x))
        assert np.all(~seen | (abs(tail(x) - np.log(p)) <= 1e-12 * abs(np.log(p)) + rounding)), (d, x)


def test_slopes_of_quantiles_and_draws_between_bounds() -> None:
    """In the parameters of what is truncated and in the bounds; x of one probability moves as its quantile does."""

    def level(shape: Any, upper: Any, p: Any) -> Any:
        return truncated(Gamma(shape, 1.0), 1.0, upper).quantile(p)

    at, h = (2.0, 3.0, 0.3), 1e-5
    slopes = gradient(level, *at)
    for k, slope in enumerate(slopes):
        up, down = (level(*(v + s * (i == k) for i, v in enumerate(at))) for s in (h, -h))
        assert slope == pytest.approx((up - down) / (2 * h), rel=1e-8)
    x = level(*at)
    moved = gradient(lambda a, b: truncated(Gamma(a, 1.0), 1.0, b).pathwise(x), 2.0, 3.0)
    assert moved == pytest.approx(slopes[:2], rel=1e-11)
