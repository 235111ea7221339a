"""Whole programs: a function recorded for the shapes it is called with, and run as one native function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.inputs import in_native_form
from probdiff.compiler.interpret import interpret
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.graph.closure import snapshot, unchanged
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Capture, capture
from probdiff.ops.dispatch import Lifted
from probdiff.ops.factor import quiet
from probdiff.tree import Tree, flatten

BACKENDS = ("native", "numpy")


class Entry:
    """A recording for one structure, set of shapes and dtypes, and what runs it."""

    __slots__ = ("bare", "capture", "leaf", "meaning", "plain", "run", "spec", "traced")

    def __init__(self, spec: Any, meaning: Any, recorded: Capture, traced: list[int], count: int, run: Any) -> None:
        self.spec = spec
        self.meaning = meaning
        self.capture = recorded
        self.traced = traced
        self.plain = len(traced) == count  # every leaf is an input
        children = spec.children()
        self.bare = len(children) if self.plain and all(c.is_leaf() for c in children) else -1  # arguments are leaves
        self.leaf = recorded.out_spec.is_leaf() and not recorded.statics
        self.run = run

    def rebuild(self, results: list[Any]) -> Tree:
        """The result from its leaves."""
        return results[0] if self.leaf else self.capture.rebuild(results)

    def matching(self, out: Tree) -> list[np.ndarray] | None:
        """The leaves of `out`, if it has the result's structure."""
        leaves, spec = flatten(out)
        return leaves if spec == self.capture.out_spec and not self.capture.statics else None


class Compiled:
    """`f`, compiled per shapes and dtypes of its arguments; call it like f.

    Numbers and arrays are inputs; strings, None and other leaves are part of the program. Arrays that f closes over are
    read where they are, so their elements may change between calls; a name that is bound anew is noticed, and f is
    recorded again. With `out=`, a structure like the result's whose arrays have the right shapes and dtypes, results are
    written there.
    """

    def __init__(self, f: Callable[..., Any], backend: str = "native") -> None:
        if backend not in BACKENDS:
            raise ParameterError(f"compile.backend must be one of {', '.join(map(repr, BACKENDS))}, got {backend!r}")
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.backend = backend
        self._entries: dict[Any, Entry] = {}
        self._last: Entry | None = None

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f,)

    def __call__(self, *args: Tree, out: Tree = None) -> Tree:
        last = self._last
        if last is not None and last.bare == len(args) and unchanged(last.meaning):
            given = None if out is None else last.matching(out)
            if out is None or given is not None:
                results = last.run(args, given)
                if results is not None:
                    return last.rebuild(results) if out is None else out
        leaves, spec = flatten(args)
        if out is None and last is not None and last.plain and spec == last.spec and unchanged(last.meaning):
            results = last.run(leaves, None)
            if results is not None:
                return last.rebuild(results)
        if any(isinstance(x, Lifted) for x in leaves):
            return self.f(*args)  # inside another recording or differentiation, f is a function like any other
        entry = self._last = self._entry(leaves, spec)
        given = None if out is None else self._targets(out, entry)
        inputs = [_fitting(leaves[k], n) for k, n in zip(entry.traced, entry.capture.program.inputs, strict=True)]
        results = entry.run(inputs, given)
        assert results is not None
        return out if out is not None else entry.rebuild(results)

    def _entry(self, leaves: list[Any], spec: Any) -> Entry:
        kinds = (spec, *(_kind(x) for x in leaves))
        entry = self._entries.get(kinds)
        if entry is None or not unchanged(entry.meaning):
            entry = self._entries[kinds] = self._compile(leaves, spec)
        return entry

    def _compile(self, leaves: list[Any], spec: Any) -> Entry:
        described, traced = list(leaves), []
        for k, x in enumerate(leaves):
            if isinstance(x, float | int | np.ndarray | np.generic) and not isinstance(x, bool):
                array = np.asarray(x)
                if array.dtype.kind not in "fiub":
                    raise UnsupportedError(f"compile takes floats, integers and booleans, got an array of {array.dtype}")
                described[k] = (array.shape, array.dtype)
                traced.append(k)
        meaning = snapshot(self.f)
        recorded = capture(self.f, spec, described, traced)
        if recorded.lifted:
            raise ParameterError("compile cannot close over a value that is being differentiated; pass it as an argument")
        run: Any
        if self.backend == "numpy":
            run = functools.partial(_interpreted, recorded.program)
        else:
            from probdiff.compiler.native.program import native_program

            run = native_program(recorded.program)
        return Entry(spec, meaning, recorded, traced, len(leaves), run)

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
        return [a.view(o.dtype) for a, o in zip(arrays, entry.capture.program.outputs, strict=True)]


def _kind(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return (x.shape, x.dtype)
    return type(x) if isinstance(x, float | int) and not isinstance(x, bool) else (type(x), x)


def _fitting(x: Any, node: Node) -> Any:
    """An input in the form that machine code takes: C order, aligned, and the dtype that was recorded."""
    return x if type(x) is float else in_native_form(x, node.dtype).reshape(node.shape)


def _interpreted(program: Program, inputs: list[Any], out: list[np.ndarray] | None) -> list[Any] | None:
    if any(np.shape(x) != n.shape or np.asarray(x).dtype != n.dtype for x, n in zip(inputs, program.inputs, strict=True)):
        return None
    with np.errstate(all="ignore"), quiet():
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
