"""Quantiles by search on the log scale, for families whose distribution function has no inverse in closed form.

Whichever tail is smaller is inverted: log P(X <= x) = t or log P(X > x) = t with t <= log(1/2), so that probabilities
of 1e-300 and their complements are as good as those near one half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.long_arrays import FEW
from probdiff.distributions.tables import by_pieces

__all__ = ["inverse"]

Numbers = np.ndarray[Any, Any]
LOG_HALF = float(np.log(0.5))
FARTHEST = 709.0  # in the search coordinate, whose exponential must not overflow
EPS = float(np.finfo(float).eps)
ROUNDING = 64 * EPS
KNOTS = 200  # of the curve along which the searches for many quantiles start
UNDERFLOW = -600.0  # below this log the tail itself may be no number


def inverse(distribution: Any, kind: str, target: Any, start: Numbers | None = None) -> Any:
    """The smallest x where the distribution function called `kind` (cdf, ccdf, logcdf or logccdf) reaches `target`.

    NaN where `target` is no probability (or no logarithm of one). A search may be given its `start`.
    """
    with np.errstate(all="ignore"):
        target = np.asarray(target, dtype=float)
        support = distribution.support
        if target.size >= FEW and not distribution.batch_shape and kind in ("cdf", "ccdf"):
            found = _of_many(distribution, kind, target)
            if found is not None:
                return found
        batch = np.zeros(distribution.batch_shape)
        bottom, top, _, target = np.broadcast_arrays(support.lower, support.upper, batch, target)
        log_p, log_q = _both_logs(kind, target)
        lower = log_p < LOG_HALF
        wanted = np.where(lower, log_p, log_q)
        t = np.where(np.isfinite(wanted), wanted, LOG_HALF)  # ends and NaN take no part in the search
        if support.discrete:
            # Without this a probability that comes out one rounding short sends quantile(cdf(k)) to k + 1.
            blur = ROUNDING * np.maximum(1.0, abs(t))
            if not kind.startswith("log"):
                blur = np.where(lower == (kind == "cdf"), blur, np.log1p(ROUNDING / np.exp(t)))
            result = _discrete(distribution, lower, t - np.where(lower, blur, -blur), bottom, top)
        else:
            result = _continuous(distribution, lower, t, bottom, top, start)
        result = np.where(log_p == -np.inf, bottom, np.where(log_q == -np.inf, top, result))
        return np.where(np.isnan(wanted), np.nan, result)[()]


def _of_many(distribution: Any, kind: str, target: Numbers) -> Numbers | None:
    """The search at a few probabilities, and what follows for the others; None if it does not pay."""
    inside = (target > 0) & (target < 1)
    p = target[inside]
    if p.size < FEW:
        return None
    found = (_steps if distribution.support.discrete else _smooth)(distribution, kind, p)
    if found is None:
        return None
    out = np.empty(target.shape)
    out[inside], out[~inside] = found, inverse(distribution, kind, target[~inside])
    return out


def _smooth(distribution: Any, kind: str, p: Numbers) -> Numbers | None:
    """Quantiles by polynomials through some, whose searches start between yet fewer."""
    from scipy.interpolate import CubicSpline
    from scipy.special import expit, logit

    knots = np.linspace(logit(np.min(p)), logit(np.max(p)), KNOTS)
    at_knots = inverse(distribution, kind, expit(knots))
    between = CubicSpline(knots, at_knots) if np.all(np.isfinite(at_knots)) else None

    def search(p: Numbers) -> Numbers:
        parts = (p[k : k + FEW - 1] for k in range(0, p.size, FEW - 1))
        starts = ((part, None if between is None else between(logit(part))) for part in parts)
        return np.concatenate([inverse(distribution, kind, part, start) for part, start in starts])

    return by_pieces(search, p, 0.0, 1.0)


def _steps(distribution: Any, kind: str, p: Numbers) -> Numbers | None:
    """Quantiles of a discrete law: where p falls among the probabilities at which it steps."""
    low, high = sorted(inverse(distribution, kind, np.array([np.min(p), np.max(p)])))
    if not high - low < p.size // 8:
        return None
    k = np.arange(low, high + 1.0)
    below, above = distribution.cdf(k), distribution.ccdf(k)
    small = np.where(below < 0.5, below, above)
    blur = ROUNDING * np.where(small == (below if kind == "cdf" else above), small * np.maximum(1, -np.log(small)), 1)
    # The last quantile holds whatever is left.
    if kind == "cdf":
        reached = np.where(below < 0.5, below, 1 - above) + blur
        return k[np.searchsorted(reached[:-1], p)]
    reached = np.where(below < 0.5, 1 - below, above) - blur
    return k[len(k) - 1 - np.searchsorted(reached[-2::-1], p, side="right")]


def _both_logs(kind: str, target: Numbers) -> tuple[Numbers, Numbers]:
    """The logs of P(X <= x) and of P(X > x)."""
    if kind.startswith("log"):
        valid = np.where(target <= 0, target, np.nan)
        rest = np.where(valid > LOG_HALF, np.log(-np.expm1(valid)), np.log1p(-np.exp(valid)))
    else:
        valid = np.log(np.where((target >= 0) & (target <= 1), target, np.nan))
        rest = np.log1p(-target) + 0 * valid
    return (valid, rest) if kind.endswith("logcdf") or kind == "cdf" else (rest, valid)


def _excess(distribution: Any, lower: Numbers, t: Numbers, x: Numbers, plain: bool = False) -> Any:
    """How far x is beyond the quantile, on the log scale; it increases with x. `plain` takes the logs of the tails."""

    def left() -> Any:
        return np.log(distribution.cdf(x)) if plain else distribution.logcdf(x)

    def right() -> Any:
        return np.log(distribution.ccdf(x)) if plain else distribution.logccdf(x)

    if np.all(lower):
        return left() - t
    return np.where(lower, left() - t, t - right()) if np.any(lower) else t - right()


def _continuous(
    distribution: Any, lower: Numbers, t: Numbers, bottom: Numbers, top: Numbers, guess: Numbers | None
) -> Numbers:
    """Newton's steps between brackets, which halve where a step would leave them.

    The coordinate v grows like the logarithm of the distance to a finite end of the support (or to zero), where the
    log of a tail is close to a straight line; the last steps are taken in x, where its digits are.
    """
    has_bottom, has_top = np.isfinite(bottom), np.isfinite(top)
    both = has_bottom & has_top

    def place(v: Numbers) -> tuple[Numbers, Numbers]:
        """x and dx/dv."""
        grown, shrunk = np.exp(v), np.exp(-v)
        share = 1 / (1 + shrunk)
        x = np.where(has_bottom, bottom + grown, np.where(has_top, top - shrunk, np.sinh(v)))
        inside = np.where(v < 0, bottom + (top - bottom) * share, top - (top - bottom) / (1 + grown))
        slope = np.where(has_bottom, grown, np.where(has_top, shrunk, np.cosh(v)))
        return np.where(both, inside, x), np.where(both, (top - bottom) * share / (1 + grown), slope)

    if guess is None and np.all(t > UNDERFLOW):
        guess = distribution.guess(lower, t)
    if guess is not None:
        x, good = _polished(distribution, lower, t, guess, bottom, top)
        if np.all(good):
            return x
    low, high, step = np.full(t.shape, -1.0), np.full(t.shape, 1.0), 1.0
    while step < 2 * FARTHEST:
        far = (_excess(distribution, lower, t, place(low)[0]) > 0) & (low > -FARTHEST)
        short = (_excess(distribution, lower, t, place(high)[0]) < 0) & (high < FARTHEST)
        if not (np.any(far) or np.any(short)):
            break
        step *= 2
        low, high = (
            np.where(far, np.maximum(low - step, -FARTHEST), np.where(short, high, low)),
            np.where(short, np.minimum(high + step, FARTHEST), np.where(far, low, high)),
        )
    # Beyond the smallest and largest numbers the quantile is the end of the support.
    before = (low == -FARTHEST) & (_excess(distribution, lower, t, place(low)[0]) > 0)
    beyond = (high == FARTHEST) & (_excess(distribution, lower, t, place(high)[0]) < 0)
    v = 0.5 * (low + high)
    for _ in range(100):
        x, slope = place(v)
        excess = _excess(distribution, lower, t, x)
        low, high = np.where(excess < 0, v, low), np.where(excess > 0, v, high)
        tail = t + np.where(lower, excess, -excess)
        moved = v - excess / (np.exp(distribution.logpdf(x) - tail) * slope)
        middle = 0.5 * (low + high)
        moved = np.where(excess == 0, v, np.where((moved > low) & (moved < high), moved, middle))
        done = abs(moved - v) <= 1e-10 * np.maximum(abs(v), 1e-3)
        v = moved
        if np.all(done):
            break
    x, _ = _polished(distribution, lower, t, place(v)[0], place(low)[0], place(high)[0])
    return np.where(before, bottom, np.where(beyond, top, x))


def _polished(
    distribution: Any, lower: Numbers, t: Numbers, x: Numbers, left: Numbers, right: Numbers
) -> tuple[Numbers, Numbers]:
    """Up to three steps of Newton in x itself, within [left, right], and where they have arrived."""
    plain = bool(np.all(t > UNDERFLOW))
    for _ in range(3):
        excess = _excess(distribution, lower, t, x, plain)
        if np.all(abs(excess) <= 2 * EPS * np.maximum(1.0, abs(t))):
            break
        moved = x - excess / np.exp(distribution.logpdf(x) - t)
        x = np.where(np.isnan(moved), x, np.clip(moved, left, right))
    return x, abs(excess) < 1e-8 * np.maximum(1.0, abs(t))


def _discrete(distribution: Any, lower: Numbers, t: Numbers, bottom: Numbers, top: Numbers) -> Numbers:
    """Doubling steps away from a guess, and bisection over the integers."""
    plain = bool(np.all(t > UNDERFLOW))  # the logs of the tails cost more than the tails
    start = np.where(np.isfinite(bottom), bottom, 0.0)
    guess = distribution.guess(lower, t)
    if guess is not None:
        start = np.where(np.isfinite(guess), np.clip(np.floor(guess), bottom, top), start)
    low, high, step = start - 1, start, 1.0
    for _ in range(1100):
        far = (low >= bottom) & (low > -np.inf) & (_excess(distribution, lower, t, low, plain) >= 0)
        if not np.any(far):
            break
        step *= 2
        low, high = np.where(far, np.maximum(low - step, bottom - 1), low), np.where(far, low, high)
    step = 1.0
    for _ in range(1100):
        short = (high < top) & (_excess(distribution, lower, t, high, plain) < 0)
        if not np.any(short):
            break
        low, high = np.where(short, high, low), np.where(short, np.minimum(high + step, top), high)
        step *= 2
    while True:
        middle = np.floor(low + 0.5 * (high - low))
        inside = (low < middle) & (middle < high)  # beyond 2^53 there may be none, however far apart they are
        if not np.any(inside):
            return high
        under = _excess(distribution, lower, t, middle, plain) < 0
        low, high = np.where(inside & under, middle, low), np.where(inside & ~under, middle, high)
