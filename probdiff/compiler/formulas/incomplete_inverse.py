"""Inverses of the incomplete gamma and beta functions: steps on the log of the smaller tail.

In the variable log x or logit x the logs of both tails are concave, so that Newton's steps lead to the solution from
anywhere; with five terms of the series of the inverse it takes one or two. The point is carried as x (and 1 - x), where
it keeps its digits, and only the steps are in the variable. Where the first term of the series for small x is exact,
its inverse is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

from probdiff.compiler.formulas import beta_tail, gamma_tail
from probdiff.compiler.formulas.loops import choose
from probdiff.compiler.formulas.polynomials import (
    gammaln,
    log_beta,
    log_gamma_of_next,
    polynomial,
)
from probdiff.tree import Array

CLOSE = 2e-3  # a step whose terms fall off by this factor is the last one: the error is its sixth power
STEPS = 60.0
# λ(η), and the corrections ε1, ε2, ε3 of η by powers of η.
LAMBDA = (
    *(1.0, 1.0, 1 / 3, 1 / 36, -1 / 270, 1 / 4320, 1 / 17010, -139 / 5443200, 1 / 204120, -571 / 2351462400),
    *(-281 / 1515591000, 163879 / 2172751257600, -5221 / 354648294000),
)
EPSILON = (
    (-1 / 3, 1 / 36, 1 / 1620, -7 / 6480, 5 / 18144, -11 / 382725, -101 / 16329600),
    (-7 / 405, -7 / 2592, 533 / 204120, -1579 / 2099520, 109 / 1749600, 10217 / 251942400),
    (449 / 102060, -63149 / 20995200, 29233 / 36741600, 346793 / 5290790400),
)


def gammaincinv(a: Array, p: Array) -> Array:
    """The x with P(a, x) = p."""
    return _gamma(a, p, 1.0 - p)


def gammainccinv(a: Array, q: Array) -> Array:
    """The x with Q(a, x) = q."""
    return _gamma(a, 1.0 - q, q)


def betaincinv(a: Array, b: Array, p: Array) -> Array:
    """The x with I_x(a, b) = p."""
    return _beta(a, b, p, 1.0 - p)


def betainccinv(a: Array, b: Array, q: Array) -> Array:
    """The x with 1 - I_x(a, b) = q."""
    return _beta(a, b, 1.0 - q, q)


def beta_odds(a: Array, b: Array, p: Array) -> Array:
    """The odds x / (1 - x) of the x with I_x(a, b) = p."""
    return _odds(a, b, p, 1.0 - p)


def beta_oddsc(a: Array, b: Array, q: Array) -> Array:
    """The odds x / (1 - x) of the x with 1 - I_x(a, b) = q."""
    return _odds(a, b, 1.0 - q, q)


def student_inverse(v: Array, p: Array) -> Array:
    """The t with P(T <= t) = p: the share t² / (v + t²) is that of a beta law of 1/2 and v / 2, beyond which is 2 p."""
    inside = (v > 0.0) & (v <= 1e17) & (p > 0.0) & (p < 1.0)
    shape, p_in = np.where(inside, v, 1.0), np.where(inside, p, 0.25)
    tail = np.minimum(p_in, 1.0 - p_in)
    off = tail == 0.5
    both = np.where(off, 0.5, 2.0 * tail)
    guess = (shape >= 3.0, _student_start(shape, tail))
    x, y = _solution(0.5, 0.5 * shape, 1.0 - both, both, guess)
    ratio = choose(y < 1e-280, _far_ratio, lambda h, both, x, y: np.sqrt(x / y), 0.5 * shape, both, x, y)
    t = np.where(off, 0.0, np.sqrt(shape) * ratio)
    edge = np.where(v > 0.0, sp.ndtri(p), np.nan)
    return np.where(inside, np.where(p < 0.5, -t, t), edge)


def _far_ratio(h: Array, both: Array, x: Array, y: Array) -> Array:
    """|t| / √v where the share v / (v + t²) is no number: its power h is both tails times h B(h, 1/2)."""
    return np.exp(-0.5 * (np.log(both) + np.log(h) + log_beta(np.minimum(h, 0.5), np.maximum(h, 0.5))) / h)


def _student_start(v: Array, tail: Array) -> Array:
    """t² / v by Hill's expansion (Algorithm 396, 1970), good to a few digits from three degrees of freedom on."""
    a = 1.0 / (v - 0.5)
    b = 48.0 / (a * a)
    z = sp.ndtri(np.maximum(tail, 1e-304))
    square = z * z
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * np.sqrt(0.5 * np.pi * a) * v
    c = c + b + np.where(v < 5.0, 0.3 * (v - 4.5) * (z + 0.6), 0.0)
    c = c + (((0.05 * d * z - 5.0) * z - 7.0) * z - 2.0) * z
    y = (((((0.4 * square + 6.3) * square + 36.0) * square + 94.5) / c - square - 3.0) / b + 1.0) * z
    return np.expm1(np.minimum(a * y * y, 300.0))


def _halley(on: Array, move: Callable[..., Any], state: Any) -> Any:
    """The state after state -> (new state, size of the step) until the steps are small."""
    from probdiff.ad.control import while_loop

    def going(carry: Any) -> Array:
        n, size, _ = carry
        return on & (size > CLOSE) & (n < STEPS)

    def body(carry: Any) -> Any:
        n, _, state = carry
        state, size = move(state)
        return n + 1.0, size, state

    return while_loop(going, body, (0.0, 1.0, state))[2]


def _step(lower: Array, target: Array, tail: tuple[Array, ...], bends: Any) -> Any:
    """A step in the variable to where the log of the tail is `target`, and the ratio of the terms it is made of.

    `target` is that of the lower tail if `lower`; `tail` says whether it is the lower one, and has exponents and
    factors of it and of the density in the variable. `bends` are the first four derivatives of the log of the density.
    Near the solution the step is five terms of the Taylor series of the inverse; m is its slope, and each further
    derivative follows from m' = m (m b + 1).
    """
    below, exponent, factor, height, scale = tail
    own = choose(below == lower, lambda e, f: e + np.log(f), lambda e, f: np.log1p(-np.exp(e) * f), exponent, factor)
    e = target - own
    m = np.where(lower, 1.0, -1.0) * np.exp(own - height) / scale
    b, b1, b2, b3 = bends
    s = 1.0 - m * b
    t, u, w = -m * m * b1, -m * m * m * b2, -m * m * m * m * b3
    c3 = s * (2.0 * s - 1.0) + t
    c4 = s * (s * (6.0 * s - 6.0) + 1.0) + t * (7.0 * s - 1.0) + u
    c5 = s * (s * (s * (24.0 * s - 36.0) + 14.0) - 1.0) + t * (s * (46.0 * s - 22.0) + 7.0 * t + 1.0)
    c5 = c5 + u * (11.0 * s - 1.0) + w
    series = 1.0 + e * (0.5 * s + e * (c3 / 6.0 + e * (c4 / 24.0 + e * c5 / 120.0)))
    halley = 1.0 / np.minimum(np.maximum(1.0 - 0.5 * e * s, 0.5), 2.0)
    move = m * e * np.where((abs(e) < 0.3) & (abs(series - 1.0) < 0.5), series, halley)
    return move, abs(e) * np.sqrt(1.0 + s * s + abs(t))


def _gamma(a: Array, p: Array, q: Array) -> Array:
    inside = (a > 0.0) & (a < np.inf) & (p > 0.0) & (q > 0.0) & (p <= 1.0) & (q <= 1.0)
    shape, lower = np.where(inside, a, 1.0), p <= 0.5
    p_in, q_in = np.where(inside, p, 0.5), np.where(inside, q, 0.5)
    tail = np.where(lower, p_in, q_in)
    target = np.log(tail)
    z = sp.ndtri(np.maximum(tail, 1e-304))
    eta = np.where(lower, z, -z) / np.sqrt(shape)
    usual = (shape >= 1.0) & (eta > -1.8) & (eta < 3.0)
    start, log_first = choose(
        usual,
        lambda a, eta, target, q: (_temme(a, eta), 0.0),
        lambda a, eta, target, q: _gamma_start(a, eta, q, target),
        shape,
        eta,
        target,
        q_in,
    )
    first = log_first < -40.0

    def move(x: Array) -> Any:
        step, size = _step(lower, target, gamma_tail.tail_and_density(shape, x), (shape - x, -x, -x, -x))
        step = np.minimum(np.maximum(step, -5.0), 2.0)
        return x + x * np.expm1(step), size

    x = _halley(inside & ~first, move, start)
    x = np.where(first, np.exp(log_first), x)
    edge = np.where(a >= 0.0, np.where(p == 0.0, 0.0, np.where(q == 0.0, np.inf, np.nan)), np.nan)
    return np.where(inside, x, edge)


def _log_gamma_of_next(a: Array) -> Array:
    return choose(a < 1.0, log_gamma_of_next, lambda a: gammaln(a + 1.0), a)


def _temme(a: Array, eta: Array) -> Array:
    """Temme's asymptotic inversion (1992): with λ = x / a, η² / 2 = λ - 1 - log λ; `eta` is the normal quantile / √a.

    Gil, Segura & Temme, Efficient and accurate algorithms for the incomplete gamma function ratios (2012), section 5.
    """
    r = 1.0 / a
    corrections = polynomial(r, [polynomial(eta, c) for c in EPSILON])
    return a * polynomial(eta + r * corrections, LAMBDA)


def _gamma_start(a: Array, eta: Array, q: Array, target: Array) -> tuple[Array, Array]:
    """Wilson and Hilferty's approximation, or the first terms of the tails for small shapes and far tails.

    And log x where x^a / Γ(a + 1) = p, which is less than the solution.
    """
    lower = q >= 0.5
    log_p = np.where(lower, target, np.log1p(-q))
    log_first = (log_p + _log_gamma_of_next(a)) / a
    root = 1.0 - 1.0 / (9.0 * a) + eta / 3.0
    middle = a * root * root * root
    first = np.exp(np.maximum(log_first, -700.0))
    left = np.minimum(first * np.exp(np.minimum(first / (a + 1.0), 1.0)), a + 1.0)
    height = -target - gammaln(a)
    right = np.maximum(height + (a - 1.0) * np.log(np.maximum(height, 1.0)), 0.5 * first)
    small = np.where(lower | (height < 1.0), left, right)
    return np.where((root > 0.2) & (a >= 0.5), middle, small), log_first


def _beta(a: Array, b: Array, p: Array, q: Array) -> Array:
    inside, edge = _ends(a, b, p, q)
    a_in, b_in, p_in, q_in = (np.where(inside, v, s) for v, s in ((a, 1.0), (b, 1.0), (p, 0.5), (q, 0.5)))
    x, _ = _solution(a_in, b_in, p_in, q_in, _fisher_start(a_in, b_in, p_in, q_in))
    return np.where(inside, x, edge)


def _odds(a: Array, b: Array, p: Array, q: Array) -> Array:
    inside, edge = _ends(a, b, p, q)
    a_in, b_in, p_in, q_in = (np.where(inside, v, s) for v, s in ((a, 1.0), (b, 1.0), (p, 0.5), (q, 0.5)))
    x, y = _solution(a_in, b_in, p_in, q_in, _fisher_start(a_in, b_in, p_in, q_in))
    return np.where(inside, x, edge) / np.where(inside, y, 1.0 - edge)


def _ends(a: Array, b: Array, p: Array, q: Array) -> tuple[Array, Array]:
    """Whether there is a solution between 0 and 1, and which end it is otherwise."""
    valid = (a > 0.0) & (b > 0.0) & (p >= 0.0) & (q >= 0.0)
    inside = valid & (a < np.inf) & (b < np.inf) & (p > 0.0) & (q > 0.0)
    return inside, np.where(valid, np.where(p == 0.0, 0.0, np.where(q == 0.0, 1.0, np.nan)), np.nan)


def _solution(a: Array, b: Array, p: Array, q: Array, guess: tuple[Array, Array]) -> tuple[Array, Array]:
    """The x with I_x(a, b) = p, and 1 - x; `guess` says where its odds x / (1 - x) are good enough to start from.

    Where the first power of x or 1 - x is exact, its inverse is the answer.
    """
    lower = p <= 0.5
    target = np.log(np.where(lower, p, q))

    def searched(a: Array, b: Array, p: Array, q: Array, target: Array, odds: Array) -> Any:
        lower = p <= 0.5
        log_p, log_q = np.where(lower, target, np.log1p(-q)), np.where(lower, np.log1p(-p), target)
        log_x = (log_p + _log_share(a, b)) / a  # x^a / (a B) = p
        log_y = (log_q + _log_share(b, a)) / b
        x, y = _beta_start(a, b, lower, target, log_x, log_y)
        return x, y, log_x + np.log1p(b), log_y + np.log1p(a)

    def known(a: Array, b: Array, p: Array, q: Array, target: Array, odds: Array) -> Any:
        return odds / (1.0 + odds), 1.0 / (1.0 + odds), 0.0, 0.0

    good = guess[0] & (guess[1] > 0.0) & (guess[1] < 1e100)
    x, y, low, high = choose(good, known, searched, a, b, p, q, target, guess[1])
    first, last = low < -40.0, high < -40.0
    limit = 4.0 + 4.0 / np.minimum(a, b)

    def move(state: Any) -> Any:
        x, y = state
        bend, turn = -(a + b) * x * y, y - x
        bends = (a * y - b * x, bend, bend * turn, bend * (turn * turn - 2.0 * x * y))
        step, size = _step(lower, target, beta_tail.tail_and_density(a, b, x, y), bends)
        step = np.minimum(np.maximum(step, -limit), limit)
        e = np.expm1(-abs(step))
        up, down = 1.0 + np.where(step < 0.0, e, 0.0), 1.0 + np.where(step < 0.0, 0.0, e)
        total = x * up + y * down
        return (x * up / total, y * down / total), size

    x, y = _halley(~first & ~last, move, (x, y))
    log_x, log_y = low - np.log1p(b), high - np.log1p(a)
    first_x, first_y = np.exp(log_x), -np.expm1(log_x)
    last_x, last_y = -np.expm1(log_y), np.exp(log_y)
    x = np.where(first, first_x, np.where(last, last_x, x))
    return x, np.where(first, first_y, np.where(last, last_y, y))


def _log_share(a: Array, b: Array) -> Array:
    """log(a B(a, b)), which is small for a small a."""

    def small(a: Array, b: Array) -> Array:
        return log_gamma_of_next(a) - beta_tail.log_gamma_rise(a, b)

    def usual(a: Array, b: Array) -> Array:
        return np.log(a) + log_beta(np.minimum(a, b), np.maximum(a, b))

    return choose(a < 1.0, small, usual, a, b)


def _fisher_start(a: Array, b: Array, p: Array, q: Array) -> tuple[Array, Array]:
    """Whether shapes and probabilities are moderate, and the odds by the expansion of half the log of F, then good.

    Fisher & Cornish, The percentile points of distributions having known cumulants (1960).
    """
    lower = p <= 0.5
    normal = sp.ndtri(np.maximum(np.where(lower, p, q), 1e-304))
    u: Any = np.where(lower, normal, -normal)
    s, d, square = 0.5 / a + 0.5 / b, 0.5 / a - 0.5 / b, normal * normal
    half, skew, ratio = np.sqrt(0.5 * s) * u, d * d, d * d / s
    first = s * (square + 3.0) / 24.0 + ratio * (square + 11.0) / 72.0
    second = s * ((square + 9.0) * square + 8.0) / 120.0 - ratio * ((3.0 * square + 7.0) * square - 16.0) / 3240.0
    third = s * s * ((square + 20.0) * square + 15.0) / 1920.0 + skew * ((square + 44.0) * square + 183.0) / 2880.0
    third = third + ratio * ratio * ((9.0 * square - 284.0) * square - 1513.0) / 155520.0
    z = half * (1.0 + first + third) - d * ((square + 2.0) / 6.0 + second)
    return (np.minimum(a, b) >= 1.5) & (square * s < 2.0), a / b * np.exp(
        2.0 * np.minimum(np.maximum(z, -300.0), 300.0)
    )


def _from_end(e: Array, m: Array, log_first: Array) -> tuple[Array, Array]:
    """x by three terms of its series in the y with y^e / (e B(e, m)) = p, or its mean if that is less; and whether the
    third is small."""
    mean = e / (e + m)
    y = np.exp(np.maximum(np.minimum(log_first, 0.0), -690.0))
    second = (m - 1.0) / (e + 1.0) * y
    third = 0.5 * second * y * (e * e + 3.0 * e * m - e + 5.0 * m - 4.0) / ((e + 1.0) * (e + 2.0))
    good = (abs(second) < 0.5) & (abs(third) < 0.5)
    return np.minimum(np.where(good, y * (1.0 + second + third), y), mean), abs(third) < 0.05


def _beta_start(a: Array, b: Array, lower: Array, target: Array, log_x: Array, log_y: Array) -> tuple[Array, Array]:
    """x and 1 - x from the nearer end, or by Carter's approximation (Abramowitz & Stegun 26.5.22)."""
    # The masses of t^(a - 1) below the mean and of (1 - t)^(b - 1) above it.
    left = a * np.log(a / (a + b)) - np.log(a)
    right = b * np.log(b / (a + b)) - np.log(b)
    share = 1.0 / (1.0 + np.exp(np.minimum(right - left, 700.0)))
    first = np.where(lower, np.exp(target), -np.expm1(target)) < share
    near, precise = _from_end(np.where(first, a, b), np.where(first, b, a), np.where(first, log_x, log_y))

    def series(a: Array, b: Array, lower: Array, target: Array, x: Array, y: Array) -> tuple[Array, Array]:
        return x, y

    x, y = np.where(first, near, 1.0 - near), np.where(first, 1.0 - near, near)
    return choose((a > 1.0) & (b > 1.0) & ~precise, _carter_start, series, a, b, lower, target, x, y)  # type: ignore[no-any-return]


def _carter_start(a: Array, b: Array, lower: Array, target: Array, x: Array, y: Array) -> tuple[Array, Array]:
    normal = sp.ndtri(np.exp(np.maximum(target, -700.0)))
    z: Any = np.where(lower, -normal, normal)  # of the upper tail
    r, s = 1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0)
    h = 2.0 / (r + s)
    lam = (z * z - 3.0) / 6.0
    w = z * np.sqrt(np.maximum(h + lam, 0.0)) / h - (s - r) * (lam + 5.0 / 6.0 - 2.0 / (3.0 * h))
    odds = a / b * np.exp(-2.0 * np.minimum(np.maximum(w, -300.0), 300.0))
    good = h + lam > 0.0
    return np.where(good, odds / (1.0 + odds), x), np.where(good, 1.0 / (1.0 + odds), y)
