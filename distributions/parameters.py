"""Parameters: converted to floating point, checked against their domain, or computed from another parameterisation.

A family declares each parameter once, `scale: Positive = 1.0`; what is here turns an argument of the constructor into
the value of that field. Traced values pass untouched: whether they are valid is known only when they have numbers.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from probdiff.distributions.support import Support
from probdiff.errors import ParameterError
from probdiff.ops.dispatch import is_lifted
from probdiff.ops.foreign import framework_of

__all__ = ["Alternative", "alternative", "domains", "is_unchecked", "parameter", "unchecked"]

_unchecked: ContextVar[bool] = ContextVar("unchecked", default=False)


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Distributions made and evaluated within have a log-density of -inf where their parameters are invalid.

    A density that is evaluated far out meets scales that overflowed or vanished: no mistake of the caller's.
    """
    before = _unchecked.set(True)
    try:
        yield
    finally:
        _unchecked.reset(before)


def is_unchecked() -> bool:
    """Whether invalid parameters are to be a density of zero rather than an error."""
    return _unchecked.get()


def domains(annotated: Any) -> dict[str, Support | None]:
    """The names declared in a class or function, each with its domain, or None if it is not a parameter."""
    found: dict[str, Support | None] = {}
    hints = get_type_hints(annotated, include_extras=True)
    for name in annotated.__annotations__:
        hint = hints[name]
        domain = get_args(hint)[1] if get_origin(hint) is Annotated else None
        found[name] = domain if isinstance(domain, Support) else None
    found.pop("return", None)
    return found


class Alternative:
    """Another parameterisation: a function of its own parameters that returns a dict of the family's fields."""

    def __init__(self, function: Callable[..., dict[str, Any]]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.domains = domains(self.function)

    def __call__(self, owner: str, given: dict[str, Any], check: bool) -> dict[str, Any]:
        values = {name: parameter(owner, name, given.pop(name), domain, check) for name, domain in self.domains.items()}
        with np.errstate(all="ignore"):
            return self.function(**values)


def alternative(function: Callable[..., dict[str, Any]]) -> Alternative:
    """Declare a parameterisation by keyword, in a family's body: `def by_rate(rate: Positive)` returns the fields."""
    return Alternative(function)


def parameter(owner: str, name: str, value: Any, domain: Support | None, check: bool = True) -> Any:
    """The value of a field: a float or floating-point array (integers where the domain is discrete), or traced.

    Raises ParameterError, naming the first bad value and its place, unless `check` is False.
    """
    if domain is None or is_lifted(value):
        return value
    if type(value) is not float or domain.discrete:
        if framework_of(value) is not None:
            return value  # an array of another framework, held for a density that is called with it
        value = _numeric(owner, name, value, domain)
    if check and not domain.accepts(value) and not _unchecked.get():
        raise ParameterError(_refusal(owner, name, value, domain))
    return value


def _numeric(owner: str, name: str, value: Any, domain: Support) -> Any:
    """Numbers as they are computed with: float32 stays, every other kind becomes float64; discrete ones int64."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"{owner}.{name} must be {domain.rule}, got {value!r}")
    whole = array.dtype.kind in "iub" or (np.all(np.isfinite(array)) and np.all(np.floor(array) == array))
    if array.dtype.kind in "iub" or (domain.discrete and whole):
        array = array.astype(np.int64 if domain.discrete else np.float64)
    elif array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim:
        return array
    # A Python number says nothing about precision; a NumPy scalar does.
    return array[()] if isinstance(value, np.generic) and array.dtype.kind == "f" else array.item()


def _refusal(owner: str, name: str, value: Any, domain: Support) -> str:
    if domain.event_ndim:
        shown = np.array2string(np.asarray(value), threshold=8).replace("\n", "")
        return f"{owner}.{name} must be {domain.rule}, got {shown}"
    array = np.asarray(value)
    index = tuple(int(i) for i in np.argwhere(~domain.contains(array))[0])
    first = float(array[index])
    rule = "finite" if math.isinf(first) and domain.contains(math.copysign(1.0, first)) else domain.rule
    shown = repr(int(first) if array.dtype.kind == "i" else first)
    place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    return f"{owner}.{name} must be {rule}, got {shown}{place}"
