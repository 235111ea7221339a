"""A function of arrays as an operation of another framework: machine code for its values, its reverse and forward mode.

With one real result, its gradient is computed beside it. With several, what reverse mode multiplies the cotangents by
(the residuals) is. Both parts are functions of the same kind, and so are their derivatives.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, expanded, partial_of
from probdiff.ad.fwddiff import fwddiff
from probdiff.ad.transforms import pullback
from probdiff.compiler.inputs import in_native_form
from probdiff.compiler.interpret import evaluate, interpret
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.interop.programs import Parts, kinds_of, moving, recorded
from probdiff.ops.dispatch import dtype_of, new_level, shape_of

Kind = tuple[tuple[int, ...], np.dtype]


class Whole:
    """f(*leaves) -> list of numbers and arrays, for leaves of the given kinds.

    f        with `fwddiff` in it, the seam of its reverse mode
    program  its recording; None if Python asks for values in f, which is then run as it is
    free     the leaves that may have a derivative
    seam     whether all of f is differentiated forwards, partials included
    """

    def __init__(
        self,
        f: Callable[..., list[Any]],
        kinds: Sequence[Kind],
        program: Program | None,
        free: tuple[int, ...],
        seam: bool = False,
    ) -> None:
        self.f = f
        self.kinds = kinds
        self.program = program
        self.free = free
        self.seam = seam
        self.count: int | None = None  # of the outputs that are results; None for all
        self._run: Any = None
        self._seen: list[Kind] = []  # the kinds of results that a function without a recording has had
        self._pulled: dict[tuple[int, ...], Whole] = {}
        self._ahead: dict[tuple[int, ...], Ahead | None] = {}

    def __call__(self, xs: Sequence[Any]) -> list[np.ndarray]:
        """The results, arrays of their own."""
        if self.program is None:
            with np.errstate(all="ignore"):
                ys = [np.array(y) for y in self.f(*xs)]
            self._seen = kinds_of(ys)
            return ys
        if self._run is None:
            from probdiff.compiler.native.program import native_program

            self._run = native_program(self.program)
        given = [in_native_form(x, n.dtype).reshape(n.shape) for x, n in zip(xs, self.program.inputs, strict=True)]
        found = zip(self._run(given, None), self.program.outputs, strict=True)
        return [y if isinstance(o, Node) and isinstance(y, np.ndarray) else np.array(y) for y, o in found]

    def derived(self, f: Callable[..., list[Any]], kinds: Sequence[Kind], free: tuple[int, ...]) -> Whole:
        """Another function of the same kind: recorded if this one is."""
        f = fwddiff(f) if self.seam else f
        program = recorded(f, kinds) if self.program is not None else None
        return Whole(f, kinds, program, free, self.seam)

    def pulled(self, along: tuple[int, ...]) -> Whole:
        """Leaves and the cotangents of the real results, to the cotangents of the leaves `along`."""
        if along not in self._pulled:
            n = len(self.kinds)

            def bars(*leaves: Any) -> list[Any]:
                return self.pull(leaves[:n], along)[1](leaves[n:])

            more = self._real_results()
            free = (*self.free, *range(n, n + len(more)))
            self._pulled[along] = self.derived(bars, [*self.kinds, *more], free)
        return self._pulled[along]

    @functools.cached_property
    def pushed(self) -> Whole:
        """Leaves and the tangents of those `free`, to the tangents of the real results."""
        n = len(self.kinds)

        def dots(*leaves: Any) -> list[Any]:
            level, xs = new_level(), list(leaves[:n])
            for k, dot in zip(self.free, leaves[n:], strict=True):
                xs[k] = Dual(level, xs[k], (dot,))
            ys = self.f(*xs)
            values = [y.value if type(y) is Dual and y.level == level else y for y in ys]
            return [expanded(partial_of(ys[k], level), values[k]) for k in moving(values)]

        more = [self.kinds[k] for k in self.free]
        return self.derived(dots, [*self.kinds, *more], (*self.free, *range(n, n + len(more))))

    def ahead(self, along: tuple[int, ...]) -> Ahead | None:
        """The results with what their reverse mode along some leaves needs; None if it has no reverse mode."""
        if along not in self._ahead:
            self._ahead[along] = None
            if self.program is not None and along and self._real_results():
                with contextlib.suppress(UnsupportedError):  # a while_loop outside fwddiff has forward mode
                    self._ahead[along] = Ahead(self, along)
        return self._ahead[along]

    def pull(self, xs: Sequence[Any], along: tuple[int, ...]) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
        """Real results, and a function from their cotangents to those of the leaves `along`."""

        def of(*some: Any) -> tuple[Any, ...]:
            full = list(xs)
            for k, x in zip(along, some, strict=True):
                full[k] = x
            ys = self.f(*full)
            return tuple(ys[k] for k in moving(ys))

        ys, back = pullback(of, *(xs[k] for k in along))
        return list(ys), lambda y_bars: list(back(tuple(y_bars)))

    def _real_results(self) -> list[Kind]:
        kinds = self._seen if self.program is None else kinds_of(self.program.outputs)
        return [kind for kind in kinds if kind[1].kind == "f"]


class Ahead(Whole):
    """The results of a function and, after them, its residuals.

    results    the function of the results alone
    all        the function of all outputs, all of them results
    count      how many of the outputs are results
    along      the leaves that the residuals are for
    scalar     whether there is one real result; then the residuals are its gradient
    used       otherwise: the leaves that `back` needs,
    back       and a function from these, the residuals and the cotangents to the cotangents of the leaves `along`
    residuals  the leaves to the residuals
    """

    def __init__(self, of: Whole, along: tuple[int, ...]) -> None:
        assert of.program is not None
        results = of.program.outputs
        floats = [results[k] for k in moving(results)]
        count = len(results)
        self.scalar = len(floats) == 1 and shape_of(floats[0]) == ()
        n = len(of.kinds)

        def results_and_bars(*leaves: Any) -> list[Any]:
            y_bars = leaves[n:] or [np.ones((), dtype_of(floats[0]))[()]]
            ys, back = of.pull(leaves[:n], along)
            given = iter(ys)
            # What is no number with a tangent does not come out of a pullback.
            rest = of.f(*leaves[:n]) if len(ys) < count else [None] * count
            moved = set(moving(results))
            return [next(given) if k in moved else rest[k] for k in range(count)] + back(y_bars)

        if self.scalar:
            program = recorded(results_and_bars, of.kinds)
        else:
            parts = Parts(recorded(results_and_bars, [*of.kinds, *kinds_of(floats)]), len(floats))
            program = Program(parts.inputs, [*parts.outputs[:count], *parts.partials])
            self.used, self.back = _back(parts, count)
        f, residuals = _interpreting(program, of.seam), Program(program.inputs, program.outputs[count:])
        super().__init__(f, of.kinds, program, of.free, of.seam)
        self.results = of
        self.all = Whole(f, of.kinds, program, of.free, of.seam)
        self.along = along
        self.count = count
        self.residuals = Whole(_interpreting(residuals, of.seam), of.kinds, residuals, of.free, of.seam)


def _interpreting(program: Program, seam: bool) -> Callable[..., list[Any]]:
    def f(*leaves: Any) -> list[Any]:
        return interpret(program, list(leaves))

    return fwddiff(f) if seam else f


def _back(parts: Parts, count: int) -> tuple[list[int], Whole]:
    """The linear part as a function, and the leaves that it uses."""
    wanted = {a for node in parts.linear for a in node.args if isinstance(a, Node)} | set(
        o for o in parts.outputs[count:] if isinstance(o, Node)
    )
    used = [k for k, x in enumerate(parts.inputs) if x in wanted]
    known = [*(parts.inputs[k] for k in used), *parts.partials, *parts.dots]

    def f(*leaves: Any) -> list[Any]:
        values = dict(zip(known, leaves, strict=True))
        evaluate(parts.linear, values)
        return [values[o] if isinstance(o, Node) else o for o in parts.outputs[count:]]

    kinds = kinds_of(known)
    program = recorded(f, kinds)
    return used, Whole(f, kinds, program, tuple(moving(known)))
