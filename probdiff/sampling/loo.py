"""Leave-one-out cross-validation by Pareto-smoothed importance sampling, over blocks of observations."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import DataError, ParameterError
from probdiff.sampling.predictive import log_likelihood
from probdiff.sampling.to_arviz import effective_draws, psis_loo

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

Floats = NDArray[np.float64]
K_LIMIT = 0.7
"""Vehtari, Simpson, Gelman, Yao & Gabry 2024, JMLR 25:72; of few draws it is 1 - 1/log10(draws)."""
BLOCK = 1 << 22
"""Numbers that are smoothed at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class LOO:
    """The expected log-density of new data, one observation at a time left out.

    elpd, se   the sum over observations of log p(y_i | the others), and its standard error
    p_loo      the effective number of parameters: how much better the data are known with themselves than without
    elpd_i     by outcome, in the shape of the data; NaN where an observation is missing
    pareto_k   likewise: the shape of the tail of the importance ratios, which tells whether elpd_i can be trusted
    k_limit    up to which it can
    draws      the number of draws
    """

    elpd: float
    se: float
    p_loo: float
    elpd_i: dict[str, Floats]
    pareto_k: dict[str, Floats]
    k_limit: float
    draws: int

    @property
    def observations(self) -> int:
        """The number of observations that count."""
        return sum(int(np.sum(~np.isnan(x))) for x in self.elpd_i.values())

    @property
    def above(self) -> list[tuple[str, float]]:
        """The observations that cannot be trusted, with their k, the worst first."""
        found = [
            (f"{name}[{', '.join(map(str, index))}]" if index else name, float(k))
            for name, ks in self.pareto_k.items()
            for index, k in np.ndenumerate(ks)
            if k > self.k_limit
        ]
        return sorted(found, key=lambda each: -each[1])

    @property
    def warning(self) -> str:
        """What to know before the numbers are used; empty if nothing."""
        above = self.above
        if not above:
            return ""
        worst = ", ".join(f"{label} ({k:.2f})" for label, k in above[:3])
        return (
            f"Pareto k is above {self.k_limit:.2f} for {len(above)} of {self.observations} observations, worst "
            f"{worst}: the posterior changes so much without them that their part of elpd is not reliable. Fit the "
            "model without these, or give it an observation model with heavier tails."
        )

    def __repr__(self) -> str:
        k = np.nanmax(np.concatenate([np.ravel(each) for each in self.pareto_k.values()]))
        good = self.observations - len(self.above)
        lines = [
            f"PSIS-LOO: {self.observations} observations, {self.draws} draws",
            f"  elpd    {self.elpd:.2f} ± {self.se:.2f}",
            f"  p_loo   {self.p_loo:.2f}",
            f"  k       at most {k:.2f}; {good} good (up to {self.k_limit:.2f})",
        ]
        return "\n".join(lines + ([f"! {self.warning}"] if self.warning else []))


def loo(draws: Draws, name: str | None = None) -> LOO:
    """PSIS-LOO of all observations, or of those of one outcome, by ArviZ.

    log p(y_i | y_-i) = log sum_s w_is p(y_i | theta_s),  w_is the smoothed 1/p(y_i | theta_s), normalised.
    Vehtari, Gelman & Gabry 2017, Statistics and Computing 27:1413.
    """
    terms = log_likelihood(draws, "loo")
    if name is not None:
        if name not in terms:
            raise ParameterError(f"Draws.loo: {name!r} is not among the outcomes {', '.join(terms)}.")
        terms = {name: terms[name]}
    total = draws.chains * draws.draws
    r_eff = 1.0 if draws.chains == 1 else effective_draws(draws) / total
    elpd_i: dict[str, Floats] = {}
    pareto_k: dict[str, Floats] = {}
    whole = 0.0
    for outcome, x in terms.items():
        flat = x.reshape(total, -1)
        elpd, k, lppd = (np.full(flat.shape[1], np.nan) for _ in range(3))
        kept = np.flatnonzero(~absent(draws, outcome, x.shape[2:]).ravel())
        width = max(1, BLOCK // total)
        for some in (kept[i : i + width] for i in range(0, len(kept), width)):
            ll = flat[:, some]
            if not np.all(np.isfinite(ll)):
                bad = some[~np.all(np.isfinite(ll), axis=0)][0]
                raise DataError(
                    f"Draws.loo: the log-likelihood of {outcome}[{bad}] is not finite in every draw. "
                    "Look at it with Draws.log_likelihood()."
                )
            elpd[some], k[some] = psis_loo(ll, r_eff)
            lppd[some] = log_mean_exp(ll)
        whole += float(np.nansum(lppd - elpd))
        elpd_i[outcome], pareto_k[outcome] = elpd.reshape(x.shape[2:]), k.reshape(x.shape[2:])
    each = np.concatenate([x[~np.isnan(x)] for x in elpd_i.values()])
    k_limit = min(K_LIMIT, 1 - 1 / log10(total))
    se = sqrt(len(each) * float(np.var(each, ddof=1))) if len(each) > 1 else nan
    return LOO(float(each.sum()), se, whole, elpd_i, pareto_k, k_limit, total)


def absent(draws: Draws, outcome: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Where the data are missing; an observation that is a vector is missing as a whole."""
    data: Any = draws.observed.get(outcome)
    if data is None or np.asarray(data).dtype.kind != "f":
        return np.zeros(shape, dtype=bool)
    missing = np.isnan(data)
    return np.asarray(missing.any(axis=tuple(range(len(shape), missing.ndim))))


def log_mean_exp(x: Floats) -> Floats:
    """log of the mean of exp x over the first axis."""
    top = x.max(axis=0)
    return np.asarray(top + np.log(np.exp(x - top).mean(axis=0)))
