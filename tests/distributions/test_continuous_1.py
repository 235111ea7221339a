"""Continuous families in closed form against R, mpmath and themselves, part one."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff import compile, gradient, value_and_grad
from probdiff.distributions import (
    Arcsine,
    AsymmetricLaplace,
    Beta,
    BetaPrime,
    BurrIII,
    BurrXII,
    Chi,
    ExpGamma,
    Exponential,
    F,
    FoldedCauchy,
    FoldedNormal,
    Frechet,
    Gamma,
    GeneralizedExtremeValue,
    GeneralizedNormal,
    GeneralizedPareto,
    Gompertz,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    Laplace,
    Normal,
    RaisedCosine,
    erlang,
)
from probdiff.errors import DataError, ParameterError
from probdiff.models import Joint, Posterior
from tests.distributions.battery import battery
from tests.distributions.case import UNIVARIATE

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])
LOC_SCALE = {"mu": "loc", "sigma": "scale"}
NEGATIVE = [-1e-300, -3.0]

test_arcsine = battery(
    Arcsine,
    settings=[{"low": 0.0, "high": 1.0}, {"low": -2.0, "high": 5.0}],
    invalid={"low": REAL, "high": REAL},
    naive=lambda x, low, high: 1 / (mp.pi * mp.sqrt((x - low) * (high - x))),
    outside=[-2.5, 6.0],
    reference=("Arcsine", {"a": "low", "b": "high"}),
    poles=True,
)


def test_arcsine_generating_functions() -> None:
    """E[g] is the mean of g over the angle, by Chebyshev's nodes exact for polynomials."""
    x = 1.5 + 3.5 * np.cos((np.arange(64) + 0.5) * math.pi / 64)
    d = Arcsine(-2.0, 5.0)
    assert np.mean(np.exp(0.3 * x)) == pytest.approx(d.mgf(0.3), rel=1e-13)
    assert np.mean(np.exp(0.3j * x)) == pytest.approx(d.cf(0.3), rel=1e-13)


test_asymmetric_laplace = battery(
    AsymmetricLaplace,
    settings=[
        {"loc": -3.5, "scale": 0.2, "asymmetry": 0.3},
        {"loc": 40.0, "scale": 7.0, "asymmetry": 2.5},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "asymmetry": POSITIVE},
    naive=lambda x, loc, scale, asymmetry: (
        mp.exp(-abs(x - loc) / scale * (1 / asymmetry if x < loc else asymmetry))
        / (scale * (asymmetry + 1 / asymmetry))
    ),
)
test_beta_prime = battery(
    BetaPrime,
    settings=[{"alpha": 0.7, "beta": 9.0}, {"alpha": 30.0, "beta": 45.0}],
    invalid={"alpha": POSITIVE, "beta": POSITIVE},
    naive=lambda x, alpha, beta: x ** (alpha - 1) * (1 + x) ** (-alpha - beta) / mp.beta(alpha, beta),
    outside=NEGATIVE,
    reference=("BetaPrime", {}),
)
test_f = battery(
    F,
    settings=[{"df1": 1.4, "df2": 15.0}, {"df1": 60.0, "df2": 90.0}],
    invalid={"df1": POSITIVE, "df2": POSITIVE},
    naive=lambda x, df1, df2: (
        mp.sqrt((df1 * x) ** df1 * df2**df2 / (df1 * x + df2) ** (df1 + df2)) / (x * mp.beta(df1 / 2, df2 / 2))
    ),
    outside=NEGATIVE,
    reference=("FDist", {"nu1": "df1", "nu2": "df2"}),
    extreme={"F": {"nu1": "df1", "nu2": "df2"}},
    # For df2 = 1e6 the slopes in df2 are what is left of terms of up to 1e-4, those of log(1 + z).
    slope_slack=2e-20,
)
test_burr_iii = battery(
    BurrIII,
    settings=[{"c": 6.0, "d": 1.5, "scale": 1.0}, {"c": 8.0, "d": 0.3, "scale": 20.0}],
    invalid={"c": POSITIVE, "d": POSITIVE, "scale": POSITIVE},
    naive=lambda x, c, d, scale: c * d / x * (x / scale) ** -c * (1 + (x / scale) ** -c) ** (-d - 1),
    outside=NEGATIVE,
)
test_burr_xii = battery(
    BurrXII,
    settings=[
        {"c": 1.0, "d": 8.0, "scale": 0.1},
        {"c": 9.0, "d": 0.7, "scale": 3.0},
    ],
    invalid={"c": POSITIVE, "d": POSITIVE, "scale": POSITIVE},
    naive=lambda x, c, d, scale: c * d / x * (x / scale) ** c * (1 + (x / scale) ** c) ** (-d - 1),
    outside=NEGATIVE,
)
test_chi = battery(
    Chi,
    settings=[{"df": 1.5}, {"df": 31.0}],
    invalid={"df": POSITIVE},
    naive=lambda x, df: x ** (df - 1) * mp.exp(-x * x / 2) / (2 ** (df / 2 - 1) * mp.gamma(df / 2)),
    outside=NEGATIVE,
    reference=("Chi", {"nu": "df"}),
    extreme={"Chi": {"nu": "df"}},
)
test_raised_cosine = battery(
    RaisedCosine,
    # Each support within the next, where the divergence is finite; so also below.
    settings=[{"loc": -3.5, "scale": 0.2}, {"loc": 4.0, "scale": 9.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: (1 + mp.cos(mp.pi * (x - loc) / scale)) / (2 * scale),
    outside=[-6.0, 120.0],
    reference=("Cosine", LOC_SCALE),
)
test_exp_gamma = battery(
    ExpGamma,
    settings=[{"shape": 0.4, "loc": -3.0}, {"shape": 40.0, "loc": 5.0}],
    invalid={"shape": POSITIVE, "loc": REAL},
    naive=lambda x, shape, loc: mp.exp(shape * (x - loc) - mp.exp(x - loc)) / mp.gamma(shape),
)
test_folded_normal = battery(
    FoldedNormal,
    settings=[{"loc": 0.4, "scale": 1.0}, {"loc": -3.0, "scale": 2.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: mp.npdf(x, loc, scale) + mp.npdf(x, -loc, scale),
    outside=NEGATIVE,
)
test_folded_cauchy = battery(
    FoldedCauchy,
    settings=[{"loc": 0.4, "scale": 1.0}, {"loc": -3.0, "scale": 2.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=lambda x, loc, scale: sum(scale / (mp.pi * (scale**2 + (x - m) ** 2)) for m in (loc, -loc)),
    outside=NEGATIVE,
)
test_frechet = battery(
    Frechet,
    settings=[{"shape": 7.0, "scale": 1.0}, {"shape": 12.0, "scale": 30.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: shape / x * (x / scale) ** -shape * mp.exp(-((x / scale) ** -shape)),
    outside=[-1e-300, -3.0, 0.0],
    reference=("Frechet", {}),
    extreme={"Frechet": {}},
)


def box_cox(x: Any, loc: Any, scale: Any, shape: Any) -> Any:
    """The Gumbel variable of a generalised extreme value."""
    z = (x - loc) / scale
    return mp.log(1 + shape * z) / shape if shape else z


def extreme_value_density(x: Any, loc: Any, scale: Any, shape: Any) -> Any:
    y = box_cox(x, loc, scale, shape)
    return mp.exp(-(1 + shape) * y - mp.exp(-y)) / scale


test_generalized_extreme_value = battery(
    GeneralizedExtremeValue,
    settings=[{"loc": 0.0, "scale": 1.0, "shape": 0.1}, {"loc": 2.0, "scale": 0.5, "shape": 0.01}],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": REAL},
    naive=extreme_value_density,
    reference=("GeneralizedExtremeValue", {**LOC_SCALE, "xi": "shape"}),
    extreme={"GeneralizedExtremeValue": {**LOC_SCALE, "xi": "shape"}},
)
test_bounded_extreme_value = battery(
    GeneralizedExtremeValue,
    settings=[{"loc": -1.0, "scale": 3.0, "shape": -0.2}, {"loc": 2.0, "scale": 0.5, "shape": 0.0}],
    invalid={"shape": REAL},
    naive=extreme_value_density,
)
test_generalized_pareto = battery(
    GeneralizedPareto,
    settings=[
        {"loc": 3.0, "scale": 3.0, "shape": -0.2},
        {"loc": 2.0, "scale": 0.5, "shape": -0.001},
        {"loc": 2.0, "scale": 0.5, "shape": 0.0},
        {"loc": 0.0, "scale": 1.0, "shape": 0.1},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": REAL},
    naive=lambda x, loc, scale, shape: mp.exp(-(1 + shape) * box_cox(x, loc, scale, shape)) / scale,
    outside=[-3.0],
    reference=("GeneralizedPareto", {**LOC_SCALE, "xi": "shape"}),
    extreme={"GeneralizedPareto": {**LOC_SCALE, "xi": "shape"}},
)
test_gompertz = battery(
    Gompertz,
    settings=[{"shape": 3.0, "scale": 0.2}, {"shape": 0.001, "scale": 12.0}],
    invalid={"shape": POSITIVE, "scale": POSITIVE},
    naive=lambda x, shape, scale: shape / scale * mp.exp(x / scale - shape * (mp.exp(x / scale) - 1)),
    outside=NEGATIVE,
)
test_generalized_normal = battery(
    GeneralizedNormal,
    settings=[
        {"loc": 0.0, "scale": 1.0, "shape": 2.0},
        {"loc": -3.5, "scale": 0.2, "shape": 0.8},
        {"loc": 40.0, "scale": 7.0, "shape": 6.0},
    ],
    invalid={"loc": REAL, "scale": POSITIVE, "shape": POSITIVE},
    naive=lambda x, loc, scale, shape: (
        shape * mp.exp(-((abs(x - loc) / scale) ** shape)) / (2 * scale * mp.gamma(1 / shape))
    ),
    reference=("PGeneralizedGaussian", {"mu": "loc"}),
)
test_half_student_t = battery(
    HalfStudentT,
    settings=[{"df": 5.0, "scale": 1.0}, {"df": 30.0, "scale": 0.1}],
    invalid={"df": POSITIVE, "scale": POSITIVE},
    naive=lambda x, df, scale: (
        2 * (1 + (x / scale) ** 2 / df) ** (-(df + 1) / 2) / (mp.beta(df / 2, mp.mpf(1) / 2) * mp.sqrt(df) * scale)
    ),
    outside=NEGATIVE,
    extreme={"HalfStudentT": {"nu": "df", "sigma": "scale"}},
    # For df = 1e6 the slopes in df are what is left of terms of up to 2e-5, the log-density's in z² / df.
    slope_slack=1e-20,
)


def test_erlang_is_a_gamma() -> None:
    """Against R; only whole numbers of events."""
    for row in (row for row in UNIVARIATE if row["dist"] == "Erlang"):
        d = erlang(row["params"]["shape"], row["params"]["scale"])
        assert d == Gamma(row["params"]["shape"], row["params"]["scale"])
        for x, _, logpdf, cdf in np.array(row["points"], dtype=float):
            assert d.logpdf(x) == pytest.approx(logpdf, rel=1e-12, abs=1e-12)
            assert d.cdf(x) == pytest.approx(cdf, rel=1e-12)
    assert erlang(3, rate=2.0) == Gamma(3.0, 0.5)
    assert gradient(lambda k: erlang(k).logpdf(1.5), 3.0) == gradient(lambda k: Gamma(k).logpdf(1.5), 3.0)
    with pytest.raises(ParameterError, match="^erlang: shape must be a positive integer, got 2.5. For others"):
        erlang(2.5)


def test_special_members() -> None:
    """Families that are others at some of their parameters, for all x."""
    x = np.array([0.01, 0.3, 1.0, 2.7, 40.0])
    odds = x / (1 + x)
    pairs = [
        (AsymmetricLaplace(0.5, 2.0), Laplace(0.5, 2.0)),
        (FoldedNormal(0.0, 2.0), HalfNormal(2.0)),
        (FoldedCauchy(0.0, 2.0), HalfCauchy(2.0)),
        (GeneralizedExtremeValue(0.5, 2.0, 0.0), Gumbel(0.5, 2.0)),
        (GeneralizedExtremeValue(2.0, 2.0 / 3.0, 1 / 3), Frechet(3.0, 2.0)),
        (GeneralizedPareto(0.0, 2.0, 0.0), Exponential(2.0)),
        (GeneralizedNormal(0.5, 2.0, 1.0), Laplace(0.5, 2.0)),
        (GeneralizedNormal(0.5, 2.0, 2.0), Normal(0.5, math.sqrt(2.0))),
        (HalfStudentT(inf, 2.0), HalfNormal(2.0)),
        (HalfStudentT(1.0, 2.0), HalfCauchy(2.0)),
        (F(7.0, 12.0), BetaPrime(3.5, 6.0)),
    ]
    for d, other in pairs:
        at = x * 12 / 7 if isinstance(d, F) else x
        shift = math.log(7 / 12) if isinstance(d, F) else 0.0
        np.testing.assert_allclose(d.logpdf(at), other.logpdf(x) + shift, rtol=1e-12, atol=1e-13, err_msg=str(d))
        np.testing.assert_allclose(d.logcdf(at), other.logcdf(x), rtol=1e-12, err_msg=str(d))
        np.testing.assert_allclose(d.logccdf(at), other.logccdf(x), rtol=1e-12, err_msg=str(d))
    np.testing.assert_allclose(BetaPrime(2.0, 3.0).logccdf(x), Beta(2.0, 3.0).logccdf(odds), rtol=1e-12)
    np.testing.assert_allclose(Chi(3.0).logcdf(x), Gamma(1.5, 2.0).logcdf(x * x), rtol=1e-12)
    np.testing.assert_allclose(ExpGamma(3.0, scale=2.0).logccdf(np.log(x)), Gamma(3.0, 2.0).logccdf(x), rtol=1e-12)
    np.testing.assert_allclose(BurrIII(2.0, 3.0, 0.5).logcdf(x), BurrXII(2.0, 3.0, 2.0).logccdf(1 / x), rtol=1e-12)


def test_other_parameterisations() -> None:
    sides = AsymmetricLaplace(1.0, left_scale=0.5, right_scale=2.0)
    assert (sides.scale, sides.asymmetry) == pytest.approx((1.0, 0.5))
    assert AsymmetricLaplace(1.0, 2.0, level=0.3).cdf(1.0) == pytest.approx(0.3, rel=1e-14)
    mielke = BurrIII(kappa=3.0, theta=2.0)
    assert (mielke.c, mielke.d) == (2.0, 1.5)
    assert Gompertz(0.5, rate=4.0) == Gompertz(0.5, 0.25)
    assert ExpGamma(2.0, rate=4.0) == ExpGamma(2.0, scale=0.25) == ExpGamma(2.0, math.log(0.25))


def test_boundaries() -> None:
    """At the ends of a support the limit of the density; infinite moments are said to be so."""
    assert Arcsine().logpdf([0.0, 1.0]).tolist() == [inf, inf]
    assert [BetaPrime(a, 2.0).logpdf(0.0) for a in (0.5, 2.0)] == [inf, -inf]
    assert BetaPrime(1.0, 2.0).logpdf(0.0) == pytest.approx(math.log(2.0))
    assert [BurrXII(c, 2.0, 3.0).logpdf(0.0) for c in (0.5, 2.0)] == [inf, -inf]
    assert BurrXII(1.0, 2.0, 3.0).logpdf(0.0) == pytest.approx(math.log(2 / 3))
    assert [BurrIII(c, 2.0, 3.0).logpdf(0.0) for c in (0.4, 0.6)] == [inf, -inf]
    assert BurrIII(0.5, 2.0, 3.0).logpdf(0.0) == pytest.approx(math.log(1 / 3))
    for d in (GeneralizedPareto(1.0, 2.0, -1.0), GeneralizedExtremeValue(1.0, 2.0, -1.0)):
        assert d.logpdf(3.0) == -math.log(2.0) and d.logpdf(3.0 + 1e-9) == -inf
    for k, height in ((-0.5, -inf), (-2.0, inf)):
        assert GeneralizedPareto(0.0, 1.0, k).logpdf(-1 / k) == height
        assert GeneralizedExtremeValue(0.0, 1.0, k).logpdf(-1 / k) == height
    heavy = [BetaPrime(2.0, 1.5), F(4.0, 3.0), Frechet(1.5), GeneralizedPareto(shape=0.7), HalfStudentT(1.5)]
    for d in [*heavy, BurrIII(1.5, 2.0), BurrXII(1.5, 1.0), GeneralizedExtremeValue(shape=0.7)]:
        assert np.isfinite(d.mean()) and d.var() == inf and np.isnan(d.skewness()) and np.isnan(d.kurtosis()), d


def test_moments_of_narrow_laws() -> None:
    """Where moments about zero agree to nearly all digits. Values of mpmath, in 40 digits."""
    narrow = [
        (Frechet(60.0), 1.242578008431930132, 2.927679027606709869),
        (Frechet(1e5), 1.1395470994046487, 2.4),
    ]
    for d, skewness, kurtosis in narrow:
        assert d.skewness() == pytest.approx(skewness, rel=2e-4 if d.shape == 1e5 else 1e-11)
        assert d.kurtosis() == pytest.approx(kurtosis, rel=2e-4 if d.shape == 1e5 else 1e-11)
    for df in (50.0, 1e3, 1e7):
        with mp.workdps(40):
            mean = mp.sqrt(2) * mp.gamma((mp.mpf(df) + 1) / 2) / mp.gamma(mp.mpf(df) / 2)
            var = df - mean**2
        assert Chi(df).mean() == pytest.approx(float(mean), rel=1e-14)
        assert Chi(df).var() == pytest.approx(float(var), rel=1e-11)


def test_extreme_parameters() -> None:
    """Values too small or too large for the intermediate terms, against mpmath or a limit."""
    # Nine tenths of a box: |z|^1000 is no number, and the law is nearly uniform.
    assert GeneralizedNormal(0.0, 1.0, 1000.0).cdf(-0.4) == pytest.approx(0.5 - 0.2 / math.gamma(1.001), rel=1e-13)
    assert GeneralizedNormal(0.0, 1.0, 1000.0).quantile(0.3) == pytest.approx(-0.4 * math.gamma(1.001), rel=1e-13)
    # The leading term of the lower tail.
    assert Chi(0.01).logcdf(1e-250) == pytest.approx(0.01 * (math.log(1e-250) - 0.5 * math.log(2)) - math.lgamma(1.005))
    assert ExpGamma(2.0).logcdf(-2000.0) == pytest.approx(-4000.0 - math.log(2.0), rel=1e-15)
    assert ExpGamma(1e8).logpdf(math.log(1e8)) == pytest.approx(
        0.5 * math.log(1e8 / (2 * math.pi)) - 1 / 12e8, rel=1e-14
    )
    assert BurrIII(2.0, 3.0, 1e-200).logcdf(1e-300) == pytest.approx(-600 * math.log(10), rel=1e-13)
    assert BurrXII(2.0, 3.0, 1e-200).logccdf(1e200) == pytest.approx(-2400 * math.log(10), rel=1e-13)
    assert FoldedNormal(1e8, 1.0).var() == pytest.approx(1.0, rel=1e-14)
    assert FoldedCauchy(3.0, 1e-100).ccdf(1e100) == pytest.approx(2e-200 / math.pi, rel=1e-13)


def test_mode_of_a_folded_cauchy() -> None:
    for loc in (-5.0, 0.7, 1.5):
        d = FoldedCauchy(loc, 2.0)
        mode = d.mode()
        assert (mode == 0) == (loc < 1 and loc > -1)
        assert gradient(lambda x, d=d: d.logpdf(x), float(mode))[0] == pytest.approx(0.0, abs=1e-14)


def test_fit_of_an_asymmetric_laplace() -> None:
    """The closed form is no worse than any neighbour, weights count as repetitions."""
    x = AsymmetricLaplace(1.0, 2.0, 1.5).rand(400, rng=np.random.default_rng(5))
    d = AsymmetricLaplace.fit(x)
    best = np.sum(d.logpdf(x))
    for step in (0.9, 0.99, 1.01, 1.1):
        assert np.sum(AsymmetricLaplace(d.loc * step, d.scale, d.asymmetry).logpdf(x)) < best
        assert np.sum(AsymmetricLaplace(d.loc, d.scale * step, d.asymmetry).logpdf(x)) < best
        assert np.sum(AsymmetricLaplace(d.loc, d.scale, d.asymmetry * step).logpdf(x)) < best
    weighted = AsymmetricLaplace.fit(x, weights=np.where(x > 1, 2.0, 1.0))
    repeated = AsymmetricLaplace.fit(np.concatenate([x, x[x > 1]]))
    assert (weighted.loc, weighted.scale) == pytest.approx((repeated.loc, repeated.scale), rel=1e-12)
    with pytest.raises(DataError, match="^AsymmetricLaplace.fit found no maximum: one side of 2.0 has no observations"):
        AsymmetricLaplace.fit([2.0, 2.0, 2.0])


def test_as_prior_and_observation() -> None:
    """Found by a posterior: a threshold model, with a prior from this file and slopes that are differences."""
    x = GeneralizedPareto(0.0, 2.0, 0.2).rand(50, rng=np.random.default_rng(3))
    prior = Joint(
        scale=HalfStudentT(4.0, 3.0),
        shape=Normal(0.0, 0.3),
        p=Arcsine(),
        low=RaisedCosine(1.0, 2.0),
        excess=lambda scale: GeneralizedPareto(0.0, scale, 0.2),
        deficit=lambda scale: GeneralizedExtremeValue(1.0, scale, -0.2),
    )
    target = Posterior(prior, lambda scale, shape: GeneralizedPareto(0.0, scale, shape).iid(50), x)
    q = np.array([0.5, 0.1, 0.3, -0.2, 0.4, -0.6])
    value, (slope,) = compile(value_and_grad(target.logdensity, argnums=(0,)))(q)
    assert value == pytest.approx(target.logdensity(q), rel=1e-13)
    for i in range(q.size):
        h = 1e-5 * np.eye(q.size)[i]
        numeric = (target.logdensity(q + h) - target.logdensity(q - h)) / 2e-5
        assert slope[i] == pytest.approx(numeric, rel=1e-7, abs=1e-8)
