"""Every row of the table of operations: values, derivatives in all modes, dtypes, broadcasting, machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import probdiff.ops.special  # noqa: F401  (its rows join the table)
from probdiff import compile as compile_program
from probdiff import gradient, pullback, pushforward
from probdiff.compiler.native.scalar import bit_rows
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise, rows
from tests.ops.domains import domains

NAMES = [name for name in rows if name not in bit_rows]  # the rows on bits are the compiler's own
SMOOTH = [name for name in NAMES if rows[name].smooth]
FLOATING = [name for name in NAMES if all(a.dtype.kind == "f" for a in domains[name])]

# |native - interpreter| / |interpreter| where 1e-12 does not hold, with the reason.
LOOSER = {
    "erfcinv": 1e-11,  # SciPy's float routine and its ufunc loop differ in their last polish step
}
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -2.5, 1e300, -1e300, 1e-310]


def points(name: str) -> tuple[np.ndarray, ...]:
    assert name in domains, f"give the row {name} its points in tests/ops/domains.py"
    return domains[name]


def smooth(name: str) -> list[int]:
    """Positions of the arguments with a derivative."""
    return [i for i in rows[name].smooth if points(name)[i].dtype.kind == "f"]


def call(op: Elementwise, args: tuple[Any, ...], moving: list[int], values: tuple[Any, ...]) -> Any:
    """The row with the arguments numbered by `moving` replaced."""
    full = list(args)
    for i, v in zip(moving, values, strict=True):
        full[i] = v
    return apply(op, *full)


def differences(f: Any, x: np.ndarray) -> np.ndarray:
    """df/dx for an elementwise f: central differences, extrapolated twice, so that h = 1e-2 leaves h ** 6."""
    h = 1e-2 * np.minimum(1.0, 0.5 * np.abs(x))
    d = [(f(x + h / k) - f(x - h / k)) / (2.0 * h / k) for k in (1.0, 2.0, 4.0)]
    once = [(4.0 * d[1] - d[0]) / 3.0, (4.0 * d[2] - d[1]) / 3.0]
    return (16.0 * once[1] - once[0]) / 15.0


def test_every_row_has_points() -> None:
    assert sorted(set(NAMES)) == sorted(domains)
    for name in NAMES:
        assert len(domains[name]) == len(rows[name].partials), name


@pytest.mark.parametrize("name", NAMES)
def test_value_is_that_of_numpy(name: str) -> None:
    op, args = rows[name], points(name)
    plain = (op.ufunc or op.evaluate)(*args)
    for k, a in enumerate(args):
        if a.dtype.kind == "f":
            value, _ = pullback(lambda x, k=k: call(op, args, [k], (x,)), a)
            np.testing.assert_array_equal(value, plain)
            assert value.dtype == plain.dtype


@pytest.mark.parametrize("name", SMOOTH)
def test_first_derivatives(name: str) -> None:
    op, args, moving = rows[name], points(name), smooth(name)
    assert moving
    grads = gradient(lambda *xs: np.sum(call(op, args, moving, xs)), *(args[i] for i in moving))
    for i, g in zip(moving, grads, strict=True):
        forward = pushforward(lambda x, i=i: call(op, args, [i], (x,)), args[i])(np.ones(args[i].shape))
        np.testing.assert_allclose(g, forward, rtol=1e-13, atol=0)
        numeric = differences(lambda x, i=i: call(op, args, [i], (x,)), args[i])
        # 1e-12 of steps h ** 6 and 1e-14 / h of rounding
        np.testing.assert_allclose(g, numeric, rtol=1e-8, atol=1e-9)
        assert g.dtype == np.float64 and g.shape == args[i].shape


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(name: str) -> None:
    op, args, moving = rows[name], points(name), smooth(name)
    xs = tuple(args[i] for i in moving)
    ones = np.ones(5)

    def total(*xs: Any) -> Any:
        return np.sum(call(op, args, moving, xs))

    def slope(i: int) -> Any:
        return lambda *xs: gradient(total, *xs)[i]

    for i in range(len(moving)):
        for j in range(len(moving)):
            dots = [ones if k == j else None for k in range(len(moving))]
            forward_over_reverse = pushforward(slope(i), *xs)(*dots)
            reverse_over_reverse = gradient(lambda *xs, i=i: np.sum(slope(i)(*xs)), *xs)[j]
            only = [ones if k == i else None for k in range(len(moving))]
            reverse_over_forward = gradient(lambda *xs, only=only: np.sum(pushforward(total, *xs)(*only)), *xs)[j]
            np.testing.assert_allclose(reverse_over_reverse, forward_over_reverse, rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(reverse_over_forward, forward_over_reverse, rtol=1e-11, atol=1e-13)

            def moved(x: Any, i: int = i, j: int = j) -> Any:
                return gradient(total, *(x if k == j else v for k, v in enumerate(xs)))[i]

            np.testing.assert_allclose(forward_over_reverse, differences(moved, xs[j]), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in SMOOTH if len(rows[n].partials) > 1])
def test_broadcasting(name: str) -> None:
    """A scalar or a column against a row of points; gradients come back in the shape of their argument."""
    op, args, moving = rows[name], points(name), smooth(name)
    weights = np.arange(1.0, 11.0).reshape(2, 5)
    for i in moving:
        column = args[i][:2].reshape(2, 1)
        shaped = [column if k == i else a for k, a in enumerate(args)]
        (g,) = gradient(lambda x, i=i, s=shaped: np.sum(weights * call(op, tuple(s), [i], (x,))), column)
        wide = np.broadcast_to(column, (2, 5)).copy()
        (expected,) = gradient(lambda x, i=i, s=shaped: np.sum(weights * call(op, tuple(s), [i], (x,))), wide)
        assert g.shape == (2, 1)
        np.testing.assert_allclose(g[:, 0], expected.sum(axis=1), rtol=1e-13)
        number = float(args[i][0])
        (g,) = gradient(lambda x, i=i: np.sum(weights[0] * call(op, args, [i], (x,))), number)
        (expected,) = gradient(lambda x, i=i: np.sum(weights[0] * call(op, args, [i], (x,))), np.full(5, number))
        assert type(g) is float
        np.testing.assert_allclose(g, expected.sum(), rtol=1e-13)


@pytest.mark.parametrize("name", FLOATING)
def test_float32_stays_float32(name: str) -> None:
    op, wide = rows[name], points(name)
    args = tuple(a.astype(np.float32) for a in wide)
    plain = op.evaluate(*args)
    value, back = pullback(lambda *xs: apply(op, *xs), *args)
    assert value.dtype == plain.dtype
    native = compile_program(lambda *xs: apply(op, *xs))(*args)
    assert native.dtype == plain.dtype
    np.testing.assert_allclose(native, plain, rtol=3e-6, atol=1e-7)  # NumPy's own float32 loops round at each step
    if op.smooth:
        precise = gradient(lambda *xs: np.sum(apply(op, *xs)), *(a.astype(float) for a in args))
        for i, (g, g64) in enumerate(zip(back(np.ones(5, plain.dtype)), precise, strict=True)):
            assert g.dtype == np.float32
            if i in op.smooth:
                np.testing.assert_allclose(g, g64, rtol=2e-5, atol=1e-6)


NO_BOOLEANS = ("subtract", "negative", "positive", "sign", "gcd", "lcm")  # NumPy refuses them by name


def takes(name: str, dtype: Any) -> bool:
    """Whether NumPy has a loop for arguments of that dtype."""
    op = rows[name]
    n = len(op.partials)
    if name == "polygamma" or dtype is bool and name in NO_BOOLEANS:  # polygamma: its order counts as an integer
        return False
    if op.ufunc is None:
        return True
    codes = np.dtype(dtype).char * n
    return any(
        all(np.can_cast(c, t) for c, t in zip(codes, loop.split("->")[0], strict=True)) for loop in op.ufunc.types
    )


@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n in NAMES for d in (np.int64, np.int32, np.uint8, bool) if takes(n, d)]
)
def test_integer_arguments(name: str, dtype: Any) -> None:
    """Integers and booleans: NumPy's dtype and value in machine code, no gradient."""
    op = rows[name]
    count = len(op.partials)
    args = [
        np.array([1, 2, 3, 5, 4, 0], dtype),
        np.array([2, 1, 3, 2, 7, 1], dtype),
        np.array([1, 1, 0, 1, 0, 2], dtype),
    ]
    args = args[:count]
    with np.errstate(all="ignore"):
        plain = op.evaluate(*args)
    native = compile_program(lambda *xs: apply(op, *xs))(*args)
    assert native.dtype == plain.dtype
    rtol = 0.0 if plain.dtype.kind != "f" else {2: 2e-3, 4: 3e-6, 8: 1e-12}[plain.dtype.itemsize]
    np.testing.assert_allclose(native, plain, rtol=rtol)


@pytest.mark.parametrize("name", NAMES)
def test_native_is_the_interpreter(name: str) -> None:
    """Values at points and edges, gradients and Hessian-vector products at points."""
    op, inside, moving = rows[name], points(name), smooth(name) if rows[name].smooth else []
    edges = edge_arguments(name)
    args = tuple(np.concatenate([a, e]).astype(a.dtype) for a, e in zip(inside, edges, strict=True))
    n = args[0].size
    direction = np.linspace(0.5, 1.5, n)

    def everything(*xs: Any) -> Any:
        def total(*ys: Any) -> Any:
            return np.sum(call(op, xs, moving, ys))

        value = apply(op, *xs)
        if not moving:
            return (value,)
        picked = tuple(xs[i] for i in moving)
        grads = gradient(total, *picked)
        products = pushforward(lambda *ys: gradient(total, *ys), *picked)(*(direction for _ in picked))
        return value, grads, products

    native = compile_program(everything)(*args)
    plain = compile_program(everything, backend="numpy")(*args)
    assert len(native) == len(plain)
    assert native[0].dtype == plain[0].dtype
    rtol = LOOSER.get(name, 1e-12)
    np.testing.assert_allclose(native[0][:5], plain[0][:5], rtol=rtol, atol=0)
    for got, expected in zip(native[1:], plain[1:], strict=True):
        for g, e in zip(got, expected, strict=True):
            # a derivative is a formula of a few rounded terms
            np.testing.assert_allclose(g[:5], e[:5], rtol=10 * rtol, atol=1e-13)
    assert_same_edges(name, args, native[0], plain[0])


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_at_edges(name: str) -> None:
    """Where a derivative is infinite, undefined or a limit, machine code gives what NumPy gives."""
    op, moving = rows[name], smooth(name)
    grid = edge_arguments(name)
    usual = np.all([(a == 0) | ~np.isfinite(a) | (np.abs(a) > 1e-300) & (np.abs(a) < 1e300) for a in grid], axis=0)
    args = tuple(e[usual].astype(a.dtype) for e, a in zip(grid, points(name), strict=True))

    def slopes(*xs: Any) -> Any:
        return gradient(lambda *ys: np.sum(call(op, xs, moving, ys)), *(xs[i] for i in moving))

    native = compile_program(slopes)(*args)
    with np.errstate(all="ignore"):
        plain = slopes(*args)
    for g, e in zip(native, plain, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-11, atol=0)


def edge_arguments(name: str) -> tuple[np.ndarray, ...]:
    """All pairs of edge values for rows of floats, the extremes for rows of integers."""
    inside = points(name)
    kinds = [a.dtype.kind for a in inside]
    pools: list[Any] = []
    for a in inside:
        if a.dtype.kind == "f":
            pools.append(EDGES)
        elif a.dtype.kind == "b":
            pools.append([True, False])
        else:
            pools.append([0, 1, 2, 5])
    if len(kinds) == 3 and kinds[0] == "f":
        pools = [[0.0, np.inf, np.nan, -1.0, 0.5], [0.0, np.inf, np.nan, -1.0, 2.0], [0.0, 1.0, np.inf, np.nan, -1.0]]
    grid = np.meshgrid(*pools, indexing="ij")
    return tuple(g.ravel() for g in grid)


# Edges where machine code may differ from NumPy, by row.
EXCEPTIONS: dict[str, Any] = {
    # the argument reduction of vectormath ends at 2 ** 45: NaN rather than a number without a correct digit
    "sin": lambda x, native: (np.abs(x) > 2.0**45) & np.isnan(native),
    "cos": lambda x, native: (np.abs(x) > 2.0**45) & np.isnan(native),
    "tan": lambda x, native: (np.abs(x) > 2.0**45) & np.isnan(native),
    # odd functions keep the sign of a zero; SciPy loses it
    "erfinv": lambda x, native: (x == 0) & (native == 0) & (np.signbit(native) == np.signbit(x)),
    "i1e": lambda x, native: (x == 0) & (native == 0) & (np.signbit(native) == np.signbit(x)),
    # at subnormal shapes SciPy gives 0 for P(a, x), whose limit is 1, and inverses likewise; at a = -0 others than at 0
    "gammainc": lambda a, x, native: (abs(a) < TINY) & (native == 1.0) | (x < TINY) & (abs(native - x) < 1e-12 * x),
    "gammaincc": lambda a, x, native: (abs(a) < TINY) & (0.0 < native) & (native < TINY),
    "gammaincinv": lambda a, p, native: abs(a) < TINY,
    "gammainccinv": lambda a, q, native: abs(a) < TINY,
    # SciPy squares t, and gives 0 where that overflows
    "stdtr": lambda v, t, native: (t < -1e154) & (0.0 < native) & (native < 1e-150),
}
TINY = float(np.finfo(float).tiny)


def assert_same_edges(name: str, args: tuple[Any, ...], native: np.ndarray, plain: np.ndarray) -> None:
    if plain.dtype.kind != "f":
        np.testing.assert_array_equal(native, plain)
        return
    same = (native == plain) | (np.isnan(native) & np.isnan(plain))
    with np.errstate(all="ignore"):  # differences of infinities
        close = np.abs(native - plain) <= 1e-11 * np.abs(plain) + 1e-320
    signs = (np.signbit(native) == np.signbit(plain)) | np.isnan(plain)
    bad = ~(same | close) | ~signs
    if name in EXCEPTIONS:
        bad &= ~EXCEPTIONS[name](*args, native)
    report = [(*(a[k] for a in args), "native", native[k], "NumPy", plain[k]) for k in np.flatnonzero(bad)]
    assert not report, f"{len(report)} of {bad.size}: {report[:12]}"
