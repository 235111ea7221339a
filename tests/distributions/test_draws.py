"""Draws by inversion: the laws they follow to rounding, and the same numbers however many are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from probdiff.distributions import Binomial, Gumbel, Laplace, Logistic, NegativeBinomial, Normal, Poisson
from probdiff.distributions.inversion import LEAST, by_inversion

MANY = 10_000
LAWS = [
    (Poisson(0.0), stats.poisson(0.0)),
    (Poisson(4.0), stats.poisson(4.0)),
    (Poisson(68.0), stats.poisson(68.0)),
    (Binomial(20, 0.3), stats.binom(20, 0.3)),
    (Binomial(3, 1.0), stats.binom(3, 1.0)),
    (Binomial(0, 1.0), stats.binom(0, 1.0)),
    (Binomial(10**9, 1e-9), stats.binom(10**9, 1e-9)),
    (Binomial(60, logits=0.5), stats.binom(60, 1 / (1 + np.exp(-0.5)))),
    (NegativeBinomial(5.0, 0.4), stats.nbinom(5.0, 0.4)),
    (NegativeBinomial(17.0, 0.1), stats.nbinom(17.0, 0.1)),
    (NegativeBinomial(0.3, 1.0), stats.nbinom(0.3, 1.0)),
]


class Given:
    """A generator whose uniform draws are known."""

    def __init__(self, u: Any) -> None:
        self.u = np.asarray(u)

    def random(self, shape: tuple[int, ...]) -> Any:
        assert shape == self.u.shape
        return self.u


@pytest.mark.parametrize(("d", "law"), LAWS, ids=lambda v: repr(v) if isinstance(v, (Poisson, Binomial)) else None)
def test_a_draw_is_the_quantile_of_its_uniform(d: Any, law: Any) -> None:
    u = np.random.default_rng(5).random(MANY)
    k = d.rand(MANY, rng=np.random.default_rng(5))
    assert k.dtype == np.int64
    rounding = 1e-13  # of SciPy's distribution function
    assert np.all(law.cdf(k) >= u - rounding)
    assert np.all(law.cdf(k - 1) <= u + rounding)


@pytest.mark.parametrize("d", [d for d, _ in LAWS], ids=repr)
def test_the_same_numbers_however_many(d: Any) -> None:
    many = d.rand(MANY, rng=np.random.default_rng(6))
    assert d.rand(rng=np.random.default_rng(6)) == many[0]
    np.testing.assert_array_equal(d.rand((2, 5), rng=np.random.default_rng(6)).ravel(), many[:10])
    rng = np.random.default_rng(6)
    assert [d.rand(rng=rng) for _ in range(200)] == many[:200].tolist()


@pytest.mark.parametrize("u", [0.0, np.nextafter(1.0, 0.0)])
def test_extreme_uniforms(u: float) -> None:
    def ratio(k: Any) -> Any:
        return (20 + 1 - k) / k * (0.3 / 0.7)

    one = by_inversion(0.7**20, ratio, (), Given(u))  # type: ignore[arg-type]
    many = by_inversion(0.7**20, ratio, (5000,), Given(np.full(5000, u)))  # type: ignore[arg-type]
    assert np.all(many == one)
    assert 0 <= one <= 20
    # The masses add up to one: the largest uniform is within rounding of the end, some steps from it.
    assert stats.binom(20, 0.3).cdf(one) >= u - 1e-15


def test_no_table_where_it_would_be_long() -> None:
    def never(k: Any) -> Any:
        raise AssertionError

    assert by_inversion(0.5 * LEAST, never, (3,), np.random.default_rng(0)) is None
    assert by_inversion(np.nan, never, (3,), np.random.default_rng(0)) is None
    k = NegativeBinomial(2.0, 1e-9).rand(1000, rng=np.random.default_rng(0))
    assert 1e9 < np.mean(k) < 3e9


@pytest.mark.parametrize(
    ("d", "law"),
    [
        (Laplace(0.5, 2.0), stats.laplace(0.5, 2.0)),
        (Logistic(0.5, 2.0), stats.logistic(0.5, 2.0)),
        (Gumbel(0.5, 2.0), stats.gumbel_r(0.5, 2.0)),
    ],
)
def test_continuous_inversion(d: Any, law: Any) -> None:
    x = d.rand(MANY, rng=np.random.default_rng(7))
    np.testing.assert_allclose(law.cdf(x), np.random.default_rng(7).random(MANY), rtol=1e-12)
    least = d.draw((1,), Given([0.0]))
    assert np.isfinite(least).all()


def test_parameters_are_not_overwritten() -> None:
    loc, scale = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    Normal(loc, scale).rand(5, rng=np.random.default_rng(0))
    np.testing.assert_array_equal([loc, scale], [[1.0, 2.0], [3.0, 4.0]])
