"""Whole programs in machine code against the interpreter: random ones, and those at the edges of the compiler."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import probdiff
from probdiff import gradient, pushforward
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
        m, n = self.integer(1, 4), self.integer(1, 5)
        rng = np.random.default_rng(self.integer(0, 10**6))
        index = rng.integers(-n, n, self.integer(1, 4))
        self.inputs = [index, rng.normal(), rng.normal(size=n), rng.normal(size=(m, 1)), rng.normal(size=(m, n))]
        self.values = list(self.inputs)
        for _ in range(self.integer(2, 8)):
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
        target = self.pick([(n,), (1, n), (n, 1), tuple(reversed(shape)), *[(d, n // d) for d in range(1, n) if n % d == 0]])
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
            if k and np.ndim(y) == len(shape) and all(a == b or d == axis for d, (a, b) in enumerate(zip(np.shape(y), shape, strict=True)))
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


def same(native: Any, plain: Any, rtol: float) -> None:
    """Equal leaves, relative to the largest element of each."""
    got, expected = flatten(native)[0], flatten(plain)[0]
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert np.shape(g) == np.shape(e)
        assert np.asarray(g).dtype == np.asarray(e).dtype
        scale = float(np.max(np.abs(e), initial=0.0)) if np.asarray(e).dtype.kind == "f" else 0.0
        np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol * scale)


# 200 programs, each compiled with its gradient and a Hessian-vector product; the same ones in every run.
@settings(max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_programs(data: Any) -> None:
    f = Draw(data)
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
    same(native[1], plain[1], 1e-10)  # sums of products of all steps, reassociated
    same(native[2], plain[2], 1e-9)
