"""Guards: what surrounds a family's formulas, so that they need to hold inside their support only.

A guard converts `x` to floating point, keeps NumPy quiet where a formula runs outside its domain on purpose, and puts
the value by definition wherever `x` or a traced parameter is outside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.errors import ShapeError, UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array

__all__ = ["GUARDS", "floating", "log1mexp", "log_of", "plain"]


def floating(x: Array) -> Array:
    """`x` in floating point: integers of any width and booleans become float64 before arithmetic can wrap around."""
    if type(x) is float:
        return np.float64(x)
    if is_lifted(x):
        return x * 1.0 if x.dtype.kind in "iub" else x
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise UnsupportedError(f"a distribution takes real numbers, got an array of {array.dtype}")
    if array.dtype.kind != "f" or array.dtype == np.float16:
        array = array.astype(np.float64)
    return array if array.ndim else array[()]


def check_event(d: Any, x: Array) -> None:
    """ShapeError unless the last axes of `x` are those of one value."""
    event, shape = d.event_shape, getattr(x, "shape", ())
    if event and shape[max(0, len(shape) - len(event)) :] != event:
        expected = ", ".join(["...", *map(str, event)])
        raise ShapeError(f"{type(d).__name__}: a value must have shape ({expected}), got {shape}")


def guarded_logpdf(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The formula where `x` is in the support and the parameters are valid, else -inf."""

    @functools.wraps(formula)
    def logpdf(self: Any, x: Array) -> Array:
        x = floating(x)
        check_event(self, x)
        with np.errstate(all="ignore"):
            ok = self.support.contains(x)
            valid = self.valid()
            return plain(np.where(ok if valid is True else ok & valid, formula(self, x), -np.inf))

    return logpdf


def guarded_tail(below: float, above: float) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A distribution function, or its log: `below` under the support, `above` from its upper end on; a step function
    for discrete families.
    """

    def guard(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @functools.wraps(formula)
        def tail(self: Any, x: Array) -> Array:
            x = floating(x)
            support = self.support
            with np.errstate(all="ignore"):
                k = np.floor(x) if support.discrete else x
                under = k < support.lower if support.discrete else k <= support.lower
                return plain(np.where(under, below, np.where(k >= support.upper, above, formula(self, k))))

        return tail

    return guard


def guarded_quantile(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The formula where p is a probability, else NaN."""

    @functools.wraps(formula)
    def quantile(self: Any, p: Array) -> Array:
        p = floating(p)
        with np.errstate(all="ignore"):
            return plain(np.where((p >= 0) & (p <= 1), formula(self, p), np.nan))

    return quantile


def guarded_moment(formula: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The formula, in the shape of the batch (and the event, except for the entropy)."""

    @functools.wraps(formula)
    def moment(self: Any) -> Array:
        with np.errstate(all="ignore"):
            result = plain(formula(self))
        shape = self.batch_shape if formula.__name__ == "entropy" else self.batch_shape + self.event_shape
        return result if getattr(result, "shape", ()) == shape else np.broadcast_to(result, shape)

    return moment


GUARDS: dict[str, Callable[[Any], Any]] = {
    "logpdf": guarded_logpdf,
    "cdf": guarded_tail(0.0, 1.0),
    "ccdf": guarded_tail(1.0, 0.0),
    "logcdf": guarded_tail(-np.inf, 0.0),
    "logccdf": guarded_tail(0.0, -np.inf),
    "quantile": guarded_quantile,
    "cquantile": guarded_quantile,
    **dict.fromkeys(("mean", "var", "mode", "skewness", "kurtosis", "entropy"), guarded_moment),
}


def plain(result: Any) -> Any:
    """A NumPy scalar in place of an array without axes."""
    return result[()] if type(result) is np.ndarray and result.ndim == 0 else result


def log1mexp(lp: Array) -> Array:
    """log(1 - exp(lp)), without a warning at lp = 0."""
    from probdiff import special

    return plain(special.log1mexp(lp))


def log_of(p: Array, complement: Array) -> Array:
    """log p, from whichever of p and 1 - p is smaller."""
    with np.errstate(divide="ignore"):
        return plain(np.where(p < 0.5, np.log(p), np.log1p(-complement)))
