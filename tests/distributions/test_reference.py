"""Every row of the reference values is tested: here those that no battery takes, and that none is left over."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import (
    LKJ,
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    Multinomial,
    MvNormal,
    MvStudentT,
    NoncentralF,
    NoncentralT,
    Normal,
    NormalInverseGaussian,
    OrderedLogistic,
    Poisson,
    StudentizedRange,
    Triangular,
    WalleniusNoncentralHypergeometric,
    ZeroInflated,
    truncated,
)
from tests.distributions.case import EPS, EXTREME, UNIVARIATE, Case, measure
from tests.distributions.checks_values import check_extreme, check_extreme_slopes, check_extreme_tails, check_reference
from tools.catalogue import BATTERIES

# Families by other names, or without a battery of their own, as functions of the parameters in the reference.
OTHERS: dict[str, Any] = {
    "NoncentralF": lambda nu1, nu2, **lam: NoncentralF(nu1, nu2, lam["lambda"]),
    "NoncentralT": lambda nu, **lam: NoncentralT(nu, lam["lambda"], 0.0, 1.0),
    "NormalCanon": lambda eta, precision: Normal(eta / precision, precision=precision),
    "NormalInverseGaussian": lambda mu, alpha, beta, delta: NormalInverseGaussian(mu, alpha, beta, delta),
    "StudentizedRange": lambda nu, k: StudentizedRange(k, nu),
    "SymTriangularDist": lambda mu, halfwidth: Triangular(mu - halfwidth, mu + halfwidth, mu),
    "TruncatedNormal": lambda mu, sigma, lower, upper: truncated(Normal(mu, sigma), lower, upper),
    "WalleniusNoncentralHypergeometric": lambda successes, failures, draws, odds: WalleniusNoncentralHypergeometric(
        int(successes), int(failures), int(draws), odds
    ),
}
# In files of their own.
ELSEWHERE = {"Erlang", "Categorical", "CategoricalLogit", "OrderedLogistic"}


def of(family: Any, **data: Any) -> Case:
    return Case(family, settings=[], invalid={}, naive=mp.exp, **data)


@pytest.mark.parametrize("name", OTHERS)
def test_rows_of_r(name: str) -> None:
    check_reference(of(OTHERS[name], reference=(name, {})))


def zero_inflated(pi: Any, rate: Any) -> Any:
    return ZeroInflated(Poisson(rate), pi)


def test_zero_inflated_poisson() -> None:
    case = of(zero_inflated, extreme={"ZeroInflatedPoisson": {}})
    for check in (check_extreme, check_extreme_slopes, check_extreme_tails):
        check(case)


VECTORS: dict[str, Any] = {
    "Dirichlet": lambda alpha: Dirichlet(alpha),
    "DirichletMultinomial": lambda n, alpha: DirichletMultinomial(n, alpha),
    # The rows take p as it is, also where it does not add up to one.
    "Multinomial": lambda n, p: Multinomial(n, p, check=False),
    "MvNormal": lambda mu, cov: MvNormal(mu, covariance=cov),
    "MvNormalCholesky": lambda mu, L: MvNormal(mu, L),
    "MvStudentT": lambda nu, mu, scale: MvStudentT(nu, mu, scale_matrix=scale),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    for row in EXTREME[name]["points"]:
        counts = {k: v for k, v in row["params"].items() if k == "n"}
        real = {k: np.asarray(v, dtype=float) for k, v in row["params"].items() if k != "n"}
        x = np.asarray(row["x"], dtype=float)

        def logpdf(x: Any, *values: Any, real: Any = real, counts: Any = counts) -> Any:
            return VECTORS[name](**counts, **dict(zip(real, values, strict=True))).logpdf(x)

        slopes = [row.get("dlogpdf_dx"), *row["dlogpdf_dparams"].values()]
        expected = [None if slope is None else np.asarray(slope, dtype=float) for slope in slopes]
        conds = [np.sum(abs(u * v)) for u, v in zip([x, *real.values()], expected, strict=True) if v is not None]
        assert measure(logpdf(x, *real.values()), row["logpdf"], sum(conds)) <= 100, (name, row)
        if "p" in real and np.sum(real["p"]) != 1:
            continue  # traced probabilities that do not add up to one are invalid
        # A matrix that is rounded moves what is solved with it by eps times its condition number.
        rel = max(1e-11, EPS * np.linalg.cond(real.get("cov", real.get("scale", np.eye(2)))))
        for bar, value in zip(gradient(logpdf, x, *real.values()), expected, strict=True):
            if value is not None:
                # The slope in degrees of freedom by the million vanishes in the rounding of its terms.
                slack = np.maximum(1e-20, 0.1 * rel * np.max(abs(value)))
                np.testing.assert_allclose(bar, value, rtol=rel, atol=slack, err_msg=str(row))


def test_correlations() -> None:
    for row in EXTREME["LKJCorr"]["points"]:
        x = np.asarray(row["x"], dtype=float)
        eta = row["params"]["eta"]
        assert LKJ(len(x), eta).logpdf(x) == pytest.approx(float(row["logpdf"]), rel=1e-12), row
        (bar,) = gradient(lambda eta, x=x: LKJ(len(x), eta).logpdf(x), eta)
        assert bar == pytest.approx(float(row["dlogpdf_dparams"]["eta"]), rel=1e-11), row


def test_none_is_left_over() -> None:
    by_battery = {case.reference[0] for case in BATTERIES if case.reference}
    assert {row["dist"] for row in UNIVARIATE} == by_battery | set(OTHERS) | {"Erlang"}
    extreme = {name for case in BATTERIES for name in case.extreme}
    assert set(EXTREME) == extreme | set(VECTORS) | {"ZeroInflatedPoisson", "LKJCorr", "TruncatedNormal"} | (
        ELSEWHERE - {"Erlang"}
    )


def test_edges() -> None:
    """Ends of supports, outside, infinity and degenerate parameters: densities and both tails, exact or the limit."""
    makers = {name: (case.family, names) for case in BATTERIES for name, names in case.extreme.items()}
    makers |= {"TruncatedNormal": (OTHERS["TruncatedNormal"], {}), "ZeroInflatedPoisson": (zero_inflated, {})}
    makers |= {"Categorical": (Categorical, {}), "CategoricalLogit": (Categorical, {})}
    makers |= {"OrderedLogistic": (OrderedLogistic, {})}
    seen = 0
    for name, each in EXTREME.items():
        for row in each.get("edges") or []:
            family, names = makers[name]
            values = {k: float(v) if isinstance(v, str) else v for k, v in row["params"].items()}
            d = family(**{names.get(k, k): v for k, v in values.items()})
            with np.errstate(all="ignore"):
                for method in ("logpdf", "logcdf", "logccdf"):
                    if method in row:
                        got = getattr(d, method)(float(row["x"]))
                        assert got == pytest.approx(float(row[method]), rel=1e-13), (name, row, method, got)
                        seen += 1
    assert seen > 172
