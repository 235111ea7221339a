"""The variables of a joint distribution, factors among them, and the order in which they can be evaluated.

A function of other variables names them as its arguments; that is the whole language of dependencies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from probdiff.errors import ParameterError


class Factor:
    """A term of a joint log-density that belongs to no variable; it has a name and needs, but no value."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"factor({getattr(self.function, '__name__', repr(self.function))})"


def factor(function: Callable[..., Any]) -> Factor:
    """A term for a Joint's log-density: a function of variables, named by its arguments, that returns a log-weight.

    An array of terms is summed. `Joint(a=…, b=…, near=factor(lambda a, b: -0.5 * (a - b) ** 2))`
    """
    if not callable(function):
        raise ParameterError(f"factor takes a function of variables, got {function!r}.")
    return Factor(function)


NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def arguments(function: Callable[..., Any], names: Mapping[str, Any] | tuple[str, ...], owner: str) -> tuple[str, ...]:
    """The arguments of `function` that are variables.

    An argument with a default that is no variable keeps its default; another unknown one raises ParameterError, which
    names `owner`, the argument and the variables there are.
    """
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise ParameterError(f"{owner} takes {parameter.name!r} by position only; variables are passed by name.")
        if parameter.kind not in NAMED_KINDS:
            continue
        if parameter.name in names:
            found.append(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            raise ParameterError(
                f"{owner} takes {parameter.name!r}, which is no variable ({', '.join(names) or 'there are none'}). "
                "Rename the argument, or add the variable."
            )
    return tuple(found)


def dependencies(variables: Mapping[str, Any], owner: str) -> dict[str, tuple[str, ...]]:
    """What each variable needs, in an order in which every variable comes after its needs.

    Variables stay in the order they were written in wherever that is possible. A cycle raises ParameterError with the
    way round it.
    """
    names = tuple(variables)
    values = tuple(name for name in names if not isinstance(variables[name], Factor))
    needs: dict[str, tuple[str, ...]] = {}
    for name, variable in variables.items():
        function = variable.function if isinstance(variable, Factor) else variable
        needs[name] = arguments(function, values, f"{owner}.{name}") if is_function(function) else ()
    ordered: dict[str, tuple[str, ...]] = {}
    while len(ordered) < len(needs):
        ready = next((n for n in needs if n not in ordered and all(m in ordered for m in needs[n])), None)
        if ready is None:
            way = cycle(needs, {n for n in needs if n not in ordered})
            raise ParameterError(f"{owner}.{way[0]} depends on itself: {' needs '.join(way)}. Break the cycle.")
        ordered[ready] = needs[ready]
    return ordered


def cycle(needs: Mapping[str, tuple[str, ...]], blocked: set[str]) -> list[str]:
    """Names along one cycle, the first repeated at the end. Every blocked variable needs a blocked one."""
    way: list[str] = [next(n for n in needs if n in blocked)]
    while True:
        following = next(m for m in needs[way[-1]] if m in blocked)
        if following in way:
            return [*way[way.index(following) :], following]
        way.append(following)


def is_function(variable: Any) -> bool:
    """Whether a variable is computed from others; what has a log-density is not, even where it can be called."""
    return callable(variable) and not hasattr(variable, "logpdf")
