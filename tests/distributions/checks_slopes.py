"""Checks of the derivatives of a family in its argument and parameters, eager and compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff import broadcast, compile, fwddiff, gradient, pushforward, value_and_grad
from probdiff.distributions import functions
from tests.distributions.case import Case, distinct, inner


def check_gradient(case: Case) -> None:
    """Gradients of the log-density in x and every parameter are central differences."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        real = [k for k, v in setting.items() if isinstance(v, float)]
        for x in inner(d):

            def logpdf(x: Any, *values: Any, setting: Any = setting, real: Any = real) -> Any:
                return case.family(**{**setting, **dict(zip(real, values, strict=True))}).logpdf(x)

            at = [float(x), *(setting[k] for k in real)]
            bars = gradient(logpdf, *at)
            for i in range(1 if d.support.discrete else 0, len(at)):
                # A step of eps^(1/3) loses five digits to truncation and rounding; near an end, of what room is left.
                near_end = i == 0 or case.poles
                room = np.min(abs(x - np.array([d.support.lower, d.support.upper, 0.0]))) if near_end else abs(at[i])
                h = 6e-6 * max(room, 1e-4 if near_end else 1e-2)
                up, down = (logpdf(*at[:i], at[i] + s, *at[i + 1 :]) for s in (h, -h))
                assert bars[i] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-6), (d, x, i)


def check_modes(case: Case) -> None:
    """Forward mode per element, and the compiled program, give the gradients of reverse mode."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        x = inner(d)
        real = {k: np.full(x.shape, v) for k, v in setting.items() if isinstance(v, float)}

        def member_of(*values: Any, setting: Any = setting, keys: Any = tuple(real)) -> Any:
            return case.family(**{**setting, **dict(zip(keys, values, strict=True))})

        def loglike(x: Any, *values: Any, member_of: Any = member_of) -> Any:
            return np.sum(functions.logpdf(member_of(*values), x))

        def loglike_fd(x: Any, *values: Any, member_of: Any = member_of) -> Any:
            return np.sum(broadcast(fwddiff(functions.logpdf))(broadcast(member_of)(*values), x))

        at = (x, *real.values())
        expected = gradient(loglike, *at)
        _, compiled = compile(value_and_grad(loglike, argnums=tuple(range(len(at)))))(*at)
        for bars in (gradient(loglike_fd, *at), compiled):
            for bar, other in zip(bars, expected, strict=True):
                # The kernels' own special functions are good to a few ulp, which differences of them magnify.
                np.testing.assert_allclose(bar, other, rtol=1e-10, atol=1e-12, err_msg=str(d))


def check_tail_slopes(case: Case) -> None:
    """Derivatives of both log-tails in x and every parameter: in the bulk and at probabilities of 1e-30."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        far = [float(v) for v in (d.quantile(1e-30), d.cquantile(1e-30)) if distinct(d, v)]
        for x in [*inner(d)[::2], *far]:
            for tail in ("logcdf", "logccdf"):
                if math.isfinite(getattr(d, tail)(x)):
                    slopes_agree(case, setting, tail, float(x), moves=not d.support.discrete)


def check_quantile_slopes(case: Case) -> None:
    """Derivatives of the four inverses in the probability and every parameter."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        if d.support.discrete:
            bars = gradient(lambda p, d=d: d.quantile(p), 0.3)
            assert bars == (0.0,)
            continue
        for inverse, levels in (("quantile", (1e-30, 0.2, 0.7)), ("cquantile", (1e-30, 0.6))):
            for p in levels:
                if distinct(d, getattr(d, inverse)(p)):
                    slopes_agree(case, setting, inverse, p)
        for inverse in ("invlogcdf", "invlogccdf"):
            slopes_agree(case, setting, inverse, -3.0)


def slopes_agree(case: Case, setting: dict[str, Any], method: str, at: float, moves: bool = True) -> None:
    """Reverse mode is forward mode, and both are differences extrapolated twice."""
    real = [k for k, v in setting.items() if isinstance(v, float)]

    def f(*values: Any) -> Any:
        return getattr(case.family(**{**setting, **dict(zip(real, values[1:], strict=True))}), method)(values[0])

    point = [at, *(setting[k] for k in real)]
    bars = gradient(f, *point)
    value = f(*point)
    for i in range(0 if moves else 1, len(point)):
        dots = [1.0 if k == i else None for k in range(len(point))]
        forward = pushforward(f, *point)(*dots)
        assert forward == pytest.approx(bars[i], rel=1e-9, abs=1e-300), (case.family, setting, method, at, i)
        h = 0.02 * (abs(point[i]) or 0.5)
        if method.startswith("log"):
            d = case.family(**setting)
            # Within the smoothness of the log of the tail, and short of its ends and kinks.
            kinks = (d.support.lower, d.support.upper, *point[1:])
            spread = d.quantile(0.75) - d.quantile(0.25)
            h = min([h, 0.1 / (abs(bars[i]) or 1), 0.1 * spread or h, *(0.02 * abs(at - v) for v in kinks if v != at)])

        def moved(step: float, i: int = i) -> Any:
            return f(*point[:i], point[i] + step, *point[i + 1 :])

        d = [(moved(h / k) - moved(-h / k)) / (2 * h / k) for k in (1.0, 2.0, 4.0)]
        once = [(4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3]
        numeric = (16 * once[1] - once[0]) / 15
        noise = 1e-14 * abs(value) / h
        assert bars[i] == pytest.approx(numeric, rel=1e-6, abs=1e-9 + noise), (case.family, setting, method, at, i)


def check_pathwise(case: Case) -> None:
    """A draw moves with the parameters as the quantile of its probability does."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        real = [k for k, v in setting.items() if isinstance(v, float)]
        if d.support.discrete:
            continue

        def member_of(*values: Any, setting: Any = setting, real: Any = real) -> Any:
            return case.family(**{**setting, **dict(zip(real, values, strict=True))})

        values = [setting[k] for k in real]
        for p in (0.1, 0.8):
            x = float(d.quantile(p))
            by_draw = gradient(lambda *v, x=x, member_of=member_of: member_of(*v).pathwise(x), *values)
            by_level = gradient(lambda *v, p=p, member_of=member_of: member_of(*v).quantile(p), *values)
            assert by_draw == pytest.approx(by_level, rel=1e-7, abs=1e-12), (d, p)
        drawn = gradient(lambda *v, m=member_of: np.sum(m(*v).rand(3, rng=np.random.default_rng(1))), *values)
        assert all(math.isfinite(bar) for bar in drawn)


def check_compiled(case: Case) -> None:
    """Tails and inverses in a compiled program, over a batch of parameters, are those of one member at a time."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        x = inner(d)
        p = np.linspace(0.05, 0.95, x.size)
        real = {k: np.full(x.shape, v) for k, v in setting.items() if isinstance(v, float)}

        def everything(x: Any, p: Any, *values: Any, setting: Any = setting, keys: Any = tuple(real)) -> Any:
            m = case.family(**{**setting, **dict(zip(keys, values, strict=True))})
            return m.cdf(x), m.ccdf(x), m.logcdf(x), m.logccdf(x), m.quantile(p), m.cquantile(p), m.invlogcdf(np.log(p))

        got = compile(everything)(x, p, *real.values())
        looped = [everything(a, b, *(setting[k] for k in real)) for a, b in zip(x, p, strict=True)]
        for native, single in zip(got, zip(*looped, strict=True), strict=True):
            np.testing.assert_allclose(native, single, rtol=1e-12, atol=1e-15, err_msg=str(d))


def check_gradient_outside(case: Case) -> None:
    """Outside the support every derivative is zero, and for invalid traced parameters too; none is NaN."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        real = [k for k, v in setting.items() if isinstance(v, float)]

        def logpdf(x: Any, *values: Any, setting: Any = setting, real: Any = real) -> Any:
            return case.family(**{**setting, **dict(zip(real, values, strict=True))}).logpdf(x)

        for x in [*case.outside, math.nan]:
            bars = gradient(logpdf, x, *(setting[k] for k in real))
            assert bars == tuple(0.0 for _ in bars), (d, x)
        if real:
            bars = gradient(logpdf, float(inner(d)[0]), *(math.nan for _ in real))
            assert bars == tuple(0.0 for _ in bars)
