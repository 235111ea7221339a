"""A function called for one element after another: what cannot be recorded, and elements that are large arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.fwddiff import FwdDiff, contract, evaluate
from probdiff.ad.reverse import Variable, record_many
from probdiff.errors import ShapeError
from probdiff.graph.trace import Tracer
from probdiff.ops.dispatch import Lifted, innermost, is_lifted, shape_of
from probdiff.ops.elementwise import unbroadcast
from probdiff.tree import Tree, flatten, unflatten

_warned: set[Any] = set()


def _elements(leaves: list[Any], core: list[int]) -> tuple[tuple[int, ...], list[Callable[[tuple[int, ...]], Any]]]:
    leads = []
    for x, c in zip(leaves, core, strict=True):
        shape = shape_of(x)
        if len(shape) < c:
            raise ShapeError(f"broadcast needs at least {c} axes for an element, got shape {shape}")
        leads.append(shape[: len(shape) - c])
    shape = np.broadcast_shapes(*leads)

    def picker(x: Any, lead: tuple[int, ...]) -> Callable[[tuple[int, ...]], Any]:
        if not lead:
            return lambda index: x
        skip = len(shape) - len(lead)
        return lambda index: _plain(x[tuple(0 if n == 1 else i for i, n in zip(index[skip:], lead, strict=True))])

    return shape, [picker(x, lead) for x, lead in zip(leaves, leads, strict=True)]


def _plain(x: Any) -> Any:
    """A scalar of an integer or boolean array as the Python number that f would get in a loop."""
    return x.item() if isinstance(x, np.integer | np.bool_) else x


def by_element(f: Any, call: Any, leaves: list[Any], spec: Any, core: list[int]) -> Tree:
    """The results of a Python loop over the elements, stacked; `core` counts the axes of an element of each leaf."""
    top = innermost(leaves)
    shape, pick = _elements(leaves, core)
    if not any(core) and not isinstance(top, Tracer):  # where nothing has a value yet, the branch itself is refused
        _warn(call)
    if not isinstance(f, FwdDiff) or type(top) is not Variable:
        results = [call(*unflatten(spec, [p(i) for p in pick])) for i in np.ndindex(shape)]
        return _gather(results, shape)
    tape = top.tape
    wanted = f.wanted(leaves, spec)
    mine = [k for k in wanted if type(leaves[k]) is Variable and leaves[k].tape is tape]
    if not mine:
        return _gather([call(*unflatten(spec, [p(i) for p in pick])) for i in np.ndindex(shape)], shape)
    values = [x.value if type(x) is Variable and x.tape is tape else x for x in leaves]
    _, pick = _elements(values, core)
    lazy = f.mode == "lazy"
    points = [[p(i) for p in pick] for i in np.ndindex(shape)]
    if lazy:
        flat = [flatten(call(*unflatten(spec, xs))) for xs in points]
        blocks = None
    else:
        done = [evaluate(call, xs, spec, mine) for xs in points]
        flat = [(out, out_spec) for out, out_spec, _ in done]
        blocks = [b for _, _, b in done]
    if not flat:
        return _gather([], shape)
    ys = [_stack([out[j] for out, _ in flat], shape) for j in range(len(flat[0][0]))]
    inputs = [leaves[k] for k in mine]
    closed = [y for y in ys if type(y) is Variable and y.tape is tape]
    plain = [y.value if type(y) is Variable and y.tape is tape else y for y in ys]

    def strip(p: Any) -> Any:
        return p.value if type(p) is Variable and p.tape is tape else p

    def back(y_bars: list[Any]) -> list[Any]:
        totals = _element_bars(
            call, spec, points, [[strip(o) for o in out] for out, _ in flat], blocks, y_bars, mine, shape, strip
        )
        bars = [
            None if t is None else unbroadcast(t, shape + shape_of(t)[len(shape) :], shape_of(values[k]))
            for k, t in zip(mine, totals, strict=True)
        ]
        return bars + [y_bars[j] for j, y in enumerate(ys) if type(y) is Variable and y.tape is tape]

    return unflatten(flat[0][1], record_many(tape, plain, inputs + closed, back))


def _element_bars(
    call: Any, spec: Any, points: Any, outs: Any, blocks: Any, y_bars: Any, mine: list[int], shape: Any, strip: Any
) -> list[Any]:
    columns: list[list[Any]] = [[] for _ in mine]
    full = [None if b is None else _spread(b, shape, [o[j] for o in outs]) for j, b in enumerate(y_bars)]
    for n, index in enumerate(np.ndindex(shape)):
        bars = [None if b is None else b[index] for b in full]
        if blocks is not None:
            plain = [[strip(p) for p in row] for row in blocks[n]]
            entries = contract(plain, bars, outs[n], [points[n][k] for k in mine])
        else:
            entries = []
            for k in mine:
                one = evaluate(call, points[n], spec, [k])[2]
                entries += contract([[strip(p) for p in row] for row in one], bars, outs[n], [points[n][k]])
        for column, e, k in zip(columns, entries, mine, strict=True):
            column.append(np.zeros(shape_of(points[n][k])) if e is None else e)
    return [_stack(c, shape) if c else None for c in columns]


def _spread(y_bar: Any, shape: tuple[int, ...], elements: list[Any]) -> Any:
    return np.broadcast_to(y_bar, shape + shape_of(elements[0]))


def _stack(items: list[Any], shape: tuple[int, ...]) -> Any:
    if not any(isinstance(e, float | int | np.ndarray | np.generic | Lifted) for e in items):
        return items[0] if items else None
    if not shape:
        return items[0]
    stacked = np.stack([e if is_lifted(e) else np.asarray(e) for e in items])
    return np.reshape(stacked, shape + shape_of(stacked)[1:])


def _gather(results: list[Any], shape: tuple[int, ...]) -> Tree:
    if not results:
        return np.zeros(shape)
    flat = [flatten(r) for r in results]
    return unflatten(flat[0][1], [_stack([out[j] for out, _ in flat], shape) for j in range(len(flat[0][0]))])


def _warn(call: Any) -> None:
    code = getattr(call, "__code__", None)
    key = code or call
    if key in _warned:
        return
    _warned.add(key)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(call)
    warnings.warn(
        f"broadcast runs {getattr(call, '__name__', 'the function')} ({where}) element by element, because Python "
        "asks for the value of an argument in it, or because it computes with arrays of many elements. Write the "
        "branch with np.where, or pass the arrays with a signature, to get one compiled loop.",
        stacklevel=4,
    )
