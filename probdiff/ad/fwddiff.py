"""The seam: a function that reverse mode differentiates with dual numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.arguments import cotangents, lift, project, strong
from probdiff.ad.dual import Dual, partial_of
from probdiff.ad.reverse import Tape, Variable, record_many
from probdiff.ad.thunk import Thunk
from probdiff.errors import ParameterError
from probdiff.graph.trace import sweep
from probdiff.ops.dispatch import dtype_of, innermost, is_float, new_level, shape_of
from probdiff.ops.elementwise import chain, unbroadcast
from probdiff.ops.foreign import Recordings, call_in, framework_among
from probdiff.tree import Array, Tree, flatten, unflatten


class FwdDiff:
    """A callable that equals its function on plain arguments, and has a forward-mode pullback under reverse mode.

    f      function or constructor of numbers, arrays and structures of them
    mode   "lazy": value on the way forward, then one dual evaluation per argument whose cotangent is used;
           "single_pass": value and all partials in one evaluation on the way forward;
           None: lazy for a direct `pullback`, single pass inside a larger program
    wrt    positions of the arguments that carry partials; None for all. To reverse mode, f is constant in the others

    After fwddiff of ForwardDiffPullbacks.jl (O. Schulz).
    """

    __slots__ = ("__weakref__", "entries", "f", "mode", "wrt")

    def __init__(self, f: Callable[..., Any], mode: str | None = None, wrt: tuple[int, ...] | None = None) -> None:
        if not callable(f):
            raise ParameterError(f"fwddiff needs a function, got {f!r}")
        if mode not in (None, "lazy", "single_pass"):
            raise ParameterError(f"fwddiff.mode must be 'lazy' or 'single_pass', got {mode!r}")
        self.f = f
        self.mode = mode
        self.wrt = wrt
        self.entries = Recordings()

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f, self.mode, self.wrt)

    def __repr__(self) -> str:
        return f"fwddiff({getattr(self.f, '__name__', self.f)!s})"

    def __call__(self, *args: Tree, **kwargs: Any) -> Any:
        leaves, spec = flatten(args)
        top = innermost(leaves)
        if type(top) is not Variable:
            framework = framework_among([*leaves, *flatten(kwargs)[0]] if kwargs else leaves)
            if framework is not None and not getattr(self.f, "__broadcasts__", False):
                return call_in(framework, self, args, kwargs)
            return self.f(*args, **kwargs)
        wrt = self.wanted(leaves, spec)
        mine = [k for k in wrt if type(leaves[k]) is Variable and leaves[k].tape is top.tape]
        if not mine:
            return self.f(*args, **kwargs)
        return _under_reverse(
            functools.partial(self.f, **kwargs) if kwargs else self.f, leaves, spec, mine, top.tape, self.mode
        )

    def wanted(self, leaves: list[Any], spec: Any) -> list[int]:
        """The leaves that this function is differentiated along."""
        if self.wrt is None:
            return [k for k, x in enumerate(leaves) if is_float(x)]
        out, start = [], 0
        for position, child in enumerate(spec.children()):
            if position in self.wrt:
                out += [k for k in range(start, start + child.num_leaves) if is_float(leaves[k])]
            start += child.num_leaves
        return out

    def __pullback__(self, *args: Tree) -> tuple[Any, Callable[[Tree], tuple[Any, ...]]]:
        """The value, and a function from a cotangent to one thunk per argument."""
        flat, spec = flatten(args)
        for x in flat:
            lift(Tape(), x)  # refuses what cannot be differentiated, by name
        wanted = set(self.wanted(flat, spec))
        groups, start = [], 0
        for child in spec.children():
            inside = range(start, start + child.num_leaves)
            groups.append((child, inside, [k for k in inside if k in wanted]))
            start += child.num_leaves
        stored: list[Any] = []
        if self.mode == "single_pass":
            out, out_spec, stored = evaluate(self.f, flat, spec, sorted(wanted))
        else:
            out, out_spec = flatten(self.f(*args))
        y = unflatten(out_spec, out)

        def back(y_bar: Tree) -> tuple[Any, ...]:
            return tuple(
                self._thunk(y_bar, flat, spec, group, out, out_spec, stored, sorted(wanted)) for group in groups
            )

        return y, back

    def _thunk(
        self, y_bar: Tree, flat: Any, spec: Any, group: Any, out: Any, out_spec: Any, stored: Any, order: Any
    ) -> Any:
        child, inside, mine = group
        if not mine:
            return unflatten(child, [None] * len(inside))

        def compute() -> Tree:
            given = cotangents(y_bar, out_spec, out)
            if all(g is None or (type(g) in (int, float) and g == 0) for g in given):
                bars: list[Any] = [None] * len(mine)
            else:
                blocks = stored or evaluate(self.f, flat, spec, mine)[2]
                bars = contract(blocks, given, out, [flat[k] for k in (order if stored else mine)])
                if stored:
                    bars = [bars[order.index(k)] for k in mine]
            of = dict(zip(mine, bars, strict=True))
            return unflatten(child, [project(of[k], flat[k]) if k in of else None for k in inside])

        return Thunk(compute)


def fwddiff(f: Callable[..., Any], mode: str | None = None, wrt: int | tuple[int, ...] | None = None) -> FwdDiff:
    """Differentiate `f` in forward mode wherever reverse mode meets it; see `FwdDiff`."""
    return FwdDiff(f, mode, (wrt,) if isinstance(wrt, int) else wrt)


Blocks = list[list[Any]]  # blocks[j][d]: partial of result leaf j along the d-th scalar of the arguments


def evaluate(f: Callable[..., Any], leaves: list[Any], spec: Any, wrt: list[int]) -> tuple[list[Any], Any, Blocks]:
    """One dual evaluation: result leaves, their structure, and all partials along the scalars of the leaves `wrt`."""
    level = new_level()
    sizes = {k: int(np.prod(shape_of(leaves[k]), dtype=int)) for k in wrt}
    width = sum(sizes.values())
    duals = list(leaves)
    start = 0
    for k in wrt:
        x, n = leaves[k], sizes[k]
        units: list[Any] = [None] * width
        if not shape_of(x):
            units[start] = 1.0
        else:
            for d in range(n):
                unit = np.zeros(n, dtype_of(x))
                unit[d] = 1.0
                units[start + d] = unit.reshape(shape_of(x))
        if width:
            duals[k] = Dual(level, strong(x), tuple(units))
        start += n
    before, sweep.now = sweep.now, "forward"
    try:
        out, out_spec = flatten(f(*unflatten(spec, duals)))
    finally:
        sweep.now = before
    blocks = [[partial_of(y, level, d) for d in range(width)] for y in out]
    return [y.value if type(y) is Dual and y.level == level else y for y in out], out_spec, blocks


def contract(blocks: Blocks, y_bars: list[Any], out: list[Any], xs: list[Any]) -> list[Any]:
    """Cotangents of the leaves `xs`: Σ over result leaves of y_bar times the partials."""
    bars, start = [], 0
    for x in xs:
        shape = shape_of(x)
        n = int(np.prod(shape, dtype=int))
        entries = [_entry([b[d] for b in blocks], y_bars, out) for d in range(start, start + n)]
        start += n
        if not shape:
            bars.append(entries[0])
        elif all(e is None for e in entries):
            bars.append(None)
        else:
            zero = np.zeros((), dtype_of(x))
            bars.append(np.reshape(np.stack([zero if e is None else e for e in entries]), shape))
    return bars


def _entry(partials: list[Any], y_bars: list[Any], out: list[Any]) -> Any:
    total = None
    for p, y_bar, y in zip(partials, y_bars, out, strict=True):
        if p is None or y_bar is None:
            continue
        term = unbroadcast(chain(p, y_bar), shape_of(y), ())
        if shape_of(term) != ():
            term = np.sum(term)
        total = term if total is None else total + term
    return total


def _under_reverse(f: Any, leaves: list[Any], spec: Any, mine: list[int], tape: Tape, mode: str | None) -> Tree:
    values = [x.value if type(x) is Variable and x.tape is tape else x for x in leaves]
    if mode == "lazy":
        out, out_spec = flatten(f(*unflatten(spec, values)))
        blocks = None
    else:
        out, out_spec, blocks = evaluate(f, values, spec, mine)
    inputs = [leaves[k] for k in mine]
    # What f closes over may be on this tape too: then its results already are, and become inputs with partial one.
    closed = [k for k, y in enumerate(out) if type(y) is Variable and y.tape is tape]
    ys = [_value(y, tape) for y in out]

    def back(y_bars: list[Any]) -> list[Any]:
        if blocks is None:
            bars = []
            for k in mine:
                one = evaluate(f, values, spec, [k])[2]
                bars += contract([[_value(p, tape) for p in b] for b in one], y_bars, ys, [values[k]])
        else:
            plain = [[_value(p, tape) for p in b] for b in blocks]
            bars = contract(plain, y_bars, ys, [values[k] for k in mine])
        return bars + [y_bars[k] for k in closed]

    return unflatten(out_spec, record_many(tape, ys, inputs + [out[k] for k in closed], back))


def _value(y: Any, tape: Tape) -> Array:
    return y.value if type(y) is Variable and y.tape is tape else y
