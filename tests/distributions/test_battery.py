"""The battery catches planted faults: a wrong density, distribution function, moment, sampler, slope and guard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff import stop_gradient
from probdiff.distributions import Exponential
from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.support import Positive, nonnegative
from probdiff.ops.dispatch import is_lifted
from tests.distributions.battery import CHECKS
from tests.distributions.case import Case

HONEST = Case(
    Exponential,
    settings=[{"scale": 0.5}],
    invalid={"scale": ("positive", [0.0])},
    naive=lambda x, scale: mp.exp(-x / scale) / scale,
    outside=[-1.0],
    reference=("Exponential", {}),
    extreme={"Exponential": {}},
)


def family(**methods: Any) -> Case:
    """The honest case for an exponential distribution with some methods replaced."""
    moments = ("mean", "var", "skewness", "kurtosis", "entropy")
    names = ("logpdf", "cdf", "logccdf", "quantile", "cquantile", "draw", *moments)
    # Guarded methods are guarded again, which changes nothing.
    body = {name: Exponential.__dict__[name] for name in names}
    annotated = {"__annotations__": {"scale": Positive}, "scale": 1.0, "support": nonnegative, "__module__": __name__}
    wrong = type(Continuous)("Exponential", (Continuous,), {**annotated, **body, **methods})
    return replace(HONEST, family=wrong)


def shifted(self: Any, x: Any) -> Any:
    return -x / self.scale - np.log(self.scale) + 1e-6


FAULTS = [
    ("normalisation", family(logpdf=shifted)),
    ("naive", family(logpdf=shifted)),
    ("reference", family(logpdf=shifted)),
    ("extreme", family(logpdf=shifted)),
    ("moments", family(mean=lambda self: self.scale * 1.001)),
    ("moments", family(kurtosis=lambda self: 3.0)),
    ("moments", family(entropy=lambda self: np.log(self.scale))),
    ("tails", family(logccdf=lambda self, x: -1.001 * x / self.scale)),
    ("quantiles", family(quantile=lambda self, p: -self.scale * np.log1p(-p) * 1.001)),
    ("extreme_tails", family(logccdf=lambda self, x: np.log1p(-self.cdf(x)))),
    ("deep_quantiles", family(quantile=lambda self, p: -self.scale * np.log(1 - p))),
    ("intervals", family(logdiffcdf=lambda self, x, y: np.log(abs(self.cdf(y) - self.cdf(x)) + 1e-17))),
    ("expectations", family(var=lambda self: self.scale * self.scale * 1.00001)),
    (
        "expectations",
        family(mgf=lambda self, t: 1 / (1 + t * self.scale), cf=lambda self, t: 1 / (1 - 1j * t * self.scale)),
    ),
    ("divergences", family(kl_divergence=lambda self, other: 1e-6)),
    ("tail_slopes", family(logccdf=lambda self, x: -x / stop_gradient(self.scale))),
    ("quantile_slopes", family(quantile=lambda self, p: -stop_gradient(self.scale) * np.log1p(-p))),
    ("pathwise", family(pathwise=lambda self, x: x * self.scale**0)),
    ("compiled", family(cdf=lambda self, x: -np.expm1(-x / self.scale) * (1 + 1e-9 * is_lifted(x)))),
    ("sampler", family(draw=lambda self, shape, rng: 1.2 * self.scale * rng.standard_exponential(shape))),
    ("dtypes", family(logpdf=lambda self, x: -x / self.scale - np.log(self.scale) + 1e-4 * (x.dtype == np.float32))),
    ("peaks", family(mode=lambda self: 0.1 * self.scale)),
    ("peaks", family(modes=lambda self: np.array([0.0, 0.1]))),
    ("statistics", family(exponential_form=lambda self: ExponentialForm(lambda x: (x,), (1 / self.scale,), 0.0))),
    (
        "statistics",
        family(exponential_form=Exponential.exponential_form, estimate=classmethod(lambda cls, x, w: cls(2.0))),
    ),
    ("invalid", replace(HONEST, invalid={"scale": ("positive", [1.0])})),
    ("outside", replace(HONEST, outside=[1.0])),
    ("naive", replace(HONEST, naive=lambda x, scale: mp.exp(-x / scale) / scale * 1.001)),
]


@pytest.mark.parametrize("name", CHECKS)
def test_honest_families_pass(name: str) -> None:
    CHECKS[name](HONEST)


@pytest.mark.parametrize(("name", "case"), FAULTS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(FAULTS)])
def test_planted_faults_are_caught(name: str, case: Case) -> None:
    # A check says so by an assertion, or by `pytest.raises` that sees no error.
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        CHECKS[name](case)
