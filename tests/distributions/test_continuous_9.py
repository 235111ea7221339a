"""Stable laws, by their characteristic functions, differences and special members."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from probdiff import gradient
from probdiff.distributions import Cauchy, Landau, Levy, Normal, Stable, stable_s1
from tests.distributions.battery import CHECKS
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])


def log_w(phi: Any) -> Any:
    return mp.log(phi / mp.sin(phi)) - phi * mp.cot(phi)


def landau(x: Any, loc: Any, scale: Any) -> Any:
    """As an average of Gumbel densities over the angle; far out, of an oscillating integral that is short."""
    z = (x - loc) / scale
    mp.mp.dps = 25
    if z > 6:
        knots = [k / z for k in (0, 0.01, 0.1, 1, 3, 10, 30, 90)]
        return (
            mp.quad(lambda t: mp.exp(-t * mp.log(t) - z * t) * mp.sinpi(t) if t else mp.mpf(0), knots) / mp.pi / scale
        )

    def height(phi: Any) -> Any:
        v = log_w(phi) - z
        return mp.exp(v - mp.exp(v)) if v < 6 else mp.mpf(0)

    knots = [mp.pi * k / 8 for k in range(9)]
    knots[0], knots[-1] = mp.mpf("1e-30"), mp.pi - mp.mpf("1e-20")
    return mp.quad(height, knots) / mp.pi / scale


LANDAU = Case(
    Landau,
    settings=[{"loc": 0.3, "scale": 2.0}],
    invalid={"loc": REAL, "scale": POSITIVE},
    naive=landau,
)


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "divergences"])
def test_landau(name: str) -> None:
    CHECKS[name](LANDAU)


def stable(x: Any, alpha: Any, beta: Any, loc: Any, scale: Any) -> Any:
    """The inverse of the characteristic function."""
    mp.mp.dps = 25
    z, end = (x - loc) / scale, mp.mpf(60) ** (1 / alpha)

    def height(t: Any) -> Any:
        return mp.exp(-(t**alpha)) * mp.cos(z * t + beta * mp.tan(mp.pi * alpha / 2) * (t - t**alpha))

    pieces = int(abs(z) * end / 6) + 12
    return mp.quad(height, [end * mp.mpf(i) ** 2 / pieces**2 for i in range(pieces + 1)]) / mp.pi / scale


STABLE = Case(
    Stable,
    settings=[{"alpha": 1.5, "beta": 0.5, "loc": 0.3, "scale": 2.0}],
    invalid={
        "alpha": ("in (0, 2]", [0.0, 2.1, nan]),
        "beta": ("in [-1, 1]", [-1.1, 1.1, nan]),
        "loc": REAL,
        "scale": POSITIVE,
    },
    naive=stable,
)
# Many searches over two integrals take a minute; and at probabilities of 1e-30 the differences of
# quantiles in alpha, which move like p^(-1 / alpha), are no good.
SLOW = ("compiled", "moments", "divergences", "tail_slopes", "peaks", "quantile_slopes")


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in SLOW])
def test_stable(name: str) -> None:
    CHECKS[name](STABLE)


@pytest.mark.parametrize(("alpha", "beta"), [(1.5, 0.5), (0.8, -0.3), (1.2, -1.0), (0.6, 1.0)])
def test_stable_slopes(alpha: float, beta: float) -> None:
    """Densities, both log-tails and quantiles move with each parameter as differences say, far out too."""

    def of(method: str, at: Any, *values: Any) -> Any:
        return getattr(Stable(*values), method)(at)

    values = [alpha, beta, 0.3, 2.0]
    for method, places in (("logpdf", (-1.5, 0.8, 40.0)), ("logcdf", (-1.5, 0.8)), ("logccdf", (0.8, 1e6))):
        for at in places:
            if not of(method, at, *values) > -1e3:
                continue
            bars = gradient(lambda *v, method=method: of(method, *v), at, *values)
            for i in range(1, 5):
                if i == 2 and abs(beta) == 1:
                    continue
                h = 1e-4
                moved = [
                    of(method, at, *(v + s * h * (k == i - 1) for k, v in enumerate(values))) for s in (-2, -1, 1, 2)
                ]
                expected = (8 * (moved[2] - moved[1]) - moved[3] + moved[0]) / (12 * h)
                assert bars[i] == pytest.approx(expected, rel=1e-7, abs=1e-8), (method, at, i)
    x = Stable(*values).quantile(0.7)
    bars, tails = (gradient(lambda *v, m=m, at=at: of(m, *v), at, *values) for m, at in (("quantile", 0.7), ("cdf", x)))
    assert list(bars[1:]) == pytest.approx([-bar / tails[0] for bar in tails[1:]], rel=1e-9, abs=1e-12)


def test_stable_members() -> None:
    """The normal law, Cauchy's, Lévy's and Landau's."""
    x = np.array([-8.0, -0.7, 0.2, 1.5, 6.0, 30.0])
    for name in ("logpdf", "logcdf", "logccdf"):
        pairs = [
            (Stable(2.0, 0.3, 0.5, 1.5), Normal(0.5, 1.5 * math.sqrt(2))),
            (Stable(1.0, 0.0, 0.5, 1.5), Cauchy(0.5, 1.5)),
            (stable_s1(0.5, 1.0, 0.1, 1.5), Levy(0.1, 1.5)),
            # Landau's law has the scale π / 2 of S1.
            (stable_s1(1.0, 1.0, 0.0, math.pi / 2), Landau()),
        ]
        for ours, theirs in pairs:
            np.testing.assert_allclose(getattr(ours, name)(x), getattr(theirs, name)(x), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(Stable(2.0).draw((3,), np.random.default_rng(0)).shape, 3)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, -0.6), (0.7, 1.0), (1.01, 0.9), (1.99, -1.0)])
def test_stable_draws(alpha: float, beta: float) -> None:
    """Kolmogorov and Smirnov's distance, beyond 2.69 with probability 1e-6."""
    d = Stable(alpha, beta, 1.0, 3.0)
    levels = d.cdf(np.sort(d.rand(4000, rng=np.random.default_rng(5))))
    assert np.max(abs(levels - (np.arange(4000) + 0.5) / 4000)) < 2.69 / math.sqrt(4000)


def test_stable_s1() -> None:
    """SciPy's default parametrisation, and its other one; the mean of S1 is loc."""
    x = np.array([-3.0, 0.4, 5.0])
    for alpha in (0.8, 1.0, 1.4):
        ours = stable_s1(alpha, 0.4, 0.2, 1.3)
        np.testing.assert_allclose(ours.pdf(x), stats.levy_stable(alpha, 0.4, 0.2, 1.3).pdf(x), rtol=1e-6)
    assert stable_s1(1.4, 0.4, 0.2, 1.3).mean() == pytest.approx(0.2, rel=1e-13)
    assert math.isnan(Stable(0.9).mean()) and Stable(1.9).var() == inf and Stable(2.0, 0.0, 1.0, 2.0).var() == 8
