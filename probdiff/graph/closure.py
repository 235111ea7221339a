"""What a function's result depends on besides its arguments, so that a recording is never used for another function.

A recording may be kept for a function whose closure, defaults and globals are fixed things: numbers, strings, modules,
classes, functions of the same kind. Arrays and other objects can change under the same name: such a function is
recorded anew at each call, and the machine code is still found by the structure of the program.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

_fixed = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc, np.dtype)
_values = (int, float, str, bool, bytes, type(None), np.generic)
_array_function = type(np.sum)  # NumPy's functions that dispatch
_names: dict[types.CodeType, tuple[str, ...]] = {}


class Unknown(Exception):
    """The function depends on something that may change."""


def fingerprint(f: Callable[..., Any]) -> Hashable:
    """A key that is equal for functions that do the same, or None if that cannot be told."""
    if type(f) is types.FunctionType and f.__closure__ is None and f.__module__.startswith("probdiff."):
        return f
    try:
        return _key(f, set())
    except (Unknown, TypeError, ValueError):
        return None


def _key(x: Any, seen: set[int]) -> Hashable:
    if isinstance(x, _fixed) or type(x) is _array_function:
        return x
    if isinstance(x, _values):
        return (type(x), x, str(x) if x == 0 else "")
    if isinstance(x, tuple):
        return tuple(_key(e, seen) for e in x)
    if isinstance(x, types.FunctionType):
        return _function_key(x, seen)
    if isinstance(x, functools.partial):
        return ("partial", _key(x.func, seen), _key(x.args, seen), _key(tuple(sorted(x.keywords.items())), seen))
    own = getattr(type(x), "__fingerprint__", None)
    if own is not None:
        return (type(x), *(_key(part, seen) for part in own(x)))
    raise Unknown


def _function_key(f: types.FunctionType, seen: set[int]) -> Hashable:
    if id(f) in seen:
        return f.__code__
    seen.add(id(f))
    if f.__module__ is not None and f.__module__.startswith(("probdiff.", "numpy", "scipy")) and f.__closure__ is None:
        return f
    names = _names.get(f.__code__)
    if names is None:
        names = _names[f.__code__] = _global_names(f.__code__)
    scope = f.__globals__
    return (
        f.__code__,
        tuple(_key(scope[n], seen) for n in names if n in scope),
        tuple(_key(c.cell_contents, seen) for c in f.__closure__ or ()),
        _key(f.__defaults__ or (), seen),
        _key(tuple(sorted((f.__kwdefaults__ or {}).items())), seen),
    )


Snapshot = tuple[list[tuple[dict[str, Any], str, Any]], list[tuple[types.CellType, Any]]]


def snapshot(f: Callable[..., Any]) -> Snapshot:
    """What every name that `f` looks up outside itself means now: globals and closure cells, through all functions."""
    names: list[tuple[dict[str, Any], str, Any]] = []
    cells: list[tuple[types.CellType, Any]] = []
    seen: set[int] = set()

    def visit(x: Any) -> None:
        if isinstance(x, types.MethodType):
            visit(x.__func__)
        elif isinstance(x, functools.partial):
            visit(x.func)
        elif hasattr(type(x), "__fingerprint__"):
            for part in type(x).__fingerprint__(x):
                visit(part)
        if not isinstance(x, types.FunctionType) or id(x) in seen:
            return
        seen.add(id(x))
        for cell in x.__closure__ or ():
            cells.append((cell, cell.cell_contents))
            visit(cell.cell_contents)
        if (x.__module__ or "").startswith(("probdiff.", "numpy", "scipy")):
            return
        for name in _global_names(x.__code__):
            if name in x.__globals__:
                value = x.__globals__[name]
                names.append((x.__globals__, name, value))
                visit(value)

    visit(f)
    return names, cells


def unchanged(now: Snapshot) -> bool:
    """Whether every name still means the same object."""
    for scope, name, value in now[0]:
        if scope.get(name) is not value:
            return False
    for cell, value in now[1]:
        if cell.cell_contents is not value:
            return False
    return True


def _global_names(code: types.CodeType) -> tuple[str, ...]:
    names = list(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names.extend(_global_names(const))
    return tuple(dict.fromkeys(names))
