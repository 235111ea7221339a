"""Whole programs: a function recorded for the shapes it is called with, and run as one native function."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.compiler.arguments import described
from probdiff.compiler.bound import Bound, recorded_kinds
from probdiff.compiler.inputs import in_native_form
from probdiff.compiler.interpret import interpret
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.graph.closure import snapshot, unchanged
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Capture, capture
from probdiff.ops.dispatch import Lifted, user_line
from probdiff.ops.factor import quiet
from probdiff.tree import Tree, flatten

if TYPE_CHECKING:
    from probdiff.compiler.explain import Explanation

BACKENDS = ("native", "numpy", "jax")
KEPT = 64  # recordings of one function; the one used longest ago goes first


class Entry:
    """A recording for one structure, set of shapes and dtypes, and what runs it."""

    __slots__ = ("bare", "capture", "density", "flat", "leaf", "meaning", "plain", "run", "seconds", "spec", "traced")

    def __init__(self, spec: Any, meaning: Any, recorded: Capture, traced: list[int], count: int, run: Any) -> None:
        self.spec = spec
        self.meaning = meaning
        self.capture = recorded
        self.traced = traced
        self.plain = len(traced) == count  # every leaf is an input
        children = spec.children()
        self.bare = len(children) if self.plain and all(c.is_leaf() for c in children) else -1  # arguments are leaves
        out = recorded.out_spec
        self.leaf = out.is_leaf() and not recorded.statics
        self.flat = out.type is tuple and all(c.is_leaf() for c in out.children()) and not recorded.statics
        self.run = run
        self.density: int | None = None  # address of its C function, once asked for
        self.seconds = (0.0, 0.0)  # of recording, and of all that followed

    def rebuild(self, results: list[Any]) -> Tree:
        """The result from its leaves."""
        if self.flat:
            return tuple(results)
        return results[0] if self.leaf else self.capture.rebuild(results)

    def matching(self, out: Tree) -> list[np.ndarray] | None:
        """The leaves of `out`, if it has the result's structure."""
        leaves, spec = flatten(out)
        return leaves if spec == self.capture.out_spec and not self.capture.statics else None


class Compiled:
    """`f`, compiled per shapes and dtypes of its arguments; call it like f.

    Numbers and arrays are inputs; strings, None and other leaves are part of the program. Arrays that f closes over are
    read where they are, so their elements may change between calls; a name that is bound anew is noticed, and f is
    recorded again. With `out=`, a structure like the result's whose arrays have the right shapes and dtypes, results
    are written there.
    """

    def __init__(self, f: Callable[..., Any], backend: str = "native", max_operations: int = 100_000) -> None:
        if backend not in BACKENDS:
            raise ParameterError(f"compile.backend must be one of {', '.join(map(repr, BACKENDS))}, got {backend!r}")
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.backend = backend
        self.max_operations = max_operations
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
        if self.backend == "jax":
            from probdiff.compiler.xla.program import as_numpy

            leaves = as_numpy(leaves)
        entry = self._last = self._entry(leaves, spec)
        given = None if out is None else self._targets(out, entry)
        inputs = [_fitting(leaves[k], n) for k, n in zip(entry.traced, entry.capture.program.inputs, strict=True)]
        results = entry.run(inputs, given)
        assert results is not None
        return out if out is not None else entry.rebuild(results)

    def _entry(self, leaves: list[Any], spec: Any) -> Entry:
        kinds = (spec, *(_kind(x) for x in leaves))
        entry = self._entries.pop(kinds, None)
        if entry is None or not unchanged(entry.meaning):
            entry = self._compile(leaves, spec)
        self._entries[kinds] = entry  # the last one is the one used last
        while len(self._entries) > KEPT:
            self._entries.pop(next(iter(self._entries)), None)
        return entry

    def record(self, *args: Tree) -> Compiled:
        """Compile for arguments like these without running; the compiled function itself."""
        self._last = self._entry(*flatten(args))
        return self

    @property
    def address(self) -> int:
        """The address of a C function for a log-density.

        int f(size_t n, const double *x, double *grad, double *logp, void *data)

        It is that of the last recording (a call, or `record`) of `compile(value_and_grad(f))`, f a function of one
        float64 vector; more arguments are bound by `with_data`. It returns 0, or another number if n is wrong or an
        index is out of range. It is valid until the process ends; the arrays that it reads are kept.
        """
        entry = self._recorded("address")
        if entry.density is None:
            entry.density = self.density(entry, [])
        return entry.density

    def with_data(self, *data: Tree) -> Bound:
        """The function of the remaining arguments, the last ones being `data`; see `Bound`."""
        return Bound(self, data, recorded_kinds(self._last, len(data)) if self._last is not None else None)

    def explain(self, *args: Tree) -> Explanation:
        """How the last recording runs, as a report to print; with arguments, it is timed too. See `Explanation`."""
        from probdiff.compiler.explain import Explanation

        if args:
            self.record(*args)
        return Explanation(self._recorded("explain"), self, args)

    def density(self, entry: Entry, data: list[Any]) -> int:
        """The address of the C function of a recording whose inputs after the first are the leaves `data`."""
        if self.backend != "native":
            raise UnsupportedError(f"compiled.address needs backend='native', got {self.backend!r}.")
        if not entry.plain:
            raise UnsupportedError("compiled.address needs arguments that are all numbers or arrays.")
        from probdiff.compiler.native.address import density

        nodes = entry.capture.program.inputs[-len(data) :] if data else []
        return density(entry.run, [_array(x, n) for x, n in zip(data, nodes, strict=True)])

    def _recorded(self, what: str) -> Entry:
        entry = self._last
        if entry is None:
            raise ParameterError(
                f"compiled.{what} needs a recording: call the function once, or compiled.record(*args)."
            )
        if not unchanged(entry.meaning):
            raise ParameterError(
                f"compiled.{what}: a name that the function uses has been bound anew since it was recorded. "
                "Call compiled.record(*args) again."
            )
        return entry

    def _compile(self, leaves: list[Any], spec: Any) -> Entry:
        kinds, traced = described(self.f, leaves, spec)
        meaning = snapshot(self.f)
        start = time.perf_counter()
        try:
            recorded = capture(self.f, spec, kinds, traced, self.max_operations)
        except RecursionError as error:
            raise UnsupportedError(
                f"{_last_line(error)} calls itself without end while it is recorded.\n    "
                "Values are not known then, so a recursion that stops at a value does not stop: write "
                "probdiff.while_loop, probdiff.scan or probdiff.fori_loop."
            ) from None
        middle = time.perf_counter()
        if recorded.lifted:
            raise ParameterError(
                "compile cannot close over a value that is being differentiated; pass it as an argument"
            )
        run: Any
        if self.backend == "numpy":
            run = functools.partial(_interpreted, recorded.program)
        elif self.backend == "jax":
            from probdiff.compiler.xla.program import JaxProgram

            run = JaxProgram(recorded.program)
        else:
            from probdiff.compiler.native.program import native_program

            collecting = gc.isenabled()
            gc.disable()  # a long program is millions of objects that all stay: looking for garbage takes half the time
            try:
                run = native_program(recorded.program)
            finally:
                if collecting:
                    gc.enable()
        entry = Entry(spec, meaning, recorded, traced, len(leaves), run)
        entry.seconds = (middle - start, time.perf_counter() - middle)
        return entry

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


def _last_line(error: BaseException) -> str:
    """The line of the caller's code where a recursion was cut off."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return user_line(trace.tb_frame if trace else None)


def _kind(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return (x.shape, x.dtype)
    return type(x) if isinstance(x, float | int) and not isinstance(x, bool) else (type(x), x)


def _fitting(x: Any, node: Node) -> Any:
    """An input in the form that machine code takes: C order, aligned, and the dtype that was recorded."""
    return x if type(x) is float else _array(x, node)


def _array(x: Any, node: Node) -> np.ndarray:
    return in_native_form(x, node.dtype).reshape(node.shape)


def _interpreted(program: Program, inputs: list[Any], out: list[np.ndarray] | None) -> list[Any] | None:
    for x, n in zip(inputs, program.inputs, strict=True):
        if np.shape(x) != n.shape or np.asarray(x).dtype != n.dtype:
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


def compile(f: Callable[..., Any], backend: str = "native", *, max_operations: int = 100_000) -> Compiled:
    """A function that does what f does, recorded and compiled at its first call for each set of shapes and dtypes.

    backend         "native": LLVM through llvmlite; "numpy": the reference interpreter; "jax": XLA through JAX
    max_operations  of one recording; a longer one (a loop that unrolls without end) is refused with the line

    Python control flow is run while recording: branches on values are refused with the line, loops unroll.
    """
    return Compiled(f, backend, max_operations)
