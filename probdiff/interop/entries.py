"""Functions of structures as operations of another framework: what was recorded for which kinds of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from probdiff.ad.broadcast import Broadcast, Ref
from probdiff.ad.fwddiff import FwdDiff
from probdiff.ad.kernels import kernel_for
from probdiff.compiler.arguments import described
from probdiff.compiler.compiled import KEPT
from probdiff.errors import ParameterError, TracedValueError
from probdiff.graph.closure import Snapshot, fingerprint, snapshot, unchanged
from probdiff.graph.trace import capture
from probdiff.interop.per_element import PerElement
from probdiff.interop.whole import Whole
from probdiff.ops.dispatch import is_lifted
from probdiff.ops.foreign import framework_of
from probdiff.tree import Tree, flatten, unflatten

SMALL = 64  # integers of Python up to this are part of a recording: exponents, counts, orders


class Leaf(NamedTuple):
    """Shape and dtype of an array of a framework, in the place of the array."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Entry(NamedTuple):
    """An operation, the leaves that it takes, their dtypes, and the structure around its results."""

    node: PerElement | Whole
    places: list[int]
    dtypes: list[np.dtype]
    rebuild: Callable[[list[Any]], Tree]
    meaning: Snapshot


Entries = dict[Any, Any]  # an Entry for each kind of arguments; None for what is no function per element
_shared: dict[Any, Entries] = {}


def entries_of(f: Any) -> Entries:
    """Those of all functions that do the same, or those of this object if that cannot be told."""
    mark = fingerprint(f)
    if mark is None:
        own: Entries = f.entries
        return own
    found = _shared.get(mark)
    if found is None:
        found = {}
        _keep(_shared, mark, found, 4 * KEPT)
    return found


def without_refs(f: Any, args: tuple[Tree, ...]) -> tuple[Any, tuple[Tree, ...], tuple[int, ...]]:
    """f of arguments that no `Ref` holds, these arguments, and the places where one did."""
    held = tuple(k for k, a in enumerate(args) if type(a) is Ref)
    if not held:
        return f, args, held

    def unheld(*plain: Tree, **kwargs: Any) -> Any:
        return f(*(Ref(a) if k in held else a for k, a in enumerate(plain)), **kwargs)

    return unheld, tuple(a.value if type(a) is Ref else a for a in args), held


def entry_for(entries: Entries, f: Any, leaves: list[Any], spec: Any, held: Any = (), strict: bool = False) -> Entry:
    """The operation for f(*args, **kwargs), `leaves` and `spec` being those of (args, kwargs).

    A leaf is a `Leaf`, an array, a number, or part of the recording. With `strict`, f must be recorded; else it is run
    as it is where Python asks for values.
    """
    weak = _weak(leaves)
    kinds = [_kind(x, weak) for x in leaves]
    if isinstance(f, Broadcast) and f.cores is None and not spec.children()[1].num_leaves:
        short = (spec, *(x.dtype if type(x) is Leaf else x for x in kinds))
        if short not in entries or not _valid(entries[short]):
            _keep(entries, short, _per_element(f, leaves, spec.children()[0], kinds))
        if entries[short] is not None:
            return cast(Entry, entries[short])
    key = (spec, held, *kinds)
    if key not in entries or not _valid(entries[key]):
        _keep(entries, key, _whole(f, leaves, spec, kinds, strict))
    return cast(Entry, entries[key])


def _valid(entry: Entry | None) -> bool:
    return entry is None or unchanged(entry.meaning)


def _keep(entries: dict[Any, Any], key: Any, made: Any, most: int = KEPT) -> None:
    entries[key] = made
    while len(entries) > most:
        entries.pop(next(iter(entries)))


def _meaning(f: Any) -> Snapshot:
    """What f looks up outside itself, in which an array of a framework would be lost to the derivative."""
    found = snapshot(f)
    for name, value in [(name, value) for _, name, value in found[0]] + [("its closure", x) for _, x in found[1]]:
        framework = framework_of(value)
        if framework is not None:
            raise ParameterError(f"a function reads an array of {framework} from {name}. Pass it as an argument.")
    return found


def _weak(leaves: list[Any]) -> np.dtype:
    """The dtype of Python's floats: single precision beside nothing but single precision."""
    floats = {x.dtype for x in leaves if getattr(getattr(x, "dtype", None), "kind", "") == "f"}
    return floats.pop() if len(floats) == 1 else np.dtype(float)


def _kind(x: Any, weak: np.dtype) -> Any:
    if type(x) is Leaf:
        return x
    if isinstance(x, np.ndarray | np.generic):
        return ("array", x.shape, x.dtype)
    if type(x) is float:
        return ("array", (), weak)
    if type(x) is int and not -SMALL <= x <= SMALL:
        return ("array", (), np.dtype(np.int64))
    return (type(x), x)


def _like(leaves: list[Any], kinds: list[Any]) -> tuple[list[Any], list[int], list[np.dtype]]:
    """Arrays of zeros in the place of arrays, which leaves those are, and their dtypes."""
    like, places, dtypes = list(leaves), [], []
    for k, kind in enumerate(kinds):
        if type(kind) is Leaf or kind[0] == "array":
            shape, dtype = kind[-2:]
            like[k] = np.broadcast_to(np.zeros((), dtype), shape)
            places.append(k)
            dtypes.append(dtype)
    return like, places, dtypes


def _moving(kinds: list[Any], places: list[int]) -> tuple[int, ...]:
    """Which of the leaves at `places` may have a derivative."""
    return tuple(n for n, k in enumerate(places) if type(kinds[k]) is Leaf and kinds[k].dtype.kind == "f")


def _per_element(f: Broadcast, leaves: list[Any], spec: Any, kinds: list[Any]) -> Entry | None:
    meaning = _meaning(f)
    like, places, dtypes = _like(leaves, kinds)
    scalars = [np.zeros((), x.dtype) if k in places else x for k, x in enumerate(like)]
    kernel = kernel_for(f.inner, f.inner, scalars, spec, None)
    if kernel is None or kernel.capture.lifted:
        return None
    moving = _moving(kinds, places)
    if isinstance(f.f, FwdDiff) and f.f.wrt is not None:
        wanted = f.f.wanted(scalars, spec)
        moving = tuple(n for n in moving if places[n] in wanted)

    def rebuild(results: list[Any]) -> Tree:
        return kernel.capture.rebuild(results).value

    return Entry(PerElement(kernel, dtypes, moving, ()), places, dtypes, rebuild, meaning)


def _whole(f: Any, leaves: list[Any], spec: Any, kinds: list[Any], strict: bool) -> Entry:
    meaning = _meaning(f)
    like, places, dtypes = _like(leaves, kinds)
    positional = spec.children()[0]
    described(f, like[: positional.num_leaves], positional)  # refuses what has no machine code, by name
    inputs = [(like[k].shape, like[k].dtype) for k in places]
    results: dict[str, Any] = {}

    def flat(*xs: Any) -> list[Any]:
        full = list(leaves)
        for k, x in zip(places, xs, strict=True):
            full[k] = x
        args, kwargs = unflatten(spec, full)
        out, results["spec"] = flatten(f(*args, **kwargs))
        results["statics"] = {k: y for k, y in enumerate(out) if not _is_number(y)}
        return [y for k, y in enumerate(out) if k not in results["statics"]]

    def rebuild(found: list[Any]) -> Tree:
        given = iter(found)
        statics = results["statics"]
        n = len(found) + len(statics)
        return unflatten(results["spec"], [statics[k] if k in statics else next(given) for k in range(n)])

    program = None
    try:
        recorded = capture(flat, flatten(tuple(0.0 for _ in inputs))[1], inputs, list(range(len(inputs))))
    except TracedValueError:
        if strict:
            raise
    else:
        if recorded.lifted:
            raise ParameterError("a function cannot close over a value that is being differentiated; pass it on")
        program = recorded.program
    seam = isinstance(f, FwdDiff)
    return Entry(Whole(flat, inputs, program, _moving(kinds, places), seam), places, dtypes, rebuild, meaning)


def _is_number(y: Any) -> bool:
    return isinstance(y, float | int | np.ndarray | np.generic) or is_lifted(y)
