"""Elementwise programs as ufuncs of machine code: strides, broadcasting, dtypes, and the way out for other rows."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import probdiff.special
from probdiff import broadcast, fwddiff, gradient
from probdiff.compiler.native.kernel import BLOCK, elementwise_kernel
from probdiff.graph.trace import capture
from probdiff.tree import flatten


def kernel(f: Any, *kinds: Any) -> Any:
    """The kernel of f for scalars of these dtypes."""
    described = [((), np.dtype(k)) for k in kinds]
    return elementwise_kernel(capture(f, flatten((0.0,) * len(kinds))[1], described, list(range(len(kinds)))).program)


def body(x: Any, y: Any) -> Any:
    return np.exp(x) * y, np.where(x > 0.0, y, np.log(x)), x < y, 2.5, y


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_strides(n: int) -> None:
    run = kernel(body, float, float)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n, 3))
    with np.errstate(all="ignore"):
        for x in (wide[:, 0].copy(), wide[:, 1], wide[::-1, 2], np.broadcast_to(1.5, n)):
            for y in (wide[:, 2].copy(), wide[:, 0], np.float64(2.0), 0.5):
                for got, expected in zip(run(x, y), body(x, y), strict=True):
                    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_broadcasting_and_dtypes() -> None:
    run = kernel(lambda x, n: (x * n, n + 1, x > n), np.float32, np.int64)
    x, n = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(3, 2), np.arange(2)
    got = run(x, n)
    for g, e in zip(got, (x * n, np.broadcast_to(n + 1, (3, 2)), x > n), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-6)
        assert g.dtype == e.dtype


def test_no_warning_from_a_branch_that_is_not_taken() -> None:
    x = np.array([-1.0, 0.0, 1.0])
    (got,) = kernel(lambda x: (np.where(x > 0.0, np.log(x), 1.0 / x),), float)(x)
    np.testing.assert_array_equal(got, [-1.0, np.inf, 0.0])


def test_rows_without_machine_code_are_interpreted() -> None:
    """At each call, not only at the first."""
    run = kernel(lambda x: (np.spacing(x) + x,), float)
    again = kernel(lambda x: (np.spacing(x) + x,), float)
    x = np.array([1.0, 1e10])
    for k in (run, again):
        np.testing.assert_array_equal(k(x)[0], x + np.spacing(x))


def test_third_derivative_in_a_kernel() -> None:
    x = np.array([0.7, 2.5, 9.0])
    f = broadcast(fwddiff(lambda v: probdiff.special.polygamma(1, v)))
    for _ in range(2):
        (g,) = gradient(lambda x: np.sum(f(x)), x)
        np.testing.assert_allclose(g, probdiff.special.polygamma(2, x), rtol=1e-12)


def test_the_first_program_of_a_process_sees_the_c_library():
    """LLVM knows the functions of the process only from its first engine on; plans must not depend on that."""
    code = "from probdiff.compiler.native.jit import has_symbol; print(has_symbol('hypot'), has_symbol('no_such_name'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
