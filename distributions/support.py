"""Supports: the sets that values and parameters live in, with the words that an error uses for them.

A support answers `contains(x)` with an array of booleans; NaN belongs to no support, and infinity only where its name
says so. It is written with traceable operations, and its bounds may be traced themselves. The domains of parameters and
the supports of distributions are the same objects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from probdiff.tree import Array

__all__ = [
    "Boolean",
    "Cholesky",
    "CorrelationCholesky",
    "CorrelationMatrix",
    "Counts",
    "CovarianceMatrix",
    "Integer",
    "Integers",
    "Interval",
    "LogWeightVector",
    "LogWeights",
    "Matrices",
    "Nonnegative",
    "NonnegativeInteger",
    "OpenUnit",
    "Ordered",
    "Points",
    "Positive",
    "PositiveDefinite",
    "PositiveInteger",
    "PositiveOrInfinite",
    "PositiveProbability",
    "PositiveVector",
    "PositiveVectors",
    "Probability",
    "ProbabilityVector",
    "Real",
    "RealMatrix",
    "RealVector",
    "Simplex",
    "SumToZero",
    "Support",
    "TriangularFactor",
    "UnitVector",
    "Vectors",
    "boolean",
    "correlation_cholesky",
    "correlation_matrix",
    "counts",
    "covariance_cholesky",
    "covariance_matrix",
    "integer_interval",
    "integers",
    "interval",
    "is_infinite",
    "lower_cholesky",
    "nonnegative",
    "nonnegative_integers",
    "open_unit_interval",
    "ordered",
    "positive",
    "positive_definite",
    "positive_integers",
    "positive_or_infinite",
    "positive_ordered",
    "positive_unit_interval",
    "positive_vector",
    "real",
    "real_matrix",
    "real_vector",
    "simplex",
    "sum_to_zero",
    "unit_interval",
    "unit_vector",
]


@dataclass(frozen=True, repr=False)
class Support:
    """What all supports have: a name, the rule in words, bounds, and the number of axes that one value takes."""

    name: str
    rule: str
    lower: Any = -math.inf
    upper: Any = math.inf
    discrete: ClassVar[bool] = False
    event_ndim: ClassVar[int] = 0

    def __repr__(self) -> str:
        return self.name

    def contains(self, x: Array) -> Array:
        """Whether each value of `x` is in the set; False for NaN."""
        raise NotImplementedError

    def accepts(self, x: Any) -> bool:
        """Whether a plain number or array is inside altogether."""
        return bool(np.all(self.contains(x)))


@dataclass(frozen=True, repr=False)
class Interval(Support):
    """Real numbers between two bounds, each of which may belong to the set."""

    closed_lower: bool = False
    closed_upper: bool = False

    def __repr__(self) -> str:
        return f"interval({self.lower}, {self.upper})" if self.name == "interval" else self.name

    def contains(self, x: Array) -> Array:
        if self.name == "real":
            return abs(x) < math.inf
        above = x >= self.lower if self.closed_lower else x > self.lower
        below = x <= self.upper if self.closed_upper else x < self.upper
        return above & below

    def accepts(self, x: Any) -> bool:
        # The extremes decide, without temporaries; NaN is an extreme and fails every comparison.
        if isinstance(x, np.ndarray):
            return x.size == 0 or (bool(self.contains(x.min())) and bool(self.contains(x.max())))
        return bool(self.contains(x))


@dataclass(frozen=True, repr=False)
class Integers(Support):
    """Integers between two bounds, both in the set where finite."""

    discrete: ClassVar[bool] = True

    def contains(self, x: Array) -> Array:
        if type(x) is np.float64:
            return x.is_integer() & (x >= self.lower) & (x <= self.upper)
        whole = np.floor(x) == x
        # Infinities are whole numbers to `floor`: a bound at infinity is open.
        above = x > self.lower if is_infinite(self.lower) else x >= self.lower
        below = x < self.upper if is_infinite(self.upper) else x <= self.upper
        return whole & above & below


@dataclass(frozen=True, repr=False)
class Boolean(Integers):
    """Zero and one."""

    def contains(self, x: Array) -> Array:
        return (x == 0) | (x == 1)


@dataclass(frozen=True, repr=False)
class Points(Support):
    """The real numbers among `values` (last axis), which need not be whole."""

    values: Any = ()

    def contains(self, x: Array) -> Array:
        return np.any(np.expand_dims(x, -1) == self.values, axis=-1)


@dataclass(frozen=True, repr=False)
class Simplex(Support):
    """Vectors (last axis) of nonnegative numbers that sum to one."""

    event_ndim: ClassVar[int] = 1
    # A sum of K rounded numbers misses one by about K eps; single precision data still has to pass.
    tolerance: ClassVar[float] = 1e-5

    def contains(self, x: Array) -> Array:
        return np.all(x >= 0, axis=-1) & (abs(np.sum(x, axis=-1) - 1) <= self.tolerance)


@dataclass(frozen=True, repr=False)
class Vectors(Support):
    """Vectors (last axis) of finite numbers."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all(abs(x) < math.inf, axis=-1)


@dataclass(frozen=True, repr=False)
class Matrices(Support):
    """Matrices (last two axes) of finite numbers."""

    event_ndim: ClassVar[int] = 2

    def contains(self, x: Array) -> Array:
        return np.all(abs(x) < math.inf, axis=(-2, -1))


@dataclass(frozen=True, repr=False)
class Counts(Support):
    """Vectors (last axis) of nonnegative integers that sum to `upper`."""

    discrete: ClassVar[bool] = True
    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        whole = np.all((x >= 0) & (np.floor(x) == x), axis=-1)
        return whole & (np.sum(x, axis=-1) == self.upper)


@dataclass(frozen=True, repr=False)
class LogWeights(Support):
    """Vectors (last axis) of finite numbers and -inf, not of -inf alone: logarithms of weights, some of them zero."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all(x < math.inf, axis=-1) & np.any(x > -math.inf, axis=-1)


@dataclass(frozen=True, repr=False)
class PositiveVectors(Support):
    """Vectors (last axis) of positive, finite numbers."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all((x > 0) & (x < math.inf), axis=-1)


@dataclass(frozen=True, repr=False)
class Ordered(Support):
    """Vectors (last axis) of finite numbers that rise strictly, from above `lower`."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        finite = np.all(abs(x) < math.inf, axis=-1)
        return finite & np.all(x[..., 1:] > x[..., :-1], axis=-1) & np.all(x > self.lower, axis=-1)


@dataclass(frozen=True, repr=False)
class UnitVector(Support):
    """Vectors (last axis) of length one."""

    event_ndim: ClassVar[int] = 1
    tolerance: ClassVar[float] = 1e-5

    def contains(self, x: Array) -> Array:
        return abs(np.sum(x * x, axis=-1) - 1) <= self.tolerance


@dataclass(frozen=True, repr=False)
class SumToZero(Support):
    """Vectors (last axis) of finite numbers whose sum is zero, up to the rounding of its terms."""

    event_ndim: ClassVar[int] = 1
    tolerance: ClassVar[float] = 1e-5

    def contains(self, x: Array) -> Array:
        finite = np.all(abs(x) < math.inf, axis=-1)
        return finite & (abs(np.sum(x, axis=-1)) <= self.tolerance * (1 + np.sum(abs(x), axis=-1)))


@dataclass(frozen=True, repr=False)
class Cholesky(Support):
    """Lower triangular matrices (last two axes) with positive diagonal."""

    event_ndim: ClassVar[int] = 2

    def contains(self, x: Array) -> Array:
        finite = np.all(abs(x) < math.inf, axis=(-2, -1))
        positive_diagonal = np.all(np.linalg.diagonal(x) > 0, axis=-1)
        return finite & positive_diagonal & np.all(np.triu(x, 1) == 0, axis=(-2, -1))


@dataclass(frozen=True, repr=False)
class CorrelationCholesky(Cholesky):
    """Lower triangular matrices (last two axes) with positive diagonal and rows of length one."""

    tolerance: ClassVar[float] = 1e-5

    def contains(self, x: Array) -> Array:
        rows = np.all(abs(np.sum(x * x, axis=-1) - 1) <= self.tolerance, axis=-1)
        return super().contains(x) & rows


@dataclass(frozen=True, repr=False)
class PositiveDefinite(Support):
    """Symmetric matrices (last two axes) with positive eigenvalues."""

    event_ndim: ClassVar[int] = 2

    def contains(self, x: Array) -> Array:
        # Symmetric up to rounding: a covariance that was computed as a product need not be so to the last bit.
        slack = 1e-8 * np.max(abs(x), axis=(-2, -1), keepdims=True)
        symmetric = np.all(abs(x - np.swapaxes(x, -1, -2)) <= slack, axis=(-2, -1))
        # The eigenvalues of a matrix with NaN are not asked for: zero is as far outside.
        finite = np.all(abs(x) < math.inf, axis=(-2, -1), keepdims=True)
        return symmetric & np.all(np.linalg.eigvalsh(np.where(finite, x, 0.0)) > 0, axis=-1)


@dataclass(frozen=True, repr=False)
class CorrelationMatrix(PositiveDefinite):
    """Symmetric matrices (last two axes) with positive eigenvalues and ones on the diagonal."""

    tolerance: ClassVar[float] = 1e-5

    def contains(self, x: Array) -> Array:
        ones = np.all(abs(np.linalg.diagonal(x) - 1) <= self.tolerance, axis=-1)
        return super().contains(x) & ones


def is_infinite(bound: Any) -> bool:
    """Whether a bound is the plain number inf or -inf."""
    return isinstance(bound, float) and math.isinf(bound)


def interval(lower: Any, upper: Any) -> Interval:
    """The closed interval [lower, upper]; bounds may be arrays and may be traced."""
    return Interval("interval", "in the interval", lower, upper, True, True)


def integer_interval(lower: Any, upper: Any) -> Integers:
    """The integers lower, lower + 1, …, upper; bounds may be arrays and may be traced."""
    return Integers("integer_interval", "an integer in the interval", lower, upper)


def counts(total: Any) -> Counts:
    """Vectors of nonnegative integers that sum to `total`, which may be an array, one for each vector."""
    return Counts("counts", "nonnegative integers that sum to n", 0.0, total)


real = Interval("real", "finite")
positive = Interval("positive", "positive", 0.0)
positive_or_infinite = Interval("positive_or_infinite", "positive", 0.0, closed_upper=True)
nonnegative = Interval("nonnegative", "nonnegative", 0.0, closed_lower=True)
unit_interval = Interval("unit_interval", "in [0, 1]", 0.0, 1.0, True, True)
open_unit_interval = Interval("open_unit_interval", "in (0, 1)", 0.0, 1.0)
positive_unit_interval = Interval("positive_unit_interval", "in (0, 1]", 0.0, 1.0, False, True)
integers = Integers("integers", "an integer")
nonnegative_integers = Integers("nonnegative_integers", "a nonnegative integer", 0.0)
positive_integers = Integers("positive_integers", "a positive integer", 1.0)
boolean = Boolean("boolean", "0 or 1", 0.0, 1.0)
simplex = Simplex("simplex", "nonnegative numbers that sum to one", 0.0, 1.0)
real_vector = Vectors("real_vector", "finite")
real_matrix = Matrices("real_matrix", "a matrix of finite numbers")
log_weights = LogWeights("log_weights", "finite, or -inf for some")
positive_vector = PositiveVectors("positive_vector", "positive", 0.0)
positive_definite = PositiveDefinite("positive_definite", "symmetric and positive definite")
covariance_matrix = PositiveDefinite("covariance_matrix", "symmetric and positive definite")
correlation_matrix = CorrelationMatrix("correlation_matrix", "symmetric and positive definite with a diagonal of ones")
lower_cholesky = Cholesky("lower_cholesky", "lower triangular with positive diagonal")
covariance_cholesky = Cholesky("covariance_cholesky", "lower triangular with positive diagonal")
correlation_cholesky = CorrelationCholesky(
    "correlation_cholesky", "lower triangular with positive diagonal and rows of length one"
)
ordered = Ordered("ordered", "finite numbers that rise strictly")
positive_ordered = Ordered("positive_ordered", "positive numbers that rise strictly", 0.0)
unit_vector = UnitVector("unit_vector", "a vector of length one")
sum_to_zero = SumToZero("sum_to_zero", "finite numbers that sum to zero")

# Declarations: `scale: Positive` says the type and the domain of a parameter in one word.
Real = Annotated[Any, real]
Positive = Annotated[Any, positive]
PositiveOrInfinite = Annotated[Any, positive_or_infinite]
Nonnegative = Annotated[Any, nonnegative]
Probability = Annotated[Any, unit_interval]
OpenUnit = Annotated[Any, open_unit_interval]
PositiveProbability = Annotated[Any, positive_unit_interval]
Integer = Annotated[Any, integers]
PositiveInteger = Annotated[Any, positive_integers]
NonnegativeInteger = Annotated[Any, nonnegative_integers]
ProbabilityVector = Annotated[Any, simplex]
RealVector = Annotated[Any, real_vector]
RealMatrix = Annotated[Any, real_matrix]
LogWeightVector = Annotated[Any, log_weights]
PositiveVector = Annotated[Any, positive_vector]
CovarianceMatrix = Annotated[Any, positive_definite]
TriangularFactor = Annotated[Any, lower_cholesky]
