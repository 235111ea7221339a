"""Checks that the methods of a family are of one law: integrals, inverses, moments, draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from probdiff import gradient
from probdiff.distributions import Distribution
from tests.distributions.case import EPS, Case, given, inner

LEVELS = np.concatenate([np.geomspace(1e-9, 0.01, 20), np.linspace(0.012, 0.5, 150)])


def check_normalisation(case: Case) -> None:
    """The density integrates (or adds up) to the distribution function, and that goes from 0 to 1."""
    for d in case.members():
        assert d.cdf(-math.inf) == 0 and d.cdf(math.inf) == 1
        if d.support.discrete:
            k = np.arange(0.0, d.quantile(1 - 1e-14) + 1)
            np.testing.assert_allclose(np.cumsum(d.pdf(k)), d.cdf(k), rtol=1e-11, atol=1e-13)
            assert np.sum(d.pdf(k)) == pytest.approx(1, abs=1e-11)
        else:
            knots = d.quantile(np.array([0.001, 0.1, 0.5, 0.9, 0.999]))
            for low, high in zip(knots[:-1], knots[1:], strict=True):
                total, _ = quad(d.pdf, low, high, epsabs=1e-12, epsrel=1e-10, limit=200)
                assert total == pytest.approx(d.cdf(high) - d.cdf(low), abs=1e-9), (d, low, high)


def check_tails(case: Case) -> None:
    """The four forms of the distribution function agree."""
    for d in case.members():
        x = inner(d)
        np.testing.assert_allclose(d.cdf(x) + d.ccdf(x), 1.0, rtol=1e-13)
        np.testing.assert_allclose(np.exp(d.logcdf(x)), d.cdf(x), rtol=1e-12)
        np.testing.assert_allclose(np.exp(d.logccdf(x)), d.ccdf(x), rtol=1e-12)


def check_quantiles(case: Case) -> None:
    """Quantile and distribution function are inverses."""
    p = np.array([1e-8, 0.01, 0.3, 0.5, 0.7, 0.99])
    for d in case.members():
        if d.support.discrete:
            k = np.unique(d.quantile(p))
            np.testing.assert_array_equal(d.quantile(d.cdf(k)), k)
        else:
            for inverse, tail in ((d.quantile, d.cdf), (d.cquantile, d.ccdf)):
                x = inverse(p)
                # The numerical inverses stop near 1e-12, and x itself is rounded.
                assert np.all(abs(tail(x) - p) <= 1e-10 * p + 4 * EPS * abs(x) * d.pdf(x)), (d, x)
        assert np.all(np.isnan(d.quantile(np.array([-0.1, 1.1, math.nan]))))
        assert d.median() == d.quantile(0.5)


def check_deep_quantiles(case: Case) -> None:
    """Quantiles of the smallest probabilities, given as numbers and as logs, lead back to them."""
    p = np.array([1e-300, 1e-100, 1e-30, 1e-12])
    for d in case.members():
        for inverse, deep, tail in (("quantile", "invlogcdf", "logcdf"), ("cquantile", "invlogccdf", "logccdf")):
            for x in (getattr(d, inverse)(p), getattr(d, deep)(np.log(p))):
                if d.support.discrete:
                    steps_agree(d, x, np.log(p), tail)
                    continue
                # Where x is no number, or the rounding of x is worth more than the tail, nothing comes back.
                seen = (abs(x) > 1e-290) & np.isfinite(x) & (x != d.support.lower) & (x != d.support.upper)
                with np.errstate(all="ignore"):
                    back = getattr(d, tail)(x)
                    rounding = 8 * EPS * abs(x) * np.exp(d.logpdf(x) - back)
                wrong = seen & (rounding < 1) & ~(abs(back - np.log(p)) <= 1e-11 * abs(np.log(p)) + rounding)
                assert not np.any(wrong), (d, inverse, x, back)


def steps_agree(d: Any, k: np.ndarray, lp: np.ndarray, tail: str) -> None:
    """Each k is the first where the tail has arrived, up to the roundings that the search lets pass."""
    slack = 1e-13 * abs(lp)
    with np.errstate(all="ignore"):
        here, before = getattr(d, tail)(k), getattr(d, tail)(k - 1)
    if tail == "logcdf":
        assert np.all(here >= lp - slack) and np.all((before < lp + slack) | (k == d.support.lower)), (d, k)
    else:
        assert np.all(here <= lp + slack) and np.all((before > lp - slack) | (k == d.support.lower)), (d, k)


def check_intervals(case: Case) -> None:
    """The probability of an interval is the difference of the tails, and does not vanish far out."""
    for d in case.members():
        x = inner(d)
        for low, high in [*zip(x[:-1], x[1:], strict=True), (x[0], x[-1])]:
            got = np.exp(d.logdiffcdf(low, high))
            assert got == pytest.approx(d.cdf(high) - d.cdf(low), rel=1e-11, abs=1e-14), (d, low, high)
        assert d.logdiffcdf(x[-1], x[0]) == -math.inf == d.logdiffcdf(x[0], x[0])
        for inverse, tail in ((d.quantile, d.logcdf), (d.cquantile, d.logccdf)):
            near, far = sorted(float(v) for v in inverse(np.array([1e-200, 3e-200])))
            if near < far and abs(near) > 1e-290 and np.isfinite([near, far]).all():
                big, small = sorted((tail(near), tail(far)), reverse=True)
                expected = big + math.log(-math.expm1(small - big))
                # Differences of logs near -460 have lost two digits.
                assert d.logdiffcdf(near, far) == pytest.approx(expected, rel=1e-13), (d, near, far)


def check_expectations(case: Case) -> None:
    """What the base computes without a formula is what the formulas say; so are generating functions."""
    for d in case.members():
        if not np.isfinite(d.mean()):
            continue
        checks: dict[str, Callable[[Any], Any]] = {
            "mean": lambda x: x,
            "var": lambda x, d=d: (x - d.mean()) ** 2,
            "entropy": lambda x, d=d: -d.logpdf(x),
        }
        for name, g in checks.items():
            if given(d, name) and np.isfinite(getattr(d, name)()):
                got = np.squeeze(d.expect(g))
                rel = 1e-6 if case.poles and name == "entropy" else 1e-9
                assert got == pytest.approx(getattr(d, name)(), rel=rel, abs=1e-10), (d, name)
        if given(d, "mgf"):
            t = 0.2 / d.std()
            assert d.expect(lambda x, t=t: np.exp(t * x)) == pytest.approx(d.mgf(t), rel=1e-9), d
            assert d.expect(lambda x, t=t: np.exp(1j * t * x)) == pytest.approx(d.cf(t), rel=1e-9), d


def check_peaks(case: Case) -> None:
    """No density on a grid is larger than at a mode, which moves with the parameters as differences say."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        grid = np.concatenate([d.quantile(LEVELS), d.cquantile(LEVELS)])
        with np.errstate(all="ignore"):
            top = np.max(d.logpdf(grid), where=np.isfinite(d.logpdf(grid)), initial=-1e300)
            modes = d.modes()
            spread = d.quantile(0.75) - d.quantile(0.25)
            assert np.min(abs(modes - d.mode())) <= 1e-9 * spread and np.all(np.diff(modes) > 0), (d, d.mode(), modes)
            # At an open end with a pole there is no density, and none beyond any bound near it.
            heights = d.logpdf(modes)
        at_open_end = (heights == -math.inf) & np.isin(modes, [d.support.lower, d.support.upper])
        assert np.all((heights >= top - 1e-12 * abs(top)) | at_open_end), (d, modes, top)
        if not d.support.discrete and len(modes) == 1 and math.isfinite(heights[0]):
            mode_slopes_agree(case, setting, float(modes[0]), spread)


def mode_slopes_agree(case: Case, setting: dict[str, Any], mode: float, spread: float) -> None:
    """Where the density is smooth at its mode, d log p / dx stays zero as the parameters move."""
    real = {k: v for k, v in setting.items() if isinstance(v, float)}

    def member(*values: Any) -> Any:
        return case.family(**{**setting, **dict(zip(real, values, strict=True))})

    def slope(x: float, *values: float) -> Any:
        return gradient(lambda x: member(*values).logpdf(x), x)[0]

    def along(i: int) -> Any:
        at = [mode, *real.values()]
        h = 1e-4 * (spread if i == 0 else abs(at[i]) or 1.0)
        up, down = (slope(*at[:i], at[i] + s, *at[i + 1 :]) for s in (h, -h))
        return (up - down) / (2 * h)

    d = member(*real.values())
    curvature = along(0)
    corner = mode in (d.support.lower, d.support.upper, *d.kinks())
    if corner or abs(slope(mode, *real.values())) > 1e-7 / spread or not curvature * spread**2 < -1e-3:
        return  # not smooth there, or a flat top
    bars = gradient(lambda *values: member(*values).mode(), *real.values())
    expected = [-along(i + 1) / curvature for i in range(len(real))]
    assert list(bars) == pytest.approx(expected, rel=1e-5, abs=1e-5 * spread), (case.family, setting)


def check_statistics(case: Case) -> None:
    """Of an exponential family, log p is linear in the sufficient statistics, whose means are the slopes of the
    log-partition; the fit from their averages is the fit.
    """
    for setting, d in zip(case.settings, case.members(), strict=True):
        if type(d).exponential_form is Distribution.exponential_form:
            continue
        held = {k: setting[k] for k in d.exponential_form().held}
        free = {k: v for k, v in setting.items() if k not in held}
        other = case.family(**{k: 0.9 * v for k, v in free.items()}, **held)
        x = np.asarray(d.rand(300, rng=np.random.default_rng(3)), dtype=float)
        statistics = d.sufficient_statistics(x)
        change = [a - b for a, b in zip(d.natural_parameters(), other.natural_parameters(), strict=True)]
        linear = sum(eta * t for eta, t in zip(change, statistics, strict=True))
        linear = linear - (d.log_partition() - other.log_partition())
        np.testing.assert_allclose(linear, d.logpdf(x) - other.logpdf(x), rtol=1e-9, atol=1e-11)
        means = [d.expect(lambda x, i=i, d=d: d.sufficient_statistics(x)[i]) for i in range(len(statistics))]

        def excess(*values: Any, means: Any = means, free: Any = tuple(free), held: Any = held) -> Any:
            m = case.family(**dict(zip(free, values, strict=True)), **held)
            return m.log_partition() - sum(a * b for a, b in zip(m.natural_parameters(), means, strict=True))

        with np.errstate(all="ignore"):
            bars = gradient(excess, *free.values())
        assert bars == pytest.approx([0.0] * len(free), abs=1e-8 * (1 + sum(abs(v) for v in change))), d
        w = np.random.default_rng(4).random(x.size)
        fitted = case.family.fit(x, w, **held)
        again = case.family.fit_statistics(*(np.sum(w * t) / np.sum(w) for t in statistics), **held)
        # The searches stop where the slope of the mean log-likelihood is 1e-9, or 1e-5 where rounding ends them.
        gain = np.average(fitted.logpdf(x) - again.logpdf(x), weights=w)
        assert abs(gain) < 1e-9, (fitted, again)
        assert list(again.parameters().values()) == pytest.approx(list(fitted.parameters().values()), rel=1e-3), d


def check_divergences(case: Case) -> None:
    """A law is at distance zero from itself, and a closed form is the expectation that it stands for."""
    for d in case.members():
        assert d.kl_divergence(d) == pytest.approx(0, abs=1e-10), d
    for p, q in zip(case.members()[:-1], case.members()[1:], strict=True):
        if np.isfinite(p.kl_divergence(q)):
            with np.errstate(all="ignore"):
                expected = expectation(
                    p, lambda x, p=p, q=q: np.where(p.pdf(x) > 0, p.logpdf(x) - q.logpdf(x), 0.0), case.poles
                )
            assert p.kl_divergence(q) == pytest.approx(expected, rel=1e-7), (p, q)


def check_moments(case: Case) -> None:
    """Moments are the integrals (or sums) that define them."""
    for d in case.members():
        if not np.isfinite(d.mean()):
            continue
        mean, std = d.mean(), d.std()
        integrands: dict[str, Callable[[Any], Any]] = {
            "mean": lambda x: x,
            "var": lambda x, m=mean: (x - m) ** 2,
            "skewness": lambda x, m=mean, s=std: ((x - m) / s) ** 3,
            "kurtosis": lambda x, m=mean, s=std: ((x - m) / s) ** 4,
            "entropy": lambda x, d=d: np.where(d.pdf(x) > 0, -d.logpdf(x), 0.0),
        }
        for name, g in integrands.items():
            # The base has all of them, but not whether the higher ones exist.
            if (given(d, name) or name in ("mean", "var", "entropy")) and np.isfinite(getattr(d, name)()):
                got = getattr(d, name)() + (3 if name == "kurtosis" else 0)
                # Quadrature to infinity is good to about nine digits.
                assert expectation(d, g, case.poles) == pytest.approx(got, rel=1e-7, abs=1e-8), (d, name)


def expectation(d: Any, g: Callable[[Any], Any], poles: bool = False) -> float:
    """E[g(X)], over the values or, where the density has poles, over their levels."""
    if poles:
        return float(quad(lambda p: g(d.quantile(p)), 0, 1, epsabs=1e-12, epsrel=1e-10, limit=200)[0])
    if d.support.discrete:
        k = np.arange(0.0, d.cquantile(1e-15) * 2 + 20)
        return float(np.sum(np.where(d.pdf(k) > 0, g(k) * d.pdf(k), 0.0)))
    knots = [d.support.lower, *d.quantile(np.array([0.01, 0.5, 0.99])), d.support.upper]
    pieces = zip(knots[:-1], knots[1:], strict=True)
    return sum(quad(lambda x: g(x) * d.pdf(x), a, b, epsabs=1e-12, epsrel=1e-10, limit=200)[0] for a, b in pieces)


def check_sampler(case: Case) -> None:
    """Draws follow the distribution function (Kolmogorov–Smirnov)."""
    count = 4000
    for d in case.members():
        drawn = np.sort(d.rand(count, rng=np.random.default_rng(20)))
        values, first = np.unique(drawn, return_index=True)
        last = np.append(first[1:], count)
        # Just below a value the empirical distribution is first / count; a discrete law is compared at its steps.
        distance = np.max(abs(last / count - d.cdf(values)))
        if not d.support.discrete:
            distance = max(distance, np.max(abs(first / count - d.cdf(values))))
        # 2 exp(-2 t²) = 1e-6 at t = 2.69: the rate of false alarms.
        assert math.sqrt(count) * distance < 2.69, (d, distance)
