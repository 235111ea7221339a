"""Discrete families of urns with weights and of compounds, against mpmath, SciPy and themselves."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np

from probdiff.distributions import (
    BetaNegativeBinomial,
    Hypergeometric,
    NegativeHypergeometric,
    WalleniusNoncentralHypergeometric,
)
from tests.distributions.battery import battery

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
COUNT = ("a nonnegative integer", [-1, 2.5, nan])


def choose(n, k):
    return mp.binomial(n, k)


def beta_negative_binomial(x, r, alpha, beta):
    return mp.gamma(x + r) / (mp.factorial(x) * mp.gamma(r)) * mp.beta(alpha + r, beta + x) / mp.beta(alpha, beta)


def wallenius(x, successes, failures, draws, odds):
    rate = odds * (successes - x) + failures - draws + x

    def integrand(t):
        return (1 - t ** (odds / rate)) ** x * (1 - t ** (1 / rate)) ** (draws - x)

    return choose(successes, x) * choose(failures, draws - x) * mp.quad(integrand, mp.linspace(0, 1, 9))


# Powers of about thirty: P(X > k) reaches 1e-300 while k is still a whole number in double precision.
test_beta_negative_binomial = battery(
    BetaNegativeBinomial,
    settings=[{"r": 2.5, "alpha": 31.0, "beta": 9.5}],
    invalid={"r": POSITIVE, "alpha": POSITIVE, "beta": POSITIVE},
    naive=beta_negative_binomial,
    outside=[-1.0],
)
test_wallenius = battery(
    WalleniusNoncentralHypergeometric,
    settings=[
        {"successes": 12, "failures": 9, "draws": 8, "odds": 2.5},
        {"successes": 15, "failures": 8, "draws": 10, "odds": 0.3},
    ],
    invalid={"successes": COUNT, "failures": COUNT, "draws": COUNT, "odds": POSITIVE},
    naive=wallenius,
    outside=[-1.0, 61.0],
)

test_negative_hypergeometric = battery(
    NegativeHypergeometric,
    settings=[{"successes": 12, "failures": 9, "r": 4}, {"successes": 30, "failures": 8, "r": 8}],
    invalid={"successes": COUNT, "failures": ("a positive integer", [0, nan]), "r": ("a positive integer", [0, 2.5])},
    naive=lambda x, successes, failures, r: (
        choose(x + r - 1, x)
        * choose(successes + failures - r - x, successes - x)
        / choose(successes + failures, successes)
    ),
    outside=[-1.0, 31.0],
)


def test_wallenius_limits():
    """Equal weights are the hypergeometric law, in a large urn too; an urn of one kind or drawn empty is certain."""
    k = np.array([29000.0, 30000.0, 30150.0])
    plain, even = Hypergeometric(60000, 80000, 70000), WalleniusNoncentralHypergeometric(60000, 80000, 70000)
    np.testing.assert_allclose(even.logpdf(k), plain.logpdf(k), rtol=1e-13, atol=1e-12)
    for urn, k in (((5, 0, 3), 3), ((0, 5, 3), 0), ((4, 3, 7), 4), ((4, 3, 0), 0)):
        d = WalleniusNoncentralHypergeometric(*urn, 2.0)
        assert d.logpdf(k) == 0.0 and d.logpdf(k + 1) == -inf


def test_beta_negative_binomial_far_and_small():
    """Tails like powers, and parameters near zero: sums of mpmath."""
    for r, alpha, beta in ((0.01, 0.01, 3.0), (1e-3, 1e-4, 1e-3), (5.0, 200.0, 1e4), (2.0, 3.0, 1e-3)):
        d = BetaNegativeBinomial(r, alpha, beta)
        for k in (0, 10, 300):
            with mp.workdps(40):
                terms = [beta_negative_binomial(*map(mp.mpf, (j, r, alpha, beta))) for j in range(k + 1)]
                lower = mp.fsum(terms)
                expected = [float(mp.log(v)) for v in (terms[k], lower, 1 - lower)]
            np.testing.assert_allclose([d.logpdf(k), d.logcdf(k), d.logccdf(k)], expected, rtol=1e-11)
    # P(X > k) tends to Γ(alpha + r) Γ(alpha + beta) / (Γ(alpha + 1) Γ(r) Γ(beta)) k^-alpha.
    d = BetaNegativeBinomial(2.0, 1.5, 3.0)
    limit = math.lgamma(3.5) + math.lgamma(4.5) - math.lgamma(2.5) - math.lgamma(3.0)
    np.testing.assert_allclose(d.logccdf(1e12), limit - 1.5 * math.log(1e12), rtol=1e-12)
