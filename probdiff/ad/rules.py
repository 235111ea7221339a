"""Functions that bring their own derivative rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, full
from probdiff.ad.reverse import Variable, record_many
from probdiff.ad.transforms import pushforward
from probdiff.errors import DifferentiationError, ShapeError
from probdiff.graph.trace import Tracer, capture, recording
from probdiff.ops.control import CALL
from probdiff.ops.dispatch import Lifted, dtype_of, innermost, shape_of
from probdiff.tree import Tree, flatten, paths, unflatten


class Custom:
    """A function whose derivatives are given by hand.

    @custom
    def f(x, y): ...

    @f.frule                      # forward: values and tangents in, value and tangent out; a tangent may be None (zero)
    def _(dots, x, y): return z, z_dot

    @f.rrule                      # reverse: values in, value and pullback out
    def _(x, y): return z, back   # back(z_bar) -> one cotangent per argument, None for zero

    With only an frule, reverse mode runs it once per scalar of the arguments. With only an rrule, forward mode is
    refused. The names are those of ChainRules.jl.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self._frule: Callable[..., Any] | None = None
        self._rrule: Callable[..., Any] | None = None

    def frule(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the forward rule."""
        self._frule = rule
        return rule

    def rrule(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the reverse rule."""
        self._rrule = rule
        return rule

    def __call__(self, *args: Tree) -> Any:
        leaves, spec = flatten(args)
        top = innermost(leaves)
        if type(top) is Dual:
            return self._forward(leaves, spec, top)
        if type(top) is Variable:
            return self._reverse(leaves, spec, top)
        if recording.bodies and isinstance(top, Tracer) and (self._frule or self._rrule):
            return self._record(leaves, spec)
        return self.f(*args)

    def _record(self, leaves: list[Any], spec: Any) -> Tree:
        """Inside the body of a loop, which is differentiated later: the call stays one operation, rules and all."""
        traced = [k for k, x in enumerate(leaves) if isinstance(x, Lifted | np.ndarray | np.floating | float)]
        described = list(leaves)
        for k in traced:
            described[k] = shape_of(leaves[k]), dtype_of(leaves[k])
        recorded = capture(self.f, spec, described, traced)
        if recorded.lifted or recorded.statics:  # the rules do not know of what f closes over
            return self.f(*unflatten(spec, leaves))

        def rules(*operands: Any) -> list[Any]:
            given = list(leaves)
            for k, x in zip(traced, operands, strict=True):
                given[k] = x
            return flatten(self(*unflatten(spec, given)))[0]

        out = CALL.run(*(leaves[k] for k in traced), body=recorded.program, rules=rules)
        return recorded.rebuild(list(out))

    def _forward(self, leaves: list[Any], spec: Any, top: Dual) -> Tree:
        if self._frule is None and self._rrule is None:
            return self.f(*unflatten(spec, leaves))
        if self._frule is None:
            raise DifferentiationError(
                f"{self.f.__name__} has an rrule only, and forward mode met it. "
                f"Give it an frule: @{self.f.__name__}.frule"
            )
        mine = [type(x) is Dual and x.level == top.level for x in leaves]
        values = [x.value if own else x for x, own in zip(leaves, mine, strict=True)]
        args = unflatten(spec, values)
        columns, result = [], None
        for k in range(len(top.partials)):
            dots = [
                None if not own or x.partials[k] is None else full(x.partials[k], x.value)
                for x, own in zip(leaves, mine, strict=True)
            ]
            packed = tuple(part[0] if len(part) == 1 else part for part in _grouped(dots, spec))
            result, dot = self._frule(packed, *args)
            columns.append(flatten(dot)[0] if dot is not None else None)
        out, out_spec = flatten(result)
        duals = [Dual(top.level, y, tuple(None if c is None else c[j] for c in columns)) for j, y in enumerate(out)]
        return unflatten(out_spec, duals)

    def _reverse(self, leaves: list[Any], spec: Any, top: Variable) -> Tree:
        tape = top.tape
        mine = [k for k, x in enumerate(leaves) if type(x) is Variable and x.tape is tape]
        values = [x.value if k in mine else x for k, x in enumerate(leaves)]
        args = unflatten(spec, values)
        if self._rrule is not None:
            result, pull = self._rrule(*args)
            out, out_spec = flatten(result)

            def back(y_bars: list[Any]) -> list[Any]:
                bars = pull(y_bars[0] if len(out) == 1 else unflatten(out_spec, y_bars))
                parts = _spread(bars if isinstance(bars, tuple) else (bars,), spec)
                for k in mine:
                    if parts[k] is not None and not _fits(shape_of(parts[k]), shape_of(leaves[k])):
                        raise ShapeError(
                            f"{self.f.__name__}.rrule: the cotangent of argument{paths(args)[k]} has shape "
                            f"{shape_of(parts[k])}, the argument {shape_of(leaves[k])}. Sum over what was broadcast."
                        )
                return [parts[k] for k in mine]

        elif self._frule is not None:
            out, out_spec = flatten(self(*args))

            def back(y_bars: list[Any]) -> list[Any]:
                def of(*xs: Any) -> tuple[Any, ...]:
                    full_args = list(values)
                    for k, x in zip(mine, xs, strict=True):
                        full_args[k] = x
                    return tuple(flatten(self(*unflatten(spec, full_args)))[0])

                return [_column(of, [values[k] for k in mine], i, y_bars) for i in range(len(mine))]

        else:
            return self.f(*unflatten(spec, leaves))
        return unflatten(out_spec, record_many(tape, out, [leaves[k] for k in mine], back))


def _fits(given: tuple[int, ...], own: tuple[int, ...]) -> bool:
    """Whether a cotangent of shape `given` is, or broadcasts to, one of shape `own`."""
    lead = len(own) - len(given)
    return given == own or lead >= 0 and all(m in (1, n) for m, n in zip(given, own[lead:], strict=True))


def _grouped(leaves: list[Any], spec: Any) -> list[list[Any]]:
    out, start = [], 0
    for child in spec.children():
        out.append(leaves[start : start + child.num_leaves])
        start += child.num_leaves
    return out


def _spread(bars: tuple[Any, ...], spec: Any) -> list[Any]:
    if len(bars) != len(spec.children()):
        raise DifferentiationError(
            f"an rrule's pullback returned {len(bars)} cotangents for {len(spec.children())} arguments"
        )
    out: list[Any] = []
    for bar, child in zip(bars, spec.children(), strict=True):
        out += [None] * child.num_leaves if bar is None else flatten(bar)[0]
    return out


def _column(f: Callable[..., Any], xs: list[Any], i: int, y_bars: list[Any]) -> Any:
    shape = shape_of(xs[i])
    n = int(np.prod(shape, dtype=int))
    entries = []
    for d in range(n):
        unit = np.zeros(n, dtype_of(xs[i]))
        unit[d] = 1.0
        dots: list[Any] = [None] * len(xs)
        dots[i] = unit.reshape(shape) if shape else 1.0
        dot = pushforward(f, *xs)(*dots)
        entries.append(sum(np.sum(b * p) for b, p in zip(y_bars, dot, strict=True) if b is not None and p is not None))
    return np.reshape(np.stack(entries), shape)


def custom(f: Callable[..., Any]) -> Custom:
    """Decorate a function to give it its own derivative rules; see `Custom`."""
    return Custom(f)
