"""Products, Cholesky factors and triangular systems by pointer, for every way in which a matrix can lie in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from probdiff import compile
from probdiff.compiler.native import blas, jit
from probdiff.linalg import solve_triangular

RNG = np.random.default_rng(53)
SIZES = (1, 2, 7, 64)
TABLE = RNG.normal(size=(40, 40))
CUBE = RNG.normal(size=(30, 30, 2))


def native(f: Callable[..., Any], *args: Any) -> tuple[np.ndarray, list[str]]:
    """The result of machine code, and the kinds of its steps."""
    compiled = compile(f)
    return compiled(*args), [type(step).__name__ for step in compiled._last.run.layout.plan.steps]


def laid(a: np.ndarray, how: str) -> np.ndarray:
    """The same matrix in C order, in Fortran's order, with gaps between its rows, or with gaps everywhere."""
    if how == "C":
        return np.ascontiguousarray(a)
    if how == "F":
        return np.asfortranarray(a)
    wide = np.zeros((2 * a.shape[0], (2 if how == "gaps" else 1) * a.shape[1] + 3))
    view = wide[::2, : 2 * a.shape[1] : 2] if how == "gaps" else wide[::2, : a.shape[1]]
    view[...] = a
    return view


LAYOUTS = ("C", "F", "rows apart", "gaps")
TURNS: dict[str, Callable[[Any, Any], Any]] = {
    "nn": lambda x, y: x @ y,
    "tn": lambda x, y: x.T @ y,
    "nt": lambda x, y: x @ y.T,
    "tt": lambda x, y: x.T @ y.T,
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("n", SIZES)
def test_products(turn: str, n: int) -> None:
    for inner, m in itertools.product(SIZES, (1, 3, 64)):
        x, y = RNG.normal(size=(n, inner)), RNG.normal(size=(inner, m))
        given = (x.T.copy() if turn[0] == "t" else x), (y.T.copy() if turn[1] == "t" else y)
        found, steps = native(TURNS[turn], *given)
        np.testing.assert_allclose(found, x @ y, rtol=1e-12, atol=1e-12)
        assert found.flags.c_contiguous
        assert steps == ["Routine"] or 1 in (n, m)  # a vector makes a loop, which fuses with others


@pytest.mark.parametrize("how", list(itertools.product(LAYOUTS, LAYOUTS)), ids="-".join)
def test_products_of_matrices_that_lie_otherwise(how: tuple[str, str]) -> None:
    x, y = RNG.normal(size=(6, 9)), RNG.normal(size=(9, 5))
    a, b = laid(x, how[0]), laid(y, how[1])
    np.testing.assert_allclose(native(lambda a, b: a @ b, a, b)[0], x @ y, rtol=1e-13, atol=1e-13)
    found, _ = native(lambda x: x @ b, x)  # a constant, read where it lies
    np.testing.assert_allclose(found, x @ y, rtol=1e-13, atol=1e-13)
    found, _ = native(lambda y: a @ y, y)
    np.testing.assert_allclose(found, x @ y, rtol=1e-13, atol=1e-13)
    found, _ = native(lambda c: c @ b.T, RNG.normal(size=(4, 5)))
    assert found.shape == (4, 9)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "every other row": lambda x: x[::2, :20] @ x[1:21, 3:30],
    "every other column": lambda x: x[:, ::2] @ x[:20, 3:30],
    "from the end": lambda x: x[::-1] @ x,
    "a block, turned": lambda x: x[3:20, 5:9].T @ x[3:20, 9:30],
    "itself": lambda x: x @ x,
    "itself, turned": lambda x: x.T @ x,
    "three in a row": lambda x: x @ x[:, :5] @ x[:5],
    "one row": lambda x: x[2:3] @ x,
    "one column": lambda x: x @ x[:, 2:3],
}


@pytest.mark.parametrize("name", VIEWS)
def test_products_of_views(name: str) -> None:
    np.testing.assert_allclose(native(VIEWS[name], TABLE)[0], VIEWS[name](TABLE), rtol=1e-11, atol=1e-11)


def test_products_beside_blas() -> None:
    """Shapes and dtypes that no routine takes."""
    for f, args in (
        (lambda x: x[:, :, 0] @ x[:, :, 1], (CUBE,)),
        (lambda x, y: x @ y, (np.zeros((3, 0)), np.zeros((0, 4)))),
        (lambda x, y: x @ y, (np.zeros((0, 3)), np.zeros((3, 4)))),
        (lambda x, y: x @ y, (np.arange(15).reshape(3, 5), np.arange(20).reshape(5, 4))),
        (lambda x, y: x @ y, (np.arange(15).reshape(3, 5), np.arange(20.0).reshape(5, 4))),
        (lambda x, y: x @ y, (np.ones((3, 5), np.float32), np.ones((5, 4), np.float32))),
        (lambda x, y: x @ y, (RNG.normal(size=(2, 3, 5)), RNG.normal(size=(2, 5, 4)))),
    ):
        found, _ = native(f, *args)
        wanted = f(*args)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_constant_that_changes() -> None:
    """A constant is read at every call, in whatever order it lies."""
    for how in LAYOUTS:
        b = laid(RNG.normal(size=(9, 5)), how)
        f = compile(lambda x, b=b: x @ b)
        x = RNG.normal(size=(6, 9))
        f(x)
        b[...] = RNG.normal(size=(9, 5))
        np.testing.assert_allclose(f(x), x @ b, rtol=1e-13, atol=1e-13)


def positive_definite(n: int) -> np.ndarray:
    m = RNG.normal(size=(n, n))
    return m @ m.T + n * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("how", LAYOUTS)
def test_cholesky(n: int, how: str) -> None:
    s = positive_definite(n)
    wanted = np.linalg.cholesky(s)
    found, steps = native(np.linalg.cholesky, laid(s, how))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    assert steps == ["Routine"] or how == "gaps"
    turned, _ = native(lambda a: np.linalg.cholesky(a.T), laid(s, how))
    np.testing.assert_allclose(turned, wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(np.triu(found, 1), 0.0)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_not_positive_definite_gives_nan(n: int) -> None:
    s = positive_definite(n)
    last = s.copy()
    last[-1, -1] = -1.0
    for bad in (-s, last):
        assert np.isnan(native(np.linalg.cholesky, bad)[0]).all()
    assert np.isnan(native(np.linalg.cholesky, s * np.nan)[0][np.tril_indices(n)]).all()
    np.testing.assert_allclose(native(np.linalg.cholesky, s)[0], np.linalg.cholesky(s), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_triangular_systems(n: int, lower: bool, transpose: bool) -> None:
    full = RNG.normal(size=(n, n)) + n * np.eye(n)  # the other triangle is not read
    triangle = np.tril(full) if lower else np.triu(full)
    for columns in (None, 1, 3, 64):
        b = RNG.normal(size=(n,) if columns is None else (n, columns))
        wanted = scipy.linalg.solve(triangle.T if transpose else triangle, b)
        for how in LAYOUTS:
            for f, a in (
                (lambda a, b: solve_triangular(a, b, lower=lower, transpose=transpose), laid(full, how)),
                (lambda a, b: solve_triangular(a.T, b, lower=lower, transpose=transpose), laid(full.T, how)),
            ):
                np.testing.assert_allclose(native(f, a, b)[0], wanted, rtol=1e-10, atol=1e-12)


def test_right_hand_sides_that_are_views() -> None:
    a = np.tril(RNG.normal(size=(7, 7))) + 7.0 * np.eye(7)
    b = RNG.normal(size=(3, 7))
    found, _ = native(lambda a, b: solve_triangular(a, b.T), a, b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b.T), rtol=1e-12)
    found, _ = native(lambda a, b: solve_triangular(a, np.broadcast_to(b[0][:, None], (7, 4))), a, b)
    np.testing.assert_allclose(found, np.tile(np.linalg.solve(a, b[0])[:, None], 4), rtol=1e-12)
    found, _ = native(lambda a, b: solve_triangular(a, b[::-1, ::-1].T), a, b)
    np.testing.assert_allclose(found, np.linalg.solve(a, b[::-1, ::-1].T), rtol=1e-12)


def test_a_zero_on_the_diagonal() -> None:
    a = np.array([[1.0, 0.0], [1.0, 0.0]])
    found, _ = native(lambda a, b: solve_triangular(a, b), a, np.ones((2, 2)) * 2.0)
    assert np.isnan(found).all()


@pytest.mark.parametrize("bundled", [True, False])
def test_a_routine_is_the_same_from_either_place(bundled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In SciPy's own OpenBLAS, or where it links another BLAS: through scipy.linalg, which takes long to import."""
    if not bundled:
        monkeypatch.setattr(blas, "openblas", lambda: None)
    for name in blas.ROUTINES:
        assert jit.has_symbol(blas.routine.__wrapped__(name))
    n = 23 if bundled else 29  # a size of its own, so that the code is linked anew
    A = RNG.normal(size=(n, n)) / n + np.eye(n)
    found, steps = native(lambda a: solve_triangular(np.linalg.cholesky(a @ a.T), a), A)
    assert steps.count("Routine") == 3
    np.testing.assert_allclose(found, scipy.linalg.solve_triangular(np.linalg.cholesky(A @ A.T), A, lower=True), 1e-11)
