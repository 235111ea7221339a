"""Forward mode: a value together with its partials.

A partial is None (a structural zero) or anything that broadcasts to the value's shape; the number 1.0 is the partial of
an independent variable. Comparisons, predicates and roundings see the value alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ops.dispatch import Lifted, Op, apply, dtype_of, is_float, is_lifted, shape_of
from probdiff.ops.elementwise import chain
from probdiff.tree import Array

Partials = tuple[Any, ...]


class Dual(Lifted):
    """value + Σ partials[k] ε_k, for one level of differentiation."""

    __slots__ = ("level", "partials", "value")

    def __init__(self, level: int, value: Array, partials: Partials) -> None:
        self.level = level
        self.value = value
        self.partials = partials

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
        if op.elementwise and not params and len(args) < 3:
            quick = self._quick(op, args)
            if quick is not None:
                return quick
        level = self.level
        values, duals, plain = [], [], True
        for i, a in enumerate(args):
            if type(a) is Dual and a.level == level:
                duals.append((i, a.partials))
                a = a.value
            if isinstance(a, Lifted):
                plain = False
            values.append(a)
        z = op.evaluate(*values, **params) if plain else apply(op, *values, **params)
        if not op.smooth or not is_float(z):
            return z
        if op.elementwise and not params:
            if op.kinked and plain:
                with np.errstate(all="ignore"):
                    partials = _elementwise(op, values, z, duals)
            else:
                partials = _elementwise(op, values, z, duals)
        else:
            duals = [(i, p) for i, p in duals if i in op.smooth]
            partials = _general(op, values, z, duals, params) if duals else ()
        for p in partials:
            if p is not None:
                return Dual(level, z, partials)
        return z

    def _quick(self, op: Any, args: tuple[Any, ...]) -> Array:
        """The rule for one dual over plain numbers, alone in a unary row or beside a plain number; or None."""
        value = self.value
        if type(value) is not np.float64 and type(value) is not np.ndarray:
            return None
        i = 0
        if len(args) == 1:
            values: tuple[Any, ...] = (value,)
        elif args[0] is self:
            if isinstance(args[1], Lifted):
                return None
            values = (value, args[1])
        else:
            if isinstance(args[0], Lifted):
                return None
            values, i = (args[0], value), 1
        z = op.evaluate(*values)
        derivative = op.partials[i]
        if derivative is None:
            return z
        if op.kinked:
            with np.errstate(all="ignore"):
                derivative = derivative(*values, z)
        elif type(derivative) is not float:
            derivative = derivative(*values, z)
        partials = self.partials
        if len(partials) == 1 and partials[0] is not None:
            return Dual(self.level, z, (chain(derivative, partials[0]),))
        return Dual(self.level, z, tuple([None if d is None else chain(derivative, d) for d in partials]))

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value)

    @property
    def dtype(self) -> np.dtype:
        return dtype_of(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {', '.join(map(repr, self.partials))})"


def _elementwise(op: Any, values: list[Array], z: Array, duals: list[tuple[int, Partials]]) -> Partials:
    if op.name == "where":
        return _selected(op, values, duals)
    totals: list[Any] | None = None
    for i, partials in duals:
        derivative = op.partials[i]
        if derivative is None:
            continue
        if type(derivative) is not float:
            derivative = derivative(*values, z)
        terms = [None if dot is None else chain(derivative, dot) for dot in partials]
        if totals is None:
            totals = terms
        else:
            totals = [t if s is None else s if t is None else s + t for s, t in zip(totals, terms, strict=True)]
    return tuple(totals) if totals is not None else ()


def _selected(op: Any, values: list[Array], duals: list[tuple[int, Partials]]) -> Partials:
    of = dict(duals)
    nothing = (None,) * len(duals[0][1])
    out: list[Any] = []
    for x_dot, y_dot in zip(of.get(1, nothing), of.get(2, nothing), strict=True):
        if x_dot is None and y_dot is None:
            out.append(None)
        else:
            out.append(apply(op, values[0], 0.0 if x_dot is None else x_dot, 0.0 if y_dot is None else y_dot))
    return tuple(out)


def _general(
    op: Op, values: list[Array], z: Array, duals: list[tuple[int, Partials]], params: dict[str, Any]
) -> Partials:
    of = dict(duals)
    out = []
    for k in range(len(duals[0][1])):
        dots: list[Any] = [None] * len(values)
        some = False
        for i, partials in of.items():
            if partials[k] is not None:
                dots[i] = full(partials[k], values[i])
                some = True
        out.append(op.jvp(z, values, dots, params) if some else None)
    return tuple(out)


def full(dot: Array, value: Array) -> Array:
    """A partial in the shape and dtype of its value."""
    shape = shape_of(value)
    if shape_of(dot) != shape:
        dot = np.broadcast_to(dot, shape)
    elif type(dot) in (float, int):
        dot = np.float64(dot)
    wanted = dtype_of(value)
    return dot if dtype_of(dot) == wanted else dot.astype(wanted)


def partial_of(y: Array, level: int, k: int = 0) -> Array:
    """The k-th partial of `y` at `level`, or None."""
    return y.partials[k] if type(y) is Dual and y.level == level else None


def expanded(dot: Any, value: Any) -> Any:
    """A partial as an array of its value's shape; zeros for None."""
    shape = shape_of(value)
    if dot is None:
        return np.zeros(shape, dtype_of(value)) if shape else 0.0
    if shape_of(dot) == shape:
        return dot
    dot = np.broadcast_to(dot, shape)
    return dot if is_lifted(dot) else dot.copy()


def value_below(y: Any, level: int) -> Any:
    """The value of a dual of this level; anything else as it is."""
    return y.value if type(y) is Dual and y.level == level else y
