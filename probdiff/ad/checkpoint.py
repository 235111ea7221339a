"""Reverse mode that keeps the arguments of a function and runs it again, instead of what happened in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from probdiff.ad.reverse import Variable, record_many
from probdiff.ad.transforms import pullback
from probdiff.ops.dispatch import innermost
from probdiff.tree import Array, Tree, flatten, unflatten


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, but reverse mode keeps only its arguments and runs it again when the cotangent arrives."""

    @functools.wraps(f, updated=())
    def wrapped(*args: Tree) -> Tree:
        leaves, spec = flatten(args)
        top = innermost(leaves)
        if type(top) is not Variable:
            return f(*args)
        tape = top.tape
        mine = [k for k, x in enumerate(leaves) if type(x) is Variable and x.tape is tape]
        values = [x.value if k in mine else x for k, x in enumerate(leaves)]
        mark = len(tape.entries)
        out, out_spec = flatten(f(*unflatten(spec, values)))
        if any(type(y) is Variable and y.tape is tape for y in out):
            del tape.entries[mark:]  # f closes over variables of this tape: they need to be taped as usual
            return f(*args)

        def back(y_bars: list[Any]) -> list[Any]:
            def again(*xs: Array) -> Tree:
                full = list(values)
                for k, x in zip(mine, xs, strict=True):
                    full[k] = x
                return tuple(flatten(f(*unflatten(spec, full)))[0])

            return list(pullback(again, *(values[k] for k in mine))[1](tuple(y_bars)))

        return unflatten(out_spec, record_many(tape, out, [leaves[k] for k in mine], back))

    return wrapped
