"""Reverse mode: operations are taped as they run, and the tape is walked back once.

A cotangent is anything that broadcasts to the shape of its value, so that the cotangent of a sum stays a number.
Zeros are never made: an array that nobody asked about has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.graph.trace import sweep
from probdiff.ops.dispatch import Lifted, Op, apply, dtype_of, is_float, new_level, shape_of
from probdiff.ops.elementwise import chain, unbroadcast
from probdiff.tree import Array


class Tape:
    """The operations of one reverse differentiation, in order."""

    __slots__ = ("entries", "level")

    def __init__(self) -> None:
        self.level = new_level()
        self.entries: list[Variable] = []

    def variable(self, value: Array) -> Variable:
        """An independent variable."""
        return Variable(self, value, None)

    def record(self, value: Array, back: Any) -> Variable:
        """The result of an operation; `back` is an entry that `walk` understands."""
        z = Variable(self, value, back)
        self.entries.append(z)
        return z


class Variable(Lifted):
    """An array whose operations are taped. Its value is at hand, so Python may branch on it."""

    __slots__ = ("back", "level", "tape", "value", "x_bar")

    def __init__(self, tape: Tape, value: Array, back: Any) -> None:
        self.tape = tape
        self.level = tape.level
        self.value = value
        self.back = back
        self.x_bar: Any = None

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
        level = self.level
        values, plain = [], True
        for a in args:
            if type(a) is Variable and a.level == level:
                a = a.value
            if isinstance(a, Lifted):
                plain = False
            values.append(a)
        z = op.evaluate(*values, **params) if plain else apply(op, *values, **params)
        if not op.smooth or not is_float(z):
            return z
        return self.tape.record(z, (op, args, values, params))

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return f"Variable({self.value!r})"


class Partials:
    """An entry of the tape whose partial derivatives are known: z_bar is multiplied into each input."""

    __slots__ = ("inputs", "partials")

    def __init__(self, inputs: list[Variable], partials: list[Array]) -> None:
        self.inputs = inputs
        self.partials = partials

    def walk(self, z: Variable, z_bar: Array) -> None:
        """Add z_bar times each partial to the cotangent of its input."""
        shape = z.shape
        one = type(z_bar) is float and z_bar == 1.0  # the seed of a sum, which is passed through as it is
        for x, p in zip(self.inputs, self.partials, strict=True):
            if one and type(p) is np.ndarray and type(x.value) is np.ndarray and p.shape == x.value.shape:
                x.x_bar = p if x.x_bar is None else x.x_bar + p
            elif p is not None:
                _add(x, unbroadcast(chain(p, z_bar), shape, x.shape))


class Pullback:
    """An entry of the tape with a function from its cotangent to those of its inputs."""

    __slots__ = ("back", "inputs")

    def __init__(self, inputs: list[Variable], back: Callable[[Array], list[Array]]) -> None:
        self.inputs = inputs
        self.back = back

    def walk(self, z: Variable, z_bar: Array) -> None:
        """Add what the function makes of z_bar to the cotangents of the inputs."""
        for x, x_bar in zip(self.inputs, self.back(z_bar), strict=True):
            if x_bar is not None:
                _add(x, x_bar)


def _add(x: Variable, x_bar: Array) -> None:
    x.x_bar = x_bar if x.x_bar is None else x.x_bar + x_bar


def walk(tape: Tape, seeds: list[tuple[Variable, Array]]) -> None:
    """Send cotangents back over the tape; afterwards `x_bar` of each variable is its cotangent, or None."""
    before, sweep.now = sweep.now, "reverse"
    try:
        _walk(tape, seeds)
    finally:
        sweep.now = before


def _walk(tape: Tape, seeds: list[tuple[Variable, Array]]) -> None:
    level = tape.level
    for x in tape.entries:
        x.x_bar = None
    for y, y_bar in seeds:
        _add(y, y_bar)
    for z in reversed(tape.entries):
        z_bar = z.x_bar
        if z_bar is None:
            continue
        back = z.back
        if type(back) is not tuple:
            back.walk(z, z_bar)
            continue
        op, args, values, params = back
        for i, a in enumerate(args):
            if type(a) is Variable and a.level == level and i in op.smooth:
                _add(a, op.vjp(z_bar, z.value, values, params, i))


class Bundle:
    """An entry that gathers the cotangents of several results before it sends them on together."""

    __slots__ = ("back", "count", "inputs")

    def __init__(self, inputs: list[Variable], count: int, back: Callable[[list[Any]], list[Any]]) -> None:
        self.inputs = inputs
        self.count = count
        self.back = back

    def walk(self, z: Variable, z_bar: Any) -> None:
        """Send on the cotangents that the results have left here."""
        given = [z_bar.get(k) for k in range(self.count)]
        for x, x_bar in zip(self.inputs, self.back(given), strict=True):
            if x_bar is not None:
                x.x_bar = x_bar if x.x_bar is None else x.x_bar + x_bar


class Member:
    """The k-th result of a bundle."""

    __slots__ = ("bundle", "k")

    def __init__(self, bundle: Variable, k: int) -> None:
        self.bundle = bundle
        self.k = k

    def walk(self, z: Variable, z_bar: Any) -> None:
        """Leave the cotangent with the bundle."""
        if self.bundle.x_bar is None:
            self.bundle.x_bar = {}
        self.bundle.x_bar[self.k] = z_bar


def record_many(
    tape: Tape, values: list[Any], inputs: list[Variable], back: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """Put several results with one common pullback on the tape; results without a tangent stay as they are."""
    floats = [k for k, v in enumerate(values) if is_float(v)]
    if len(floats) == 1:
        only = floats[0]

        def single(z_bar: Any) -> list[Any]:
            given = [None] * len(values)
            given[only] = z_bar
            return back(given)

        out = list(values)
        out[only] = tape.record(values[only], Pullback(inputs, single))
        return out
    bundle = tape.record(None, Bundle(inputs, len(values), back))
    return [tape.record(v, Member(bundle, k)) if k in floats else v for k, v in enumerate(values)]
