"""Categorical and multivariate normal: families whose parameters are vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import Categorical, MvNormal
from tests.distributions.case import EXTREME

FIELDS: dict[str, tuple[Any, dict[str, str]]] = {
    "Categorical": (Categorical, {"p": "p"}),
    "CategoricalLogit": (Categorical, {"logits": "logits"}),
    "MvNormalCholesky": (MvNormal, {"mu": "loc", "L": "scale_tril"}),
}
ROWS = [(name, i) for name in FIELDS for i in range(len(EXTREME[name]["points"]))]


def row_of(name: str, i: int) -> tuple[Any, dict[str, Any], Any, dict[str, Any]]:
    family, names = FIELDS[name]
    row = EXTREME[name]["points"][i]
    parameters = {names[k]: np.array(v, dtype=float) for k, v in row["params"].items()}
    return family, parameters, np.array(row["x"], dtype=float) if name[0] == "M" else row["x"], row


@pytest.mark.parametrize(("name", "i"), ROWS)
def test_log_density(name: str, i: int) -> None:
    """mpmath's values; logits of a million have an ulp of 1e-10, an ill-conditioned factor costs its digits."""
    family, parameters, x, row = row_of(name, i)
    size = max(np.max(abs(v)) for v in parameters.values())
    assert family(**parameters).logpdf(x) == pytest.approx(float(row["logpdf"]), rel=1e-12, abs=1e-15 + 2.2e-16 * size)


@pytest.mark.parametrize(("name", "i"), ROWS)
def test_slopes(name: str, i: int) -> None:
    family, parameters, x, row = row_of(name, i)

    def logpdf(*values: Any) -> Any:
        return family(**dict(zip(parameters, values, strict=True))).logpdf(x)

    bars = gradient(logpdf, *parameters.values())
    for bar, expected in zip(bars, row["dlogpdf_dparams"].values(), strict=True):
        # 1 - p of a softmax is good to a rounding of one; large slopes beside small ones, to a rounding of the large.
        atol = 1e-15 + 1e-9 * np.max(abs(np.array(expected, dtype=float))) * (name[0] == "M")
        np.testing.assert_allclose(bar, np.array(expected, dtype=float), rtol=1e-9, atol=atol)


def test_categorical_in_batches() -> None:
    d = Categorical([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    assert d.batch_shape == (2,)
    masses = d.pdf(np.array([[0, 0], [2, 1], [3, -1]]))
    np.testing.assert_allclose(masses, [[0.2, 1.0], [0.5, 0.0], [0.0, 0.0]], rtol=1e-15)
    np.testing.assert_allclose(d.mean(), [1.3, 0.0], rtol=1e-15)
    np.testing.assert_allclose(d.cdf(1.5), [0.5, 1.0], rtol=1e-15)
    np.testing.assert_array_equal(d.mode(), [2.0, 0.0])
    drawn = d.rand(20000, rng=np.random.default_rng(3))
    # Five standard deviations of a frequency.
    np.testing.assert_allclose(np.mean(drawn[:, 0] == 2), 0.5, atol=5 * math.sqrt(0.25 / 20000))
    np.testing.assert_array_equal(drawn[:, 1], 0)
    assert Categorical([0.2, 0.8]).quantile(0.5) == 1.0


def test_categorical_outside() -> None:
    np.testing.assert_array_equal(Categorical([0.2, 0.8]).logpdf([-1.0, 0.5, 2.0, math.nan, math.inf]), -math.inf)
    np.testing.assert_array_equal(Categorical(logits=[0.2, 0.8]).logpdf(np.array([2, 255], np.uint8)), -math.inf)


def test_multivariate_normal() -> None:
    factor = np.array([[2.0, 0.0], [1.0, 2.0]])
    d = MvNormal([1.0, -1.0], factor)
    np.testing.assert_allclose(d.cov(), factor @ factor.T, rtol=1e-15)
    np.testing.assert_allclose(d.var(), [4.0, 5.0], rtol=1e-15)
    assert d.entropy() == pytest.approx(0.5 * math.log(np.linalg.det(2 * math.pi * math.e * d.cov())), rel=1e-14)
    drawn = d.rand(20000, rng=np.random.default_rng(4))
    # Five standard deviations of a mean, and of a (co)variance of about 5.
    np.testing.assert_allclose(np.mean(drawn, axis=0), [1.0, -1.0], atol=5 * math.sqrt(5 / 20000))
    np.testing.assert_allclose(np.cov(drawn.T), d.cov(), atol=5 * 5 * math.sqrt(2 / 20000))
    x = np.array([[0.7, 0.9], [1.0, -1.0], [math.inf, 0.0]])
    residual = (x[:2] - [1.0, -1.0]) @ np.linalg.inv(factor).T
    expected = -0.5 * np.sum(residual**2, axis=1) - math.log(4.0) - math.log(2 * math.pi)
    np.testing.assert_allclose(d.logpdf(x), [*expected, -math.inf], rtol=1e-14)
