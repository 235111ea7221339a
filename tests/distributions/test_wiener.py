"""First passages of a Brownian path with drift: series of mpmath, simulated paths, laws, and the battery's checks."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from probdiff import gradient, sample
from probdiff.distributions import HalfNormal, Normal, Wiener
from probdiff.models import Joint, Posterior
from tests.distributions.battery import CHECKS
from tests.distributions.case import Case

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])


def wiener(x, boundary, drift, bias, delay):
    """The series for late times, in 60 digits and 200 terms."""
    t, w, v = abs(x) - delay, bias, drift
    if x > 0:
        w, v = 1 - w, -v
    with mp.workdps(60):
        waves = mp.fsum(
            k * mp.exp(-((k * mp.pi / boundary) ** 2) * t / 2) * mp.sin(k * mp.pi * w) for k in range(1, 200)
        )
        return mp.pi / boundary**2 * mp.exp(-v * boundary * w - v * v * t / 2) * waves


WIENER = Case(
    Wiener,
    settings=[{"boundary": 1.5, "drift": 0.8, "bias": 0.4, "delay": 0.3}],
    invalid={
        "boundary": POSITIVE,
        "drift": ("finite", [inf, -inf, nan]),
        "bias": ("in (0, 1)", [0.0, 1.0, nan]),
        "delay": ("nonnegative", [-1.0, nan]),
    },
    naive=wiener,
)


@pytest.mark.parametrize("name", list(CHECKS))
def test_wiener(name):
    CHECKS[name](WIENER)


def test_passages():
    """No drift and gambler's ruin; slopes at no drift; times before the delay."""
    assert Wiener(2.0, 0.0, 0.3).ccdf(0.0) == pytest.approx(0.3, rel=1e-14)
    for drift in (-40.0, -1.0, 0.3, 2.0):
        ruin = (mp.exp(-2 * drift) - mp.exp(-2 * drift * 0.3)) / (mp.exp(-2 * drift) - 1)
        assert Wiener(1.0, drift, 0.3).cdf(0.0) == pytest.approx(float(ruin), rel=1e-13)
    slope = gradient(lambda v: Wiener(2.0, v, 0.3).ccdf(0.0), 0.0)[0]
    up, down = Wiener(2.0, 1e-4, 0.3).ccdf(0.0), Wiener(2.0, -1e-4, 0.3).ccdf(0.0)
    assert slope == pytest.approx((up - down) / 2e-4, rel=1e-7)
    d = Wiener(1.0, 0.5, 0.5, 0.2)
    assert d.logpdf(0.1) == d.logpdf(-0.2) == d.logpdf(0.0) == -inf
    assert d.cdf(-0.1) == d.cdf(0.1)


def test_simulated_paths():
    """Euler's steps, which miss passages between them: a boundary about 0.58 sqrt(step) further out."""
    rng = np.random.default_rng(0)
    step, count = 1e-3, 4000
    shift = 0.5826 * math.sqrt(step)
    level, time, passed = np.full(count, 0.4 * 1.5), np.zeros(count), np.zeros(count)
    for _ in range(20_000):
        going = passed == 0
        if not np.any(going):
            break
        level = level + np.where(going, 0.8 * step + math.sqrt(step) * rng.standard_normal(count), 0.0)
        time = time + step * going
        passed = np.where(going & (level > 1.5 - shift), 1.0, np.where(going & (level < shift), -1.0, passed))
    d, drawn = Wiener(1.5, 0.8, 0.4), passed * time
    points = d.quantile(np.linspace(0.05, 0.95, 10))
    share = np.mean(drawn[:, None] <= points, axis=0)
    # Five standard errors, and what is left of the error of the steps.
    np.testing.assert_allclose(share, np.linspace(0.05, 0.95, 10), atol=5 * 0.5 / math.sqrt(count) + 0.01)


def test_in_a_model():
    x = Wiener(1.5, 0.8, 0.5, 0.2).rand(300, rng=np.random.default_rng(2))
    prior = Joint(boundary=HalfNormal(2.0), drift=Normal(0.0, 2.0))
    posterior = Posterior(prior, lambda boundary, drift: Wiener(boundary, drift, 0.5, 0.2).iid(300), x)
    draws = sample(posterior, draws=300, tune=300, chains=2, seed=1)
    assert abs(draws["drift"].mean() - 0.8) < 0.4 and abs(draws["boundary"].mean() - 1.5) < 0.2
