"""Every row of the table of operations under XLA, beside the interpreter: values, gradients, second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special as sp

import probdiff
import probdiff.ops.special  # noqa: F401  (its rows join the table)
from probdiff import gradient, pushforward, to_jax
from probdiff.compiler.formulas import formula, recorded
from probdiff.compiler.native.scalar import bit_rows
from probdiff.graph.program import Program
from probdiff.ops.control import QUADRATURE, SCAN, WHILE
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise, rows
from probdiff.ops.incomplete_rows import beta_tail, gamma_tail
from probdiff.tree import flatten
from tests.ops.domains import domains

jax = pytest.importorskip("jax")


def has_loops(program: Program) -> bool:
    """Whether it has a loop, in branches and calls too."""
    bodies = [p for node in program.nodes for p in node.params.values() if isinstance(p, Program)]
    return any(node.op in (WHILE, SCAN, QUADRATURE) for node in program.nodes) or any(map(has_loops, bodies))


# XLA takes seconds to compile a formula with loops: all are lowered, and `test_formulas` compiles some.
LONG = [name for name in rows if formula(name) is not None and has_loops(recorded(name))]
NAMES = [name for name in rows if name not in bit_rows and name not in LONG]
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


@pytest.mark.parametrize("name", LONG)
def test_long_rows_are_lowered(name: str) -> None:
    """Value and gradient of a formula with loops have nothing that XLA lacks, and run nothing on the host."""
    from probdiff.compiler.xla.library import double
    from probdiff.compiler.xla.lower import called

    def f(*args: Any) -> Any:
        return apply(rows[name], *args), gradient(lambda *xs: np.sum(apply(rows[name], *xs)), *args)

    with double():
        lowered = str(jax.make_jaxpr(lambda *args: called(f, args))(*domains[name]))
    assert "while[" in lowered and "callback" not in lowered


def test_rows_on_the_host() -> None:
    """A row without a formula, of an array of conditions too, under jit and vmap, in both precisions."""
    op = Elementwise(
        "weighted",
        lambda c, x, y: np.where(c & (x > 0.0), x * x, y),
        (None, lambda c, x, y, z: np.where(c, 2.0 * x, 0.0), None),
    )
    c, x, y = np.array([True, False, True]), np.array([0.1, 0.2, 3.0]), np.array([5.0, 1.0 / 3.0, 7.0])
    found = probdiff.compile(
        lambda c, x, y: (apply(op, c, x, y), gradient(lambda x: np.sum(apply(op, c, x, y)), x)[0]), backend="jax"
    )(c, x, y)
    np.testing.assert_array_equal(found[0], [0.1 * 0.1, 1.0 / 3.0, 9.0])
    np.testing.assert_array_equal(found[1], [0.2, 0.0, 6.0])
    f = jax.vmap(to_jax(lambda c, x: apply(op, c, x, 1.0 / 3.0)), in_axes=(0, None))
    single = jax.jit(f)(c, np.float32(0.1))
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, np.where(c, np.float32(0.1) ** 2, np.float32(1.0 / 3.0)))


@pytest.mark.parametrize("name", ["stdtr", "gammainccinv", "betaincinv", "log_gammainc", "log_betaincc", "kve", "ive"])
def test_formulas(name: str) -> None:
    """The same formula in machine code and under XLA, for shapes from 0.01 to 10^4."""
    rng = np.random.default_rng(0)
    a, b, x = 10.0 ** rng.uniform([[-2.0], [-2.0], [-3.0]], [[4.0], [4.0], [3.0]], (3, 200))
    p = rng.uniform(size=200)
    last = p if name.startswith(("beta", "gammainccinv", "log_beta")) else x
    args = (*(a, b)[: len(rows[name].partials) - 1], last)
    found = probdiff.compile(lambda *xs: apply(rows[name], *xs), backend="jax")(*args)
    expected = probdiff.compile(lambda *xs: apply(rows[name], *xs))(*args)
    normal = abs(expected) > 1e-290  # XLA takes smaller ones as zero
    np.testing.assert_allclose(found[normal], expected[normal], rtol=1e-11)


def test_derivatives_that_are_formulas() -> None:
    a, x = np.array([0.3, 0.8, 2.0, 30.0]), np.array([0.2, 3.0, 1.5, 28.0])

    def f(a: Any, x: Any) -> Any:
        return np.sum(sp.gammainc(a, x) + apply(gamma_tail(2, True), a, x))

    found, expected = (probdiff.compile(lambda a, x: gradient(f, a, x), backend=k)(a, x) for k in ("jax", "numpy"))
    for got, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, plain, rtol=1e-12)
    p = np.array([0.3, 0.9, 0.01, 0.5])
    slope = probdiff.compile(lambda a, p: apply(beta_tail((1, 1), False), a, 2.0, p), backend="jax")(a, p)
    np.testing.assert_allclose(slope, beta_tail((1, 1), False).evaluate(a, 2.0, p), rtol=1e-11)


def test_next_to_their_zeros_functions_keep_their_digits() -> None:
    d = np.array([1e-9, -3e-8, 1e-7])
    points = 1.0 + d, 2.0 + d, 0.5 + d  # outside the program, where XLA might take sums of constants together
    values = probdiff.compile(lambda a, b, p: (sp.gammaln(a), sp.gammaln(b), sp.logit(p)), backend="jax")(*points)
    one, two, half = points[0] - 1.0, points[1] - 2.0, points[2] - 0.5
    gamma_1 = np.euler_gamma
    np.testing.assert_allclose(values[0], one * (-gamma_1 + one * np.pi**2 / 12), rtol=1e-12)
    np.testing.assert_allclose(values[1], two * (1.0 - gamma_1 + two * (np.pi**2 / 12 - 0.5)), rtol=1e-12)
    np.testing.assert_allclose(values[2], 4.0 * half, rtol=1e-11)
