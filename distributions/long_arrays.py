"""Functions of long arrays: by machine code, a family's formula recorded once for the dtypes of its numbers; or, where
that would take long for each element, by a table made for the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.kernels import Kernel, filled, kernel_for, kind_of
from probdiff.distributions.support import Support
from probdiff.distributions.tables import at_integers, by_pieces
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.ops.elementwise import Elementwise
from probdiff.tree import Array, flatten

__all__ = ["FEW", "LONG", "long_function", "long_logpdf"]

LONG = 50_000  # elements of x from which the first call may take the time of a compilation
FEW = 2000  # elements from which a table may pay
METHODS: dict[str, Callable[[Any, Array], Array]] = {
    "logpdf": lambda d, x: d.logpdf(x),
    "cdf": lambda d, x: d.cdf(x),
    "ccdf": lambda d, x: d.ccdf(x),
    "logcdf": lambda d, x: d.logcdf(x),
    "logccdf": lambda d, x: d.logccdf(x),
    "quantile": lambda d, x: d.quantile(x),
    "cquantile": lambda d, x: d.cquantile(x),
}
SIMPLE = 150  # steps of a formula that machine code runs in less time than it takes to look up a table

Function = Callable[[Array], Array]


def long_logpdf(d: Any, x: Array) -> Array | None:
    """The log-density of a univariate distribution of plain numbers at a long array; None if it cannot be recorded."""
    found = _recorded(d, "logpdf", x)
    return None if found is None else _run(*found)


def long_function(d: Any, name: str, x: Array, f: Function) -> Array | None:
    """A tail, quantile or costly density, `f`, of a univariate distribution of plain numbers at a long array; None if f
    itself will do.

    name  "logpdf", "cdf", "ccdf", "logcdf", "logccdf", "quantile" or "cquantile"
    """
    inverse = name.endswith("quantile")
    if any(map(is_lifted, flatten(d)[0])) or d.event_shape:
        return None
    if d.support.discrete and not inverse and not d.batch_shape:
        return at_integers(f, np.floor(x))
    if not d.costly:
        if x.size < LONG:
            return None
        found = _recorded(d, name, x)
        if found is not None and _is_simple(found[0]):
            return _run(*found)
    if d.batch_shape or d.support.discrete:
        return None
    bottom, top = (0.0, 1.0) if inverse else (float(d.support.lower), float(d.support.upper))
    return by_pieces(f, x, bottom, top)


def _recorded(d: Any, name: str, x: Array) -> tuple[Kernel, list[Any]] | None:
    """A method as a program of one element, with its inputs; None if there is no such program."""
    leaves, spec = flatten((d, x))
    if any(map(is_lifted, leaves)) or not all(_plain(domain, getattr(d, name)) for name, domain in d.domains.items()):
        return None
    leaves = [np.int64(v) if type(v) is int else v for v in leaves]  # counts are inputs, too: one recording for all
    try:
        kernel = kernel_for(METHODS[name], METHODS[name], leaves, spec, None)
    except UnsupportedError:  # what it does hangs on the numbers
        return None
    if kernel is None or kernel.capture.lifted:
        return None
    return kernel, [v for v in leaves if not isinstance(kind_of(v), tuple)]


def _run(kernel: Kernel, inputs: list[Any]) -> Array:
    result: Array = kernel.capture.rebuild(filled(kernel.run(inputs), kernel, inputs)).value
    return result


@functools.lru_cache(maxsize=1024)
def _is_simple(kernel: Kernel) -> bool:
    """Whether machine code of the formula has neither loops nor calls of what takes long."""
    from probdiff.compiler.native.instructions import is_routine

    nodes = kernel.program.nodes
    return len(nodes) <= SIMPLE and all(
        isinstance(n.op, Elementwise) and not is_routine(n.op.name, len(n.args)) for n in nodes
    )


def _plain(domain: Support | None, value: Any) -> bool:
    """Whether a parameter is one number per element and valid: of invalid ones the density is NaN, if recorded -inf."""
    return domain is not None and not domain.event_ndim and (value is None or domain.accepts(value))
