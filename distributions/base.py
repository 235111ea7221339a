"""The base of all distributions: a frozen dataclass of parameters, with what follows from a family's formulas.

A family gives its fields, `support`, `logpdf` and at least one form of its distribution function; `guards` surrounds
these, and everything else is derived here, once. docs/families.md says what to give and what is had for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from probdiff.distributions.bijectors import Bijector
from probdiff.distributions.container import Container
from probdiff.distributions.draws import open_uniform
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.guards import floating, guarded_cf, log1mexp, log_of, plain
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten, map_leaves

__all__ = ["Continuous", "Discrete", "Distribution", "Multivariate"]


class Distribution(Container, base=True):
    """A container of parameters (its fields), registered as a node of a tree, with mathematics attached.

    Subclass it with annotated fields (`loc: Real = 0.0`), a `support`, and `logpdf(self, x)`. `exclusive` names fields
    of which exactly one is set, the others being None; `relation` says what `related()` tests. `check=False` skips the
    checks of concrete parameters.
    """

    tail_rates: ClassVar[Any] = None  # of P(X < -x) and P(X > x), which fall like exp(-rate x); 0 for heavier tails
    costly: ClassVar[bool] = False  # whether a value takes an integral of its own: of many, most are interpolated

    def iid(self, *sizes: int | str) -> Distribution:
        """Independent values along new event axes, given by their lengths or by the names of a model's coordinates."""
        from probdiff.distributions.wrappers.iid import IID

        return IID(self, sizes)

    # Densities. A family gives logpdf.

    def logpdf(self, x: Array) -> Array:
        """The log-density or log-mass at `x`; -inf outside the support, at NaN, and for invalid traced parameters."""
        raise self._unsupported("logpdf")

    def pdf(self, x: Array) -> Array:
        """The density or mass at `x`."""
        with np.errstate(over="ignore"):
            return np.exp(self.logpdf(x))

    # Distribution function. A family gives any of the four; the others follow. What is given in logs is accurate in
    # both tails, so a family whose tails underflow gives logcdf and logccdf.

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
        if "logccdf" in self._given and not {"cdf", "ccdf"} & self._given:
            return log1mexp(self.logccdf(x))
        return log_of(self.cdf(x), self.ccdf(x))

    def logccdf(self, x: Array) -> Array:
        """log P(X > x)."""
        if "logcdf" in self._given and not {"cdf", "ccdf"} & self._given:
            return log1mexp(self.logcdf(x))
        return log_of(self.ccdf(x), self.cdf(x))

    def logdiffcdf(self, x: Array, y: Array) -> Array:
        """log P(x < X <= y), from whichever tails are small; -inf unless x < y."""
        from probdiff.distributions.intervals import log_interval

        return log_interval(self, floating(x), floating(y))

    # Inverses of the four, in x as a function of the probability. A family gives `quantile`, and `cquantile` with it,
    # where there is a formula; else they are found by search, and differentiate all the same.

    def quantile(self, p: Array) -> Array:
        """The smallest x with P(X <= x) >= p."""
        return self._inverse("cdf", p)

    def cquantile(self, p: Array) -> Array:
        """The smallest x with P(X > x) <= p."""
        return self._inverse("ccdf", p)

    def invlogcdf(self, lp: Array) -> Array:
        """The smallest x with log P(X <= x) >= lp; lp <= 0 may be far below the log of the smallest number."""
        if self._within_numbers(lp):
            return plain(np.where(lp < -0.7, self.quantile(np.exp(lp)), self.cquantile(-np.expm1(lp))))
        return self._inverse("logcdf", lp)

    def invlogccdf(self, lp: Array) -> Array:
        """The smallest x with log P(X > x) <= lp."""
        if self._within_numbers(lp):
            return plain(np.where(lp < -0.7, self.cquantile(np.exp(lp)), self.quantile(-np.expm1(lp))))
        return self._inverse("logccdf", lp)

    def _within_numbers(self, lp: Array) -> bool:
        """Whether the formulas of the quantile will do: plain logs of probabilities that are not too small.

        They will not for whole numbers, where a probability that has been rounded may be the next step's.
        """
        formulas = {"quantile", "cquantile"} <= self._given and not self.support.discrete
        return formulas and not is_lifted(lp) and bool(np.all(lp > -690))

    def guess(self, lower: Array, lp: Array) -> Array | None:
        """Where the search for a quantile starts, good to a few digits: of the plain log-probability `lp` of the lower
        or of the upper tail; not finite where there is no guess, None if there is none at all.
        """
        if not {"quantile", "cquantile"} <= self._given:
            return None
        p = np.exp(lp)
        return np.where(lower, self.quantile(p), self.cquantile(p))

    def _inverse(self, kind: str, target: Array) -> Array:
        from probdiff.distributions.implicit import inverted

        return inverted(self, kind, floating(target))

    def latent(self) -> tuple[Distribution, Bijector] | None:
        """A location-scale distribution of u with the map from u to x, where x is a function of such a variable."""
        return None

    # Moments. Those without a formula are integrals over the quantile function, or sums.

    def mean(self) -> Array:
        """The expectation."""
        return self._expected("mean", lambda x: x)

    def var(self) -> Array:
        """The variance."""
        return self._central("var", 2)

    def std(self) -> Array:
        """The standard deviation."""
        return np.sqrt(self.var())

    def mode(self) -> Array:
        """A point of largest density; one without a formula is searched, and differentiates where it is smooth."""
        from probdiff.distributions.peaks import mode

        self._need_tails("mode")
        return mode(self)

    def modes(self) -> Array:
        """All points of largest density of one distribution, rising along one axis; plain numbers.

        Where the density is flat on top, the middle of it.
        """
        from probdiff.distributions.peaks import all_modes

        self._need_tails("modes")
        if self.batch_shape:
            owner, shape = type(self).__name__, self.batch_shape
            raise UnsupportedError(f"{owner}.modes is of one distribution, got the shape {shape}. Take one of them.")
        return all_modes(self)

    def median(self) -> Array:
        """The quantile at one half."""
        return self.quantile(0.5)

    def skewness(self) -> Array:
        """The third standardised moment."""
        return self._central("skewness", 3) / self.var() ** 1.5

    def kurtosis(self) -> Array:
        """The excess kurtosis."""
        return self._central("kurtosis", 4) / self.var() ** 2 - 3

    def entropy(self) -> Array:
        """The expectation of -logpdf, in nats."""
        return self._expected("entropy", lambda x: -self.logpdf(x))

    def expect(self, g: Callable[[Array], Array], kinks: Sequence[Array] = ()) -> Array:
        """E[g(X)], for g that acts element by element; by quadrature, or a sum for discrete families.

        Good to about 1e-12 where g is smooth; `kinks` are the points where it is not.
        """
        return self._expected("expectations", g, kinks)

    def kinks(self) -> tuple[Array, ...]:
        """The points within the support where the density is not smooth, in any order."""
        return ()

    def _central(self, name: str, order: int) -> Array:
        center = self.mean()
        return self._expected(name, lambda x: (x - center) ** order)

    def _expected(self, name: str, g: Callable[[Array], Array], kinks: Sequence[Array] = ()) -> Array:
        from probdiff.distributions.expectation import expectation

        self._need_tails(name)
        return expectation(self, g, kinks)

    def _need_tails(self, name: str) -> None:
        if self.event_shape or not has_tails(type(self)):
            raise self._unsupported(name)

    def mgf(self, t: Array) -> Array:
        """The moment generating function E[exp(t X)], infinite where it does not exist.

        Without a formula, an integral or a sum: of bounded laws, and of those that give `tail_rates`.
        """
        from probdiff.distributions.generating import moment_generating

        self._need_tails("mgf")
        return moment_generating(self, t)

    @guarded_cf
    def cf(self, t: Array) -> Array:
        """The characteristic function E[exp(i t X)], complex, of plain parameters at plain numbers t.

        Without a formula, an integral or a sum, with an absolute error of at most 1e-9.
        """
        from probdiff.distributions.generating import characteristic

        self._need_tails("cf")
        return characteristic(self, t)

    # Exponential families. A family gives `exponential_form`.

    def exponential_form(self) -> ExponentialForm:
        """The sufficient statistics as a function of x, the natural parameters and the log-partition."""
        raise self._unsupported("exponential form")

    def sufficient_statistics(self, x: Array) -> tuple[Array, ...]:
        """All that the likelihood of `x` hangs on: log p(x) is linear in them, with `natural_parameters`."""
        with np.errstate(all="ignore"):
            return self.exponential_form().statistics(floating(x))

    def natural_parameters(self) -> tuple[Array, ...]:
        """The factors η of the sufficient statistics T: log p(x) = Σ η_i T_i(x) - log_partition + log h(x)."""
        return self.exponential_form().parameters

    def log_partition(self) -> Array:
        """What normalises an exponential family, as a function of the parameters alone."""
        return self.exponential_form().log_partition

    def kl_divergence(self, other: Distribution) -> Array:
        """KL(self || other), in nats."""
        from probdiff.distributions.divergence import kl_divergence

        return kl_divergence(self, other)

    # Draws and fit.

    def rand(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator) -> Any:
        """Random values of shape size + batch_shape + event_shape.

        While parameters are being differentiated, the draws of a continuous family are functions of them: see
        `pathwise`.
        """
        if not isinstance(rng, np.random.Generator):
            owner, kind = type(self).__name__, type(rng).__name__
            fix = "Use numpy.random.default_rng(seed)."
            raise UnsupportedError(f"{owner}.rand: rng must be a Generator, got {kind}. {fix}")
        lead = () if size is None else (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        fixed = self._fixed("rand")
        drawn = fixed.draw(lead + self.batch_shape, rng)
        if fixed is not self:
            if self.event_shape:
                raise UnsupportedError(f"{type(self).__name__}.rand cannot be differentiated in the parameters.")
            return self.pathwise(drawn)
        return drawn if np.ndim(drawn) else np.asarray(drawn).item()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        """Random values, `shape` of them; by inversion unless the family knows better."""
        return self.quantile(open_uniform(shape, rng))

    def log_rand(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator) -> Any:
        """Logs of random values of a positive family, finite also where the values themselves are too small."""
        lead = () if size is None else (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        return self._fixed("log_rand").log_draw(lead + self.batch_shape, rng)

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        """Logs of random values, `shape` of them."""
        return np.log(self.draw(shape, rng))

    def pathwise(self, x: Array) -> Array:
        """The draw `x` as a function of the parameters: the number `x`, with the slope that keeps its probability.

        dx/dθ = -(dF/dθ) / density, so that the gradient of an average over draws is the average of the gradients. A
        discrete draw has no slope.
        """
        from probdiff.distributions.implicit import pathwise

        return pathwise(self, floating(x))

    def _fixed(self, method: str) -> Self:
        """The distribution with plain numbers as parameters; UnsupportedError where they have none yet."""
        from probdiff.distributions.implicit import number

        if not any(is_lifted(leaf) for leaf in flatten(self)[0]):
            return self
        fixed: Self = map_leaves(number, self)
        if any(is_lifted(leaf) for leaf in flatten(fixed)[0]):
            raise UnsupportedError(
                f"{type(self).__name__}.{method}: a compiled program has no random numbers. Draw outside and use "
                "pathwise(x), or pass uniform noise to quantile(u)."
            )
        return fixed

    @classmethod
    def fit(cls, x: Array, weights: Array | None = None, **fixed: Any) -> Self:
        """The member of the family with the largest likelihood of the observations `x`, each counted by its weight.

        Parameters given by keyword are held (and must be, where they are counts). Families with a closed form give
        `estimate`, `ends` or both; for the others the likelihood is climbed with its gradient. DataError for
        observations that are not finite or outside the support, and where the likelihood has no maximum.
        """
        from probdiff.distributions.fitting import maximum_likelihood, weighted

        x, w = weighted(cls, x, weights)
        if "estimate" in cls.__dict__ and not fixed:
            return cls.estimate(x, w)
        fitted: Self = maximum_likelihood(cls, x, w, {**cls.ends(x), **fixed})
        return fitted

    @classmethod
    def fit_statistics(cls, *means: Array, **fixed: Any) -> Self:
        """The fit of an exponential family from the (weighted) averages of its sufficient statistics.

        That is all that `fit` needs of the observations, which may be too many to keep. Parameters that the statistics
        themselves hang on are given by keyword.
        """
        from probdiff.distributions.exponential_form import fit_statistics

        fitted: Self = fit_statistics(cls, means, fixed)
        return fitted

    @classmethod
    def start_statistics(cls, *means: Array) -> dict[str, Any]:
        """Where the search of `fit_statistics` begins, by name; as `start`."""
        return {}

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The closed form of `fit`: observations and their weights, which add up to one."""
        raise UnsupportedError(f"{cls.__name__} has no closed form of fit")

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        """The parameters of which the likelihood is largest at an extreme observation, whatever the others are."""
        return {}

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        """Where the search of `fit` begins: parameters by name, under which every observation is possible.

        Those left out start at the median and the spread (`loc`, `scale`) or amid their domain. As for `estimate`, the
        weights add up to one.
        """
        return {}

    def plot(self, axis: Any = None) -> Any:
        """The density, or the masses, between the quantiles at 0.001 and 0.999; returns matplotlib's axes."""
        from probdiff.distributions.plots import plot

        return plot(self, axis)

    def _unsupported(self, method: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} has no {method}")


class Continuous(Distribution, abstract=True):
    """A distribution of real numbers with a density."""


class Discrete(Distribution, abstract=True):
    """A distribution of whole numbers; `logpdf` is the log of the mass."""

    def guess(self, lower: Array, lp: Array) -> Array | None:
        """By Cornish and Fisher's correction of the normal quantile, where mean and variance have formulas."""
        from scipy.special import ndtri_exp

        if not {"mean", "var"} <= self._given:
            return None
        z = np.where(lower, 1.0, -1.0) * ndtri_exp(lp)
        skewness = self.skewness() if "skewness" in self._given else 0.0
        return self.mean() + self.std() * (z + skewness * (z * z - 1) / 6)


class Multivariate(Distribution, abstract=True):
    """A distribution of vectors, along the last axis, or of matrices, along the last two.

    `holds` names parameters that `fit` may be given; `statistic_names` says what the sufficient statistics are.
    """

    holds: ClassVar[tuple[str, ...]] = ()
    statistic_names: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def fit(cls, x: Array, weights: Array | None = None, **fixed: Any) -> Self:
        """The member with the largest likelihood of the observations `x`, one a row, each counted by its weight.

        UnsupportedError unless the family gives `estimate`. DataError as for one number.
        """
        from probdiff.distributions.multivariate.fitting import weighted_rows

        for name in fixed:
            if name not in cls.holds:
                held = " and ".join(cls.holds) or "none"
                raise UnsupportedError(f"{cls.__name__}.fit finds the parameters of vectors, and holds {held}: {name}")
        x, w = weighted_rows(cls, x, weights)
        return cls.estimate(x, w, **fixed)

    @classmethod
    def fit_statistics(cls, *means: Array, **fixed: Any) -> Self:
        """The fit of an exponential family from the (weighted) averages of its sufficient statistics."""
        from probdiff.distributions.multivariate.fitting import averages

        if fixed:
            raise UnsupportedError(f"{cls.__name__}.fit_statistics holds no parameter, got {next(iter(fixed))}")
        return cls.from_statistics(*averages(cls, means))

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        """What `fit_statistics` says, of finite arrays as many as there are statistics."""
        raise UnsupportedError(f"{cls.__name__} has no fit_statistics")


def has_tails(family: type[Distribution]) -> bool:
    """Whether a family gives any of the four forms of its distribution function."""
    return any(getattr(family, t) is not getattr(Distribution, t) for t in ("cdf", "ccdf", "logcdf", "logccdf"))
