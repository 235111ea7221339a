"""Whole programs: a function recorded for the shapes it is called with, and run as one native function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.interpret import interpret
from probdiff.errors import ParameterError, ShapeError
from probdiff.graph.closure import fingerprint
from probdiff.graph.program import Node
from probdiff.graph.trace import Capture, capture
from probdiff.ops.dispatch import Lifted
from probdiff.tree import Tree, flatten, unflatten

BACKENDS = ("native", "numpy")


class Entry:
    """A recording for one set of shapes and dtypes, and what runs it."""

    __slots__ = ("capture", "kinds", "mark", "run", "scalars", "spec", "traced")

    def __init__(self, spec: Any, kinds: tuple[Any, ...], mark: Any, recorded: Capture, traced: list[int], run: Any) -> None:
        self.spec = spec
        self.kinds = kinds
        self.mark = mark
        self.capture = recorded
        self.traced = traced
        self.run = run


class Compiled:
    """`f`, compiled per shapes and dtypes of its arguments; call it like f.

    Numbers and arrays are inputs; strings, None and other leaves are part of the program. With `out=`, a structure like
    the result's whose arrays have the right shapes and dtypes, results are written there.
    """

    def __init__(self, f: Callable[..., Any], backend: str = "native") -> None:
        if backend not in BACKENDS:
            raise ParameterError(f"compile.backend must be one of {', '.join(map(repr, BACKENDS))}, got {backend!r}")
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.backend = backend
        self._entries: dict[Any, Entry] = {}
        self._last: Entry | None = None

    def __call__(self, *args: Tree, out: Tree = None) -> Tree:
        leaves, spec = flatten(args)
        if any(isinstance(x, Lifted) for x in leaves):
            return self._inline(leaves, spec)
        entry = self._entry(leaves, spec)
        given = None if out is None else self._targets(out, entry)
        results = entry.run([leaves[k] for k in entry.traced], given)
        return entry.capture.rebuild(results)

    def _inline(self, leaves: list[Any], spec: Any) -> Tree:
        """Inside another recording or differentiation, f is a function like any other."""
        return self.f(*unflatten(spec, leaves))

    def _entry(self, leaves: list[Any], spec: Any) -> Entry:
        kinds = tuple(_kind(x) for x in leaves)
        mark = fingerprint(self.f)
        entry = self._entries.get((spec, kinds))
        if entry is None or entry.mark != mark:
            entry = self._entries[spec, kinds] = self._compile(leaves, spec, kinds, mark)
        return entry

    def _compile(self, leaves: list[Any], spec: Any, kinds: tuple[Any, ...], mark: Any) -> Entry:
        described, traced = list(leaves), []
        for k, x in enumerate(leaves):
            if isinstance(x, float | int | np.ndarray | np.generic) and not isinstance(x, bool):
                described[k] = (np.shape(x), np.asarray(x).dtype)
                traced.append(k)
        recorded = capture(self.f, spec, described, traced)
        if recorded.lifted:
            raise ParameterError("compile cannot close over a value that is being differentiated; pass it as an argument")
        if self.backend == "numpy":
            run = functools.partial(_interpreted, recorded.program)
        else:
            from probdiff.compiler.native.program import native_program

            run = native_program(recorded.program)
        return Entry(spec, kinds, mark, recorded, traced, run)

    def _targets(self, out: Tree, entry: Entry) -> list[np.ndarray]:
        arrays, spec = flatten(out)
        if spec != entry.capture.out_spec:
            raise ShapeError(f"out= must have the structure of the result, {entry.capture.out_spec}, got {spec}")
        for a, o in zip(arrays, entry.capture.program.outputs, strict=True):
            if not isinstance(a, np.ndarray) or a.shape != o.shape or a.dtype != o.dtype or not a.flags.c_contiguous:
                raise ShapeError(
                    f"out= needs a contiguous {o.dtype} array of shape {o.shape}, got "
                    f"{getattr(a, 'dtype', type(a).__name__)} {np.shape(a)}"
                )
            if not a.flags.writeable:
                raise ShapeError("out= needs writable arrays")
        return arrays


def _kind(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return (x.shape, x.dtype)
    return type(x) if isinstance(x, float | int) and not isinstance(x, bool) else (type(x), x)


def _interpreted(program: Any, inputs: list[Any], out: list[np.ndarray] | None) -> list[Any]:
    with np.errstate(all="ignore"):
        results = interpret(program, inputs)
    results = [
        np.asarray(r, o.dtype)[()] if isinstance(o, Node) and np.shape(r) == o.shape else r
        for r, o in zip(results, program.outputs, strict=True)
    ]
    if out is not None:
        for a, r in zip(out, results, strict=True):
            a[...] = r
        return list(out)
    return [r.copy() if isinstance(r, np.ndarray) else r for r in results]


def compile(f: Callable[..., Any], backend: str = "native") -> Compiled:
    """A function that does what f does, recorded and compiled at its first call for each set of shapes and dtypes.

    backend  "native": LLVM through llvmlite; "numpy": the reference interpreter

    Python control flow is run while recording: branches on values are refused with the line, loops unroll.
    """
    return Compiled(f, backend)
