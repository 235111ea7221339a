"""Conditions that are the same in all rows: both outcomes are right, and each loop computes one side only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import broadcast, compile, fwddiff, gradient, value_and_grad
from probdiff.compiler.native.kernel import elementwise_kernel
from probdiff.compiler.native.unswitch import worth_deciding
from probdiff.distributions import Gamma, StudentT, logpdf
from probdiff.graph.trace import capture
from probdiff.tree import flatten

X = np.random.default_rng(3).gamma(3.0, size=20_000)


def sides(c: Any, d: Any, x: Any) -> Any:
    """A selection within a selection, on numbers, of values that are not worth computing twice."""
    inner = np.where(d < 0.0, np.exp(np.sin(x) * d), np.log1p(x * x))
    return np.where(c < 0.0, np.tanh(np.cos(x) + c) * np.exp(-x), inner * c)


@pytest.mark.parametrize("c", [-1.0, 2.0])
@pytest.mark.parametrize("d", [-1.0, 2.0])
def test_all_outcomes_of_two_conditions(c: float, d: float) -> None:
    total = compile(value_and_grad(lambda c, d, x: np.sum(sides(c, d, x)), argnums=(0, 1, 2)))
    value, (c_bar, d_bar, x_bar) = total(c, d, X)
    np.testing.assert_allclose(value, np.sum(sides(c, d, X)), rtol=1e-13)
    expected = gradient(lambda c, d, x: np.sum(sides(c, d, x)), c, d, X)
    np.testing.assert_allclose([c_bar, d_bar], expected[:2], rtol=1e-12)
    np.testing.assert_allclose(x_bar, expected[2], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shape", [3.0, 300.0])
def test_the_gradient_of_a_density_with_two_forms(shape: float) -> None:
    total = compile(value_and_grad(lambda a, s, x: np.sum(Gamma(a, s).logpdf(x)), argnums=(0, 1, 2)))
    value, bars = total(shape, 2.0, X)
    np.testing.assert_allclose(value, np.sum(Gamma(shape, 2.0).logpdf(X)), rtol=1e-13)
    for found, expected in zip(
        bars, gradient(lambda a, s, x: np.sum(Gamma(a, s).logpdf(x)), shape, 2.0, X), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_a_constant_array_as_condition() -> None:
    mask = X > 1.0
    f = compile(lambda a, x: np.where(mask, a * np.exp(x), np.log(x)))
    np.testing.assert_allclose(f(2.0, X), np.where(mask, 2.0 * np.exp(X), np.log(X)), rtol=1e-14)


def test_constants_among_the_results() -> None:
    f = compile(
        lambda a, x: (np.sum(X), np.sum(np.where(a > 0, np.exp(-x) * np.sin(x), np.log(x))), np.where(a > 0, x, X))
    )
    total, selected, same = f(-1.0, X + 1)
    np.testing.assert_allclose([total, selected], [np.sum(X), np.sum(np.log(X + 1))], rtol=1e-13)
    np.testing.assert_array_equal(same, X)


def program(f: Any, n: int) -> Any:
    return capture(f, flatten((0.0,) * n)[1], [((), np.dtype(float))] * n, list(range(n))).program


def test_what_is_worth_deciding() -> None:
    recorded = program(sides, 3)
    c, d = recorded.inputs[:2]
    fixed = {n for n in recorded.nodes if set(n.args) <= {c, d, 0.0}}
    found = worth_deciding(recorded.nodes, recorded.outputs, fixed.__contains__)
    assert [n.op.name for n in found] == ["less", "less"]
    assert found[0].args[0] is c  # it spares more
    cheap = program(lambda c, x: np.where(c < 0.0, x, -x), 2)
    less = cheap.nodes[0]
    assert worth_deciding(cheap.nodes, cheap.outputs, {less}.__contains__) == []
    assert worth_deciding(recorded.nodes, recorded.outputs, lambda n: False) == []


@pytest.mark.parametrize("c", [-1.0, 2.0])
def test_kernels_with_single_numbers(c: float) -> None:
    recorded = program(sides, 3)
    for x in (X, X[::3], X[:1], X[:0]):
        found = elementwise_kernel(recorded, (True, True, False))(c, 0.5, x)[0]
        np.testing.assert_allclose(found, sides(c, 0.5, x), rtol=1e-13)


def test_a_broadcast_over_long_data_has_the_gradient_of_short_ones() -> None:
    def total(df: Any, x: Any) -> Any:
        return np.sum(broadcast(fwddiff(logpdf))(StudentT(df, 0.5, 2.0), x))

    for df in (4.0, 1e6):
        df_bar, x_bar = gradient(total, df, X)
        pieces = [gradient(total, df, X[k : k + 1000]) for k in range(0, len(X), 1000)]
        np.testing.assert_allclose(df_bar, sum(p[0] for p in pieces), rtol=1e-11)
        np.testing.assert_allclose(x_bar, np.concatenate([p[1] for p in pieces]), rtol=1e-13)
