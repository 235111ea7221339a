"""The page of all distributions: what each has, and how exact it is, from the code and the data of its tests.

    python -m tools.catalogue        writes docs/catalogue.md

Accuracy is the largest error over the rows of tests/reference/distributions that are the family's, each rounded up to a
power of ten, so that the page is the same on every machine. The other columns are those of `static_rows`.
"""

from __future__ import annotations

import importlib
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np

from probdiff import distributions, gradient
from probdiff.distributions import Continuous, Discrete, Distribution, Multivariate
from probdiff.distributions.base import has_tails
from tests.distributions.case import EXTREME, UNIVARIATE, Case, measure, member

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/catalogue.md"
READERS = ("test_catalogue_page", "test_reference")  # tests that read the data of all others
FORMULA, DERIVED, NONE = "●", "○", ""
# A column is a formula if all its methods are the family's own.
COLUMNS = {
    "quantile": ("quantile", "cquantile"),
    "mean, var": ("mean", "var"),
    "skew., kurt.": ("skewness", "kurtosis"),
    "mode": ("mode",),
    "entropy": ("entropy",),
    "mgf": ("mgf",),
    "cf": ("cf",),
    "statistics": ("exponential_form",),
    "draw": ("draw",),
    "fit": ("estimate",),
}
INTRODUCTION = """# Catalogue

All families, written by `python -m tools.catalogue` from the code and the data of the tests. Every one has `logpdf`,
`pdf`, `rand`, `support`, `iid`; those of one number also `cdf`, `ccdf`, `logcdf`, `logccdf`, `logdiffcdf`, `quantile`,
`cquantile`, `invlogcdf`, `invlogccdf`, `median`, `modes`, `std`, `expect`, `kl_divergence`, `pathwise` and `plot`;
improper priors have a density alone. ● is a formula, ○ is derived by the base (search, quadrature, summation,
climbing the likelihood; see [](families.md)), and what has neither is refused with an error. *Statistics* are the
sufficient statistics of an exponential family.

*Gradients* are the arguments that the log-density is differentiable in, as are both log-tails and (of continuous
families) the quantile: in forward and reverse mode, eager and compiled.

*Accuracy*, of the families with rows in the reference values, is measured over extreme arguments, at which mpmath gives
twenty digits: of the log-density, its derivatives in all arguments, and both log-tails, the largest error in roundings
of a backward stable formula, |error| / (2.2e-16 (|value| + condition)), rounded up to a power of ten; slopes of a
log-density that is flat in a parameter (below the rounding of its terms) are not counted. *R* is the largest relative
error against the 15 digits that R printed (or mpmath, where R has fewer) of densities, distribution functions and
quantiles.
"""


def families(kind: type[Distribution]) -> list[type[Distribution]]:
    """The exported families of a kind, by name; wrappers and series, which are made of others, are not among them."""
    found = [getattr(distributions, name) for name in distributions.__all__]
    concrete = [f for f in found if inspect.isclass(f) and issubclass(f, kind) and f is not kind]
    inner = [f for f in concrete if "wrappers" not in f.__module__ and "series" not in f.__module__]
    return sorted(inner, key=lambda f: f.__name__.lower())


def static_rows(kind: type[Distribution]) -> dict[str, list[str]]:
    """By family: fields, other parameterisations, a mark for each column, gradients."""
    return {family.__name__: [*_parameters(family), *_marks(family), _gradients(family)] for family in families(kind)}


def _parameters(family: type[Distribution]) -> tuple[str, str]:
    fields = ", ".join(family.domains)
    found = {id(a): a for a in family._alternatives.values()}
    return fields, "; ".join(", ".join(a.domains) for a in found.values())


def _marks(family: type[Distribution]) -> list[str]:
    return [_mark(family, column, methods) for column, methods in COLUMNS.items()]


def _mark(family: type[Distribution], column: str, methods: tuple[str, ...]) -> str:
    if all(_own(family, method) for method in methods) or (column == "fit" and _own(family, "ends")):
        return FORMULA
    if column == "statistics" or issubclass(family, Multivariate) or not has_tails(family):
        return NONE
    if column == "mgf" and family.tail_rates is None and _ends(family) < 2:
        return NONE
    if column == "fit":
        vectors = any(domain is not None and domain.event_ndim for domain in family.domains.values())
        return NONE if vectors else DERIVED
    return DERIVED


def _own(family: type[Distribution], method: str) -> bool:
    """Whether a method is the family's, and not of the base classes."""
    found = next(parent for parent in family.__mro__ if method in vars(parent))
    return found not in (Distribution, Continuous, Discrete, Multivariate)


def _ends(family: type[Distribution]) -> int:
    """How many ends of the support are finite, in all members that are tested."""
    case = CASES.get(family.__name__)
    supports = [member.support for member in case.members()] if case else []
    if not isinstance(family.support, property):
        supports = [family.support]
    finite = [sum(bool(np.all(np.isfinite(end))) for end in (s.lower, s.upper)) for s in supports]
    return min(finite, default=0)


def _gradients(family: type[Distribution]) -> str:
    x = [] if issubclass(family, Discrete) else ["x"]
    return ", ".join(
        x + [name for name, domain in family.domains.items() if domain is not None and not domain.discrete]
    )


# What is measured.


def _batteries() -> list[Case]:
    """The data of all batteries."""
    paths = sorted((ROOT / "tests/distributions").glob("test_*.py"))
    modules = [importlib.import_module(f"tests.distributions.{p.stem}") for p in paths if p.stem not in READERS]
    values = [getattr(value, "case", value) for module in modules for value in vars(module).values()]
    return [value for value in values if isinstance(value, Case)]


BATTERIES = _batteries()
CASES = {case.family.__name__: case for case in reversed(BATTERIES)}


def accuracy(family: type[Distribution]) -> list[str]:
    """The worst errors: of the log-density, its slopes, both tails; and of R's rows."""
    density: list[float] = []
    slopes: list[float] = []
    tails: list[float] = []
    cases = [case for case in BATTERIES if case.family is family]
    named = [(case, name, names) for case in cases for name, names in case.extreme.items()]
    rows = [(case, names, row) for case, name, names in named for row in EXTREME[name]["points"]]
    for case, names, row in rows:
        d, x = member(case, names, row)
        density.append(measure(d.logpdf(x), row["logpdf"], row["cond"]["logpdf"]))
        slopes += _slope_errors(case, names, row)
        tails += [measure(getattr(d, t)(x), row[t], row["cond"][t]) for t in ("logcdf", "logccdf") if t in row]
    printed = [error for case in cases for error in _r_errors(case)]
    return [_power(density, 0), _power(slopes, 0), _power(tails, 0), _power(printed, -15)]


def _slope_errors(case: Case, names: dict[str, str], row: dict[str, Any]) -> list[float]:
    keys = [names.get(k, k) for k in row["params"]]

    def logpdf(x: Any, *values: Any) -> Any:
        return case.family(**dict(zip(keys, values, strict=True))).logpdf(x)

    bars = gradient(logpdf, float(row["x"]), *row["params"].values())
    expected = [row.get("dlogpdf_dx"), *(row["dlogpdf_dparams"].get(k) for k in row["params"])]
    conds = [row["cond"].get("dx"), *(row["cond"]["dparams"].get(k) for k in row["params"])]
    triples = [t for t in zip(bars, expected, conds, strict=True) if t[1] is not None]
    seen = [t for t in triples if abs(t[0] - float(t[1])) > case.slope_slack]
    return [measure(bar, value, cond) for bar, value, cond in seen] or [0.0 for _ in triples]


def _r_errors(case: Case) -> list[float]:
    name, names = case.reference or ("", {})
    found = []
    for row in (row for row in UNIVARIATE if row["dist"] == name):
        d = case.family(**{names.get(k, k): float(v) for k, v in row["params"].items()})
        for x, pdf, _, cdf in np.array(row["points"], dtype=float):
            found += [abs(d.pdf(x) / pdf - 1) if pdf else 0.0, abs(d.cdf(x) / cdf - 1) if cdf > 1e-14 else 0.0]
        found += [abs(d.quantile(p) / x - 1) for p, x in np.array(row["quantiles"], dtype=float) if abs(x) > 1e-14]
    return found


def _power(errors: list[float], least: int) -> str:
    if not errors:
        return ""
    exponent = math.ceil(math.log10(max(*errors, 10.0**least)))
    return {0: "1", 1: "10"}.get(exponent, f"10<sup>{exponent}</sup>")


# The page.


def table(rows: dict[str, list[str]], header: list[str]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join([f"`{name}`", *cells]) + " |" for name, cells in rows.items())])


def static_page() -> str:
    """The page up to what is measured."""
    header = ["", "fields", "also by", *COLUMNS, "gradients"]
    parts = [INTRODUCTION]
    for title, kind in (("Continuous", Continuous), ("Discrete", Discrete), ("Vectors and matrices", Multivariate)):
        parts.append(f"## {title}\n\n{table(static_rows(kind), header)}\n")
    return "\n".join(parts)


def accuracy_section() -> str:
    """What is measured."""
    found = {f.__name__: accuracy(f) for kind in (Continuous, Discrete) for f in families(kind)}
    rows = {name: cells for name, cells in found.items() if any(cells)}
    return f"\n## Accuracy\n\n{table(rows, ['', 'logpdf', 'slopes', 'tails', 'R'])}\n"


if __name__ == "__main__":
    PAGE.write_text(static_page() + accuracy_section())
