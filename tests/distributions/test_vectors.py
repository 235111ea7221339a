"""Categorical and multivariate normal: families whose parameters are vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import Categorical, MvNormal
from tests.distributions.battery import EXTREME

ROWS = [(name, i) for name in ("Categorical", "CategoricalLogit", "MvNormalCholesky") for i in range(len(EXTREME[name]["points"]))]
FIELDS: dict[str, tuple[Any, dict[str, str]]] = {
    "Categorical": (Categorical, {"p": "p"}),
    "CategoricalLogit": (Categorical, {"logits": "logits"}),
    "MvNormalCholesky": (MvNormal, {"mu": "loc", "L": "scale_tril"}),
}


def row_of(name: str, i: int) -> tuple[Any, dict[str, Any], Any, dict[str, Any]]:
    family, names = FIELDS[name]
    row = EXTREME[name]["points"][i]
    parameters = {names[k]: np.array(v, dtype=float) for k, v in row["params"].items()}
    return family, parameters, np.array(row["x"], dtype=float) if name[0] == "M" else row["x"], row


@pytest.mark.parametrize(("name", "i"), ROWS)
def test_log_density(name: str, i: int) -> None:
    """mpmath's values; an ill-conditioned factor (condition 1e6) costs its digits."""
    family, parameters, x, row = row_of(name, i)
    assert family(**parameters).logpdf(x) == pytest.approx(float(row["logpdf"]), rel=1e-12)


@pytest.mark.parametrize(("name", "i"), ROWS)
def test_slopes(name: str, i: int) -> None:
    family, parameters, x, row = row_of(name, i)
    bars = gradient(lambda *values: family(**dict(zip(parameters, values, strict=True))).logpdf(x), *parameters.values())
    for bar, expected in zip(bars, row["dlogpdf_dparams"].values(), strict=True):
        scale = np.max(abs(np.array(expected, dtype=float)))
        np.testing.assert_allclose(bar, np.array(expected, dtype=float), rtol=1e-9, atol=1e-9 * scale)


def test_categorical_in_batches() -> None:
    d = Categorical([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    assert d.batch_shape == (2,)
    np.testing.assert_allclose(d.pdf(np.array([[0, 0], [2, 1], [3, -1]])), [[0.2, 1.0], [0.5, 0.0], [0.0, 0.0]], rtol=1e-15)
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
