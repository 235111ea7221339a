"""Checks of a family against values from outside: R, fifty digits, a textbook's density."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff import gradient
from tests.distributions.case import EXTREME, UNIVARIATE, Case, given, inner, measure, member

MOMENTS = ("mean", "var", "skewness", "kurtosis", "entropy", "mode", "median")


def check_reference(case: Case) -> None:
    """Densities, distribution functions, quantiles and moments that R computed, printed with 15 digits."""
    name, names = case.reference or ("", {})
    rows = [row for row in UNIVARIATE if row["dist"] == name]
    assert rows or case.reference is None
    for row in rows:
        d = case.family(**{names.get(k, k): float(v) for k, v in row["params"].items()})
        for x, pdf, logpdf, cdf in np.array(row["points"], dtype=float):
            # x itself is rounded to 15 digits: 1e-12 leaves room for a condition number of a hundred.
            assert d.pdf(x) == pytest.approx(pdf, rel=1e-12), (row["expr"], "pdf", x)
            assert d.logpdf(x) == pytest.approx(logpdf, rel=1e-12, abs=1e-12), (row["expr"], "logpdf", x)
            assert d.cdf(x) == pytest.approx(cdf, rel=1e-12, abs=1e-14), (row["expr"], "cdf", x)
        for p, x in np.array(row["quantiles"], dtype=float):
            assert d.quantile(p) == pytest.approx(x, rel=1e-11, abs=1e-14), (row["expr"], "quantile", p)
        for moment in set(MOMENTS) & set(row["properties"]):
            expected = float(row["properties"][moment])
            if math.isfinite(expected) and given(d, moment):
                got = getattr(d, moment)()
                assert got == pytest.approx(expected, rel=1e-11, abs=1e-12), (row["expr"], moment)


def check_extreme(case: Case) -> None:
    """Log-densities of mpmath at extreme arguments, and limits at the edges of the support and of the parameters."""
    for name, names in case.extreme.items():
        for row in EXTREME[name]["points"]:
            d, x = member(case, names, row)
            error = measure(d.logpdf(x), row["logpdf"], row["cond"]["logpdf"])
            assert error <= case.accuracy, (name, row["params"], x, d.logpdf(x), row["logpdf"], error)
        for row in EXTREME[name].get("edges", []):
            d, x = member(case, names, row)
            assert d.logpdf(x) == pytest.approx(float(row["logpdf"]), rel=1e-13), (name, row)


def check_extreme_slopes(case: Case) -> None:
    """Derivatives of the log-density, in x and in every parameter, of mpmath."""
    for name, names in case.extreme.items():
        for row in EXTREME[name]["points"]:
            keys = [names.get(k, k) for k in row["params"]]

            def logpdf(x: Any, *values: Any, keys: Any = keys) -> Any:
                return case.family(**dict(zip(keys, values, strict=True))).logpdf(x)

            bars = gradient(logpdf, float(row["x"]), *row["params"].values())
            expected = [row.get("dlogpdf_dx"), *(row["dlogpdf_dparams"].get(k) for k in row["params"])]
            conds = [row["cond"].get("dx"), *(row["cond"]["dparams"].get(k) for k in row["params"])]
            for key, bar, value, cond in zip(["x", *keys], bars, expected, conds, strict=True):
                # A discrete law has no slope in x, and a count none at all.
                if value is not None:
                    error = measure(bar, value, cond)
                    close = error <= case.accuracy or abs(bar - float(value)) <= case.slope_slack
                    assert close, (name, row["params"], row["x"], key, bar, value, error)


def check_extreme_tails(case: Case) -> None:
    """Logs of both tails of mpmath, down to probabilities that are no numbers any more."""
    for name, names in case.extreme.items():
        for row in EXTREME[name]["points"]:
            d, x = member(case, names, row)
            for tail in ("logcdf", "logccdf"):
                error = measure(getattr(d, tail)(x), row[tail], row["cond"][tail])
                assert error <= case.accuracy, (name, row["params"], x, tail, getattr(d, tail)(x), row[tail], error)


def check_naive(case: Case) -> None:
    """The density as a textbook has it, in 50 digits."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        for x in inner(d):
            with mp.workdps(50):
                exact = {k: mp.mpf(v) for k, v in setting.items()}
                expected = float(mp.log(case.naive(mp.mpf(float(x)), **exact)))
            assert d.logpdf(x) == pytest.approx(expected, rel=1e-12, abs=1e-13), (d, x)
