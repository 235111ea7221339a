"""Discrete families of urns, mixtures, differences and power laws, against R, mpmath and themselves."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import (
    BetaBinomial,
    DiscreteUniform,
    FisherNoncentralHypergeometric,
    Hypergeometric,
    Poisson,
    RelaxedBernoulli,
    Skellam,
    YuleSimon,
    Zipf,
    Zipfian,
)
from tests.distributions.battery import CHECKS, battery
from tests.distributions.case import Case, measure

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
COUNT = ("a nonnegative integer", [-1, 2.5, nan])
WHOLE = ("an integer", [0.5, nan])


def choose(n, k):
    return mp.binomial(n, k)


def relaxed(x, temperature, odds):
    """The Concrete density as its paper has it."""
    up, down = odds * x**-temperature, (1 - x) ** -temperature
    return temperature * up * down / (x * (1 - x) * (up + down) ** 2)


test_beta_binomial = battery(
    BetaBinomial,
    settings=[{"n": 40, "alpha": 2.0, "beta": 3.5}, {"n": 40, "alpha": 0.7, "beta": 9.0}],
    invalid={"n": COUNT, "alpha": POSITIVE, "beta": POSITIVE},
    naive=lambda x, n, alpha, beta: choose(n, x) * mp.beta(x + alpha, n - x + beta) / mp.beta(alpha, beta),
    outside=[-1.0, 41.0],
    reference=("BetaBinomial", {}),
    extreme={"BetaBinomial": {}},
)
test_discrete_uniform = battery(
    DiscreteUniform,
    settings=[{"low": 0, "high": 7}, {"low": 0, "high": 1}],
    invalid={"low": WHOLE, "high": WHOLE},
    naive=lambda x, low, high: 1 / (high - low + 1),
    outside=[-1.0, 8.0],
    reference=("DiscreteUniform", {"a": "low", "b": "high"}),
    extreme={"DiscreteUniform": {"a": "low", "b": "high"}},
)
test_hypergeometric = battery(
    Hypergeometric,
    settings=[{"successes": 12, "failures": 9, "draws": 8}, {"successes": 60, "failures": 80, "draws": 70}],
    invalid={"successes": COUNT, "failures": COUNT, "draws": COUNT},
    naive=lambda x, successes, failures, draws: (
        choose(successes, x) * choose(failures, draws - x) / choose(successes + failures, draws)
    ),
    outside=[-1.0, 61.0],
    reference=("Hypergeometric", {}),
    extreme={"Hypergeometric": {}},
)
test_fisher = battery(
    FisherNoncentralHypergeometric,
    settings=[
        {"successes": 12, "failures": 9, "draws": 8, "odds": 2.5},
        {"successes": 60, "failures": 80, "draws": 70, "odds": 0.3},
    ],
    invalid={"successes": COUNT, "failures": COUNT, "draws": COUNT, "odds": POSITIVE},
    naive=lambda x, successes, failures, draws, odds: (
        choose(successes, x)
        * choose(failures, draws - x)
        * odds**x
        / mp.fsum(
            choose(successes, k) * choose(failures, draws - k) * odds**k
            for k in range(max(0, int(draws - failures)), int(min(draws, successes)) + 1)
        )
    ),
    outside=[-1.0, 61.0],
    # The reference itself has flushed a distribution function of 6e-38 to 0, which is within the tolerance.
    reference=("FisherNoncentralHypergeometric", {}),
)
# Powers of about thirty: P(X > k) reaches 1e-300 while k is still a whole number in double precision.
test_yule_simon = battery(
    YuleSimon,
    settings=[{"alpha": 24.0}, {"alpha": 31.5}],
    invalid={"alpha": POSITIVE},
    naive=lambda x, alpha: alpha * mp.beta(x, alpha + 1),
    outside=[0.0, -1.0],
)
test_zipf = battery(
    Zipf,
    settings=[{"power": 22.0}, {"power": 30.5}],
    invalid={"power": ("greater than 1", [1.0, -2.0, nan])},
    naive=lambda x, power: x**-power / mp.zeta(power),
    outside=[0.0, -1.0],
)
test_zipfian = battery(
    Zipfian,
    settings=[{"power": 0.7, "n": 30}, {"power": 1.0, "n": 9}, {"power": 3.0, "n": 200}],
    invalid={"power": ("nonnegative", [-1.0, nan]), "n": ("a positive integer", [0, 2.5, nan])},
    naive=lambda x, power, n: x**-power / mp.fsum(mp.mpf(k) ** -power for k in range(1, int(n) + 1)),
    outside=[0.0, 201.0],
)
test_poisson_log = battery(
    Poisson,
    settings=[{"log_rate": 0.7}, {"log_rate": 3.2}],
    invalid={"log_rate": ("finite", [inf, -inf, nan])},
    naive=lambda x, log_rate: mp.exp(x * log_rate - mp.exp(log_rate)) / mp.gamma(x + 1),
    outside=[-1.0],
    extreme={"PoissonLog": {}},
)
test_relaxed_bernoulli = battery(
    RelaxedBernoulli,
    settings=[{"temperature": 0.7, "p": 0.3}, {"temperature": 2.0, "logits": 1.2}],
    invalid={
        "temperature": POSITIVE,
        "p": ("in (0, 1)", [0.0, 1.0, nan]),
        "logits": ("finite", [inf, -inf, nan]),
    },
    naive=lambda x, temperature, p=None, logits=None: relaxed(
        x, temperature, p / (1 - p) if logits is None else mp.exp(logits)
    ),
    outside=[-0.5, 0.0, 1.0, 1.5],
)
SKELLAM = Case(
    Skellam,
    settings=[{"rate1": 3.2, "rate2": 1.8}, {"rate1": 30.0, "rate2": 45.5}],
    invalid={"rate1": POSITIVE, "rate2": POSITIVE},
    naive=lambda x, rate1, rate2: (
        mp.exp(-rate1 - rate2) * mp.sqrt(rate1 / rate2) ** x * mp.besseli(abs(x), 2 * mp.sqrt(rate1 * rate2))
    ),
    reference=("Skellam", {"mu1": "rate1", "mu2": "rate2"}),
)
# The battery adds up masses from zero on; a law of both signs has sums of its own below.
SUMS = ("normalisation", "moments", "divergences")


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in SUMS])
def test_skellam(name):
    CHECKS[name](SKELLAM)


def test_skellam_sums():
    p, q = SKELLAM.members()
    k = np.arange(-400.0, 400.0)
    for d in (p, q):
        assert (d.cdf(-inf), d.cdf(inf)) == (0.0, 1.0)
        np.testing.assert_allclose(np.cumsum(d.pdf(k)), d.cdf(k), rtol=1e-12, atol=1e-200)  # what lies below -400
        assert np.sum(k * d.pdf(k)) == pytest.approx(d.mean(), rel=1e-13)
        central = [np.sum((k - d.mean()) ** j * d.pdf(k)) for j in (2, 3, 4)]
        expected = [d.var(), d.skewness() * d.var() ** 1.5, (d.kurtosis() + 3) * d.var() ** 2]
        np.testing.assert_allclose(central, expected, rtol=1e-12)
    assert p.kl_divergence(q) == pytest.approx(np.sum(p.pdf(k) * (p.logpdf(k) - q.logpdf(k))), rel=1e-12)


def test_skellam_of_mpmath():
    """Rates that are tiny, huge and unlike, and values far out."""
    for a, b, k in [(1e-5, 2e-5, 0), (1e-3, 1e3, -900), (1e6, 1e6, 5000), (100.0, 300.0, 400), (25.0, 18.0, -60)]:

        def exact(a, b, k=k):
            a, b = mp.mpf(a), mp.mpf(b)
            return mp.log(mp.besseli(abs(k), 2 * mp.sqrt(a * b))) - a - b + k * mp.log(a / b) / 2

        with mp.workdps(40):
            value = exact(a, b)
            slopes = [
                float(mp.diff(lambda t, b=b, f=exact: f(t, b), a)),
                float(mp.diff(lambda t, a=a, f=exact: f(a, t), b)),
            ]
            cond = abs(a * slopes[0]) + abs(b * slopes[1])
        assert measure(Skellam(a, b).logpdf(k), value, cond) <= 64
        bars = gradient(lambda a, b, k=k: Skellam(a, b).logpdf(k), a, b)
        # The slopes are differences of numbers near one.
        assert bars == pytest.approx(slopes, rel=1e-13, abs=64 * 2.2e-16)
