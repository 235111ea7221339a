"""What a reader should know of a run before its numbers: quick checks after every run, all of them on demand."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import DataError
from probdiff.sampling import findings
from probdiff.sampling.convergence import e_bfmi, split_r_hat
from probdiff.sampling.findings import ENOUGH, Finding
from probdiff.sampling.mixing import LENGTH, R_HAT_LIMIT, converged, mixing
from probdiff.sampling.where import diverged

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws
    from probdiff.sampling.summary import Summary

WIDTH = 100


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The findings, and the figures that they come from.

    findings     what is wrong, in the order in which to mend it
    summary      effective sample sizes and R-hat of every scalar
    divergences  the number of transitions that diverged
    e_bfmi       of each chain
    step_size    of each chain
    """

    findings: tuple[Finding, ...]
    summary: Summary
    divergences: int
    e_bfmi: NDArray[np.float64]
    step_size: NDArray[np.float64]
    chains: int
    draws: int

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __getitem__(self, kind: str) -> Finding:
        for finding in self.findings:
            if finding.kind == kind:
                return finding
        raise KeyError(f"{kind!r} is not among the findings ({', '.join(f.kind for f in self.findings) or 'none'})")

    def __contains__(self, kind: str) -> bool:
        return any(finding.kind == kind for finding in self.findings)

    def __repr__(self) -> str:
        title = f"Diagnosis: {self.chains} chains x {self.draws} draws, scalars: {len(self.summary)}"
        if self.ok:
            return f"{title}\n{self.figures()}"
        shown = [
            textwrap.fill(finding.text, WIDTH, initial_indent="! ", subsequent_indent="  ", break_on_hyphens=False)
            for finding in self.findings
        ]
        return "\n".join([title, *shown])

    def figures(self) -> str:
        """The figures of a run in which nothing was found."""
        columns = self.summary.columns
        parts = [f"{self.divergences} divergences"]
        if not np.all(np.isnan(columns["r_hat"])):
            parts.append(f"R-hat at most {np.nanmax(columns['r_hat']):.3f}")
            bulk, tail = np.nanmin(columns["ess_bulk"]), np.nanmin(columns["ess_tail"])
            parts.append(f"effective sample sizes at least {bulk:.0f} (bulk) and {tail:.0f} (tail)")
        if self.e_bfmi.size:
            parts.append(f"E-BFMI at least {np.min(self.e_bfmi):.2f}")
        return "Nothing found: " + ", ".join(parts) + "."


def quick(draws: Draws) -> tuple[str, ...]:
    """The findings that cost about as much as a few transitions; R-hat without ranks, its limit wider in short runs."""
    limit = 1 + (R_HAT_LIMIT - 1) * max(1.0, LENGTH / max(draws.draws, 1))
    r_hat = {name: split_r_hat(x) for name, x in draws.posterior.items()} if draws.draws >= ENOUGH else {}
    return tuple(finding.text for finding in in_order([*of_the_sampler(draws, False), *mixing(draws, r_hat, limit)]))


def diagnose(draws: Draws) -> Diagnosis:
    """All findings."""
    from probdiff.sampling.summary import summarise

    if not draws.draws:
        raise DataError("Draws.diagnose: there is no draw after the warm-up yet.")
    summary = summarise(draws)
    found = [
        *of_the_sampler(draws, True),
        *converged(draws, summary.by_variable(draws.posterior, "r_hat"), summary.labels, summary.columns),
        *findings.heavy_tails(draws.scalars()),
    ]
    stats = draws.sample_stats
    return Diagnosis(
        findings=in_order(found),
        summary=summary,
        divergences=int(np.sum(stats.get("diverging", 0))),
        e_bfmi=e_bfmi(stats["energy"]) if "energy" in stats else np.zeros(0),
        step_size=stats["step_size"][:, -1] if "step_size" in stats else np.zeros(0),
        chains=draws.chains,
        draws=draws.draws,
    )


def in_order(found: list[Finding]) -> tuple[Finding, ...]:
    """Chains in other modes come first: most of the rest may follow from them."""
    return tuple(sorted(found, key=lambda finding: finding.kind != "modes"))


def of_the_sampler(draws: Draws, full: bool) -> list[Finding]:
    """What the statistics of the sampler say."""
    return [
        *diverged(draws, full),
        *findings.depth(draws),
        *findings.stuck(draws),
        *findings.slow_energy(draws),
        *findings.steps(draws),
    ]
