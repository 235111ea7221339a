"""A value that is computed when it is first needed, and then kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.tree import Tree, map_leaves


class Thunk:
    """A delayed value: `force()` computes it once; arithmetic, indexing and NumPy functions force it."""

    __slots__ = ("_compute", "_lock", "_value")
    __array_priority__ = 900.0

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute: Callable[[], Any] | None = compute
        self._lock = threading.Lock()

    def force(self) -> Any:
        """The value, computed at the first call."""
        with self._lock:
            if self._compute is not None:
                self._value = self._compute()
                self._compute = None
        return self._value

    @property
    def forced(self) -> bool:
        """Whether the value has been computed."""
        return self._compute is None

    def __repr__(self) -> str:
        return repr(self._value) if self.forced else "Thunk(not yet computed)"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.force(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(unthunk, args), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*map(unthunk, args), **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.force()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise UnsupportedError("a Thunk cannot be assigned into; force() it first and change the result")

    def __iter__(self) -> Any:
        return iter(self.force())

    def __len__(self) -> int:
        return len(self.force())

    def __float__(self) -> float:
        return float(self.force())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.force(), name)


def unthunk(x: Any) -> Any:
    """The value behind one layer of delay; anything else as it is."""
    return x.force() if isinstance(x, Thunk) else x


def unthunk_tree(tree: Tree) -> Tree:
    """A structure with every thunk in it forced."""
    return map_leaves(unthunk, unthunk(tree))


def _operator(name: str) -> Callable[..., Any]:
    def forward(self: Thunk, *others: Any) -> Any:
        return getattr(np.asarray(self.force()), name)(*map(unthunk, others))

    forward.__name__ = name
    return forward


for _name in "add radd sub rsub mul rmul truediv rtruediv pow rpow neg abs lt le gt ge eq ne matmul rmatmul".split():
    setattr(Thunk, f"__{_name}__", _operator(f"__{_name}__"))
