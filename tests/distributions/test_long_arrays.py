"""Log-densities of long arrays, by machine code, are those of short ones; and StudentT's are right near the normal."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff import gradient
from probdiff.ad import kernels
from probdiff.distributions import (
    Beta,
    Binomial,
    Gamma,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Weibull,
    truncated,
)
from probdiff.distributions.long_arrays import LONG

X = np.linspace(-1.0, 30.0, LONG)
LOCS = np.linspace(-2.0, 2.0, LONG)


@pytest.mark.parametrize(
    ("d", "x"),
    [
        (Gamma(3.0, 2.0), X),
        (Gamma(300.0, 0.1), X),
        (Beta(2.0, 40.0), X / 10),
        (StudentT(np.inf, 1.0, 2.0), X),
        (Poisson(log_rate=-800.0), np.floor(X)),
        (Binomial(20, 0.3), np.floor(X)),
        (Binomial(21, logits=-800.0), np.floor(X).astype(np.int64)),
        (NegativeBinomial(0.3, 0.4), X),
        (truncated(Normal(), 1.0), X),
    ],
    ids=repr,
)
def test_long_and_short_arrays_agree(d: Any, x: np.ndarray) -> None:
    short = np.concatenate([d.logpdf(part) for part in np.array_split(x, 4)])
    found = d.logpdf(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, short, rtol=3e-13)  # rounding of a deviance near its mode, and of sums in order


def test_parameters_that_are_arrays() -> None:
    found = Normal(LOCS, 2.0).logpdf(X)
    np.testing.assert_allclose(found, -0.125 * (X - LOCS) ** 2 - np.log(2.0) - 0.5 * np.log(2 * np.pi), rtol=1e-14)
    assert Normal(LOCS[:3, None], 2.0).logpdf(X).shape == (3, LONG)


def test_one_recording_serves_all_counts() -> None:
    Binomial(30, 0.3).logpdf(np.floor(X))
    before = len(kernels._kernels)
    Binomial(31, 0.4).logpdf(np.floor(X))
    assert len(kernels._kernels) == before


def test_invalid_parameters_that_were_not_checked_give_nan() -> None:
    assert np.isnan(Weibull(2.0, -1.0, check=False).logpdf(np.abs(X) + 1)).all()


def test_gradients_of_long_arrays() -> None:
    loc_bar, scale_bar = gradient(lambda m, s: np.sum(Normal(m, s).logpdf(X)), 1.0, 2.0)
    np.testing.assert_allclose(loc_bar, np.sum(X - 1) / 4, rtol=1e-12)
    np.testing.assert_allclose(scale_bar, np.sum((X - 1) ** 2) / 8 - LONG / 2, rtol=1e-12)


@pytest.mark.parametrize("df", [0.7, 5.0, 99.0, 101.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("z", [0.0, 1e-3, 1.3, 8.0, 300.0, 1e200])
def test_student_t_near_the_normal_keeps_the_digits_of_its_slope_in_df(df: float, z: float) -> None:
    with mp.workdps(60):

        def density(n: Any) -> Any:
            h = n / 2
            return (
                mp.loggamma(h + 0.5) - mp.loggamma(h) - mp.log(n * mp.pi) / 2 - (h + 0.5) * mp.log1p(mp.mpf(z) ** 2 / n)
            )

        value, slope = float(density(mp.mpf(df))), float(mp.diff(density, mp.mpf(df)))
    np.testing.assert_allclose(StudentT(df).logpdf(z), value, rtol=1e-14)
    # Where the slope changes its sign, its terms are up to a thousand times their sum.
    np.testing.assert_allclose(gradient(lambda n: StudentT(n).logpdf(z), df)[0], slope, rtol=2e-12)
