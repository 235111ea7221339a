"""The table of posterior summaries: computed with ArviZ, printed here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, isfinite, isnan, log10, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.sampling.mixing import NOT_CONVERGED, R_HAT_LIMIT, converged
from probdiff.sampling.to_arviz import import_arviz

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

COLUMNS = ("mean", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat")
ROWS_SHOWN = 60
TAILS = (0.05, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """A row per scalar, a column per number; `summary["mu"]["mean"]` is one of them."""

    labels: tuple[str, ...]
    columns: dict[str, NDArray[np.float64]]
    notes: tuple[str, ...] = ()

    def __getitem__(self, label: str) -> dict[str, float]:
        if label not in self.labels:
            raise KeyError(f"{label!r} is not among the {len(self.labels)} rows of the summary")
        i = self.labels.index(label)
        return {name: float(x[i]) for name, x in self.columns.items()}

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def by_variable(self, variables: Mapping[str, NDArray[Any]], column: str) -> dict[str, NDArray[np.float64]]:
        """A column, by variable and in its shape; `variables` are all that the summary has, (chain, draw, *shape)."""
        shapes = {name: x.shape[2:] for name, x in variables.items()}
        ends = np.cumsum([prod(shape) for shape in shapes.values()])[:-1]
        parts = np.split(self.columns[column], ends)
        return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def cells(self, i: int) -> list[str]:
        """Row `i` as text: mean and sd to three digits of the sd, the Monte Carlo error one further."""
        mean, sd, mcse, bulk, tail, r_hat = (float(self.columns[name][i]) for name in COLUMNS)
        digits = min(max(2 - floor(log10(sd)), 0), 12) if isfinite(sd) and sd > 0 else 3
        counts = [f"{x:.0f}" if isfinite(x) else "-" for x in (bulk, tail)]
        scientific = abs(mean) >= 1e7 or sd >= 1e7 or 0 < sd < 1e-5
        numbers = [f"{x:.3e}" if scientific else f"{x:.{d}f}" for x, d in ((mean, digits), (sd, digits))]
        error = "-" if not isfinite(mcse) else f"{mcse:.1e}" if scientific else f"{mcse:.{digits + 1}f}"
        return [*numbers, error, *counts, "-" if isnan(r_hat) else f"{r_hat:.3f}"]

    def __repr__(self) -> str:
        shown = range(min(len(self), ROWS_SHOWN))
        rows = [["", *COLUMNS], *([self.labels[i], *self.cells(i)] for i in shown)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
                 for row in rows]  # fmt: skip
        if len(self) > ROWS_SHOWN:
            lines.append(f"... {len(self) - ROWS_SHOWN} more rows")
        return "\n".join([*lines, *(f"! {note}" for note in self.notes)])

    def __rich__(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, caption="\n".join(self.notes) or None, caption_justify="left")
        table.add_column("", style="bold")
        for name in COLUMNS:
            table.add_column(name, justify="right")
        for i in range(min(len(self), ROWS_SHOWN)):
            cells = self.cells(i)
            if self.columns["r_hat"][i] > R_HAT_LIMIT:
                cells[-1] = f"[red]{cells[-1]}[/red]"
            table.add_row(self.labels[i].replace("[", r"\["), *cells)
        return table


def summarise(draws: Draws, names: Sequence[str] | None = None) -> Summary:
    """Moments by NumPy; Monte Carlo error, effective sample sizes and R-hat by ArviZ (at least 4 draws a chain)."""
    scalars = draws.scalars(names)
    columns = {name: np.full(len(scalars), np.nan) for name in COLUMNS}
    az = import_arviz() if draws.draws >= 4 else None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, x in enumerate(scalars.values()):
            x = np.asarray(x, dtype=np.float64)
            columns["mean"][i] = x.mean()
            columns["sd"][i] = x.std(ddof=1) if x.size > 1 else np.nan
            # A constant, or a value that is not finite, has no effective sample size.
            if az is None or not np.all(np.isfinite(x)) or np.ptp(x) == 0:
                continue
            columns["mcse"][i] = float(np.squeeze(az.mcse(x, method="mean")))
            columns["ess_bulk"][i] = float(np.squeeze(az.ess(x, method="bulk")))
            columns["ess_tail"][i] = float(np.squeeze(az.ess(x, method="tail", prob=TAILS)))
            columns["r_hat"][i] = _r_hat(az, x)
    summary = Summary(tuple(scalars), columns)
    return replace(summary, notes=_notes(draws, names, summary))


def _r_hat(az: Any, x: NDArray[np.float64]) -> float:
    """Rank-normalised split R-hat; of a single chain, between its halves. Chains that each stand still: infinite."""
    if len(x) == 1:
        half = x.shape[1] // 2
        if half < 4:
            return float("nan")
        x = np.stack([x[0, :half], x[0, -half:]])
    value = float(np.squeeze(az.rhat(x, method="rank")))
    return value if isfinite(value) else float("inf")


def _notes(draws: Draws, names: Sequence[str] | None, summary: Summary) -> tuple[str, ...]:
    """What the draws say of themselves, with R-hat by ranks in place of the quick one, and effective sample sizes."""
    notes = [note for note in draws.notes if not note.startswith(NOT_CONVERGED)]
    chosen = {name: draws[name] for name in (draws.posterior if names is None else names)}
    found = converged(draws, summary.by_variable(chosen, "r_hat"), summary.labels, summary.columns)
    return (*notes, *(finding.text for finding in found))
