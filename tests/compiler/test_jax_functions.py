"""NumPy's functions, linear algebra and whole programs under XLA, beside the interpreter: values and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import probdiff
from probdiff import gradient, pushforward
from probdiff.ops.dispatch import is_float
from probdiff.tree import flatten
from tests.ops.test_functions import CASES, Case, plain, total

pytest.importorskip("jax")

GROUP = 24  # cases in one program: XLA spends its time on programs, not on operations
GROUPS = [CASES[k : k + GROUP] for k in range(0, len(CASES), GROUP)]


def same(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Equal leaves, relative to the largest element of each."""
    got, plain = flatten(found)[0], flatten(expected)[0]
    assert len(got) == len(plain)
    for g, e in zip(got, plain, strict=True):
        assert np.shape(g) == np.shape(e)
        assert np.asarray(g).dtype == np.asarray(e).dtype
        tolerance = rtol if np.asarray(e).dtype != np.float32 else 3e-6
        scale = np.max(np.abs(e), initial=0.0, where=np.isfinite(e)) if np.asarray(e).dtype.kind == "f" else 0.0
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * max(scale, 1.0))


def everything(case: Case, args: tuple[Any, ...]) -> Any:
    """The value of a case, and gradient and Hessian-vector product of a weighted sum of it."""
    f = total(case)
    if f is None:
        return (case.f(*args),)
    rng = np.random.default_rng(5)
    directions = [rng.uniform(-1.0, 1.0, np.shape(a))[()] if is_float(a) else None for a in args]
    products = pushforward(lambda *xs: gradient(f, *xs), *args)(*directions)
    return case.f(*args), gradient(f, *args), products


@pytest.mark.parametrize("k", range(len(GROUPS)))
def test_functions(k: int) -> None:
    cases = GROUPS[k]

    def f(*all_args: Any) -> Any:
        return tuple(everything(case, args) for case, args in zip(cases, all_args, strict=True))

    points = tuple(case.args for case in cases)
    found = probdiff.compile(f, backend="jax")(*points)
    expected = probdiff.compile(f, backend="numpy")(*points)
    for case, got, by_numpy in zip(cases, found, expected, strict=True):
        same(got[0], plain(case))
        same(got[1:], by_numpy[1:], 1e-6 if case.narrow else 1e-12)
