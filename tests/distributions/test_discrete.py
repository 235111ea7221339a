"""Discrete families against R, mpmath and themselves."""

from __future__ import annotations

import math

import mpmath as mp

from probdiff.distributions import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from tests.distributions.battery import battery

nan, inf = math.nan, math.inf
POSITIVE = ("positive", [0.0, -1.0, nan])
REAL = ("finite", [inf, -inf, nan])
PROBABILITY = ("in [0, 1]", [-0.1, 1.5, nan])


def choose(n, k):
    return mp.gamma(n + 1) / (mp.gamma(k + 1) * mp.gamma(n - k + 1))


def chance(p=None, logits=None):
    return 1 / (1 + mp.exp(-logits)) if p is None else p


test_bernoulli = battery(
    Bernoulli,
    settings=[{"p": 0.3}, {"p": 0.9}, {"logits": -1.2}],
    invalid={"p": PROBABILITY, "logits": REAL},
    naive=lambda x, **p: chance(**p) ** x * (1 - chance(**p)) ** (1 - x),
    outside=[-1.0, 2.0],
    reference=("Bernoulli", {}),
    extreme={"Bernoulli": {}, "BernoulliLogit": {"logit": "logits"}},
)
test_binomial = battery(
    Binomial,
    settings=[{"n": 9, "p": 0.3}, {"n": 60, "p": 0.45}, {"n": 60, "logits": 1.3}],
    invalid={"n": ("a nonnegative integer", [-1, 2.5, nan]), "p": PROBABILITY, "logits": REAL},
    naive=lambda x, n, **p: choose(n, x) * chance(**p) ** x * (1 - chance(**p)) ** (n - x),
    outside=[-1.0, 61.0],
    reference=("Binomial", {}),
    extreme={"Binomial": {}, "BinomialLogit": {"logit": "logits"}},
)
test_poisson = battery(
    Poisson,
    settings=[{"rate": 0.7}, {"rate": 25.0}],
    invalid={"rate": ("nonnegative", [-1.0, nan])},
    naive=lambda x, rate: rate**x * mp.exp(-rate) / mp.gamma(x + 1),
    outside=[-1.0],
    reference=("Poisson", {}),
    extreme={"Poisson": {}},
)
test_negative_binomial = battery(
    NegativeBinomial,
    settings=[{"r": 3.0, "p": 0.5}, {"r": 40.0, "p": 0.7}, {"r": 0.6, "logits": -0.4}],
    invalid={"r": POSITIVE, "p": ("in (0, 1]", [0.0, 1.5, nan]), "logits": REAL},
    naive=lambda x, r, **p: choose(x + r - 1, x) * chance(**p) ** r * (1 - chance(**p)) ** x,
    outside=[-1.0],
    reference=("NegativeBinomial", {}),
    extreme={"NegativeBinomial": {}, "NegativeBinomial2": {"mu": "mean", "phi": "dispersion"}},
    # For a dispersion of 1e15 (a Poisson law) the slope in it is 4e-32, what is left of terms near one.
    slope_slack=1e-15,
)
test_geometric = battery(
    Geometric,
    settings=[{"p": 0.3}, {"p": 0.05}],
    invalid={"p": ("in (0, 1]", [0.0, 1.5, nan])},
    naive=lambda x, p: p * (1 - p) ** x,
    outside=[-1.0],
    reference=("Geometric", {}),
    extreme={"Geometric": {}},
)
