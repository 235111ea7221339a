"""Linear algebra, control flow, kernels and whole programs under XLA: values and derivatives of the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probdiff
from probdiff import broadcast, fwddiff, gradient, hessian, linalg, pushforward, value_and_grad
from probdiff.errors import UnsupportedError
from tests.ad import test_control as control
from tests.compiler import test_nested as nested
from tests.compiler.test_jax_functions import same
from tests.compiler.test_programs import ALIKE, Draw
from tests.ops import test_linalg as matrices

jax = pytest.importorskip("jax")
jnp = jax.numpy


def both(f: Any, *args: Any) -> tuple[Any, Any]:
    """Results of XLA and of the interpreter."""
    return probdiff.compile(f, backend="jax")(*args), probdiff.compile(f, backend="numpy")(*args)


def in_groups(names: Any, size: int) -> Any:
    """Parameters of a test that takes several names, whose programs XLA compiles as one."""
    names = list(names)
    return pytest.mark.parametrize("names", [names[k : k + size] for k in range(0, len(names), size)])


MATRICES = {name: (f, args) for name, (f, _, args) in matrices.FUNCTIONS.items()} | {
    f"np.{name}": case for name, case in matrices.NUMPY.items()
}


@in_groups(MATRICES, 16)
def test_linear_algebra(names: list[str]) -> None:
    """Values, gradients and Hessian-vector products of matrices and, where they are one, of batches."""

    def f(*all_args: Any) -> Any:
        out = []
        for name, args in zip(names, all_args, strict=True):
            slopes = matrices.slopes(MATRICES[name][0], args)
            products = pushforward(slopes, *args)(*(np.cos(np.arange(a.size)).reshape(a.shape) for a in args))
            out.append((MATRICES[name][0](*args), slopes(*args), products))
        return tuple(out)

    found, expected = both(f, *(MATRICES[name][1] for name in names))
    for got, by_numpy in zip(found, expected, strict=True):
        same(got[0], by_numpy[0], 1e-12)
        same(got[1], by_numpy[1], 1e-11)  # a solution of a system with condition number 10 to 40
        same(got[2], by_numpy[2], 1e-10)  # of one whose matrix is made of such solutions


def test_batches_of_matrices() -> None:
    stacks = {name: case for name, case in MATRICES.items() if name in matrices.FUNCTIONS}

    def f(*all_args: Any) -> Any:
        return tuple(stacks[name][0](*args) for name, args in zip(stacks, all_args, strict=True))

    found, expected = both(f, *(tuple(np.stack([a, 1.5 * a]) for a in args) for _, args in stacks.values()))
    same(found, expected, 1e-12)


def test_a_matrix_without_a_factor_or_an_inverse_gives_nan() -> None:
    def f(batch: Any, zero: Any, nan: Any) -> Any:
        b = np.ones(3)
        solved = (np.linalg.inv(zero), np.linalg.solve(zero, b), linalg.solve_triangular(zero, b))
        return linalg.logdet(batch), solved, (np.linalg.eigvalsh(nan), np.linalg.svdvals(nan), np.linalg.pinv(nan))

    batch = np.stack([np.eye(3), -np.eye(3)])
    values, solved, spectra = probdiff.compile(f, backend="jax")(batch, np.zeros((3, 3)), np.full((3, 3), np.nan))
    assert values[0] == 0.0 and np.isnan(values[1])
    assert all(np.isnan(x).all() for x in (*solved, *spectra))


@in_groups(control.PROGRAMS, 8)
def test_loops_and_branches(names: list[str]) -> None:
    def f(x: Any) -> Any:
        out = []
        for name in names:
            program = control.PROGRAMS[name]

            def ours(x: Any, program: Any = program) -> Any:
                return program(control.OURS, x)

            score = control.total(ours)
            out.append((ours(x), gradient(score, x), gradient(fwddiff(score), x), hessian(score)(x)))
        return tuple(out)

    found, expected = both(f, control.X)
    same(found, expected, 1e-12)


@in_groups(control.KERNELS, 5)
def test_kernels(names: list[str]) -> None:
    """Every element of a broadcast goes its own way: value and partials by one loop."""

    def f(v: Any) -> Any:
        out = []
        for name in names:
            kernel = broadcast(fwddiff(control.KERNELS[name][0]))
            out.append((kernel(v), value_and_grad(lambda v, k=kernel: np.sum(k(v) ** 2))(v)))
        return tuple(out)

    found, expected = both(f, control.V)
    same(found, expected, 1e-12)


@in_groups(nested.PROGRAMS, 12)
def test_loops_over_arrays(names: list[str]) -> None:
    def f(*all_args: Any) -> Any:
        return tuple(nested.PROGRAMS[name][0](*args) for name, args in zip(names, all_args, strict=True))

    found, expected = both(f, *(nested.PROGRAMS[name][1] for name in names))
    same(found, expected, 1e-12)


def test_arrays_of_jax_are_taken() -> None:
    compiled = probdiff.compile(np.cumsum, backend="jax")
    for x in (np.arange(3.0, dtype=np.float32), jnp.arange(3.0), np.arange(3.0)):
        found = compiled(x)
        assert type(found) is np.ndarray and found.dtype == x.dtype and found.tolist() == [0, 1, 3]
    with pytest.raises(UnsupportedError, match=r"JAX is tracing it now.\n    Use probdiff.to_jax\(f\) inside jax.jit"):
        jax.jit(compiled)(np.ones(3))


def test_an_index_out_of_range_gives_nan() -> None:
    def f(x: Any, i: Any) -> Any:
        return np.take(x, i), gradient(lambda x: np.sum(np.where(i < 3, np.take(x, i), 0.0)), x)

    values, (slope,) = probdiff.compile(f, backend="jax")(np.array([1.0, 2.0, 3.0]), np.array([0, -1, 7, -3]))
    np.testing.assert_array_equal(values, [1.0, 3.0, np.nan, 1.0])
    np.testing.assert_array_equal(slope, [2.0, 0.0, 1.0])


def test_what_a_slice_leaves_out_gets_zeros() -> None:
    indices: list[Any] = [
        *(slice(None, None, -1), slice(1, 4, 2), slice(4, None, -3), slice(2, 2), slice(-2, None), 3, -1),
        *((slice(None), 1), (..., slice(None, None, -2)), (2, ...), (None, slice(0, 2), None, -1), (), None),
        *((slice(0, 3), slice(2, 0, -1)), (1, 2), (slice(5, 1), 0)),
    ]

    def f(x: Any) -> Any:
        return tuple(gradient(lambda x, i=i: np.sum(np.sin(x[i]) * np.cos(x[i])), x) for i in indices)

    same(*both(f, np.random.default_rng(0).normal(size=(5, 3))))


def test_results_are_the_callers() -> None:
    """Arrays to write into, `out=`, and arrays that the function closes over, whose elements change between calls."""
    scale = np.ones(3)
    compiled = probdiff.compile(lambda x: (x * scale, x), backend="jax")
    x = np.arange(3.0)
    first = compiled(x)
    first[0][:] = -1.0
    assert not np.shares_memory(first[1], x)
    scale[1] = 7.0
    out = (np.empty(3), np.empty(3))
    assert compiled(x, out=out) is out
    np.testing.assert_array_equal(out[0], [0.0, 7.0, 2.0])
    assert "one program of XLA" in str(compiled.explain())


def assert_agreement(f: Draw) -> None:
    """A random program, its gradient and a Hessian-vector product."""
    index, *floats = f.inputs
    rng = np.random.default_rng(1)
    direction = [rng.normal(size=np.shape(x))[()] for x in floats]

    def everything(index: Any, *xs: Any) -> Any:
        def total(*ys: Any) -> Any:
            return np.sum(np.tanh(f(index, *ys)))

        products = pushforward(lambda *ys: gradient(total, *ys), *xs)(*direction)
        return f(index, *xs), gradient(total, *xs), products

    found, expected = both(everything, index, *floats)
    same(found[0], expected[0], 1e-12)
    same(found[1], expected[1], 1e-10)  # sums of products of all steps, reassociated, as in test_programs
    same(found[2], expected[2], 1e-9)


@settings(max_examples=12, **ALIKE)
@given(st.data())
def test_random_programs(data: Any) -> None:
    assert_agreement(Draw(data))


@pytest.mark.slow
@settings(max_examples=300, **ALIKE)
@given(st.data())
def test_many_random_programs(data: Any) -> None:
    assert_agreement(Draw(data))
