"""Thirty families as our peers write them, and the parameters at which they are measured.

`scipy`, `numpyro` and `torch` take the module of the peer's distributions and the parameters of our fields, so that
everyone's gradient is with respect to the same numbers; None where a peer has no such family.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["FAMILIES", "Family"]

Build = Callable[..., Any]


class Family(NamedTuple):
    """A family under our name; whole numbers among its parameters have no derivative.

    probabilities  how many quantiles are computed for each value
    """

    name: str
    parameters: tuple[float, ...]
    scipy: Build
    numpyro: Build | None = None
    torch: Build | None = None
    discrete: bool = False
    probabilities: float = 1.0


def both(build: Build) -> tuple[Build, Build]:
    """NumPyro and PyTorch, who call it the same."""
    return build, build


FAMILIES = (
    Family("Normal", (0.5, 2.0), lambda s, m, c: s.norm(m, c), *both(lambda d, m, c: d.Normal(m, c))),
    Family("Exponential", (2.0,), lambda s, c: s.expon(scale=c), *both(lambda d, c: d.Exponential(1 / c))),
    Family("Gamma", (3.5, 2.0), lambda s, a, c: s.gamma(a, scale=c), *both(lambda d, a, c: d.Gamma(a, 1 / c))),
    Family("Beta", (2.5, 4.0), lambda s, a, b: s.beta(a, b), *both(lambda d, a, b: d.Beta(a, b))),
    Family("StudentT", (5.0, 0.5, 2.0), lambda s, n, m, c: s.t(n, m, c), *both(lambda d, n, m, c: d.StudentT(n, m, c))),
    Family(
        "LogNormal",
        (0.3, 0.7),
        lambda s, m, c: s.lognorm(c, scale=math.exp(m)),
        *both(lambda d, m, c: d.LogNormal(m, c)),
    ),
    Family("Uniform", (-1.0, 2.0), lambda s, a, b: s.uniform(a, b - a), *both(lambda d, a, b: d.Uniform(a, b))),
    Family("Laplace", (0.5, 2.0), lambda s, m, c: s.laplace(m, c), *both(lambda d, m, c: d.Laplace(m, c))),
    Family("Cauchy", (0.5, 2.0), lambda s, m, c: s.cauchy(m, c), *both(lambda d, m, c: d.Cauchy(m, c))),
    Family("Logistic", (0.5, 2.0), lambda s, m, c: s.logistic(m, c), lambda d, m, c: d.Logistic(m, c)),
    Family("Gumbel", (0.5, 2.0), lambda s, m, c: s.gumbel_r(m, c), *both(lambda d, m, c: d.Gumbel(m, c))),
    Family("Weibull", (1.7, 2.0), lambda s, k, c: s.weibull_min(k, scale=c), *both(lambda d, k, c: d.Weibull(c, k))),
    Family("Pareto", (3.0, 1.5), lambda s, a, c: s.pareto(a, scale=c), *both(lambda d, a, c: d.Pareto(c, a))),
    Family("HalfNormal", (2.0,), lambda s, c: s.halfnorm(scale=c), *both(lambda d, c: d.HalfNormal(c))),
    Family("HalfCauchy", (2.0,), lambda s, c: s.halfcauchy(scale=c), *both(lambda d, c: d.HalfCauchy(c))),
    Family("ChiSquared", (5.0,), lambda s, n: s.chi2(n), *both(lambda d, n: d.Chi2(n))),
    Family(
        "InverseGamma",
        (3.0, 2.0),
        lambda s, a, c: s.invgamma(a, scale=c),
        *both(lambda d, a, c: d.InverseGamma(a, c)),
    ),
    Family("F", (6.0, 9.0), lambda s, m, n: s.f(m, n), None, lambda d, m, n: d.FisherSnedecor(m, n)),
    Family("BetaPrime", (3.0, 5.0), lambda s, a, b: s.betaprime(a, b)),
    Family(
        "VonMises",
        (0.5, 2.0),
        lambda s, m, k: s.vonmises(k, m),
        *both(lambda d, m, k: d.VonMises(m, k)),
        probabilities=0.1,  # SciPy takes a millisecond for one
    ),
    Family("Gompertz", (0.7, 2.0), lambda s, a, c: s.gompertz(a, scale=c), lambda d, a, c: d.Gompertz(a, 1 / c)),
    Family("SkewNormal", (0.5, 2.0, 1.5), lambda s, m, c, a: s.skewnorm(a, m, c)),
    Family(
        "GeneralizedPareto",
        (0.0, 1.0, 0.2),
        lambda s, m, c, k: s.genpareto(k, m, c),
        None,
        lambda d, m, c, k: d.GeneralizedPareto(m, c, k),
    ),
    Family("Levy", (0.5, 2.0), lambda s, m, c: s.levy(m, c), lambda d, m, c: d.Levy(m, c)),
    Family("Poisson", (4.0,), lambda s, r: s.poisson(r), *both(lambda d, r: d.Poisson(r)), discrete=True),
    Family(
        "Binomial", (20, 0.3), lambda s, n, p: s.binom(n, p), *both(lambda d, n, p: d.Binomial(n, p)), discrete=True
    ),
    Family(
        "NegativeBinomial",
        (5.0, 0.4),
        lambda s, r, p: s.nbinom(r, p),
        lambda d, r, p: d.NegativeBinomialProbs(r, 1 - p),
        lambda d, r, p: d.NegativeBinomial(r, 1 - p),
        discrete=True,
    ),
    Family("Bernoulli", (0.3,), lambda s, p: s.bernoulli(p), *both(lambda d, p: d.Bernoulli(p)), discrete=True),
    Family("Geometric", (0.3,), lambda s, p: s.geom(p, loc=-1), *both(lambda d, p: d.Geometric(p)), discrete=True),
    Family(
        "BetaBinomial",
        (20, 2.0, 3.0),
        lambda s, n, a, b: s.betabinom(n, a, b),
        lambda d, n, a, b: d.BetaBinomial(a, b, n),
        discrete=True,
    ),
)
