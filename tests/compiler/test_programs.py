"""Whole programs in machine code against the interpreter: random ones, and those at the edges of the compiler."""

from __future__ import annotations

import pickle
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import probdiff
import probdiff.special
from probdiff import gradient, pushforward
from probdiff.distributions import Exponential
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.special import logsumexp
from probdiff.tree import flatten

Step = Callable[[list[Any]], Any]

UNARY: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "sin": np.sin,
    "bell": lambda x: np.exp(-x * x),
    "log1p": lambda x: np.log1p(x * x),
    "root": lambda x: np.sqrt(1.0 + x * x),
    "negative": lambda x: -x,
    "cube": lambda x: 0.1 * x**3,
    "shifted": lambda x: 0.5 + x,
    "clip": lambda x: np.clip(x, -0.9, 0.8),
    "arctan": np.arctan,
    "expit": lambda x: 1.0 / (1.0 + np.exp(-x)),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / (1.5 + y * y),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logaddexp": np.logaddexp,
    "where": lambda x, y: np.where(x > 0.1, x, y),
    "select": lambda x, y: np.where(y < x, x * x, y),
}
REDUCTION: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "logsumexp": lambda x, axis, keepdims: logsumexp(x, axis, keepdims),
    "prod": lambda x, axis, keepdims: np.prod(np.tanh(x), axis=axis, keepdims=keepdims),
}


class Draw:
    """Draws a program: steps that read earlier values, checked for shapes by running them on sample arrays."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.steps: list[Step] = []
        m, n = self.integer(1, 5), self.integer(1, 7)
        rng = np.random.default_rng(self.integer(0, 10**6))
        index = rng.integers(-n, n, self.integer(1, 4))
        self.inputs = [index, rng.normal(), rng.normal(size=n), rng.normal(size=(m, 1)), rng.normal(size=(m, n))]
        self.values = list(self.inputs)
        for _ in range(self.integer(3, 10)):
            self.step()

    def integer(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))

    def pick(self, among: Any) -> Any:
        return self.data.draw(st.sampled_from(list(among)))

    def place(self) -> int:
        """The position of an earlier value, later ones more often than not."""
        last = len(self.values) - 1
        return self.pick([last, last, *range(1, last + 1)])

    def append(self, step: Step) -> None:
        value = step(self.values)
        self.steps.append(step)
        self.values.append(value)

    def step(self) -> None:
        i = self.place()
        x = self.values[i]
        shape = np.shape(x)
        kinds = ["unary", "binary"]
        if shape:
            kinds += ["reduce", "slice", "reshape", "concatenate", "gather", "flip", "cumsum"]
        if len(shape) >= 2:
            kinds += ["transpose", "matmul"]
        if shape and shape[-1] == self.inputs[2].size:
            kinds += ["input gather", "input gather"]
        getattr(self, self.pick(kinds).replace(" ", "_"))(i, x, shape)

    def unary(self, i: int, x: Any, shape: Any) -> None:
        f = UNARY[self.pick(UNARY)]
        self.append(lambda v: f(v[i]))

    def binary(self, i: int, x: Any, shape: Any) -> None:
        f = BINARY[self.pick(BINARY)]
        fitting = [k for k, y in enumerate(self.values) if k and broadcasts(shape, np.shape(y))]
        j = self.pick(fitting)
        if self.integer(0, 1):
            self.append(lambda v: f(v[i], v[j]))
        else:
            self.append(lambda v: f(v[j], v[i]))

    def reduce(self, i: int, x: Any, shape: Any) -> None:
        f = REDUCTION[self.pick(REDUCTION)]
        axes = self.data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
        axis = self.pick([None, tuple(axes)])
        keepdims = bool(self.integer(0, 1))
        self.append(lambda v: f(v[i], axis=axis, keepdims=keepdims))

    def slice(self, i: int, x: Any, shape: Any) -> None:
        index = []
        for n in shape:
            start, step = self.integer(0, n - 1), self.pick([1, 1, 2, -1, -2])
            index.append(self.pick([slice(None), slice(start, None, step), start, slice(start, start + 1)]))
        new = self.pick([(), (None,)])
        picked = (*new, *index) if self.integer(0, 1) else (..., *index)
        self.append(lambda v: v[i][picked])

    def reshape(self, i: int, x: Any, shape: Any) -> None:
        n = int(np.prod(shape))
        target = self.pick(
            [(n,), (1, n), (n, 1), tuple(reversed(shape)), *[(d, n // d) for d in range(1, n) if n % d == 0]]
        )
        self.append(lambda v: np.reshape(v[i], target))

    def transpose(self, i: int, x: Any, shape: Any) -> None:
        axes = tuple(self.data.draw(st.permutations(range(len(shape)))))
        self.append(lambda v: np.transpose(v[i], axes))

    def matmul(self, i: int, x: Any, shape: Any) -> None:
        self.append(lambda v: 0.3 * np.swapaxes(v[i], -1, -2) @ v[i])

    def concatenate(self, i: int, x: Any, shape: Any) -> None:
        axis = self.integer(0, len(shape) - 1)
        alike = [
            k
            for k, y in enumerate(self.values)
            if k
            and np.ndim(y) == len(shape)
            and all(a == b or d == axis for d, (a, b) in enumerate(zip(np.shape(y), shape, strict=True)))
        ]
        j = self.pick(alike)
        if self.integer(0, 2):
            self.append(lambda v: np.concatenate([v[i], v[j]], axis=axis))
        else:
            self.append(lambda v: np.stack([v[i], v[i]], axis=axis))

    def gather(self, i: int, x: Any, shape: Any) -> None:
        axis = self.integer(0, len(shape) - 1)
        n = shape[axis]
        index = np.array(self.data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=5)))
        if self.integer(0, 1):
            index = index[:, None]
        self.append(lambda v: np.take(v[i], index, axis=axis))

    def input_gather(self, i: int, x: Any, shape: Any) -> None:
        self.append(lambda v: np.take(v[i], v[0], axis=-1))

    def flip(self, i: int, x: Any, shape: Any) -> None:
        axis = self.integer(0, len(shape) - 1)
        self.append(lambda v: np.flip(v[i], axis))

    def cumsum(self, i: int, x: Any, shape: Any) -> None:
        axis = self.integer(0, len(shape) - 1)
        self.append(lambda v: np.cumsum(v[i], axis=axis))

    def __call__(self, *inputs: Any) -> Any:
        v = list(inputs)
        for step in self.steps:
            v.append(step(v))
        return v[-1]


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or m == 1 or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))


def same(native: Any, plain: Any, rtol: float, least: float = 0.0) -> None:
    """Equal leaves, relative to the largest element of each (or to `least`, if that is larger)."""
    got, expected = flatten(native)[0], flatten(plain)[0]
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert np.shape(g) == np.shape(e)
        assert np.asarray(g).dtype == np.asarray(e).dtype
        finite = np.asarray(e, float)[np.isfinite(e)]
        scale = float(np.max(np.abs(finite), initial=0.0)) if np.asarray(e).dtype.kind == "f" else 0.0
        np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol * max(scale, least))


def assert_agreement(f: Draw) -> None:
    """A program, its gradient and a Hessian-vector product: machine code beside the interpreter, and beside NumPy."""
    index, *floats = f.inputs
    rng = np.random.default_rng(1)
    direction = [rng.normal(size=np.shape(x))[()] for x in floats]
    weights = rng.uniform(0.5, 1.5, np.shape(f.values[-1]))

    def total(index: Any, *xs: Any) -> Any:
        return np.sum(weights * np.tanh(f(index, *xs)))

    def everything(index: Any, *xs: Any) -> Any:
        def of(*ys: Any) -> Any:
            return total(index, *ys)

        products = pushforward(lambda *ys: gradient(of, *ys), *xs)(*direction)
        return f(index, *xs), gradient(of, *xs), products

    native = probdiff.compile(everything)(index, *floats)
    plain = probdiff.compile(everything, backend="numpy")(index, *floats)
    same(native[0], f(*f.inputs), 1e-12)
    same(native[0], plain[0], 1e-12)
    # sums of products of all steps, reassociated; a slope such as 1 - tanh(x)**2 is exact to the rounding of 1 only
    same(native[1], plain[1], 1e-10, least=1.0)
    same(native[2], plain[2], 1e-9, least=1.0)


# The same programs in every run.
ALIKE: Any = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=200, **ALIKE)
@given(st.data())
def test_random_programs(data: Any) -> None:
    assert_agreement(Draw(data))


@pytest.mark.slow
@settings(max_examples=2000, **ALIKE)
@given(st.data())
def test_many_random_programs(data: Any) -> None:
    assert_agreement(Draw(data))


def both(f: Callable[..., Any], *args: Any, rtol: float = 1e-13) -> Any:
    """The native result, after comparison with plain NumPy."""
    with np.errstate(all="ignore"):
        expected = f(*args)
    native = probdiff.compile(f)(*args)
    same(native, expected, rtol)
    return native


X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def test_an_element_of_an_array_is_read_when_the_array_is_complete() -> None:
    """A loop over the same rows that uses one element of it (through two views) has to run after it, not with it."""
    both(lambda x, i: np.take(x, i, axis=1) + np.take(x, i, axis=1)[::-1][0, 1], X, np.array([0, 2, 1]))
    both(lambda x: np.sin(x) * np.sin(x)[-1, -1] + np.sum(np.sin(x), axis=1, keepdims=True), X)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_outputs_that_are_inputs_constants_views_and_duplicates(backend: str) -> None:
    constant = np.array([1.0, 2.0])

    def f(x: Any, n: Any) -> Any:
        y = np.exp(x)
        return x, n, y, y, y.T, x.T, x[1], x[::-1, ::2], 2.5, constant, {"a": x, "b": (y[0, 0], None, "label")}

    got = probdiff.compile(f, backend=backend)(X, 3)
    expected = f(X, 3)
    assert got[-1]["b"][1:] == (None, "label")
    for g, e in zip(got[:-1], expected[:-1], strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-15)
        assert np.asarray(g).dtype == np.asarray(e).dtype
    owners = [g for g in got if isinstance(g, np.ndarray)]
    for k, g in enumerate(owners):  # results are the caller's: no two share memory, nor with an argument or a constant
        assert not np.shares_memory(g, X) and not np.shares_memory(g, constant)
        assert not any(np.shares_memory(g, other) for other in owners[k + 1 :])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2.0,
        np.sum,
        lambda x: np.sum(x, axis=0),
        lambda x: np.sum(x, axis=1),
        lambda x: np.prod(x, axis=0),
        lambda x: np.concatenate([x, x], axis=0),
        lambda x: x.T @ x,
        lambda x: x @ x.T,
        lambda x: np.take(x, np.array([], int), axis=0),
        lambda x: np.cumsum(x, axis=1),
        lambda x: np.where(x > 0, x, 1.0),
        lambda x: np.any(x > 0),
        lambda x: np.reshape(x, (-1, 2)) if x.size else np.reshape(x, (0, 2)),
    ],
)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_arrays_without_elements(f: Any, shape: tuple[int, ...]) -> None:
    both(f, np.zeros(shape))


def test_gradient_of_nothing() -> None:
    (g,) = probdiff.compile(lambda x: gradient(lambda x: np.sum(x * x), x))(np.zeros(0))
    assert g.shape == (0,)


def test_float32() -> None:
    x = X.astype(np.float32)

    def f(x: Any) -> Any:
        y = np.exp(x) * 2.0 + 1
        return (
            y,
            np.sum(y),
            np.mean(y, axis=0),
            y @ y.T,
            x.astype(float) + x,
            np.concatenate([x, y]),
            x + np.float64(1.0),
        )

    both(f, x, rtol=5e-7)
    (g,) = probdiff.compile(lambda x: gradient(lambda x: np.sum(np.tanh(x) ** 2), x))(x)
    assert g.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64])
def test_integers_wrap_and_divide_like_numpy(dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 7, 100, 3, 5], dtype)
    y = np.array([info.max, 2, 0, 3, 7, 0, info.max], dtype)
    if info.min < 0:
        x, y = np.append(x, np.array([info.min, -7, 7], dtype)), np.append(y, np.array([-1, 3, -3], dtype))

    def f(x: Any, y: Any) -> Any:
        return (
            x + y, x - y, x * y, x // y, x % y, -x, abs(x), x * x, x**3, np.maximum(x, y), np.minimum(x, 3), x < y,
            x == y, np.sign(x), np.sum(x), np.prod(x), np.max(x), np.min(y), x & y, x | y, x ^ y, ~x, x / y, x * 0.5,
            np.sqrt(x), x.astype(bool), x.astype(float), np.where(x > y, x, y), np.clip(x, 1, 5), np.cumsum(x),
            np.square(x),
        )  # fmt: skip

    both(f, x, y, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floor_division_and_remainder_are_exactly_those_of_numpy(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    n = 20_000
    y = np.concatenate([rng.normal(size=n), rng.integers(-9, 10, n), np.full(n, 0.1), 10.0 ** rng.uniform(-9, 9, n)])
    quotient = np.concatenate([rng.normal(0.0, 100.0, 3 * n), rng.normal(0.0, 1e6, n)])
    whole = rng.uniform(size=4 * n) < 0.5  # next to a multiple, where rounding decides
    x = (np.where(whole, np.rint(quotient), quotient) * y).astype(dtype)
    y = y.astype(dtype)
    quotients, rests, both_ways = probdiff.compile(lambda x, y: (x // y, x % y, divmod(x, y)))(x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quotients, x // y)
        np.testing.assert_array_equal(rests, x % y)
        np.testing.assert_array_equal(both_ways[1], np.divmod(x, y)[1])


def test_powers_of_integers() -> None:
    n = np.array([-3, 0, 2, 5])
    both(lambda n, k: (n**2, n**k, np.power(n, 3), 2**k, 2.0**n, n**0.5, n**17), n, np.array([3, 0, 2, 1]))


def test_booleans() -> None:
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])

    def f(p: Any, q: Any) -> Any:
        return (
            p & q, p | q, p ^ q, ~p, p + q, p * q, p == q, p < q, np.logical_not(p), np.logical_xor(p, q), np.sum(p),
            np.mean(p), p * 1.5, p * 2, np.where(p, 1, 2.5), np.where(p, q, True), np.any(p), np.all(q),
            np.maximum(p, q), np.max(p), np.min(p), np.prod(p), np.concatenate([p, q]), np.cumsum(p), p.astype(int),
            abs(p), p >= 0.5,
        )  # fmt: skip

    both(f, p, q)


def test_selection_between_dtypes() -> None:
    c, n, s = np.array([True, False, True]), np.array([1, 2, 3]), np.array([0.5, 1.5, 2.5], np.float32)
    both(
        lambda c, n, s: (
            np.where(c, n, s), np.where(c, n, 2.5), np.where(c, s, 1), np.where(c, s, 1.0), np.where(c, c, n),
            np.where(n, s, 0.0), np.where(s, n, n + 1), np.where(c, np.uint8(3), n), np.where(c, n.astype(np.uint8), n),
        ),
        c, n, s,
    )  # fmt: skip


def test_order_of_memory() -> None:
    def f(x: Any) -> Any:
        return np.sin(x) + x.T[0, 0], np.sum(x, axis=0), x.reshape(-1), x[1]

    c = probdiff.compile(f)
    expected = f(X)
    wide = np.zeros((6, 8))
    wide[::2, 1::2] = X
    for x in (X, np.asfortranarray(X), wide[::2, 1::2], X[::-1][::-1], X.T.copy().T):
        same(c(x), expected, 1e-14)
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(3, 4)
    same(c(unaligned), expected, 1e-14)
    swapped = X.astype(X.dtype.newbyteorder())
    same(c(swapped), expected, 1e-14)
    same(c(X), expected, 1e-14)
    tagged = X.astype(np.dtype(float, metadata={"unit": "m"}))
    same(c(tagged), expected, 1e-14)
    frozen = X.copy()
    frozen.flags.writeable = False
    same(c(frozen), expected, 1e-14)


def test_equal_dtypes_that_are_other_objects() -> None:
    n = np.arange(3).astype(np.longlong)
    c = probdiff.compile(lambda n: n + 1)
    np.testing.assert_array_equal(c(n), [1, 2, 3])
    np.testing.assert_array_equal(probdiff.compile(lambda x: x + n)(np.ones(3)), [1.0, 2.0, 3.0])
    swapped = np.arange(3.0).astype(">f8")
    c = probdiff.compile(lambda x: x * swapped)
    np.testing.assert_array_equal(c(np.ones(3)), [0.0, 1.0, 2.0])
    swapped[0] = 5.0
    np.testing.assert_array_equal(c(np.ones(3)), [5.0, 1.0, 2.0])
    taken = probdiff.compile(lambda i: np.take_along_axis(swapped, i, 0))(np.array([2, 0]))
    np.testing.assert_array_equal(taken, [2.0, 5.0])
    copied = pickle.loads(pickle.dumps(np.ones(3)))
    assert copied.dtype is not np.dtype(float)
    c = probdiff.compile(lambda x, i: (x + copied, np.take_along_axis(copied, i, 0)))
    same(c(copied, np.array([1])), (np.full(3, 2.0), np.ones(1)), 0)
    same(c(copied, np.array([1]), out=(np.empty(3), copied[:1])), (np.full(3, 2.0), np.ones(1)), 0)
    np.testing.assert_array_equal(probdiff.compile(lambda x: x * swapped)(np.ones(3)), swapped)


def test_results_are_writable_and_fresh() -> None:
    c = probdiff.compile(lambda x: (x * 2.0, np.broadcast_to(x[0], (3, 4))))
    first, second = c(X), c(X)
    first[0][...] = 0.0
    first[1][...] = 0.0
    same(second, (X * 2.0, np.broadcast_to(X[0], (3, 4))), 0)


def test_out() -> None:
    c = probdiff.compile(lambda x: {"y": x * 2.0, "s": np.sum(x), "k": np.ones(2)})
    out = {"y": np.empty((3, 4)), "s": np.empty(()), "k": np.empty(2)}
    assert c(X, out=out) is out
    np.testing.assert_array_equal(out["y"], 2.0 * X)
    np.testing.assert_array_equal(out["k"], np.ones(2))
    np.testing.assert_allclose(out["s"], X.sum(), rtol=1e-15)
    again = c(2.0 * X)
    np.testing.assert_array_equal(out["y"], 2.0 * X)
    np.testing.assert_array_equal(again["y"], 4.0 * X)


def test_out_that_does_not_fit() -> None:
    c = probdiff.compile(lambda x: x * 2.0)
    with pytest.raises(
        ShapeError, match=r"out= needs a contiguous float64 array of shape \(3, 4\), got float64 \(4, 3\)"
    ):
        c(X, out=np.empty((4, 3)))
    with pytest.raises(ShapeError, match="out= needs a contiguous float64 array"):
        c(X, out=np.empty((3, 4), np.float32))
    with pytest.raises(ShapeError, match="out= needs a contiguous float64 array"):
        c(X, out=np.empty((4, 3)).T)
    with pytest.raises(ShapeError, match="out= must have the structure of the result"):
        c(X, out=(np.empty((3, 4)),))
    frozen = np.empty((3, 4))
    frozen.flags.writeable = False
    with pytest.raises(ShapeError, match="out= needs writable arrays"):
        c(X, out=frozen)


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("bad", [4, -5, 2**40, -(2**40)])
def test_index_out_of_bounds(backend: str, bad: int) -> None:
    c = probdiff.compile(lambda x, i: np.take(x, i, axis=1), backend=backend)
    np.testing.assert_array_equal(c(X, np.array([3, -4])), X[:, [3, -4]])
    with pytest.raises(IndexError, match="out of bounds"):
        c(X, np.array([0, bad]))
    np.testing.assert_array_equal(c(X, np.array([3, -4])), X[:, [3, -4]])


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_scatter_out_of_bounds(backend: str) -> None:
    def f(x: Any, i: Any) -> Any:
        return gradient(lambda x: np.sum(np.take(x, i) ** 2), x)[0]

    c = probdiff.compile(f, backend=backend)
    np.testing.assert_array_equal(c(np.arange(3.0), np.array([1, 1, -1])), [0.0, 4.0, 4.0])
    with pytest.raises(IndexError, match="out of bounds"):
        c(np.arange(3.0), np.array([1, 1, 3]))


def test_captured_index_is_checked_at_each_call() -> None:
    """Programs that differ in a captured index share their machine code, and its elements may change."""

    def taking(index: Any) -> Any:
        return probdiff.compile(lambda x: np.take(x, index))

    index = np.array([0, 1, -2])
    c, d = taking(index), taking(np.array([0, 1, 3]))
    np.testing.assert_array_equal(c(np.arange(2.0)), [0.0, 1.0, 0.0])
    with pytest.raises(IndexError, match="out of bounds"):
        d(np.arange(2.0))
    index[0] = -(2**60)
    with pytest.raises(IndexError, match="out of bounds"):
        c(np.arange(2.0))


def test_index_out_of_bounds_while_recording() -> None:
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        probdiff.compile(lambda x: x[7])(np.zeros(3))
    with pytest.raises(IndexError, match="out of bounds"):
        probdiff.compile(lambda x: np.take(x, np.array([0, 7])))(np.zeros(3))


FACTOR: Any = 2.0
OFFSETS = np.array([1.0, 2.0])


def scaled(x: Any) -> Any:
    return FACTOR * x + OFFSETS


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_names_bound_anew_are_noticed(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.0, 1.0])
    c = probdiff.compile(scaled, backend=backend)
    np.testing.assert_array_equal(c(x), [3.0, 4.0])
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    np.testing.assert_array_equal(c(x), [4.0, 5.0])
    monkeypatch.setitem(globals(), "OFFSETS", np.array([10.0, 20.0]))
    np.testing.assert_array_equal(c(x), [13.0, 23.0])
    k = 1.0

    def closure(x: Any) -> Any:
        return x * k

    d = probdiff.compile(closure, backend=backend)
    np.testing.assert_array_equal(d(x), x)
    k = 5.0
    np.testing.assert_array_equal(d(x), 5.0 * x)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_elements_of_captured_arrays_are_read_at_each_call(backend: str) -> None:
    data = np.array([1.0, 2.0, 3.0])
    strided = np.zeros((3, 2))
    c = probdiff.compile(lambda x: (np.sum(data * x), data + x, strided[:, 1] + x), backend=backend)
    same(c(2.0), (12.0, data + 2.0, np.full(3, 2.0)), 1e-15)
    flat = probdiff.compile(lambda x: (x * strided.T).reshape(-1), backend=backend)
    same(flat(1.0), np.zeros(6), 0)
    data[1] = 10.0
    strided[:, 1] = 4.0
    same(flat(1.0), np.array([0.0, 0.0, 0.0, 4.0, 4.0, 4.0]), 0)
    same(c(2.0), (28.0, data + 2.0, np.full(3, 6.0)), 1e-15)


def test_threads() -> None:
    """One compiled function in two threads: each call has its own workspace, and the lock is let go."""
    c = probdiff.compile(lambda x: (np.cumsum(x) * 2.0, np.sum(np.exp(x) @ np.ones((50, 1))), x[:, ::-1] + 1.0))
    inputs = [np.random.default_rng(k).normal(size=(50, 50)) for k in range(2)]
    expected = [c(x) for x in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(200):
            got = c(inputs[k])
            if any(not np.array_equal(g, e) for g, e in zip(got, expected[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_memory_is_that_of_inputs_and_outputs() -> None:
    """Value and gradient of an exponential log-likelihood over 1e6 data: no array but the results."""
    n = 10**6
    data = np.random.default_rng(0).exponential(size=n)
    scale = np.full(n, 1.3)

    def loglik(scale: Any, data: Any) -> Any:
        return np.sum(Exponential(scale).logpdf(data))

    c = probdiff.compile(probdiff.value_and_grad(loglik))
    out = (np.empty(()), np.empty(n))
    c(scale, data, out=out)
    tracemalloc.start()
    c(scale, data, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000
    np.testing.assert_allclose(out[1], (data / scale - 1.0) / scale, rtol=1e-12, atol=1e-15)
    tracemalloc.start()
    value, slope = c(scale, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < slope.nbytes + 1_000_000
    np.testing.assert_allclose(value, loglik(scale, data), rtol=1e-12)


def test_operations_without_machine_code_are_evaluated_by_numpy() -> None:
    """sort, cumsum, higher polygamma, powers of integers, half precision: steps of NumPy between native ones."""

    def f(x: Any, n: Any, h: Any) -> Any:
        y = np.sort(np.exp(x), axis=-1) * 2.0
        z = probdiff.special.polygamma(2, 1.0 + y) + np.cumsum(y, axis=0)
        return y, z, np.sum(z), n ** (n % 3) + 1, h * 2 + 1, np.sum(h), np.concatenate([h, h])[::2], np.gcd(n, 6) * n

    both(f, X, np.arange(5), np.arange(4.0, dtype=np.float16), rtol=1e-13)


def test_functions_of_lifted_arguments_are_inlined() -> None:
    inner = probdiff.compile(lambda x: np.sum(np.sin(x) ** 2))
    (g,) = gradient(inner, X)
    np.testing.assert_allclose(g, np.sin(2.0 * X), rtol=1e-13)
    outer = probdiff.compile(lambda x: 2.0 * inner(x))
    np.testing.assert_allclose(outer(X), 2.0 * inner(X), rtol=1e-14)


def test_numbers_and_strings_as_arguments() -> None:
    c = probdiff.compile(
        lambda x, kind, flag, n: np.sum(x) * (2.0 if kind == "double" else 1.0) * (3 if flag else 1) + n
    )
    assert c(np.ones(2), "double", True, 1) == 13.0
    assert c(np.ones(2), "single", True, 2) == 8.0
    assert c(np.ones(2), "single", False, 2) == 4.0
    assert c(1, "single", False, 2) == 3
    assert c(1.5, "single", False, 2) == 3.5
    assert c(np.float32(1.5), "single", False, 2.0) == 3.5


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="compile.backend must be one of 'native', 'numpy', 'jax', got 'cuda'"):
        probdiff.compile(np.sum, backend="cuda")
    with pytest.raises(
        UnsupportedError, match="compile: a is an array of complex128; complex numbers are not supported"
    ):
        probdiff.compile(np.sum)(np.zeros(2, complex))
    with pytest.raises(ParameterError, match="compile cannot close over a value that is being differentiated"):
        gradient(lambda x: probdiff.compile(lambda y: x * y)(2.0), 1.0)
