"""Stirling's error and the deviance against mpmath, over the whole range and with their derivatives."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from probdiff import compile, gradient
from probdiff.ops.either import either
from probdiff.ops.stirling import deviance, stirling_error

mp.mp.dps = 50
RNG = np.random.default_rng(7)
A = np.concatenate([10 ** RNG.uniform(-8, 12, 150), np.arange(1.0, 64.0), [1 - 1e-9, 1 + 1e-9]])
X = 10 ** RNG.uniform(-3, 8, 200)
M = X * np.where(RNG.random(200) < 0.5, 1 + 0.3 * 10 ** RNG.uniform(-7, 0, 200), 10 ** RNG.normal(size=200))


def exact_error(a: float) -> mp.mpf:
    a = mp.mpf(a)
    return mp.loggamma(a) - ((a - 0.5) * mp.log(a) - a + mp.log(2 * mp.pi) / 2)


def exact_deviance(x: float, m: float) -> mp.mpf:
    x, m = mp.mpf(x), mp.mpf(m)
    return x * mp.log(x / m) + m - x


def test_stirling_error() -> None:
    expected = np.array([float(exact_error(a)) for a in A])
    for found in (stirling_error(A), compile(stirling_error)(A), np.array([stirling_error(a) for a in A])):
        # Below one it is a difference of terms of size one.
        np.testing.assert_allclose(found, expected, rtol=2e-15, atol=2e-16)


def test_deviance() -> None:
    expected = np.array([float(exact_deviance(x, m)) for x, m in zip(X, M, strict=True)])
    each = np.array([deviance(x, m) for x, m in zip(X, M, strict=True)])
    for found in (deviance(X, M), compile(deviance)(X, M), each):
        np.testing.assert_allclose(found, expected, rtol=1e-13)  # logs of 1e8 are 20, and their difference 0.2
    assert deviance(np.float64(3.0), np.float64(np.inf)) == np.inf


@pytest.mark.parametrize("k", range(0, 200, 10))
def test_derivatives(k: int) -> None:
    x, m, a = X[k], M[k], A[k]
    x_bar, m_bar = gradient(deviance, x, m)
    np.testing.assert_allclose(x_bar, float(mp.log(mp.mpf(x) / mp.mpf(m))), rtol=1e-15)
    np.testing.assert_allclose(m_bar, float(1 - mp.mpf(x) / mp.mpf(m)), rtol=1e-15)
    # Below ten the slope is psi(a) less a nearby logarithm.
    slope = float(mp.digamma(a) - mp.log(a) + 1 / (2 * mp.mpf(a)))
    np.testing.assert_allclose(gradient(stirling_error, a)[0], slope, rtol=1e-14, atol=1e-15)


def test_either_evaluates_one_side_for_one_truth_value() -> None:
    def never() -> float:
        raise AssertionError

    assert either(np.float64(1.0) < 2.0, lambda: 3.0, never) == 3.0
    assert either(False, never, lambda: 4.0) == 4.0
    x = np.array([1.0, -1.0])
    np.testing.assert_array_equal(either(x > 0, lambda: x, lambda: -2 * x), [1.0, 2.0])
