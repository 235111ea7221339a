"""Loops that share a pass, what they leave in registers, and the same bits for any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from probdiff import compile, gradient, value_and_grad
from probdiff.compiler.fuse import Nest, Plan
from probdiff.compiler.native.parallel import SYMBOL, default_threads, set_num_threads
from probdiff.compiler.native.program import Layout
from probdiff.compiler.region import Region
from probdiff.distributions import Normal
from probdiff.errors import ParameterError
from probdiff.special import log_softmax, logsumexp
from probdiff.tree import flatten

RNG = np.random.default_rng(59)
ROWS = 10_000
X = RNG.normal(size=(ROWS, 50))
Y = (RNG.random(ROWS) < 0.5).astype(float)
BETA = RNG.normal(size=50) * 0.1
GROUPS = RNG.integers(0, 386, 20_000)
OBSERVED = RNG.normal(size=20_000)


@pytest.fixture(autouse=True)
def usual_number_of_threads() -> Iterator[None]:
    """Leave the number of threads as it was."""
    yield
    set_num_threads(default_threads())


def logistic(b: Any, x: Any, y: Any) -> Any:
    eta = x @ b
    return np.sum(y * eta - np.logaddexp(0.0, eta)) - 0.5 * np.sum(b * b)


def mixture(q: Any, y: Any) -> Any:
    w = log_softmax(q[6:9])
    return np.sum(logsumexp(w + Normal(q[:3], np.exp(q[3:6])).logpdf(y[:, None]), axis=1))


def varying_intercept(q: Any) -> Any:
    return np.sum(Normal(q[GROUPS], 1.0).logpdf(OBSERVED)) + np.sum(q**2)


def softmax_regression(w: Any, x: Any, y: Any) -> Any:
    return np.sum(log_softmax(x @ w, axis=1)[np.arange(len(y)), y])


def layout(f: Any) -> Any:
    """The layout of the program that ran last."""
    return f._last.run.layout


def over(f: Any, rows: int) -> list[Region]:
    """The passes over so many rows."""
    return [s for s in layout(f).plan.steps if isinstance(s, Region) and s.walks[0].sizes[:1] == [rows]]


def runs_in_blocks(f: Any) -> bool:
    """Whether a loop of the program that ran last is shared out over threads."""
    return SYMBOL in Layout(Plan(layout(f).program)).text()


def bits(result: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in flatten(result)[0]]


# Fusion


def test_logistic_regression_is_one_pass() -> None:
    """Value and gradient read the design matrix once: a product with it, the likelihood, and its transpose."""
    f = compile(value_and_grad(logistic))
    value, (slope,) = (lambda r: (r[0], (r[1],)))(f(BETA, X, Y))
    (only,) = over(f, ROWS)
    assert [w.sizes for w in only.walks] == [[ROWS, 50], [ROWS], [ROWS], [ROWS, 50]]
    assert sorted(only.local.values()) == [1, 1]  # the linear predictor and its cotangent, a number of each row
    assert layout(f).workspace < 50 * 8 * 4  # nothing of the length of the data
    eta = X @ BETA
    np.testing.assert_allclose(value, logistic(BETA, X, Y), rtol=1e-12)
    np.testing.assert_allclose(slope, X.T @ (Y - 1.0 / (1.0 + np.exp(-eta))) - BETA, rtol=1e-10)


def test_a_mixture_is_one_pass() -> None:
    f, q = compile(value_and_grad(mixture)), RNG.normal(size=9)
    value, _ = f(q, OBSERVED)
    (only,) = over(f, len(OBSERVED))
    assert len(only.walks) > 3 and max(only.local.values()) == 3
    assert layout(f).workspace < 4096
    np.testing.assert_allclose(value, mixture(q, OBSERVED), rtol=1e-12)


def test_the_workspace_does_not_grow_with_the_data() -> None:
    sizes = set()
    for n in (100, 1000, 5000):
        f = compile(value_and_grad(logistic))
        f(BETA, X[:n].copy(), Y[:n])
        g = compile(value_and_grad(mixture))
        g(np.ones(9), OBSERVED[:n])
        sizes.add((layout(f).workspace, layout(g).workspace))
    assert len(sizes) == 1


def test_a_gather_and_its_scatter_are_one_pass() -> None:
    f = compile(value_and_grad(varying_intercept))
    f(RNG.normal(size=386))
    assert len(over(f, len(GROUPS))) == 1
    assert layout(f).workspace < 386 * 8 * 2


def test_what_nobody_reads_is_not_stored() -> None:
    """Every array in memory is read by another pass, or is a result."""
    f = compile(lambda x: (x - np.max(x, axis=1, keepdims=True)) / np.sqrt(np.sum(x * x, axis=1, keepdims=True)))
    f(X)
    (only,) = over(f, ROWS)
    assert set(only.local) >= {n for w in only.walks for n in w.reduced}
    assert layout(f).workspace == 0
    assert set(layout(f).plan.stored) == set(layout(f).outputs)


def test_long_rows_stay_on_the_stack_within_reason() -> None:
    """Rows that pass from nest to nest are kept beside the loop until they would fill a thread's stack."""

    def f(x: Any) -> Any:
        for _ in range(12):
            x = np.sin(x - np.sum(x, axis=1, keepdims=True) * 1e-4)
        return np.sum(x)

    for width in (20, 3000):
        g, x = compile(f), RNG.normal(size=(16, width)) * 0.1
        np.testing.assert_allclose(g(x), f(x), rtol=1e-10)
        used = sum(n for s in layout(g).plan.steps if isinstance(s, Region) for n in s.local.values())
        assert used <= 1 << 15


# Threads


def ordered(x: Any) -> Any:
    """Sums over the leading axis of a transposed array: the loop runs in the order of memory, not of axes."""
    return np.sum(np.exp(x.T), axis=0), np.max(x.T), x.T * 2.0


def extrema(x: Any) -> Any:
    return np.max(x), np.min(x * 2.0), np.any(x > 4.0), np.all(x > -9.0), np.sum(x > 1.0), np.prod(1.0 + x * 1e-6)


def of_integers(x: Any) -> Any:
    return np.max(x), np.min(x * 2), np.sum(x), np.prod(x % 3 + 1), np.any(x == 7), x * x + x - 3


def middle(x: Any) -> Any:
    """Reductions over an axis between others add up in memory, row by row."""
    found = [np.sum(x, axis=1), np.max(x, axis=1), np.min(x, axis=1), np.prod(1.0 + x * 1e-3, axis=1)]
    return (*found, np.any(x > 2.0, axis=1), np.all(x < 2.0, axis=1), np.sum(x > 1.0, axis=1), np.sum(x, axis=(0, 1)))


def scattered(q: Any, i: Any) -> Any:
    return gradient(lambda q: np.sum(np.exp(np.sin(q[i]) * np.arange(len(i)) / len(i))), q)


BIG = RNG.normal(size=400_000)
TABLE = RNG.normal(size=(60_000, 7))
BLOCK = RNG.normal(size=(1000, 20, 30))
# program and arguments, each large enough to run in blocks
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "logistic regression": (value_and_grad(logistic), (BETA, X, Y)),
    "mixture": (value_and_grad(mixture), (np.linspace(-1.0, 1.0, 9), OBSERVED)),
    "varying intercept": (
        value_and_grad(lambda q, i, y: np.sum(Normal(q[i], 1.0).logpdf(y))),
        (RNG.normal(size=386), RNG.integers(0, 386, 125_730), RNG.normal(size=125_730)),
    ),
    "softmax regression": (
        value_and_grad(softmax_regression),
        (RNG.normal(size=(5, 4)), TABLE[:, :5].copy(), RNG.integers(0, 4, len(TABLE))),
    ),
    "extrema": (extrema, (BIG,)),
    "extrema of NaN": (extrema, (np.where(np.arange(BIG.size) == 12_345, np.nan, BIG),)),
    "integers": (of_integers, (RNG.integers(-1000, 1000, size=500_000),)),
    "single precision": (lambda x: (np.sum(np.exp(x)), np.max(x), np.mean(x * x)), (BIG.astype(np.float32),)),
    "columns": (lambda x: (np.sum(np.exp(x), axis=0), np.max(x, axis=0), np.min(x * 2.0, axis=0)), (TABLE,)),
    "rows": (lambda x: (np.sum(np.exp(np.sin(x)), axis=1), np.max(x, axis=1), np.min(x)), (X,)),
    "another order": (ordered, (RNG.normal(size=(600, 2000)),)),
    "Fortran's order": (ordered, (np.asfortranarray(RNG.normal(size=(600, 2000))),)),
    "axis in the middle": (middle, (BLOCK,)),
    "axes at both ends": (lambda x: (np.sum(np.exp(x), axis=(0, 2)), np.max(x, axis=(1, 2))), (BLOCK,)),
    "integers in the middle": (
        lambda x: (np.max(x, axis=1), np.sum(x, axis=2), np.min(x * x, axis=1)),
        (RNG.integers(-9, 9, (2000, 20, 30)),),
    ),
    "scatter": (scattered, (RNG.normal(size=11), RNG.integers(0, 11, 200_000))),
    "scatter of rows": (
        lambda q, i: gradient(lambda q: np.sum(np.sin(q[i]) ** 2), q),
        (RNG.normal(size=(11, 4)), RNG.integers(0, 11, 60_000)),
    ),
    "arrays only": (lambda x: (np.exp(x), x[::-1] + x, np.diff(x)), (BIG,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_for_any_number_of_threads(name: str) -> None:
    program, args = PROGRAMS[name]
    f = compile(program)
    wanted = compile(program, backend="numpy")(*args)
    tolerance = 1e-5 if name == "single precision" else 1e-10
    first: list[bytes] = []
    for threads in (1, 2, 3, 7):
        set_num_threads(threads)
        for _ in range(2):
            found = f(*args)
            first = first or bits(found)
            assert bits(found) == first
    for x, y in zip(flatten(f(*args))[0], flatten(wanted)[0], strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    assert runs_in_blocks(f)


def test_small_loops_start_no_threads() -> None:
    f = compile(extrema)
    f(BIG[:1000])
    assert not runs_in_blocks(f)


def test_many_sums_run_in_one_go() -> None:
    """More sums than a block has room for: the loop is not shared out, and the result is right."""
    x = RNG.normal(size=(3000, 600))
    f = compile(lambda x: (np.sum(np.exp(x), axis=0), np.max(x, axis=0)))
    found = f(x)
    np.testing.assert_allclose(found[0], np.exp(x).sum(0), rtol=1e-12)
    np.testing.assert_array_equal(found[1], x.max(0))
    assert not runs_in_blocks(f)


def test_many_blocked_loops_share_their_room() -> None:
    """Loops that run one after the other need the stack of one: each keeps 400 sums for each of 64 blocks."""
    x = RNG.normal(size=(3000, 400))

    def f(v: Any) -> Any:
        for _ in range(12):
            v = np.sum(np.sin(x + v), axis=0) / len(x)
        return v

    found: list[Any] = []
    g = compile(f)
    before = threading.stack_size(1 << 20)
    thread = threading.Thread(target=lambda: found.append(g(x[0])))
    thread.start()
    thread.join()
    threading.stack_size(before)
    assert runs_in_blocks(g)
    np.testing.assert_allclose(found[0], f(x[0]), rtol=1e-12, atol=1e-14)


def test_two_python_threads_at_once() -> None:
    """Two callers share the processors, and each gets what it would get alone."""
    set_num_threads(2)
    f = compile(value_and_grad(logistic))
    points = [BETA, -BETA]
    wanted = [bits(f(b, X, Y)) for b in points]
    seen: list[bool] = []

    def work(k: int) -> None:
        for _ in range(15):
            seen.append(bits(f(points[k], X, Y)) == wanted[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 30 and all(seen)


def test_numbers_of_threads_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for bad in (0, -1, 2.5):
        with pytest.raises(ParameterError, match=f"set_num_threads needs a positive integer, got {bad}"):
            set_num_threads(bad)  # type: ignore[arg-type]
    monkeypatch.setenv("PROBDIFF_NUM_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("PROBDIFF_NUM_THREADS", "many")
    with pytest.raises(ParameterError, match="PROBDIFF_NUM_THREADS must be a positive integer, got 'many'"):
        default_threads()


def test_a_nest_of_numbers_is_no_region() -> None:
    f = compile(lambda x, y: np.sin(x) * y)
    f(1.0, 2.0)
    (only,) = layout(f).plan.steps
    assert isinstance(only, Nest) and only.space == ()
