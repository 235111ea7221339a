"""Directions: von Mises-Fisher and uniform, against Bessel functions of mpmath and laws of their draws."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from probdiff import compile, gradient, value_and_grad
from probdiff.distributions import UniformDirection, VonMises, VonMisesFisher
from probdiff.errors import ParameterError


def direction(dim: int) -> np.ndarray:
    loc = np.arange(1.0, dim + 1)
    return loc / np.linalg.norm(loc)


def log_constant(dim: int, k: float) -> float:
    """log [k^(dim / 2 - 1) / ((2π)^(dim / 2) I(k))]."""
    with mp.workdps(30):
        order = mp.mpf(dim) / 2 - 1
        k = mp.mpf(k)
        return mp.log(k**order / ((2 * mp.pi) ** (order + 1) * mp.besseli(order, k)))


@pytest.mark.parametrize("dim", [2, 3, 5, 50])
@pytest.mark.parametrize("k", [1e-6, 0.5, 1.0, 7.0, 1e3, 1e6])
def test_density_and_slope_are_those_of_the_bessel_function(dim: int, k: float) -> None:
    loc, x = direction(dim), np.eye(dim)[-1]
    chord = 0.5 * np.sum((x - loc) ** 2)  # 1 - loc · x
    expected = float(log_constant(dim, k) + k) - k * chord
    assert VonMisesFisher(loc, k).logpdf(x) == pytest.approx(expected, rel=1e-13, abs=1e-13)
    with mp.workdps(30):
        order = mp.mpf(dim) / 2 - 1
        ratio = mp.besseli(order + 1, k) / mp.besseli(order, k)
        slope = float(1 - ratio) - chord
    (bar,) = gradient(lambda k: VonMisesFisher(loc, k).logpdf(x), k)
    assert bar == pytest.approx(slope, rel=1e-12, abs=1e-14)


def test_two_coordinates_are_an_angle() -> None:
    for angle, mean in ((0.3, 0.1), (-3.0, 1.0)):
        x, loc = (np.array([math.cos(t), math.sin(t)]) for t in (angle, mean))
        assert VonMisesFisher(loc, 4.0).logpdf(x) == pytest.approx(VonMises(mean, 4.0).logpdf(angle), rel=1e-13)


def test_no_concentration_is_uniform() -> None:
    for dim in (2, 3, 8):
        x = direction(dim)
        area = 2 * math.pi ** (dim / 2) / math.gamma(dim / 2)
        assert UniformDirection(dim).logpdf(x) == pytest.approx(-math.log(area), rel=1e-14)
        assert UniformDirection(dim).entropy() == pytest.approx(math.log(area), rel=1e-14)
        assert VonMisesFisher(np.eye(dim)[0], 0.0).logpdf(x) == pytest.approx(-math.log(area), rel=1e-14)
    assert UniformDirection(3).logpdf(np.array([1.0, 1.0, 0.0])) == -math.inf


@pytest.mark.parametrize(("dim", "k"), [(2, 3.0), (3, 5.0), (10, 0.0), (10, 200.0)])
def test_draws_have_the_mean_and_spread_along_the_direction(dim: int, k: float) -> None:
    loc, count = direction(dim), 40_000
    x = VonMisesFisher(loc, k).rand(count, rng=np.random.default_rng(3))
    np.testing.assert_allclose(np.sum(x * x, axis=-1), 1.0, rtol=1e-12)
    along = x @ loc
    mean = float(mp.besseli(dim / 2, k) / mp.besseli(dim / 2 - 1, k)) if k else 0.0
    # E[t²] follows from the equation of Bessel: 1 - mean (dim - 1) / k.
    square = 1 - mean * (dim - 1) / k if k else 1 / dim
    sd = math.sqrt(square - mean * mean)
    # Five standard errors: false alarms below 1e-6.
    assert abs(along.mean() - mean) < 5 * sd / math.sqrt(count)
    assert abs(np.mean(along**2) - square) < 5 * np.std(along**2) / math.sqrt(count)
    across = x - along[:, None] * loc
    assert np.all(abs(across.mean(axis=0)) < 5 / math.sqrt(count))


def test_uniform_draws_have_no_mean_and_equal_variances() -> None:
    d = UniformDirection(4)
    x = d.rand(40_000, rng=np.random.default_rng(5))
    assert np.all(abs(x.mean(axis=0)) < 5 * 0.5 / 200)
    np.testing.assert_allclose(np.mean(x * x, axis=0), d.var(), atol=5 * 0.3 / 200)


def test_gradients_of_batches_compile() -> None:
    loc, x = direction(3), np.stack([np.eye(3)[0], np.eye(3)[2]])

    def loglike(loc: np.ndarray, k: float) -> float:
        return np.sum(VonMisesFisher(loc, k).logpdf(x))

    expected = gradient(loglike, loc, 4.0)
    np.testing.assert_allclose(expected[0], 4.0 * (np.sum(x, axis=0) - 2 * loc), rtol=1e-12)
    _, bars = compile(value_and_grad(loglike, argnums=(0, 1)))(loc, 4.0)
    for bar, other in zip(bars, expected, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-11)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match=r"^VonMisesFisher.loc must be a vector of length one, got \[1. 1.\]$"):
        VonMisesFisher([1.0, 1.0], 1.0)
    with pytest.raises(ParameterError, match=r"^VonMisesFisher.concentration must be nonnegative, got -1.0$"):
        VonMisesFisher([1.0, 0.0], -1.0)
    with pytest.raises(ParameterError, match=r"^UniformDirection.dim must be an integer of at least 2, got 1$"):
        UniformDirection(1)


def test_an_angle_may_be_counted_in_any_turn() -> None:
    d = VonMises(3.0, 2.0)
    assert d.logpdf(-3.0) == pytest.approx(d.logpdf(2 * math.pi - 3.0), rel=1e-14)
