"""The base of all distributions: a frozen dataclass of parameters, with what follows from a family's formulas.

A family writes formulas that hold inside its support; subclassing guards them. The guard converts `x` to floating
point, keeps NumPy quiet where a formula runs outside its domain on purpose, and puts the value by definition wherever
`x` or a traced parameter is outside: log-density -inf (with zero gradient), distribution function 0 or 1.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from probdiff.distributions.parameters import Alternative, domains, is_unchecked, parameter
from probdiff.distributions.quantiles import continuous_quantile, discrete_quantile
from probdiff.distributions.support import Support
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, register

__all__ = ["Continuous", "Discrete", "Distribution", "Multivariate"]

_REQUIRED = object()
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Distribution:
    """A container of parameters (its fields), registered as a node of a tree, with mathematics attached.

    Subclass it with annotated fields (`loc: Real = 0.0`), a `support`, and `logpdf(self, x)`. `exclusive` names fields
    of which exactly one is set, the others being None; `relation` says what `related()` tests. `check=False` skips the
    checks of concrete parameters.
    """

    support: Any
    domains: ClassVar[dict[str, Support | None]] = {}
    relation: ClassVar[str] = ""
    exclusive: ClassVar[tuple[str, ...]] = ()
    __broadcasts__: ClassVar[bool] = True  # called with arrays, a constructor makes the container of arrays
    _defaults: ClassVar[dict[str, Any]] = {}
    _alternatives: ClassVar[dict[str, Alternative]] = {}
    _given: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if abstract:
            return
        # Formulas are guarded once, here, so that a family's file holds its mathematics alone.
        cls._given = frozenset(name for name in GUARDS if name in cls.__dict__)
        for name in cls._given:
            setattr(cls, name, GUARDS[name](cls.__dict__[name]))
        cls.domains = domains(cls)
        cls._defaults = {name: cls.__dict__.get(name, _REQUIRED) for name in cls.domains}
        found = [value for value in cls.__dict__.values() if isinstance(value, Alternative)]
        cls._alternatives = {name: each for each in found for name in each.domains}
        dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)(cls)
        leaves = tuple(name for name, domain in cls.domains.items() if domain is not None)
        register(cls, leaves, tuple(name for name in cls.domains if name not in leaves))

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        cls = type(self)
        owner = cls.__name__
        if len(args) > len(cls.domains):
            raise UnsupportedError(f"{owner} takes at most {len(cls.domains)} parameters, got {len(args)}")
        values = dict(zip(cls.domains, args, strict=False))
        if named:
            values.update(self._from_keywords(values, named, check))
        fields = self.__dict__
        for name, domain in cls.domains.items():
            value = values.get(name, cls._defaults[name])
            if value is _REQUIRED:
                raise UnsupportedError(f"{owner} needs the parameter {name}")
            fields[name] = value if value is None else parameter(owner, name, value, domain, check)
        self._settle_precision(fields)
        if cls.exclusive and sum(fields[name] is not None for name in cls.exclusive) != 1:
            one_of = " or ".join(cls.exclusive)
            if all(fields[name] is None for name in cls.exclusive):
                raise UnsupportedError(f"{owner} needs the parameter {one_of}")
            raise ParameterError(f"{owner} takes {one_of}, not both")
        if cls.relation:
            self._check_relation(check)

    @staticmethod
    def _settle_precision(fields: dict[str, Any]) -> None:
        """Python floats become NumPy's, which overflow where Python raises; single ones beside single parameters."""
        weak = [name for name, value in fields.items() if type(value) is float]
        if weak:
            kinds = {getattr(value, "dtype", None) for value in fields.values()}
            kind = np.float32 if SINGLE in kinds and DOUBLE not in kinds else np.float64
            for name in weak:
                fields[name] = kind(fields[name])

    def _from_keywords(self, values: dict[str, Any], named: dict[str, Any], check: bool) -> dict[str, Any]:
        """Fields given by name, those of another parameterisation included."""
        cls, owner, result = type(self), type(self).__name__, {}
        for name in [name for name in named if name in cls.domains]:
            if name in values:
                raise UnsupportedError(f"{owner} got {name} twice")
            result[name] = named.pop(name)
        while named:
            first = next(iter(named))
            other = cls._alternatives.get(first)
            if other is None:
                known = ", ".join([*cls.domains, *cls._alternatives])
                raise UnsupportedError(f"{owner} has no parameter {first}. It takes {known}.")
            absent = [name for name in other.domains if name not in named]
            if absent:
                raise UnsupportedError(f"{owner} needs {' and '.join(absent)} together with {first}")
            for name, value in other(owner, named, check).items():
                if name in values or name in result:
                    raise ParameterError(f"{owner} takes {name} or {first}, not both")
                result[name] = value
        return result

    def _check_relation(self, check: bool) -> None:
        """Refuse concrete parameters that are each valid, but not together."""
        fields = [value for value in self.__dict__.values() if value is not None]
        check = check and not is_unchecked()
        if check and not any(is_lifted(value) for value in fields) and not np.all(self.related()):
            shown = ", ".join(f"{name}={_shown(value)}" for name, value in self.parameters().items())
            raise ParameterError(f"{type(self).__name__} needs {self.relation}, got {shown}")

    def related(self) -> Array:
        """Whether the parameters go together, as `relation` says in words."""
        return True

    def parameters(self) -> dict[str, Any]:
        """The fields that are set, by name."""
        return {name: getattr(self, name) for name in self.domains if getattr(self, name) is not None}

    def valid(self) -> Array:
        """Whether the traced parameters are valid (the concrete ones have been checked); True if none is traced."""
        ok: Any = True
        traced = False
        every = is_unchecked()
        for name, domain in self.domains.items():
            value = self.__dict__[name]
            if domain is not None and value is not None and (every or is_lifted(value)):
                traced = True
                ok = domain.contains(value) & ok
        return self.related() & ok if traced and self.relation else ok

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The common shape of the parameters, each without the axes of one value."""
        shapes = []
        for name, value in self.parameters().items():
            domain = self.domains[name]
            if domain is not None:
                shape = getattr(value, "shape", ())
                shapes.append(shape[: len(shape) - domain.event_ndim])
        return np.broadcast_shapes(*shapes)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return ()

    def iid(self, *sizes: int | str) -> Distribution:
        """Independent values along new event axes, given by their lengths or by the names of a model's coordinates."""
        from probdiff.distributions.wrappers.iid import IID

        return IID(self, sizes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={_shown(v)}' for n, v in self.parameters().items())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        this: Any = self  # a subclass, which is a dataclass
        return all(_same(getattr(this, f.name), getattr(other, f.name)) for f in dataclasses.fields(this))

    def __hash__(self) -> int:
        # Equal distributions may hold arrays, which have no hash; shapes are what they surely share.
        return hash((type(self), self.batch_shape, self.event_shape))

    # Densities. A family gives logpdf.

    def logpdf(self, x: Array) -> Array:
        """The log-density or log-mass at `x`; -inf outside the support, at NaN, and for invalid traced parameters."""
        raise self._unsupported("logpdf")

    def pdf(self, x: Array) -> Array:
        """The density or mass at `x`."""
        with np.errstate(over="ignore"):
            return np.exp(self.logpdf(x))

    # Distribution function. A family gives any of the four; the others follow.

    def cdf(self, x: Array) -> Array:
        """P(X <= x)."""
        if "logcdf" in self._given:
            return np.exp(self.logcdf(x))
        if "ccdf" in self._given:
            return 1 - self.ccdf(x)
        if "logccdf" in self._given:
            return -np.expm1(self.logccdf(x))
        raise self._unsupported("cdf")

    def ccdf(self, x: Array) -> Array:
        """P(X > x)."""
        if "logccdf" in self._given:
            return np.exp(self.logccdf(x))
        if "logcdf" in self._given:
            return -np.expm1(self.logcdf(x))
        return 1 - self.cdf(x)

    def logcdf(self, x: Array) -> Array:
        """log P(X <= x)."""
        return _log_of(self.cdf(x), self.ccdf(x))

    def logccdf(self, x: Array) -> Array:
        """log P(X > x)."""
        return _log_of(self.ccdf(x), self.cdf(x))

    def quantile(self, p: Array) -> Array:
        """The smallest x with P(X <= x) >= p."""
        if is_lifted(p) or any(is_lifted(value) for value in self.parameters().values()):
            owner = type(self).__name__
            raise UnsupportedError(f"{owner}.quantile has no closed form, and its search cannot be traced")
        search = discrete_quantile if self.support.discrete else continuous_quantile
        return search(self, np.asarray(p, dtype=float))

    def cquantile(self, p: Array) -> Array:
        """The smallest x with P(X > x) <= p."""
        return self.quantile(1 - p)

    # Moments.

    def mean(self) -> Array:
        """The expectation."""
        raise self._unsupported("mean")

    def var(self) -> Array:
        """The variance."""
        raise self._unsupported("var")

    def std(self) -> Array:
        """The standard deviation."""
        return np.sqrt(self.var())

    def mode(self) -> Array:
        """A point of largest density."""
        raise self._unsupported("mode")

    def median(self) -> Array:
        """The quantile at one half."""
        return self.quantile(0.5)

    def skewness(self) -> Array:
        """The third standardised moment."""
        raise self._unsupported("skewness")

    def kurtosis(self) -> Array:
        """The excess kurtosis."""
        raise self._unsupported("kurtosis")

    def entropy(self) -> Array:
        """The expectation of -logpdf, in nats."""
        raise self._unsupported("entropy")

    # Draws and fit.

    def rand(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator) -> Any:
        """Random values of shape size + batch_shape + event_shape."""
        if not isinstance(rng, np.random.Generator):
            owner, kind = type(self).__name__, type(rng).__name__
            fix = "Use numpy.random.default_rng(seed)."
            raise UnsupportedError(f"{owner}.rand: rng must be a Generator, got {kind}. {fix}")
        lead = () if size is None else (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        drawn = self.draw(lead + self.batch_shape, rng)
        return drawn if np.ndim(drawn) else np.asarray(drawn).item()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        """Random values, `shape` of them; by inversion unless the family knows better."""
        # `random` may return 0, where most quantile functions are infinite.
        return self.quantile(np.maximum(rng.random(shape), 2.0**-54))

    @classmethod
    def fit(cls, x: Array) -> Self:
        """The member of the family with the largest likelihood of the observations `x`."""
        raise UnsupportedError(f"{cls.__name__}.fit is not there: no closed form. {_fittable()} have it.")

    def _unsupported(self, method: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} has no {method}")


class Continuous(Distribution, abstract=True):
    """A distribution of real numbers with a density."""


class Discrete(Distribution, abstract=True):
    """A distribution of whole numbers; `logpdf` is the log of the mass."""


class Multivariate(Distribution, abstract=True):
    """A distribution of vectors, along the last axis."""


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


def guarded_logpdf(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The formula where `x` is in the support and the parameters are valid, else -inf."""

    @functools.wraps(formula)
    def logpdf(self: Any, x: Array) -> Array:
        x = floating(x)
        with np.errstate(all="ignore"):
            ok = self.support.contains(x)
            valid = self.valid()
            return _plain(np.where(ok if valid is True else ok & valid, formula(self, x), -np.inf))

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
                return _plain(np.where(under, below, np.where(k >= support.upper, above, formula(self, k))))

        return tail

    return guard


def guarded_quantile(formula: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The formula where p is a probability, else NaN."""

    @functools.wraps(formula)
    def quantile(self: Any, p: Array) -> Array:
        p = floating(p)
        with np.errstate(all="ignore"):
            return _plain(np.where((p >= 0) & (p <= 1), formula(self, p), np.nan))

    return quantile


def guarded_moment(formula: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The formula, in the shape of the batch (and the event, except for the entropy)."""

    @functools.wraps(formula)
    def moment(self: Any) -> Array:
        with np.errstate(all="ignore"):
            result = _plain(formula(self))
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


def _plain(result: Any) -> Any:
    """A NumPy scalar in place of an array without axes."""
    return result[()] if type(result) is np.ndarray and result.ndim == 0 else result


def _log_of(p: Array, complement: Array) -> Array:
    """log p, from whichever of p and 1 - p is smaller."""
    with np.errstate(divide="ignore"):
        return _plain(np.where(p < 0.5, np.log(p), np.log1p(-complement)))


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None or is_lifted(a) or is_lifted(b):
        return a is b
    return a == b if isinstance(a, (Distribution, tuple, Support)) else np.array_equal(a, b)


def _fittable() -> str:
    """The names of the families that have `fit`."""
    families = [family for kind in (Continuous, Discrete, Multivariate) for family in kind.__subclasses__()]
    return ", ".join(sorted(family.__name__ for family in families if "fit" in family.__dict__))
