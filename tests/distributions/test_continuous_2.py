"""More continuous families against R, mpmath and themselves."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special as sp
from scipy import stats

from probdiff import gradient
from probdiff.distributions import (
    ExGaussian,
    InverseGaussian,
    JohnsonSU,
    Kumaraswamy,
    Levy,
    LogitNormal,
    LogLogistic,
    LogUniform,
    Lomax,
    Maxwell,
    Moyal,
    Normal,
    Pareto,
    PowerLaw,
    Rayleigh,
    Semicircle,
    SkewNormal,
    Triangular,
    truncated,
)
from probdiff.errors import DataError, ParameterError
from tests.distributions.battery import battery
from tests.distributions.case import EXTREME, measure

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])
LOC_SCALE = {"mu": "loc", "sigma": "scale"}
LOC_SCALES = [{"loc": 0.0, "scale": 1.0}, {"loc": -3.5, "scale": 0.2}, {"loc": 40.0, "scale": 7.0}]

test_inverse_gaussian = battery(
    InverseGaussian,
    settings=[{"loc": 1.0, "shape": 1.0}, {"loc": 2.5, "shape": 30.0}, {"loc": 0.4, "shape": 0.1}],
    invalid={"loc": POSITIVE, "shape": POSITIVE},
    naive=lambda x, loc, shape: (
        mp.sqrt(shape / (2 * mp.pi * x**3)) * mp.exp(-shape * (x - loc) ** 2 / (2 * loc**2 * x))
    ),
    outside=[0.0, -1.0],
    reference=("InverseGaussian", {"mu": "loc", "lambda": "shape"}),
    extreme={"InverseGaussian": {"mu": "loc", "lambda": "shape"}},
)
test_johnson_su = battery(
    JohnsonSU,
    settings=[
        {"loc": 0.0, "scale": 1.0, "gamma": 0.3, "delta": 2.0},
        {"loc": -2.0, "scale": 3.0, "gamma": -1.5, "delta": 3.0},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "gamma": REAL, "delta": POSITIVE},
    naive=lambda x, loc, scale, gamma, delta: (
        delta / (scale * mp.sqrt(1 + ((x - loc) / scale) ** 2)) * mp.npdf(gamma + delta * mp.asinh((x - loc) / scale))
    ),
    reference=("JohnsonSU", {"xi": "loc", "lambda": "scale"}),
)
test_kumaraswamy = battery(
    Kumaraswamy,
    settings=[{"a": 2.0, "b": 3.0}, {"a": 0.7, "b": 1.6}, {"a": 12.0, "b": 0.8}],
    invalid={"a": POSITIVE, "b": POSITIVE},
    naive=lambda x, a, b: a * b * x ** (a - 1) * (1 - x**a) ** (b - 1),
    outside=[-1e-300, -1.0, 1.5],
    reference=("Kumaraswamy", {}),
    extreme={"Kumaraswamy": {}},
    accuracy=64.0,
)
test_levy = battery(
    Levy,
    settings=[{"loc": 0.0, "scale": 1.0}, {"loc": -3.5, "scale": 2.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: (
        mp.sqrt(scale / (2 * mp.pi)) * (x - loc) ** mp.mpf(-1.5) * mp.exp(-scale / (2 * (x - loc)))
    ),
    outside=[-4.0, -3.5],
    reference=("Levy", LOC_SCALE),
    extreme={"Levy": LOC_SCALE},
    accuracy=64.0,
)
test_log_logistic = battery(
    LogLogistic,
    settings=[{"scale": 1.0, "shape": 5.0}, {"scale": 0.3, "shape": 8.0}],
    invalid={"scale": POSITIVE, "shape": POSITIVE},
    naive=lambda x, scale, shape: shape / scale * (x / scale) ** (shape - 1) / (1 + (x / scale) ** shape) ** 2,
    outside=[-1e-300, -1.0],
    reference=("LogLogistic", {}),
    extreme={"LogLogistic": {}},
    accuracy=64.0,
)
test_logit_normal = battery(
    LogitNormal,
    settings=[{"loc": 0.0, "scale": 1.0}, {"loc": -1.5, "scale": 0.3}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.npdf(mp.log(x / (1 - x)), loc, scale) / (x * (1 - x)),
    outside=[0.0, -0.5, 1.0, 1.5],
    extreme={"LogitNormal": LOC_SCALE},
    accuracy=64.0,
)
test_log_uniform = battery(
    LogUniform,
    settings=[{"low": 1.0, "high": 20.0}, {"low": 0.001, "high": 0.002}],
    invalid={"low": POSITIVE, "high": POSITIVE},
    naive=lambda x, low, high: 1 / (x * mp.log(high / low)),
    outside=[0.0, -1.0, 20.5],
)
test_lomax = battery(
    Lomax,
    settings=[{"shape": 6.0, "scale": 1.0}, {"shape": 9.0, "scale": 0.3}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: shape / scale * (1 + x / scale) ** (-shape - 1),
    outside=[-1e-300, -1.0],
)
test_maxwell = battery(
    Maxwell,
    settings=[{"scale": 1.0}, {"scale": 0.02}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: mp.sqrt(2 / mp.pi) * x**2 * mp.exp(-((x / scale) ** 2) / 2) / scale**3,
    outside=[-1e-300, -1.0],
)
test_moyal = battery(
    Moyal,
    settings=LOC_SCALES,
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: (
        mp.exp(-((x - loc) / scale + mp.exp(-(x - loc) / scale)) / 2) / (mp.sqrt(2 * mp.pi) * scale)
    ),
)
test_pareto = battery(
    Pareto,
    settings=[{"shape": 6.0, "scale": 1.0}, {"shape": 9.0, "scale": 0.3}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: shape * scale**shape / x ** (shape + 1),
    outside=[0.29, 0.0, -1.0],
    reference=("Pareto", {}),
    extreme={"Pareto": {}},
    accuracy=64.0,
)
test_power_law = battery(
    PowerLaw,
    settings=[
        {"alpha": 1.5, "low": 0.5, "high": 2.0},
        {"alpha": -1.0, "low": 0.4, "high": 9.0},
        {"alpha": -3.2, "low": 0.1, "high": 50.0},
    ],
    invalid={"alpha": REAL, "low": ("nonnegative", [-1.0, nan]), "high": POSITIVE},
    naive=lambda x, alpha, low, high: x**alpha / mp.quad(lambda t: t**alpha, mp.linspace(low, high, 8)),
    outside=[-1.0, 51.0],
)
test_rayleigh = battery(
    Rayleigh,
    settings=[{"scale": 1.0}, {"scale": 0.02}],
    invalid={"scale": POSITIVE},
    naive=lambda x, scale: x / scale**2 * mp.exp(-((x / scale) ** 2) / 2),
    outside=[-1e-300, -1.0],
    reference=("Rayleigh", {}),
    extreme={"Rayleigh": {"sigma": "scale"}},
    accuracy=64.0,
)
test_semicircle = battery(
    Semicircle,
    settings=[{"radius": 1.0}, {"radius": 7.0}],
    invalid={"radius": POSITIVE},
    naive=lambda x, radius: 2 * mp.sqrt(radius**2 - x**2) / (mp.pi * radius**2),
    outside=[-7.5, 8.0],
)
test_triangular = battery(
    Triangular,
    # Peaks in the middle: expectations by quadrature are exact for densities that are smooth but for the median.
    settings=[{"low": 0.0, "high": 1.0, "peak": 0.5}, {"low": -4.0, "high": 14.0, "peak": 5.0}],
    invalid={"low": REAL, "high": REAL, "peak": REAL},
    naive=lambda x, low, high, peak: (
        2 / (high - low) * ((x - low) / (peak - low) if x < peak else (high - x) / (high - peak))
    ),
    outside=[-5.0, 15.0],
    reference=("TriangularDist", {"a": "low", "b": "high", "c": "peak"}),
    extreme={"Triangular": {"a": "low", "b": "high", "c": "peak"}},
    accuracy=64.0,
)
test_skew_normal = battery(
    SkewNormal,
    settings=[
        {"loc": 0.0, "scale": 1.0, "alpha": 3.0},
        {"loc": 1.0, "scale": 0.2, "alpha": -0.7},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "alpha": REAL},
    naive=lambda x, loc, scale, alpha: 2 / scale * mp.npdf((x - loc) / scale) * mp.ncdf(alpha * (x - loc) / scale),
    extreme={"SkewNormal": {"xi": "loc", "omega": "scale"}},
    accuracy=64.0,
)
test_ex_gaussian = battery(
    ExGaussian,
    settings=[
        {"loc": 0.0, "scale": 1.0, "rate": 1.0},
        {"loc": -5.0, "scale": 3.0, "rate": 0.05},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "rate": POSITIVE},
    naive=lambda x, loc, scale, rate: (
        rate * mp.exp(rate * (rate * scale**2 / 2 - (x - loc))) * mp.ncdf((x - loc) / scale - rate * scale)
    ),
    extreme={"ExGaussian": LOC_SCALE},
)


def test_power_law_from_zero() -> None:
    d = PowerLaw(1.5, high=2.0)
    x = np.array([1e-100, 0.1, 1.0, 1.9])
    law = stats.powerlaw(2.5, scale=2.0)
    np.testing.assert_allclose(d.logpdf(x), law.logpdf(x), rtol=1e-13)
    np.testing.assert_allclose(d.logcdf(x), law.logcdf(x), rtol=1e-13)
    np.testing.assert_allclose(d.ccdf(x), law.sf(x), rtol=1e-12)
    np.testing.assert_allclose(d.quantile(np.array([1e-100, 0.3, 0.9])), law.ppf([1e-100, 0.3, 0.9]), rtol=1e-12)
    assert (d.mean(), d.var()) == pytest.approx((law.mean(), law.var()), rel=1e-12)
    assert gradient(lambda a: PowerLaw(a).logpdf(0.3), -0.5)[0] == pytest.approx(1 / 0.5 + math.log(0.3), rel=1e-13)
    with pytest.raises(ParameterError) as caught:
        PowerLaw(-1.0)
    assert str(caught.value) == (
        "PowerLaw needs low < high, and alpha > -1 where low is 0, got alpha=-1.0, low=0.0, high=1.0"
    )


def test_power_law_near_the_logarithm() -> None:
    """Around exponent -1 nothing jumps: the slope in alpha is that of 50 digits."""
    for alpha in (-1.0, -1 + 1e-9, -1 - 1e-4, -0.9, -1.3):

        def height(a: Any) -> Any:
            return a * mp.log(3) - mp.log(mp.quad(lambda t: t**a, [1, 2, 4, 9]))

        with mp.workdps(50):
            expected = float(mp.diff(height, mp.mpf(alpha)))
        got = gradient(lambda a: PowerLaw(a, 1.0, 9.0).logpdf(3.0), alpha)[0]
        assert got == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("setting", [(0.0, 1.0, 0.3), (-4.0, 14.0, 3.0), (2.0, 5.0, 2.0), (2.0, 5.0, 5.0)])
def test_triangular_askew(setting: tuple[float, float, float]) -> None:
    low, high, peak = setting
    d = Triangular(*setting)
    law = stats.triang((peak - low) / (high - low), loc=low, scale=high - low)
    p = np.array([1e-6, 0.1, 0.3, 0.7, 0.999999])
    x = law.ppf(p)
    np.testing.assert_allclose(d.quantile(p), x, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(d.cquantile(p), law.isf(p), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(d.pdf(x), law.pdf(x), rtol=1e-9)
    np.testing.assert_allclose(d.cdf(x), p, rtol=1e-9)
    moments = [float(v) for v in law.stats("mvsk")]
    assert (d.mean(), d.var(), d.skewness(), d.kurtosis()) == pytest.approx(moments, rel=1e-12)
    assert d.logpdf(peak) == pytest.approx(math.log(2 / (high - low)), rel=1e-15)
    assert all(math.isfinite(bar) for bar in gradient(lambda *v: Triangular(*v).logpdf(3.0), *setting))
    # Kolmogorov and Smirnov's distance is beyond 2.69 with probability 1e-6.
    drawn = np.sort(d.rand(2000, rng=np.random.default_rng(1)))
    assert np.max(abs(np.arange(2000) / 2000 - law.cdf(drawn))) < 2.69 / math.sqrt(2000)


def test_triangular_refuses_a_peak_outside() -> None:
    with pytest.raises(ParameterError) as caught:
        Triangular(0.0, 1.0, 1.5)
    assert str(caught.value) == ("Triangular needs low <= peak <= high and low < high, got low=0.0, high=1.0, peak=1.5")


def test_draws_at_extreme_parameters() -> None:
    """Draws follow the law where textbook algorithms cancel, as for a mean far above the shape, or overflow."""
    count = 2000
    for d in (
        InverseGaussian(1e8, 1.0),
        InverseGaussian(1.0, 1e12),
        InverseGaussian(1e-150, 1e-150),
        ExGaussian(0.0, 1e-3, 1e3),
        ExGaussian(0.0, 1e3, 1e6),
        SkewNormal(0.0, 1.0, 1e6),
        LogUniform(1e-300, 1e300),
        Levy(0.0, 1e-200),
        Lomax(0.05, 1.0),
        PowerLaw(-1.0, 1e-100, 1e100),
        Kumaraswamy(0.01, 50.0),
    ):
        drawn = np.sort(d.rand(count, rng=np.random.default_rng(6)))
        distance = np.max(abs(np.arange(1, count + 1) / count - d.cdf(drawn)))
        assert distance < 2.69 / math.sqrt(count) + 1 / count, d  # false alarms: 1e-6


def test_other_parameters() -> None:
    d = InverseGaussian(mean=3.0, sd=0.5)
    assert (d.mean(), d.std()) == pytest.approx((3.0, 0.5), rel=1e-14)
    assert ExGaussian(1.0, 2.0, tau=4.0) == ExGaussian(1.0, 2.0, 0.25)


@pytest.mark.parametrize(
    ("family", "law"),
    [
        (InverseGaussian, stats.invgauss(1.4 / 3.0, scale=3.0)),
        (LogitNormal, None),
        (LogUniform, stats.loguniform(0.2, 30.0)),
        (Maxwell, stats.maxwell(scale=3.0)),
        (Pareto, stats.pareto(2.5, scale=3.0)),
        (Rayleigh, stats.rayleigh(scale=3.0)),
        (Semicircle, stats.semicircular(scale=3.0)),
    ],
)
def test_fits_in_closed_form(family: Any, law: Any) -> None:
    """No neighbour has a larger likelihood."""
    rng = np.random.default_rng(3)
    x = rng.beta(2.0, 5.0, 50) if law is None else law.rvs(50, random_state=rng)
    best = family.fit(x)
    values = list(best.parameters().values())
    for i in range(len(values)):
        for factor in (0.98, 1.02):
            other = [v * factor if k == i else v for k, v in enumerate(values)]
            assert np.sum(family(*other).logpdf(x)) < np.sum(best.logpdf(x))


def test_fits_refuse_what_has_no_likelihood() -> None:
    for family in (Pareto, LogUniform):
        for x in ([-1.0, 2.0], [3.0, 3.0]):
            with pytest.raises(DataError) as caught:
                family.fit(x)
            expected = f"{family.__name__}.fit needs observations that are positive and not all the same, got {x[0]!r}."
            assert str(caught.value) == expected
    with pytest.raises(DataError) as caught:
        Semicircle.fit([0.0, 0.0])
    assert str(caught.value) == "Semicircle.fit needs an observation that is not zero."
    assert Semicircle.fit([2.0]).radius == pytest.approx(math.sqrt(8), rel=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, 40.0, 1e6])
def test_skew_normal_tail_against_owen(alpha: float) -> None:
    """Φ(z) - 2 T(z, alpha), where that does not cancel."""
    z = np.linspace(-2.0, 3.0, 11)
    expected = stats.norm.cdf(z) - 2 * sp.owens_t(z, alpha)
    np.testing.assert_allclose(SkewNormal(0.0, 1.0, alpha).cdf(z), expected, rtol=1e-12, atol=2e-16)
    np.testing.assert_allclose(SkewNormal(0.0, 1.0, -alpha).ccdf(-z), expected, rtol=1e-12, atol=2e-16)


def test_ex_gaussian_between_its_limits() -> None:
    """Nearly normal for a large rate, nearly exponential for a small scale; k from 1e-8 to 1e8."""
    for rate in (1e-8, 1e-3, 0.3, 5.0, 1e3, 1e8):
        for x in (-12.0, -1.0, 0.9, 1.1, 6.0, 30.0):
            with mp.workdps(60):
                z, k = mp.mpf(x), mp.mpf(rate)
                lift = mp.exp(k * (k / 2 - z)) if k < 1e4 else mp.mpf(0)
                if k >= 1e4:  # the leading terms of the asymptotic series of erfcx
                    t = (k - z) / mp.sqrt(2)
                    second = mp.exp(-z * z / 2) / 2 * (1 - 1 / (2 * t**2) + 3 / (4 * t**4)) / (t * mp.sqrt(mp.pi))
                else:
                    second = lift * mp.erfc((k - z) / mp.sqrt(2)) / 2
                below, above = mp.erfc(-z / mp.sqrt(2)) / 2 - second, mp.erfc(z / mp.sqrt(2)) / 2 + second
                expected = float(mp.log(below)), float(mp.log(above))
            d = ExGaussian(0.0, 1.0, rate)
            assert (d.logcdf(x), d.logccdf(x)) == pytest.approx(expected, rel=1e-13), (rate, x)


# Between bounds: the rows of TruncatedNormal, through the wrapper.

ROWS = EXTREME["TruncatedNormal"]["points"]
IDS = [f"{row['params']}@{row['x']}" for row in ROWS]


def between(mu: Any, sigma: Any, lower: Any, upper: Any) -> Any:
    return truncated(Normal(mu, sigma), lower, upper)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_truncated_normal_extreme(row: dict[str, Any]) -> None:
    values = [float(v) for v in row["params"].values()]
    d, x = between(*values), row["x"]
    assert measure(d.logpdf(x), row["logpdf"], row["cond"]["logpdf"]) < 1000
    for tail in ("logcdf", "logccdf"):
        assert measure(getattr(d, tail)(x), row[tail], row["cond"][tail]) < 1000, tail
    bars = gradient(lambda x, *v: between(*v).logpdf(x), x, *values)
    assert measure(bars[0], row["dlogpdf_dx"], row["cond"]["dx"]) < 1000
    for bar, (name, expected) in zip(bars[1:], row["dlogpdf_dparams"].items(), strict=True):
        assert measure(bar, expected, row["cond"]["dparams"][name]) < 1000, name
