"""The battery: what every univariate family must pass, fed with data only.

A family's test is a `Case`: parameters, outside values, invalid arguments and a naive density. Each check is a function
of a case, and `battery` makes one test of each; test_battery.py plants faults to see the checks catch them.
"""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

from probdiff import broadcast, compile, fwddiff, gradient, pushforward, value_and_grad
from probdiff.distributions import Distribution, functions
from probdiff.errors import ParameterError
from probdiff.tree import flatten, unflatten

REFERENCE = Path(__file__).parent.parent / "reference" / "distributions"
UNIVARIATE = json.loads((REFERENCE / "univariate.json").read_text())["rows"]
EXTREME = json.loads((REFERENCE / "extreme.json").read_text())
EPS = 2.2e-16
EPS_SINGLE = 1.2e-7
LEVELS = np.concatenate([np.geomspace(1e-9, 0.01, 20), np.linspace(0.012, 0.5, 150)])
MOMENTS = ("mean", "var", "skewness", "kurtosis", "entropy", "mode", "median")


@dataclass(frozen=True)
class Case:
    """The data of a family.

    settings   typical parameters, as keywords, with finite moments where the family has any
    invalid    per parameter: the rule in words, and values that break it
    naive      the density as a textbook has it, for mpmath: naive(x, **setting)
    outside    values outside the support of every setting
    reference  the family's name in univariate.json, with the names of its parameters as ours
    extreme    names in extreme.json, each with the names of its parameters as ours
    accuracy   bound of the error measure of extreme.json a backward stable formula stays within a few tens, and
                 the slope of a beta density next to x = 1 needs a few hundred
    poles      whether the density is infinite at ends that are parameters: within eps of an end, where x has no digits,
                 are sqrt(eps) of all values, with log-densities near 20 that their expectation misses
    slope_slack  absolute error of derivatives that is let pass, where a log-density is flat in a parameter
    """

    family: Any
    settings: list[dict[str, Any]]
    invalid: dict[str, tuple[str, list[Any]]]
    naive: Callable[..., Any]
    outside: list[float] = field(default_factory=list)
    reference: tuple[str, dict[str, str]] | None = None
    extreme: dict[str, dict[str, str]] = field(default_factory=dict)
    accuracy: float = 1000.0
    slope_slack: float = 0.0
    poles: bool = False

    def members(self) -> list[Any]:
        return [self.family(**setting) for setting in self.settings]


def inner(d: Any) -> np.ndarray:
    """A few points of the bulk and both tails."""
    points = d.quantile(np.array([0.003, 0.2, 0.45, 0.8, 0.996]))
    return np.unique(points)


# Values from outside.


def check_reference(case: Case) -> None:
    """Densities, distribution functions, quantiles and moments that R computed, printed with 15 digits."""
    name, names = case.reference or ("", {})
    rows = [row for row in UNIVARIATE if row["dist"] == name]
    assert rows or case.reference is None
    for row in rows:
        d = case.family(**{names.get(k, k): float(v) for k, v in row["params"].items()})
        for x, pdf, logpdf, cdf in np.array(row["points"], dtype=float):
            # x itself is rounded to 15 digits: 1e-12 leaves room for a condition number of a hundred.
            assert d.pdf(x) == pytest.approx(pdf, rel=1e-12), (row["expr"], "pdf", x)
            assert d.logpdf(x) == pytest.approx(logpdf, rel=1e-12, abs=1e-12), (row["expr"], "logpdf", x)
            assert d.cdf(x) == pytest.approx(cdf, rel=1e-12, abs=1e-14), (row["expr"], "cdf", x)
        for p, x in np.array(row["quantiles"], dtype=float):
            assert d.quantile(p) == pytest.approx(x, rel=1e-11, abs=1e-14), (row["expr"], "quantile", p)
        for moment in set(MOMENTS) & set(row["properties"]):
            expected = float(row["properties"][moment])
            if math.isfinite(expected) and given(d, moment):
                got = getattr(d, moment)()
                assert got == pytest.approx(expected, rel=1e-11, abs=1e-12), (row["expr"], moment)


def check_extreme(case: Case) -> None:
    """Log-densities of mpmath at extreme arguments, and limits at the edges of the support and of the parameters."""
    for name, names in case.extreme.items():
        for row in EXTREME[name]["points"]:
            d, x = member(case, names, row)
            error = measure(d.logpdf(x), row["logpdf"], row["cond"]["logpdf"])
            assert error <= case.accuracy, (name, row["params"], x, d.logpdf(x), row["logpdf"], error)
        for row in EXTREME[name].get("edges", []):
            d, x = member(case, names, row)
            assert d.logpdf(x) == pytest.approx(float(row["logpdf"]), rel=1e-13), (name, row)


def check_extreme_slopes(case: Case) -> None:
    """Derivatives of the log-density, in x and in every parameter, of mpmath."""
    for name, names in case.extreme.items():
        for row in EXTREME[name]["points"]:
            keys = [names.get(k, k) for k in row["params"]]

            def logpdf(x: Any, *values: Any, keys: Any = keys) -> Any:
                return case.family(**dict(zip(keys, values, strict=True))).logpdf(x)

            bars = gradient(logpdf, float(row["x"]), *row["params"].values())
            expected = [row.get("dlogpdf_dx"), *(row["dlogpdf_dparams"].get(k) for k in row["params"])]
            conds = [row["cond"].get("dx"), *(row["cond"]["dparams"].get(k) for k in row["params"])]
            for key, bar, value, cond in zip(["x", *keys], bars, expected, conds, strict=True):
                # A discrete law has no slope in x, and a count none at all.
                if value is not None:
                    error = measure(bar, value, cond)
                    close = error <= case.accuracy or abs(bar - float(value)) <= case.slope_slack
                    assert close, (name, row["params"], row["x"], key, bar, value, error)


def member(case: Case, names: dict[str, str], row: dict[str, Any]) -> tuple[Any, float]:
    """The distribution and the point of a row of extreme.json."""
    return case.family(**{names.get(k, k): v for k, v in row["params"].items()}), float(row["x"])


def measure(got: Any, expected: str, cond: Any) -> float:
    """The error in roundings of a backward stable formula; 0 where both overflow or underflow alike."""
    expected_float = float(expected)
    if got == expected_float:
        return 0.0
    # The smallest normal number keeps values near underflow from a division by zero.
    return abs(float(got) - expected_float) / (EPS * (abs(expected_float) + float(cond)) + 2.3e-308)


def check_extreme_tails(case: Case) -> None:
    """Logs of both tails of mpmath, down to probabilities that are no numbers any more."""
    for name, names in case.extreme.items():
        for row in EXTREME[name]["points"]:
            d, x = member(case, names, row)
            for tail in ("logcdf", "logccdf"):
                error = measure(getattr(d, tail)(x), row[tail], row["cond"][tail])
                assert error <= case.accuracy, (name, row["params"], x, tail, getattr(d, tail)(x), row[tail], error)


def check_naive(case: Case) -> None:
    """The density as a textbook has it, in 50 digits."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        for x in inner(d):
            with mp.workdps(50):
                exact = {k: mp.mpf(v) for k, v in setting.items()}
                expected = float(mp.log(case.naive(mp.mpf(float(x)), **exact)))
            assert d.logpdf(x) == pytest.approx(expected, rel=1e-12, abs=1e-13), (d, x)


# Laws.


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


# Edges and containers.


def check_outside(case: Case) -> None:
    """Outside the support the log-density is -inf, without a warning, and the distribution function 0 or 1."""
    for d in case.members():
        x = np.array([*case.outside, math.nan, math.inf, -math.inf])
        np.testing.assert_array_equal(d.logpdf(x), -math.inf)
        np.testing.assert_array_equal(d.pdf(x), 0.0)
        if d.support.discrete:
            assert d.logpdf(0.5) == -math.inf
        else:
            below = np.array([v for v in case.outside if v < np.min(d.support.lower)])
            above = np.array([v for v in case.outside if v > np.max(d.support.upper)])
            np.testing.assert_array_equal(d.cdf(below), 0.0)
            np.testing.assert_array_equal(d.ccdf(above), 0.0)


def check_invalid(case: Case) -> None:
    """Each invalid parameter is refused, in words that name it, the rule and the value; `check=False` lets it pass."""
    setting = case.settings[0]
    for name, (rule, values) in case.invalid.items():
        for value in values:
            rest = {k: v for k, v in setting.items() if k != name}
            if name in case.family.exclusive:
                rest = {k: v for k, v in rest.items() if k not in case.family.exclusive}
            text = f"^{case.family.__name__}.{name} must be {re.escape(rule)}, got {re.escape(repr(value))}$"
            with pytest.raises(ParameterError, match=text):
                case.family(**rest, **{name: value})
            case.family(**rest, **{name: value}, check=False)


def check_dtypes(case: Case) -> None:
    """Single precision stays; integers of any width and lists count as double; empty arrays keep their shape."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        x = inner(d)
        single_agrees(case, setting, x)
        expected = d.logpdf(np.array([0.0, 1.0]))
        assert expected.dtype == np.float64
        for kind in (bool, np.uint8, np.int8, np.int32, np.int64, np.float16):
            np.testing.assert_array_equal(d.logpdf(np.array([0, 1], dtype=kind)), expected)
        np.testing.assert_array_equal(d.logpdf([0, 1]), expected)
        assert d.logpdf(np.zeros((0, 3))).shape == (0, 3)
        assert np.ndim(d.logpdf(1)) == 0


def single_agrees(case: Case, setting: dict[str, Any], x: np.ndarray) -> None:
    """Of single numbers, densities and both tails are single, and good to the roundings of a stable formula."""
    real = {k: np.float32(v) for k, v in setting.items() if isinstance(v, float)}
    single = case.family(**{**setting, **real})
    for method in ("logpdf", "pdf", "cdf", "ccdf", "logcdf", "logccdf"):
        got = getattr(single, method)(x.astype(np.float32))
        assert got.dtype == np.float32, (single, method, got.dtype)
        for place, value in zip(x.astype(np.float32).astype(float), got, strict=True):

            def exact(place: Any, *values: Any, method: str = method) -> Any:
                return getattr(case.family(**{**setting, **dict(zip(real, values, strict=True))}), method)(place)

            at = [float(place), *(float(v) for v in real.values())]
            expected, bars = exact(*at), gradient(exact, *at)
            size = abs(expected) + sum(abs(u * bar) for u, bar in zip(at, bars, strict=True))
            close = value == expected or abs(value - expected) <= 100 * EPS_SINGLE * size
            assert close, (single, method, place, value, expected)


def check_container(case: Case) -> None:
    """A family is a value: flattened and rebuilt, pickled, compared and printed; methods are functions too."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        leaves, spec = flatten(d)
        assert unflatten(spec, leaves) == d == pickle.loads(pickle.dumps(d))
        assert hash(unflatten(spec, leaves)) == hash(d)
        assert repr(d) == f"{case.family.__name__}({', '.join(f'{k}={v!r}' for k, v in setting.items())})"
        x = inner(d)
        np.testing.assert_array_equal(functions.logpdf(d, x), d.logpdf(x))
        batch = case.family(**{k: np.full((2, 1), v) for k, v in setting.items()})
        assert batch.batch_shape == (2, 1) and batch != d
        # A vectorised loop and a scalar call may round differently.
        np.testing.assert_allclose(batch.logpdf(x), np.broadcast_to(d.logpdf(x), (2, x.size)), rtol=1e-13, atol=1e-14)
        assert batch.rand((3,), rng=np.random.default_rng(0)).shape == (3, 2, 1)
        assert np.shape(batch.var()) == (2, 1)


# Derivatives.


def check_gradient(case: Case) -> None:
    """Gradients of the log-density in x and every parameter are central differences."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        real = [k for k, v in setting.items() if isinstance(v, float)]
        for x in inner(d):

            def logpdf(x: Any, *values: Any, setting: Any = setting, real: Any = real) -> Any:
                return case.family(**{**setting, **dict(zip(real, values, strict=True))}).logpdf(x)

            at = [float(x), *(setting[k] for k in real)]
            bars = gradient(logpdf, *at)
            for i in range(1 if d.support.discrete else 0, len(at)):
                # A step of eps^(1/3) loses five digits to truncation and rounding; near an end, of what room is left.
                near_end = i == 0 or case.poles
                room = np.min(abs(x - np.array([d.support.lower, d.support.upper, 0.0]))) if near_end else abs(at[i])
                h = 6e-6 * max(room, 1e-4 if near_end else 1e-2)
                up, down = (logpdf(*at[:i], at[i] + s, *at[i + 1 :]) for s in (h, -h))
                assert bars[i] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-6), (d, x, i)


def check_modes(case: Case) -> None:
    """Forward mode per element, and the compiled program, give the gradients of reverse mode."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        x = inner(d)
        real = {k: np.full(x.shape, v) for k, v in setting.items() if isinstance(v, float)}

        def member_of(*values: Any, setting: Any = setting, keys: Any = tuple(real)) -> Any:
            return case.family(**{**setting, **dict(zip(keys, values, strict=True))})

        def loglike(x: Any, *values: Any, member_of: Any = member_of) -> Any:
            return np.sum(functions.logpdf(member_of(*values), x))

        def loglike_fd(x: Any, *values: Any, member_of: Any = member_of) -> Any:
            return np.sum(broadcast(fwddiff(functions.logpdf))(broadcast(member_of)(*values), x))

        at = (x, *real.values())
        expected = gradient(loglike, *at)
        _, compiled = compile(value_and_grad(loglike, argnums=tuple(range(len(at)))))(*at)
        for bars in (gradient(loglike_fd, *at), compiled):
            for bar, other in zip(bars, expected, strict=True):
                # The kernels' own special functions are good to a few ulp, which differences of them magnify.
                np.testing.assert_allclose(bar, other, rtol=1e-10, atol=1e-12, err_msg=str(d))


def check_tail_slopes(case: Case) -> None:
    """Derivatives of both log-tails in x and every parameter: in the bulk and at probabilities of 1e-30."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        far = [float(v) for v in (d.quantile(1e-30), d.cquantile(1e-30)) if distinct(d, v)]
        for x in [*inner(d)[::2], *far]:
            for tail in ("logcdf", "logccdf"):
                if math.isfinite(getattr(d, tail)(x)):
                    slopes_agree(case, setting, tail, float(x), moves=not d.support.discrete)


def distinct(d: Any, x: Any) -> bool:
    """Whether x is a number that the rounding does not join to an end of the support."""
    distance = min(abs(x - d.support.lower), abs(x - d.support.upper))
    return abs(x) > 1e-290 and bool(distance > 1e-6 * abs(x))


def check_quantile_slopes(case: Case) -> None:
    """Derivatives of the four inverses in the probability and every parameter."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        if d.support.discrete:
            bars = gradient(lambda p, d=d: d.quantile(p), 0.3)
            assert bars == (0.0,)
            continue
        for inverse, levels in (("quantile", (1e-30, 0.2, 0.7)), ("cquantile", (1e-30, 0.6))):
            for p in levels:
                if distinct(d, getattr(d, inverse)(p)):
                    slopes_agree(case, setting, inverse, p)
        for inverse in ("invlogcdf", "invlogccdf"):
            slopes_agree(case, setting, inverse, -3.0)


def slopes_agree(case: Case, setting: dict[str, Any], method: str, at: float, moves: bool = True) -> None:
    """Reverse mode is forward mode, and both are differences extrapolated twice."""
    real = [k for k, v in setting.items() if isinstance(v, float)]

    def f(*values: Any) -> Any:
        return getattr(case.family(**{**setting, **dict(zip(real, values[1:], strict=True))}), method)(values[0])

    point = [at, *(setting[k] for k in real)]
    bars = gradient(f, *point)
    value = f(*point)
    for i in range(0 if moves else 1, len(point)):
        dots = [1.0 if k == i else None for k in range(len(point))]
        forward = pushforward(f, *point)(*dots)
        assert forward == pytest.approx(bars[i], rel=1e-9, abs=1e-300), (case.family, setting, method, at, i)
        h = 0.02 * (abs(point[i]) or 0.5)
        if method.startswith("log"):
            d = case.family(**setting)
            # Within the smoothness of the log of the tail, and short of its ends and kinks.
            kinks = (d.support.lower, d.support.upper, *point[1:])
            spread = d.quantile(0.75) - d.quantile(0.25)
            h = min([h, 0.1 / (abs(bars[i]) or 1), 0.1 * spread or h, *(0.02 * abs(at - v) for v in kinks if v != at)])

        def moved(step: float, i: int = i) -> Any:
            return f(*point[:i], point[i] + step, *point[i + 1 :])

        d = [(moved(h / k) - moved(-h / k)) / (2 * h / k) for k in (1.0, 2.0, 4.0)]
        once = [(4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3]
        numeric = (16 * once[1] - once[0]) / 15
        noise = 1e-14 * abs(value) / h
        assert bars[i] == pytest.approx(numeric, rel=1e-6, abs=1e-9 + noise), (case.family, setting, method, at, i)


def check_pathwise(case: Case) -> None:
    """A draw moves with the parameters as the quantile of its probability does."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        real = [k for k, v in setting.items() if isinstance(v, float)]
        if d.support.discrete:
            continue

        def member_of(*values: Any, setting: Any = setting, real: Any = real) -> Any:
            return case.family(**{**setting, **dict(zip(real, values, strict=True))})

        values = [setting[k] for k in real]
        for p in (0.1, 0.8):
            x = float(d.quantile(p))
            by_draw = gradient(lambda *v, x=x, member_of=member_of: member_of(*v).pathwise(x), *values)
            by_level = gradient(lambda *v, p=p, member_of=member_of: member_of(*v).quantile(p), *values)
            assert by_draw == pytest.approx(by_level, rel=1e-7, abs=1e-12), (d, p)
        drawn = gradient(lambda *v, m=member_of: np.sum(m(*v).rand(3, rng=np.random.default_rng(1))), *values)
        assert all(math.isfinite(bar) for bar in drawn)


def check_compiled(case: Case) -> None:
    """Tails and inverses in a compiled program, over a batch of parameters, are those of one member at a time."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        x = inner(d)
        p = np.linspace(0.05, 0.95, x.size)
        real = {k: np.full(x.shape, v) for k, v in setting.items() if isinstance(v, float)}

        def everything(x: Any, p: Any, *values: Any, setting: Any = setting, keys: Any = tuple(real)) -> Any:
            m = case.family(**{**setting, **dict(zip(keys, values, strict=True))})
            return m.cdf(x), m.ccdf(x), m.logcdf(x), m.logccdf(x), m.quantile(p), m.cquantile(p), m.invlogcdf(np.log(p))

        got = compile(everything)(x, p, *real.values())
        looped = [everything(a, b, *(setting[k] for k in real)) for a, b in zip(x, p, strict=True)]
        for native, single in zip(got, zip(*looped, strict=True), strict=True):
            np.testing.assert_allclose(native, single, rtol=1e-12, atol=1e-15, err_msg=str(d))


def check_gradient_outside(case: Case) -> None:
    """Outside the support every derivative is zero, and for invalid traced parameters too; none is NaN."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        real = [k for k, v in setting.items() if isinstance(v, float)]

        def logpdf(x: Any, *values: Any, setting: Any = setting, real: Any = real) -> Any:
            return case.family(**{**setting, **dict(zip(real, values, strict=True))}).logpdf(x)

        for x in [*case.outside, math.nan]:
            bars = gradient(logpdf, x, *(setting[k] for k in real))
            assert bars == tuple(0.0 for _ in bars), (d, x)
        if real:
            bars = gradient(logpdf, float(inner(d)[0]), *(math.nan for _ in real))
            assert bars == tuple(0.0 for _ in bars)


def given(d: Any, moment: str) -> bool:
    """Whether the family has a formula of the moment."""
    return moment == "median" or moment in type(d).__dict__


CHECKS: dict[str, Callable[[Case], None]] = {
    name.removeprefix("check_"): function for name, function in sorted(globals().items()) if name.startswith("check_")
}


def battery(family: Any, **data: Any) -> Any:
    """One test per check, for the family and its data, which the test keeps as `case`."""
    case = Case(family, **data)

    @pytest.mark.parametrize("check", list(CHECKS.values()), ids=list(CHECKS))
    def test(check: Callable[[Case], None]) -> None:
        check(case)

    test.case = case
    return test
