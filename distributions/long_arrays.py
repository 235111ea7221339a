"""Log-densities of long arrays by machine code: a family's formula, recorded once for the dtypes of its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.kernels import filled, kernel_for, kind_of
from probdiff.distributions.support import Support
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten

__all__ = ["LONG", "long_logpdf"]

LONG = 50_000  # elements of x from which the first call may take the time of a compilation


def long_logpdf(d: Any, x: Array) -> Array | None:
    """The log-density of a univariate distribution of plain numbers at a long array; None if it cannot be recorded."""
    leaves, spec = flatten((d, x))
    if any(map(is_lifted, leaves)) or not all(_plain(domain, getattr(d, name)) for name, domain in d.domains.items()):
        return None
    leaves = [np.int64(v) if type(v) is int else v for v in leaves]  # counts are inputs, too: one recording for all
    kernel = kernel_for(_logpdf, _logpdf, leaves, spec, None)
    if kernel is None or kernel.capture.lifted:
        return None
    inputs = [v for v in leaves if not isinstance(kind_of(v), tuple)]
    result: Array = kernel.capture.rebuild(filled(kernel.run(inputs), kernel, inputs)).value
    return result


def _plain(domain: Support | None, value: Any) -> bool:
    """Whether a parameter is one number per element and valid: of invalid ones the density is NaN, if recorded -inf."""
    return domain is not None and not domain.event_ndim and (value is None or domain.accepts(value))


def _logpdf(d: Any, x: Array) -> Array:
    return d.logpdf(x)
