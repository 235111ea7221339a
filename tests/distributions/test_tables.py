"""Tails and quantiles of many points at once are those of few: by tables of integers, by polynomials, by steps."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff.distributions import (
    Beta,
    BetaBinomial,
    Binomial,
    Categorical,
    Censored,
    Distribution,
    Gamma,
    Geometric,
    Landau,
    NegativeBinomial,
    Normal,
    Poisson,
    SkewNormal,
    Stable,
    StudentT,
    VonMises,
    truncated,
)
from probdiff.distributions.long_arrays import FEW, LONG
from probdiff.distributions.tables import at_integers, by_pieces

RNG = np.random.default_rng(8)
P = RNG.uniform(size=LONG)
TAILS = ("cdf", "ccdf", "logcdf", "logccdf")
SMOOTH = [
    Gamma(3.5, 2.0),
    Gamma(0.05, 2.0),
    Gamma(1e6),
    Beta(2.5, 4.0),
    Beta(0.3, 0.4),
    StudentT(1.0),
    StudentT(5.0, 0.5, 2.0),
    SkewNormal(0.5, 2.0, 1.5),
    VonMises(0.5, 2.0),
    truncated(Gamma(2.0), lower=1.0, upper=4.0),
    Normal(),
]
WHOLE = [
    Poisson(4.0),
    Poisson(1e9),
    Binomial(20, 0.3),
    NegativeBinomial(5.0, 0.4),
    BetaBinomial(20, 2.0, 3.0),
    Geometric(0.3),
    Categorical([0.2, 0.0, 0.5, 0.3]),
]


def by_few(f: Any, x: np.ndarray) -> np.ndarray:
    return np.concatenate([f(x[k : k + FEW - 1]) for k in range(0, len(x), FEW - 1)])


@pytest.mark.parametrize("d", SMOOTH, ids=repr)
def test_tails_of_many_points(d: Distribution) -> None:
    x = d.rand(LONG, rng=RNG)
    x[:8] = [np.nan, -np.inf, np.inf, 0.0, 1.0, d.support.lower, d.support.upper, 1e10]
    chosen = np.concatenate([x[:8], np.sort(x)[:: LONG // 1000]])
    x[-len(chosen) :] = chosen
    for kind in TAILS:
        f = getattr(d, kind)
        # The tail of a large shape bends within 1e-3 of its argument, whose rounding it multiplies.
        np.testing.assert_allclose(f(x)[-len(chosen) :], by_few(f, chosen), rtol=2e-13, atol=0)


@pytest.mark.parametrize("d", SMOOTH, ids=repr)
def test_quantiles_of_many_points(d: Distribution) -> None:
    p = P.copy()
    p[:6] = [np.nan, 0.0, 1.0, -0.1, 1.1, 0.5]
    chosen = np.concatenate([p[:6], np.sort(p)[:: LONG // 200]])
    p[-len(chosen) :] = chosen
    for kind in ("quantile", "cquantile"):
        f = getattr(d, kind)
        # Where a quantile changes its sign it has the digits of its neighbours.
        np.testing.assert_allclose(f(p)[-len(chosen) :], by_few(f, chosen), rtol=2e-13, atol=2e-15)


@pytest.mark.parametrize("d", WHOLE, ids=repr)
def test_whole_numbers(d: Distribution) -> None:
    x = d.rand(FEW, rng=RNG) * 1.0
    x[:3] += [0.5, -0.25, 1.75]
    for kind in TAILS:
        f = getattr(d, kind)
        np.testing.assert_array_equal(f(x), np.array([f(v) for v in x]))
    p = P[:FEW].copy()
    p[:4] = [0.0, 1.0, np.nan, 2.0]
    p[4:300] = d.cdf(x[4:300])  # where the quantile steps
    p[300:600] = d.ccdf(x[300:600])
    for kind in ("quantile", "cquantile"):
        f = getattr(d, kind)
        np.testing.assert_array_equal(f(p), np.concatenate([f(part) for part in np.array_split(p, 4)]))


@pytest.mark.parametrize("d", [Landau(1.0, 2.0), Stable(1.5, 0.5)], ids=repr)
def test_costly_densities_of_some_thousand_points(d: Distribution) -> None:
    x = d.rand(2 * FEW, rng=RNG)
    for kind in ("logpdf", "logccdf"):
        f = getattr(d, kind)
        np.testing.assert_allclose(f(x)[:200], f(x[:200]), rtol=1e-13)


def test_an_atom_at_the_end_of_a_piece_is_not_smoothed() -> None:
    d = Censored(Gamma(2.0), lower=1.0, upper=3.0)
    x = Gamma(2.0).rand(LONG, rng=RNG).clip(1.0, 3.0)
    assert np.all(d.cdf(x[x == 3.0]) == 1.0)
    np.testing.assert_allclose(d.cdf(x), by_few(d.cdf, x), rtol=1e-13)


def test_a_polynomial_stands_only_where_the_function_is_smooth() -> None:
    x = RNG.uniform(0.5, 3.0, LONG)
    calls = 0

    def kinked(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += x.size
        return np.exp(-abs(x - 1.7)) + 1e-6 * (x > 2.3)

    found = by_pieces(kinked, x, 0.0, np.inf)
    assert found is not None
    assert calls < LONG // 10
    np.testing.assert_allclose(found, kinked(x), rtol=1e-13)
    assert by_pieces(lambda x: np.sin(1e6 * x), x, 0.0, np.inf) is None


def test_few_points_within_the_support() -> None:
    x = np.full(LONG, -1.0)
    x[:3] = [2.0, np.nan, np.inf]
    for kind in TAILS:
        f = getattr(Gamma(3.0), kind)
        np.testing.assert_array_equal(f(x)[:8], f(x[:8]))
    assert np.all(np.isnan(SkewNormal().quantile(x)[3:])) and np.all(np.isnan(Beta(2.0, 3.0).quantile(x)[3:]))


@pytest.mark.parametrize("d", [Gamma(3.0), StudentT(0.5), VonMises(0.0, 3.0)], ids=repr)
@pytest.mark.parametrize("scale", [1e308, 1e-310])
def test_the_largest_and_least_numbers(d: Distribution, scale: float) -> None:
    x = scale * RNG.choice([-1.0, -0.3, 0.2, 0.7, 1.0], LONG)
    for kind in TAILS:
        f = getattr(d, kind)
        np.testing.assert_allclose(f(x)[:100], f(x[:100]), rtol=1e-13)


def test_digits_against_mpmath() -> None:
    x = Gamma(2.3).rand(LONG, rng=RNG)
    found = Gamma(2.3).logccdf(x)
    for k in (0, int(np.argmax(x)), int(np.argmin(x))):
        with mp.workdps(40):
            value = mp.log(mp.gammainc(mp.mpf(2.3), mp.mpf(float(x[k])), regularized=True))
        np.testing.assert_allclose(found[k], float(value), rtol=2e-14)


def test_at_integers_needs_few_and_finite_ones() -> None:
    k = np.arange(4000.0)
    assert at_integers(np.sqrt, k) is None
    assert at_integers(np.sqrt, np.append(k % 7, np.inf)) is None
    np.testing.assert_array_equal(at_integers(np.sqrt, k % 7), np.sqrt(k % 7))
