"""Guards: what surrounds a family's formulas, so that they need to hold inside their support only.

A guard converts `x` to floating point, keeps NumPy quiet where a formula runs outside its domain on purpose, and puts
the value by definition wherever `x` or a traced parameter is outside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.distributions.long_arrays import FEW, LONG, long_function, long_logpdf
from probdiff.distributions.support import is_infinite
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten

__all__ = ["GUARDS", "floating", "guarded_cf", "log1mexp", "log_of", "plain"]

LARGEST = 2**63 - 1  # of NumPy's integers


def floating(x: Array) -> Array:
    """`x` in floating point: integers of any width and booleans become float64 before arithmetic can wrap around."""
    if type(x) is float or (type(x) is int and -LARGEST <= x <= LARGEST):
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

    @np.errstate(all="ignore")
    def inside(self: Any, x: Array) -> Array:
        ok = self.support.contains(x)
        valid = self.valid()
        if valid is True and type(ok) is np.bool_ and ok:
            return plain(formula(self, x))
        return of_precision(self, x, np.where(ok if valid is True else ok & valid, formula(self, x), -np.inf))

    @functools.wraps(formula)
    def logpdf(self: Any, x: Array) -> Array:
        if type(x) is np.ndarray and x.size >= LONG and x.dtype in (np.float64, np.int64) and not self.costly:
            check_event(self, x)
            by_machine_code = long_logpdf(self, x)
            if by_machine_code is not None:
                return by_machine_code
        x = floating(x)
        check_event(self, x)
        if self.costly and type(x) is np.ndarray and x.size >= FEW and x.dtype == np.float64:
            found = long_function(self, "logpdf", x, functools.partial(inside, self))
            if found is not None:
                return found
        return inside(self, x)

    return logpdf


def guarded_tail(below: float, above: float) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """A distribution function, or its log: `below` under the support, `above` from its upper end on; a step function
    for discrete families.
    """

    def guard(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @np.errstate(all="ignore")
        def inside(self: Any, x: Array) -> Array:
            support = self.support
            k = np.floor(x) if support.discrete else x
            # The mass at the least whole number is at it, where there is one.
            under = k < support.lower if support.discrete and not is_infinite(support.lower) else k <= support.lower
            value = np.where(k >= support.upper, above, formula(self, k))
            return of_precision(self, x, np.where(under, below, value))

        return of_long_arrays(formula, inside)

    return guard


def guarded_quantile(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The formula where p is a probability, else NaN."""

    @np.errstate(all="ignore")
    def inside(self: Any, p: Array) -> Array:
        return plain(np.where((p >= 0) & (p <= 1), formula(self, p), np.nan))

    return of_long_arrays(formula, inside)


def of_long_arrays(formula: Callable[[Any, Any], Any], inside: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The guarded formula, faster where an array is long."""

    @functools.wraps(formula)
    def guarded(self: Any, x: Array) -> Array:
        x = floating(x)
        if type(x) is np.ndarray and x.size >= FEW and x.dtype == np.float64:
            with np.errstate(all="ignore"):
                found = long_function(self, formula.__name__, x, functools.partial(inside, self))
            if found is not None:
                return found
        return inside(self, x)

    return guarded


def guarded_moment(formula: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The formula, in the shape of the batch (and the event, except for the entropy)."""

    @functools.wraps(formula)
    def moment(self: Any) -> Array:
        with np.errstate(all="ignore"):
            result = plain(formula(self))
        shape = self.batch_shape if formula.__name__ == "entropy" else self.batch_shape + self.event_shape
        return result if getattr(result, "shape", ()) == shape else np.broadcast_to(result, shape)

    return moment


def quietly(formula: Callable[..., Any]) -> Callable[..., Any]:
    """The formula, quiet."""

    @functools.wraps(formula)
    def quiet(self: Any, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return plain(formula(self, *args))

    return quiet


def guarded_cf(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The formula, quiet, of plain numbers only: its value is complex, which nothing differentiates."""

    @functools.wraps(formula)
    def cf(self: Any, t: Array) -> Array:
        if any(is_lifted(leaf) for leaf in (t, *flatten(self)[0])):
            raise UnsupportedError(
                f"{type(self).__name__}.cf is complex, and cannot be differentiated or compiled. Take "
                "expect(lambda x: np.cos(t * x)) and that of the sine."
            )
        with np.errstate(all="ignore"):
            return plain(formula(self, t))

    return cf


GUARDS: dict[str, Callable[[Any], Any]] = {
    "logpdf": guarded_logpdf,
    "cdf": guarded_tail(0.0, 1.0),
    "ccdf": guarded_tail(1.0, 0.0),
    "logcdf": guarded_tail(-np.inf, 0.0),
    "logccdf": guarded_tail(0.0, -np.inf),
    "quantile": guarded_quantile,
    "cquantile": guarded_quantile,
    **dict.fromkeys(("mean", "var", "mode", "skewness", "kurtosis", "entropy"), guarded_moment),
    **dict.fromkeys(("mgf", "exponential_form"), quietly),
    "cf": guarded_cf,
}


def of_precision(d: Any, x: Array, result: Array) -> Array:
    """`result`, as single numbers if `x` and all parameters are, whatever the formula is computed in."""
    if x.dtype == np.float32 and result.dtype == np.float64:
        kinds = {getattr(leaf, "dtype", None) for leaf in flatten(d)[0]}
        result = result if np.dtype(np.float64) in kinds else result.astype(np.float32)
    return plain(result)


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
