"""Our programs inside PyTorch's programs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from probdiff.ops.dispatch import is_lifted
from probdiff.ops.foreign import Recordings
from probdiff.tree import Tree, flatten


class TorchFunction:
    """f on PyTorch's tensors, compiled to machine code, with our derivatives of every order.

    Arguments are structures of tensors, arrays, numbers and other things; tensors may have a gradient. All numbers and
    arrays of the result are tensors. f is recorded once for the shapes and dtypes it is called with.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.entries = Recordings()

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f,)

    def __call__(self, *args: Tree, **kwargs: Any) -> Tree:
        if any(is_lifted(x) for x in flatten((args, kwargs))[0]):
            return self.f(*args, **kwargs)
        from probdiff.interop.torch_node import apply_entry

        return apply_entry(self.entries, self.f, args, kwargs, (), True)

    def __repr__(self) -> str:
        return f"to_torch({getattr(self.f, '__name__', self.f)!s})"


def to_torch(f: Callable[..., Any]) -> TorchFunction:
    """f, written in NumPy, as a function of PyTorch's tensors; see `TorchFunction`."""
    return TorchFunction(f)
