"""Bijectors: smooth one-to-one maps from unconstrained reals onto the supports of distributions.

`forward(u)` gives the constrained value, `inverse(x)` goes back, `log_jacobian(u)` is log |dx/du|. A bijector of
scalars works element by element and its log-Jacobian has the shape of `u`; a bijector of vectors (simplex, ordered)
works on the last axis, and its log-Jacobian has that axis summed away: the shapes are those of the matching `logpdf`,
and whoever adds the two up sums what remains. Bounds may themselves be arrays that are being traced. Matrices are in
`probdiff.distributions.matrix_bijectors`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from probdiff.distributions.support import Interval as RealInterval
from probdiff.distributions.support import Support
from probdiff.errors import UnsupportedError
from probdiff.tree import Array

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Bijector:
    """A map from the reals, or from vectors of reals, onto a support."""

    def unconstrained_shape(self, shape: Shape) -> Shape:
        """The shape of `u` for values of `shape`."""
        return shape

    def origin(self, shape: Shape) -> np.ndarray:
        """A plain point among the `u` of values of `shape`: the middle of the support, where there is one."""
        return np.zeros(self.unconstrained_shape(shape))

    def forward(self, u: Array) -> Array:
        """The constrained value of `u`."""
        raise NotImplementedError

    def inverse(self, x: Array) -> Array:
        """The unconstrained value of `x`; infinite where `x` lies on a bound."""
        raise NotImplementedError

    def log_jacobian(self, u: Array) -> Array:
        """log |dx/du|."""
        raise NotImplementedError


@dataclass(frozen=True)
class Identity(Bijector):
    """x = u: the whole real line."""

    def forward(self, u: Array) -> Array:
        return u

    def inverse(self, x: Array) -> Array:
        return x

    def log_jacobian(self, u: Array) -> Array:
        return np.zeros_like(u)


@dataclass(frozen=True)
class Positive(Bijector):
    """x = exp(u): the positive half-line."""

    def forward(self, u: Array) -> Array:
        return np.exp(u)

    def inverse(self, x: Array) -> Array:
        return np.log(x)

    def log_jacobian(self, u: Array) -> Array:
        return u


@dataclass(frozen=True)
class AboveLower(Bijector):
    """x = lower + exp(u)."""

    lower: Array

    def forward(self, u: Array) -> Array:
        return self.lower + np.exp(u)

    def inverse(self, x: Array) -> Array:
        return np.log(x - self.lower)

    def log_jacobian(self, u: Array) -> Array:
        return u


@dataclass(frozen=True)
class BelowUpper(Bijector):
    """x = upper - exp(-u), which rises with u."""

    upper: Array

    def forward(self, u: Array) -> Array:
        return self.upper - np.exp(-u)

    def inverse(self, x: Array) -> Array:
        return -np.log(self.upper - x)

    def log_jacobian(self, u: Array) -> Array:
        return -u


@dataclass(frozen=True)
class Interval(Bijector):
    """x = lower + (upper - lower) / (1 + exp(-u)).

    Each half is measured from its own bound, so that rounding never carries a value past the other one. The
    log-Jacobian log(upper - lower) + u - 2 log(1 + exp(u)) stays finite, with slope of magnitude one, after the sigmoid
    has saturated.
    """

    lower: Array
    upper: Array

    def forward(self, u: Array) -> Array:
        width = self.upper - self.lower
        return np.where(u < 0, self.lower + width * special.expit(u), self.upper - width * special.expit(-u))

    def inverse(self, x: Array) -> Array:
        return np.log(x - self.lower) - np.log(self.upper - x)

    def log_jacobian(self, u: Array) -> Array:
        return np.log(self.upper - self.lower) + (u - 2.0 * np.logaddexp(0.0, u))


@dataclass(frozen=True)
class Affine(Bijector):
    """x = loc + scale u, with scale > 0."""

    loc: Array
    scale: Array

    def forward(self, u: Array) -> Array:
        return self.loc + self.scale * u

    def inverse(self, x: Array) -> Array:
        return (x - self.loc) / self.scale

    def log_jacobian(self, u: Array) -> Array:
        return np.log(self.scale) + np.zeros_like(u)


@dataclass(frozen=True)
class Simplex(Bijector):
    """Stick-breaking: K - 1 reals to K positive numbers that sum to one.

    z_k = expit(u_k - log(K - k)),  x_k = z_k (1 - z_1) … (1 - z_{k-1}),  x_K = (1 - z_1) … (1 - z_{K-1})

    The origin is the centre of the simplex. Products are sums of logarithms: no part of the stick is lost to rounding.
    """

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)

    def forward(self, u: Array) -> Array:
        log_part, log_kept = self.log_sticks(u)
        log_rest = np.cumsum(log_kept, axis=-1)
        nothing_broken = np.zeros_like(u[..., :1])
        broken = np.concatenate([log_part, nothing_broken], axis=-1)
        return np.exp(broken + np.concatenate([nothing_broken, log_rest], axis=-1))

    def inverse(self, x: Array) -> Array:
        # What is left after each break, summed from the far end: small rests keep their digits.
        rest = np.flip(np.cumsum(np.flip(x, axis=-1), axis=-1), axis=-1)[..., 1:]
        return np.log(x[..., :-1]) - np.log(rest) + self.log_remaining(x.shape[-1] - 1)

    def log_jacobian(self, u: Array) -> Array:
        log_part, log_kept = self.log_sticks(u)
        # dx_k/du_k = z_k (1 - z_k) rest_k; the rest before break k holds every earlier factor 1 - z_j.
        later_breaks = np.arange(u.shape[-1], 0, -1).astype(float)
        return np.sum(log_part + later_breaks * log_kept, axis=-1)

    def log_sticks(self, u: Array) -> tuple[Array, Array]:
        """log z and log(1 - z) of every break."""
        shifted = u - self.log_remaining(u.shape[-1])
        return -np.logaddexp(0.0, -shifted), -np.logaddexp(0.0, shifted)

    def log_remaining(self, breaks: int) -> Array:
        """log(K - k) for k = 1 … K - 1."""
        return np.log(np.arange(breaks, 0, -1).astype(float))


@dataclass(frozen=True)
class Ordered(Bijector):
    """x_1 = u_1,  x_k = x_{k-1} + exp(u_k): vectors that rise strictly."""

    def forward(self, u: Array) -> Array:
        return np.cumsum(np.concatenate([u[..., :1], np.exp(u[..., 1:])], axis=-1), axis=-1)

    def inverse(self, x: Array) -> Array:
        return np.concatenate([x[..., :1], np.log(np.diff(x, axis=-1))], axis=-1)

    def log_jacobian(self, u: Array) -> Array:
        return np.sum(u[..., 1:], axis=-1)


@dataclass(frozen=True)
class PositiveOrdered(Bijector):
    """x_1 = exp(u_1),  x_k = x_{k-1} + exp(u_k): positive vectors that rise strictly."""

    def forward(self, u: Array) -> Array:
        return np.cumsum(np.exp(u), axis=-1)

    def inverse(self, x: Array) -> Array:
        return np.log(np.concatenate([x[..., :1], np.diff(x, axis=-1)], axis=-1))

    def log_jacobian(self, u: Array) -> Array:
        return np.sum(u, axis=-1)


@dataclass(frozen=True)
class UnitVector(Bijector):
    """x = u / |u|: directions, with |u| as a coordinate of its own that means nothing.

    No smooth map leads from K - 1 reals onto a whole sphere. The length r = |u| is given the chi distribution of K
    standard normal numbers, independent of x, and `log_jacobian` is log |du/d(x, r)| turned round plus its density:
    -|u|²/2 - (K/2 - 1) log 2 - log Γ(K/2). A density of x by area on the sphere becomes one of u with the same total.
    `inverse` gives the u of length one.
    """

    def origin(self, shape: Shape) -> np.ndarray:
        return np.ones(shape)  # a vector without length has no direction

    def forward(self, u: Array) -> Array:
        # The largest coordinate comes out first: squares of tiny or huge numbers would be lost.
        u = u / np.max(abs(u), axis=-1, keepdims=True)
        return u / np.sqrt(np.sum(u * u, axis=-1, keepdims=True))

    def inverse(self, x: Array) -> Array:
        return x

    def log_jacobian(self, u: Array) -> Array:
        half = 0.5 * u.shape[-1]
        return -0.5 * np.sum(u * u, axis=-1) - ((half - 1) * math.log(2.0) + math.lgamma(half))


@dataclass(frozen=True)
class SumToZero(Bijector):
    """x = B u, the columns of B orthonormal and orthogonal to (1, …, 1): K - 1 reals to K numbers that sum to zero.

    Column k of B is (1, …, 1, -k, 0, …, 0) / sqrt(k (k + 1)), with k ones. Distances stay as they are; the volume is
    that of x_1 … x_{K-1}: log_jacobian = -log(K) / 2.
    """

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], shape[-1] - 1)

    def forward(self, u: Array) -> Array:
        k = np.arange(1.0, u.shape[-1] + 1)
        w = u / np.sqrt(k * (k + 1))
        later = np.flip(np.cumsum(np.flip(w, axis=-1), axis=-1), axis=-1)
        nothing = np.zeros_like(u[..., :1])
        return np.concatenate([later, nothing], axis=-1) - np.concatenate([nothing, k * w], axis=-1)

    def inverse(self, x: Array) -> Array:
        k = np.arange(1.0, x.shape[-1])
        return (np.cumsum(x, axis=-1)[..., :-1] - k * x[..., 1:]) / np.sqrt(k * (k + 1))

    def log_jacobian(self, u: Array) -> Array:
        return np.sum(np.zeros_like(u), axis=-1) - 0.5 * math.log(u.shape[-1] + 1)


def bijector_for(support: Support) -> Bijector:
    """The bijector onto `support`.

    Whether a bound belongs to the set makes no difference: it has no mass. Discrete supports have no bijector
    (UnsupportedError).
    """
    if support.discrete:
        raise UnsupportedError(f"{support.name} is discrete: no smooth map leads from the reals onto it.")
    if support.name in NAMED:
        return NAMED[support.name]
    if hasattr(support, "bijector"):
        made: Bijector = support.bijector()
        return made
    if isinstance(support, RealInterval):
        bounded_below, bounded_above = is_bound(support.lower), is_bound(support.upper)
        if bounded_below and bounded_above:
            return Interval(support.lower, support.upper)
        if bounded_below:
            return AboveLower(support.lower)
        return BelowUpper(support.upper) if bounded_above else Identity()
    from probdiff.distributions.matrix_bijectors import MATRICES

    if support.name in MATRICES:
        return MATRICES[support.name]
    known = ", ".join([*NAMED, *MATRICES, "interval"])
    raise UnsupportedError(f"There is no bijector for the support {support.name}; there is one for {known}.")


def is_bound(bound: Array) -> bool:
    """Whether `bound` is finite; an array that is being traced counts as finite."""
    return not isinstance(bound, float) or math.isfinite(bound)


NAMED: dict[str, Bijector] = {
    "real": Identity(),
    "real_vector": Identity(),
    "real_matrix": Identity(),
    "positive": Positive(),
    "nonnegative": Positive(),
    "positive_vector": Positive(),
    "simplex": Simplex(),
    "ordered": Ordered(),
    "positive_ordered": PositiveOrdered(),
    "unit_vector": UnitVector(),
    "sum_to_zero": SumToZero(),
}
