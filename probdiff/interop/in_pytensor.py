"""Our programs inside PyTensor's graphs, and so in PyMC's models."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Tree, flatten


class PytensorFunction:
    """f on PyTensor's variables, as one operation of the graph, compiled to machine code, with our derivatives.

    Arguments are structures of variables, arrays, numbers and other things; all numbers and arrays of the result are
    variables. Where PyTensor does not know the shape of an argument, `like` are arguments of a possible shape.
    """

    def __init__(self, f: Callable[..., Any], like: tuple[Tree, ...] | None) -> None:
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.like = like
        self.templates: dict[Any, Any] = {}

    def __reduce__(self) -> Any:
        return PytensorFunction, (self.f, self.like)

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f,)

    def __call__(self, *args: Tree) -> Tree:
        if any(is_lifted(x) for x in flatten(args)[0]):
            return self.f(*args)
        from probdiff.interop.pytensor_op import apply

        return apply(self, args)

    def __repr__(self) -> str:
        return f"to_pytensor({getattr(self.f, '__name__', self.f)!s})"


def to_pytensor(f: Callable[..., Any], like: tuple[Tree, ...] | None = None) -> PytensorFunction:
    """f, written in NumPy, as a function of PyTensor's variables; see `PytensorFunction`.

    like  example arguments, for variables of unknown shape; ranks and dtypes of the result are those that f has there
    """
    return PytensorFunction(f, like)
