"""Coefficients of probdiff.compiler.native.vectormath, fitted with mpmath.

    python tools/fit_polynomials.py            writes vectormath/coefficients.py
    python tools/fit_polynomials.py NAME ...   prints the errors of these fits only

A fit starts from interpolation at Chebyshev points and approaches the weighted minimax polynomial by Lawson's iteration
(least squares, reweighted by the error). Coefficients are rounded to float64 from the lowest up, each time fitting the
rest again, so that they make up for the roundings before them. The error printed is the largest weight * |p - f|.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp

mp.mp.dps = 60
FILE = Path(__file__).parents[1] / "probdiff/compiler/native/vectormath/coefficients.py"
HALF_LOG2 = mp.log(2) / 2
PSI_ROOT = mp.findroot(lambda x: mp.psi(0, x), 1.4616321449683623)
Function = Callable[[Any], Any]  # of and to an mpmath number
Rows = list[list[Any]]
fits: dict[str, Callable[[], tuple[list[float], Any]]] = {}


def polynomial(name: str, f: Function, low: Any, high: Any, degree: int, weight: Function | None = None) -> None:
    """Register c with sum_i c[i] x**i = f(x) on [low, high]; the default weight 1 / f makes the error relative."""

    def solve() -> tuple[list[float], Any]:
        n = 8 * degree + 40
        middle, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
        x = [middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
        with mp.workdps(200):  # so that a formula may cancel near a zero of its denominator
            y = [f(v if abs(v) > 1e-30 else mp.mpf("1e-30")) for v in x]
            w = [abs(weight(v) if weight else 1 / yv) for v, yv in zip(x, y, strict=True)]
        powers = [[v**i for i in range(degree + 1)] for v in x]
        lawson = [mp.mpf(1)] * n
        c: list[Any] = []
        for _ in range(15):
            c = least_squares(powers, y, [a * b * b for a, b in zip(lawson, w, strict=True)], [])
            e = errors(powers, y, w, c)
            lawson = [a * (b + max(e) / 50) for a, b in zip(lawson, e, strict=True)]
            total = max(lawson)
            lawson = [a / total for a in lawson]
        weights = [a * b * b for a, b in zip(lawson, w, strict=True)]
        rounded: list[float] = []
        while len(rounded) <= degree:
            rounded.append(float(c[len(rounded)]))
            c = least_squares(powers, y, weights, rounded)
        return rounded, max(errors(powers, y, w, rounded))

    fits[name] = solve


def stirling(w: Any) -> Any:
    """w (log gamma(w) - (w - 1/2) (log w - 1) - (log(2 pi) - 1) / 2)."""
    return w * (mp.loggamma(w) - (w - mp.mpf(1) / 2) * (mp.log(w) - 1) - (mp.log(2 * mp.pi) - 1) / 2)


def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x) if x < 100 else mp.hyp2f0(1, mp.mpf(1) / 2, -1 / x**2) / (x * mp.sqrt(mp.pi))


def erfcx_loss(x: Any) -> Any:
    """1 / sqrt(pi) - x erfcx(x)."""
    return 1 / mp.sqrt(mp.pi) - x * erfcx(x)


def dawson(x: Any) -> Any:
    """Dawson's integral over x."""
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x) / x


def hankel(order: int, x: Any) -> Any:
    """sqrt(pi x / 2) exp(-i (x - order pi / 2 - pi / 4)) H(x), P + i Q of the asymptotic forms of J and Y."""
    phase = x - order * mp.pi / 2 - mp.pi / 4
    return mp.sqrt(mp.pi * x / 2) * mp.expj(-phase) * (mp.besselj(order, x) + 1j * mp.bessely(order, x))


def small_k(order: int, x: Any) -> Any:
    """What K0 and K1 have besides logarithm and pole."""
    if order == 0:
        return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
    return (mp.besselk(1, x) - 1 / x - mp.log(x / 2) * mp.besseli(1, x)) / x


def scaled_k(order: int, x: Any) -> Any:
    """sqrt(x) exp(x) K(x)."""
    if x > 1e4:
        return mp.sqrt(mp.pi / 2) * mp.hyp2f0(order + mp.mpf(1) / 2, mp.mpf(1) / 2 - order, -1 / (2 * x))
    return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)


def regular_y(order: int, x: Any) -> Any:
    """What Y0 and Y1 have besides logarithm and pole; Y1 over x."""
    if order == 0:
        return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def normal_quantile(log_p: Any, x: Any) -> Any:
    """The x with log ndtr(x) = log_p, by Newton's method from `x`."""
    while True:
        log_ndtr = mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
        step = (log_ndtr - log_p) * mp.exp(log_ndtr + x * x / 2) * mp.sqrt(2 * mp.pi)
        x -= step
        if abs(step) < mp.mpf(10) ** -45:
            return x


def normal_quantile_slope(q: Any) -> Any:
    """The quantile of 1/2 + q, divided by q."""
    return normal_quantile(mp.log(mp.mpf(1) / 2 - q), -2.5 * q) / -q if q > 1e-12 else mp.sqrt(2 * mp.pi)


def normal_quantile_tail(r: Any) -> Any:
    """-x - r for the quantile x of exp(-r**2 / 2)."""
    return -normal_quantile(-r * r / 2, -r + mp.log(r * mp.sqrt(2 * mp.pi)) / r) - r


def bessel_tail(n: int, x: Any) -> Any:
    """sqrt(x) exp(-x) In(x)."""
    if x < 200:
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(n, x)
    terms = [mp.mpf(1)]  # of the asymptotic series, which decrease up to k = 2 x
    while abs(terms[-1]) > mp.mpf(10) ** -60:
        k = len(terms)
        terms.append(terms[-1] * ((2 * k - 1) ** 2 - 4 * n * n) / (8 * x * k))
    return mp.fsum(terms) / mp.sqrt(2 * mp.pi)


def errors(powers: Rows, y: list[Any], w: list[Any], c: list[Any]) -> list[Any]:
    """w |p - y| of the polynomial with coefficients c at each point."""
    return [wi * abs(mp.fdot(c, p) - yi) for p, yi, wi in zip(powers, y, w, strict=True)]


def least_squares(powers: Rows, y: list[Any], weights: list[Any], fixed: list[Any]) -> list[Any]:
    """All coefficients of the weighted fit whose first ones are `fixed`, by the normal equations."""
    k, n = len(fixed), len(powers[0])
    if k == n:
        return fixed
    rest = [yi - mp.fdot(fixed, p[:k]) for p, yi in zip(powers, y, strict=True)]
    columns = [[p[j] for p in powers] for j in range(k, n)]
    weighted = [[w * a for w, a in zip(weights, column, strict=True)] for column in columns]
    gram = mp.matrix([[mp.fdot(a, b) for b in columns] for a in weighted])
    return [*fixed, *mp.lu_solve(gram, mp.matrix([mp.fdot(a, rest) for a in weighted]))]


# exp(r) = 1 + r + r**2 p(r), relative to exp(r) - 1
polynomial(
    "EXP",
    lambda r: (mp.expm1(r) - r) / r**2,
    -1.001 * HALF_LOG2,
    1.001 * HALF_LOG2,
    9,
    weight=lambda r: r**2 / mp.expm1(r),
)
# log((1 + s) / (1 - s)) = 2 s + s**3 p(s**2) = 2 s + s**3 (2 / 3 + s**2 q(s**2))
polynomial("LOG", lambda w: (2 * mp.atanh(mp.sqrt(w)) / mp.sqrt(w) - 2) / w, 0, 0.02945, 6, weight=lambda w: w / 2)
polynomial(
    "LOG_TAIL",
    lambda w: ((2 * mp.atanh(mp.sqrt(w)) / mp.sqrt(w) - 2) / w - mp.mpf(2) / 3) / w,
    0,
    0.02945,
    6,
    weight=lambda w: w**2 / 2,
)
# (1 + f)**(1 / 3)
polynomial("CBRT", lambda f: mp.cbrt(1 + f), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 9)
# sin(pi r) = r p(r**2)
polynomial("SINPI", lambda w: mp.sin(mp.pi * mp.sqrt(w)) / mp.sqrt(w), 0, 0.25, 8)
# log gamma(2 + t) = t p(t);  w (log gamma(w) - (w - 1/2) (log w - 1) - (log(2 pi) - 1) / 2) = p(1 / w**2)
polynomial("GAMMALN", lambda t: mp.loggamma(2 + t) / t, -0.5, 0.5, 17)
polynomial(
    "STIRLING",
    lambda t: stirling(1 / mp.sqrt(t)),
    0,
    0.16,
    10,
    weight=lambda t: mp.sqrt(t) / mp.loggamma(1 / mp.sqrt(t)),
)
# psi(1.5 + t) = (t + 1.5 - root) p(t);  w**2 (psi(w) - log w + 1 / (2 w)) = p(1 / w**2)
polynomial("PSI", lambda t: mp.psi(0, t + 1.5) / (t + 1.5 - PSI_ROOT), -0.5, 0.5, 21)
polynomial(
    "PSI_TAIL",
    lambda t: (mp.psi(0, 1 / mp.sqrt(t)) + mp.log(t) / 2 + mp.sqrt(t) / 2) / t,
    0,
    0.25,
    13,
    weight=lambda t: t / mp.psi(0, 1 / mp.sqrt(t)),
)
# w**3 (psi'(w) - 1 / w - 1 / (2 w**2)) = p(1 / w**2)
polynomial(
    "TRIGAMMA_TAIL",
    lambda t: (mp.psi(1, 1 / mp.sqrt(t)) - mp.sqrt(t) - t / 2) / (t * mp.sqrt(t)),
    0,
    0.25,
    16,
    weight=lambda t: t * mp.sqrt(t) / mp.psi(1, 1 / mp.sqrt(t)),
)
# sinh(x) = x + x**3 p(x**2), tanh(x) = x + x**3 p(x**2)
polynomial("SINH", lambda w: (mp.sinh(mp.sqrt(w)) / mp.sqrt(w) - 1) / w, 0, 1, 6, weight=lambda w: w)
polynomial("TANH", lambda w: (mp.tanh(mp.sqrt(w)) / mp.sqrt(w) - 1) / w, 0, 0.3025, 9, weight=lambda w: w)
# sin(r) = r + r**3 p(r**2),  cos(r) = 1 - r**2 / 2 + r**4 p(r**2)
polynomial("SIN", lambda w: (mp.sin(mp.sqrt(w)) / mp.sqrt(w) - 1) / w, 0, 0.64, 5, weight=lambda w: w)
polynomial("COS", lambda w: (mp.cos(mp.sqrt(w)) - 1 + w / 2) / w**2, 0, 0.64, 5, weight=lambda w: w**2)
# arctan(t) = t + t**3 p(t**2),  arcsin(s) = s + s w p(w), w = s**2
polynomial("ARCTAN", lambda w: (mp.atan(mp.sqrt(w)) / mp.sqrt(w) - 1) / w, 0, 0.1716, 9, weight=lambda w: w)
polynomial("ARCSIN", lambda w: (mp.asin(mp.sqrt(w)) / mp.sqrt(w) - 1) / w, 0, 0.25, 11, weight=lambda w: w)
# erf(x) = x + x p(x**2);  erfcx(x) = p((x - 3.75) / (x + 3.75)) / (1 + 2 x)
polynomial(
    "ERF", lambda w: mp.erf(mp.sqrt(w)) / mp.sqrt(w) - 1, 0, 1, 11, weight=lambda w: mp.sqrt(w) / mp.erf(mp.sqrt(w))
)
polynomial("ERFCX", lambda t: erfcx(3.75 * (1 + t) / (1 - t)) * (1 + 7.5 * (1 + t) / (1 - t)), -1, 1, 23)
# normal quantile: q p(v), v = q**2 / (0.4 - q**2), q = p - 1/2;  r + p((r - 8) / (r + 8)), r = sqrt(-2 log p)
polynomial("NDTRI", lambda v: normal_quantile_slope(mp.sqrt(0.4 * v / (1 + v))), 0, 0.1705 / (0.4 - 0.1705), 17)
polynomial(
    "NDTRI_TAIL",
    lambda t: normal_quantile_tail(8 * (1 + t) / (1 - t)),
    (2.2 - 8) / 10.2,
    (38.7 - 8) / 46.7,
    28,
    weight=lambda t: (1 - t) / (8 * (1 + t)),
)
# exp(-x) I0(x) = p(x / 4 - 1) or p(16 / x - 1) / sqrt(x), exp(-x) I1(x) likewise but x p(x / 4 - 1) / (1 + x)
polynomial("I0E", lambda t: mp.exp(-4 * (1 + t)) * mp.besseli(0, 4 * (1 + t)), -1, 1, 27)
polynomial("I0E_TAIL", lambda t: bessel_tail(0, 16 / (1 + t)), -1, 1, 20)
polynomial("I1E", lambda t: mp.exp(-4 * (1 + t)) * mp.besseli(1, 4 * (1 + t)) * (5 + 4 * t) / (4 * (1 + t)), -1, 1, 27)
polynomial("I1E_TAIL", lambda t: bessel_tail(1, 16 / (1 + t)), -1, 1, 20)
# 1 / sqrt(pi) - x erfcx(x) = p((x - 3.75) / (x + 3.75)) / (1 + 2 x)**2
polynomial("ERFCX_LOSS", lambda t: erfcx_loss(3.75 * (1 + t) / (1 - t)) * (1 + 7.5 * (1 + t) / (1 - t)) ** 2, -1, 1, 25)
# dawsn(x) / x = p(x**2 / 2 - 1) up to 2, p(x - 3) up to 4, p(32 / x**2 - 1) / x**2 beyond
polynomial("DAWSN", lambda t: dawson(mp.sqrt(2 * (1 + t))), -1, 1, 17)
polynomial("DAWSN_MIDDLE", lambda t: dawson(t + 3), -1, 1, 22)
polynomial("DAWSN_TAIL", lambda t: dawson(mp.sqrt(32 / (1 + t))) * (32 / (1 + t)), -1, 1, 25)
# K0(x) = p(x**2 / 2 - 1) - log(x / 2) I0(x) and K1(x) = 1 / x + log(x / 2) I1(x) + x p(x**2 / 2 - 1) up to 2;
# exp(x) K0(x) = p(4 / x - 1) / sqrt(x) beyond
unit = mp.mpf(1)
polynomial("K0", lambda t: small_k(0, mp.sqrt(2 * (1 + t))), -1, 1, 9, weight=lambda t: unit)
polynomial("K1", lambda t: small_k(1, mp.sqrt(2 * (1 + t))), -1, 1, 9, weight=lambda t: unit)
polynomial("K0E_TAIL", lambda t: scaled_k(0, 4 / (1 + t)), -1, 1, 23)
polynomial("K1E_TAIL", lambda t: scaled_k(1, 4 / (1 + t)), -1, 1, 23)
# J0(x), J1(x) / x, Y0(x) - 2 / pi log(x) J0(x), (Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x = p(x**2 / 32 - 1) up to 8
polynomial("J0", lambda t: mp.besselj(0, mp.sqrt(32 * (1 + t))), -1, 1, 16, weight=lambda t: unit)
polynomial(
    "J1", lambda t: mp.besselj(1, mp.sqrt(32 * (1 + t))) / mp.sqrt(32 * (1 + t)), -1, 1, 16, weight=lambda t: 8 * unit
)
polynomial("Y0", lambda t: regular_y(0, mp.sqrt(32 * (1 + t))), -1, 1, 16, weight=lambda t: unit)
polynomial("Y1", lambda t: regular_y(1, mp.sqrt(32 * (1 + t))), -1, 1, 16, weight=lambda t: 8 * unit)
# J and Y beyond 8: P(x) = p(128 / x**2 - 1), Q(x) = p(128 / x**2 - 1) / x
for order in (0, 1):
    polynomial(f"P{order}", lambda t, n=order: mp.re(hankel(n, mp.sqrt(128 / (1 + t)))), -1, 1, 14)
    polynomial(
        f"Q{order}",
        lambda t, n=order: mp.im(hankel(n, mp.sqrt(128 / (1 + t)))) * mp.sqrt(128 / (1 + t)),
        -1,
        1,
        14,
        weight=lambda t: unit / 8,
    )


def main(names: list[str]) -> None:
    """Fit, print the errors, and write the file if no fit is named."""
    blocks = []
    for name in names or fits:
        c, error = fits[name]()
        blocks.append("\n".join([f"{name} = (  # error {mp.nstr(error, 3)}", *(f"    {v!r}," for v in c), ")"]))
        print(f"{name:16} degree {len(c) - 1:2}  error {mp.nstr(error, 3)}", flush=True)
    if not names:
        head = '"""Coefficients, lowest power first. Written by tools/fit_polynomials.py; do not edit."""\n\n'
        FILE.write_text(head + "\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
