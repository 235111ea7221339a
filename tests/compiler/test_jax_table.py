"""Every row of the table of operations under XLA, beside the interpreter: values, gradients, second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special as sp

import probdiff
import probdiff.ops.special  # noqa: F401  (its rows join the table)
from probdiff import gradient, pushforward
from probdiff.compiler.native.scalar import bit_rows
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import rows
from probdiff.ops.incomplete import log_beta_tail, log_gamma_tail
from probdiff.tree import flatten
from tests.ops.domains import domains

pytest.importorskip("jax")

NAMES = [name for name in rows if name not in bit_rows]
GROUP = 10  # rows in one program: XLA spends its time on programs, not on operations
GROUPS = [NAMES[k : k + GROUP] for k in range(0, len(NAMES), GROUP)]


def everything(name: str, args: tuple[Any, ...]) -> Any:
    """Value, gradient and a Hessian-vector product of a row."""
    op = rows[name]
    moving = [i for i in op.smooth if domains[name][i].dtype.kind == "f"]

    def total(*moved: Any) -> Any:
        given = list(args)
        for i, x in zip(moving, moved, strict=True):
            given[i] = x
        return np.sum(apply(op, *given))

    if not moving:
        return (apply(op, *args),)
    xs = [args[i] for i in moving]
    directions = [np.linspace(0.5, 1.5 + k, domains[name][0].size) for k in range(len(xs))]
    products = pushforward(lambda *ys: gradient(total, *ys), *xs)(*directions)
    return apply(op, *args), gradient(total, *xs), products


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: f"{names[0]}…{names[-1]}")
def test_rows(names: list[str]) -> None:
    points = tuple(domains[name] for name in names)

    def f(*all_args: Any) -> Any:
        return tuple(everything(name, args) for name, args in zip(names, all_args, strict=True))

    found = probdiff.compile(f, backend="jax")(*points)
    expected = probdiff.compile(f, backend="numpy")(*points)
    wrong = []
    for name, got, plain in zip(names, found, expected, strict=True):
        assert got[0].dtype == plain[0].dtype, name
        pairs = zip(flatten(got)[0], flatten(plain)[0], strict=True)
        for order, (g, e) in enumerate(pairs):
            # relative to the largest: points next to a zero of a derivative have the error of the terms that cancel
            scale = np.max(np.abs(e)) if e.dtype.kind == "f" else 0.0
            if not np.allclose(g, e, rtol=1e-12, atol=1e-12 * scale):
                wrong.append((name, order, g - e, e))
    assert not wrong, wrong


def test_incomplete_integrals_of_all_shapes() -> None:
    """Beside integrals by Gauss and Legendre's rule: shapes from 0.01 to 10^7."""
    rng = np.random.default_rng(0)
    n = 60
    a, b = 10.0 ** rng.uniform(-2.0, 7.0, (2, n))
    x = np.abs(a * (1.0 + 2.0 * rng.normal(size=n) / np.sqrt(a)))
    p = np.clip(a / (a + b) * (1.0 + rng.normal(size=n) / np.sqrt(a)), 1e-3, 0.999)
    t = -np.abs(rng.normal(size=n) * 3.0)

    def f(a: Any, b: Any, x: Any, p: Any, t: Any) -> Any:
        values = sp.gammainc(a, x), sp.gammaincc(a, x), sp.betainc(a, b, p), sp.betaincc(a, b, p)
        return (*values, sp.stdtr(2.0 * a, t))

    found = probdiff.compile(f, backend="jax")(a, b, x, p, t)
    half, share = np.full(n, 0.5), t * t / (2.0 * a + t * t)
    logs = [log_gamma_tail(0, upper, a, x) for upper in (False, True)]
    logs += [log_beta_tail((0, 0), upper, a, b, p) for upper in (False, True)]
    logs.append(np.log(0.5) + log_beta_tail((0, 0), True, half, a, share))
    for got, log_value in zip(found, logs, strict=True):
        kept = log_value > -600.0
        # an error of a rounding in the exponent, which is up to 600, and of as many in a fraction of 10^4 terms
        np.testing.assert_allclose(got[kept], np.exp(log_value[kept]), rtol=1e-11)


def test_next_to_their_zeros_functions_keep_their_digits() -> None:
    d = np.array([1e-9, -3e-8, 1e-7])
    points = 1.0 + d, 2.0 + d, 0.5 + d  # outside the program, where XLA might take sums of constants together
    values = probdiff.compile(lambda a, b, p: (sp.gammaln(a), sp.gammaln(b), sp.logit(p)), backend="jax")(*points)
    one, two, half = points[0] - 1.0, points[1] - 2.0, points[2] - 0.5
    gamma_1 = np.euler_gamma
    np.testing.assert_allclose(values[0], one * (-gamma_1 + one * np.pi**2 / 12), rtol=1e-12)
    np.testing.assert_allclose(values[1], two * (1.0 - gamma_1 + two * (np.pi**2 / 12 - 0.5)), rtol=1e-12)
    np.testing.assert_allclose(values[2], 4.0 * half, rtol=1e-11)


def test_rows_without_a_rule_are_evaluated_by_scipy() -> None:
    """In a thread of its own, where JAX may have 64 bits off: float64 arrives with all its digits."""
    x = np.random.default_rng(1).uniform(0.1, 5.0, (50, 7))
    compiled = probdiff.compile(lambda x: (sp.j0(x), sp.dawsn(x), sp.kve(0.5, x)), backend="jax")
    for _ in range(20):
        for got, expected in zip(compiled(x), (sp.j0(x), sp.dawsn(x), sp.kve(0.5, x)), strict=True):
            np.testing.assert_array_equal(got, expected)
