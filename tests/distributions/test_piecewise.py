"""Interpolated and Histogram densities against areas, SciPy and differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import rv_histogram

from probdiff import compile, gradient, value_and_grad
from probdiff.distributions import Flat, HalfFlat, Histogram, Interpolated
from probdiff.distributions.support import positive
from probdiff.errors import ParameterError

KNOTS = np.array([-1.0, 1.0, 3.0, 4.0])
HEIGHTS = ([0.0, 3.0, 0.5, 0.0], [1.0, 1.0, 1.01, 3.0])


@pytest.mark.parametrize("heights", HEIGHTS)
def test_interpolated_is_the_normalised_line(heights: list[float]) -> None:
    d = Interpolated(KNOTS, heights)
    total = np.trapezoid(heights, KNOTS)
    for x in (-0.5, 1.0, 2.2, 3.9):
        expected = np.interp(x, KNOTS, heights) / total
        assert d.pdf(x) == pytest.approx(expected, rel=1e-14)
        inside = KNOTS[(KNOTS > -1) & (KNOTS < x)]
        area = quad(d.pdf, -1, x, points=inside if inside.size else None, epsabs=1e-13)[0]
        assert d.cdf(x) == pytest.approx(area, rel=1e-12)
        assert d.ccdf(x) == pytest.approx(1 - area, rel=1e-12)
        assert d.quantile(d.cdf(x)) == pytest.approx(x, rel=1e-12)
    assert d.pdf(-1.1) == d.pdf(4.1) == 0 and d.cdf(4.0) == 1


@pytest.mark.parametrize("heights", HEIGHTS)
def test_interpolated_moments_are_integrals(heights: list[float]) -> None:
    d = Interpolated(KNOTS, heights)

    def expected(g: object) -> float:
        pieces = zip(KNOTS[:-1], KNOTS[1:], strict=True)
        return sum(quad(g, a, b, epsabs=1e-13)[0] for a, b in pieces)

    assert d.mean() == pytest.approx(expected(lambda x: x * d.pdf(x)), rel=1e-12)
    assert d.var() == pytest.approx(expected(lambda x: (x - d.mean()) ** 2 * d.pdf(x)), rel=1e-12)
    assert d.entropy() == pytest.approx(expected(lambda x: -d.logpdf(x) * d.pdf(x) if d.pdf(x) else 0.0), rel=1e-10)


def test_histogram_is_that_of_scipy() -> None:
    edges, counts = np.array([0.0, 1.0, 3.0, 4.0]), np.array([2, 0, 5])
    d, other = Histogram(edges, counts), rv_histogram((counts, edges), density=False)
    x = np.array([-0.5, 0.2, 1.5, 3.0, 3.7, 5.0])
    np.testing.assert_allclose(d.pdf(x), other.pdf(x), rtol=1e-14)
    np.testing.assert_allclose(d.cdf(x), other.cdf(x), rtol=1e-14)
    np.testing.assert_allclose(d.ccdf(x), other.sf(x), rtol=1e-14, atol=1e-16)
    assert d.mean() == pytest.approx(other.mean(), rel=1e-14)
    assert d.var() == pytest.approx(other.var(), rel=1e-13)
    assert d.entropy() == pytest.approx(other.entropy(), rel=1e-14)
    assert d.logpdf(4.0) == pytest.approx(math.log(5 / 7)) and d.logpdf(2.0) == -math.inf


@pytest.mark.parametrize("d", [Interpolated(KNOTS, HEIGHTS[1]), Histogram(KNOTS, [2.0, 0.5, 4.0])])
def test_draws_follow_the_distribution_function(d: Interpolated | Histogram) -> None:
    count = 20_000
    x = np.sort(d.rand(count, rng=np.random.default_rng(7)))
    # 2 exp(-2 t²) = 1e-6 at t = 2.69: the rate of false alarms.
    assert np.max(abs(d.cdf(x) - np.arange(count) / count)) * math.sqrt(count) < 2.69


def test_gradients_are_differences_and_compile() -> None:
    def f(x: float, knots: np.ndarray, heights: np.ndarray) -> float:
        d = Interpolated(knots, heights)
        return d.logpdf(x) + d.logcdf(x + 1.5) + d.quantile(0.4)

    at = (0.3, KNOTS, np.array(HEIGHTS[1]))
    bars = gradient(f, *at)
    _, compiled = compile(value_and_grad(f, argnums=(0, 1, 2)))(*at)
    for i, bar in enumerate(bars):
        np.testing.assert_allclose(compiled[i], bar, rtol=1e-10)
        for k in np.ndindex(np.shape(at[i])):
            step = np.zeros(np.shape(at[i]))
            step[k] = 1e-5
            up, down = (f(*at[:i], at[i] + s, *at[i + 1 :]) for s in (step, -step))
            assert np.asarray(bar)[k] == pytest.approx((up - down) / 2e-5, rel=1e-7, abs=1e-8)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="^Interpolated needs as many heights as knots, at least two, got knots="):
        Interpolated([0.0, 1.0], [1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="^Interpolated.knots must be finite numbers that rise strictly, got"):
        Interpolated([0.0, 0.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="^Histogram needs one edge more than weights, got edges="):
        Histogram([0.0, 1.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="^Histogram.weights must be nonnegative, and not all zero, got"):
        Histogram([0.0, 1.0, 2.0], [0.0, 0.0])


def test_half_flat_is_flat_on_the_positive_numbers() -> None:
    x = np.array([-1.0, 0.0, 1e-3, 5.0])
    np.testing.assert_array_equal(HalfFlat().logpdf(x), [-math.inf, -math.inf, 0.0, 0.0])
    np.testing.assert_array_equal(Flat(positive).logpdf(x), HalfFlat().logpdf(x))
