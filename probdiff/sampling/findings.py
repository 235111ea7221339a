"""What can be wrong with the draws of a run, each in words: what it is, where, and what to try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.sampling.convergence import e_bfmi, tail_shape, unmoved

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

ENOUGH = 100
"""Draws of a chain below which rates say little."""
MANY_CUT = 0.01
"""Share of trajectories that reach their greatest depth from which it is said."""
E_BFMI_LIMIT = 0.3
"""Below it energies have proven problematic: Betancourt 2017, arXiv:1701.02434, section 6.1."""
STUCK = 0.5
"""Share of draws that repeat the one before; at an acceptance of 0.8, NUTS repeats hardly any."""
STEPS_DIFFER = 5.0
"""Factor from the median step size; chains that see one density end within a factor of two of each other."""
ESS_PER_CHAIN = 100
"""Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021, Bayesian Analysis 16:667."""
TAIL_LIMIT = 0.7
"""Pareto k of the draws themselves above which a mean does not settle; Vehtari et al. 2024, JMLR 25:72."""
FOLLOWS_ENERGY = 0.5
"""Correlation with the energy from which a parameter is named as the slow one."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    kind    divergences, max_depth, max_steps, stuck, r_hat, modes, e_bfmi, step_size, ess or heavy_tails
    text    what it is, where, and what to try
    labels  the scalars that it concerns, the worst first
    chains  the chains that it concerns, if not all
    """

    kind: str
    text: str
    labels: tuple[str, ...] = ()
    chains: tuple[int, ...] = ()


def depth(draws: Draws) -> list[Finding]:
    """Trajectories that were ended before they turned."""
    stats, found = draws.sample_stats, []
    most = draws.attrs.get("max_steps")
    if most is not None and "n_steps" in stats and (cut := int(np.sum(stats["n_steps"] >= most))):
        total = stats["n_steps"].size
        text = f"{cut} of {total} trajectories were cut at max_steps={most}. Raise it, or rescale the model."
        found.append(Finding("max_steps", text))
    reached = stats.get("reached_max_treedepth", np.zeros((1, 1), dtype=bool))
    if (cut := int(reached.sum())) > MANY_CUT * reached.size:
        deepest = int(stats["tree_depth"][reached].max())
        found.append(Finding(
            "max_depth",
            f"{cut} of {reached.size} transitions reached max_depth={deepest} ({2**deepest - 1} leapfrog steps) before "
            "they turned, so draws are more correlated than they need be. Rescale or reparameterise the model, or "
            "raise max_depth.",
        ))  # fmt: skip
    return found


def stuck(draws: Draws) -> list[Finding]:
    """Chains whose draws mostly repeat the one before."""
    if "lp" not in draws.sample_stats or draws.draws < ENOUGH:
        return []
    share = unmoved(draws.sample_stats["lp"])
    chains = tuple(int(c) for c in np.flatnonzero(share > STUCK))
    if not chains:
        return []
    rate = draws.sample_stats.get("acceptance_rate")
    accepted = "" if rate is None else f", and its acceptance is {rate[chains[0]].mean():.2f}"
    return [Finding(
        "stuck",
        f"{listed(chains)} hardly {'moves' if len(chains) == 1 else 'move'}: {share[chains[0]]:.0%} of the draws of "
        f"chain {chains[0]} repeat the one before{accepted}. The steps are too long for the place it is in: raise "
        "target_accept, or start elsewhere with init=.",
        chains=chains,
    )]  # fmt: skip


def slow_energy(draws: Draws) -> list[Finding]:
    """Energies that change little from draw to draw beside their range."""
    energy = draws.sample_stats.get("energy")
    if energy is None or draws.draws < ENOUGH:
        return []
    values = e_bfmi(energy)
    chains = tuple(int(c) for c in np.flatnonzero(values < E_BFMI_LIMIT))
    if not chains:
        return []
    label, r = follows(draws, energy)
    named = f" The energy goes with {label} (correlation {r:.2f}): reparameterise it." if label else ""
    return [Finding(
        "e_bfmi",
        f"E-BFMI is below {E_BFMI_LIMIT} for {listed(chains).lower()}, least {min(values[list(chains)]):.2f}: the "
        "energy wanders slowly, so the chains see little of the tails, or of the neck of a funnel."
        + (named or " Reparameterise the model, or give it priors with lighter tails."),
        labels=(label,) if label else (),
        chains=chains,
    )]  # fmt: skip


def follows(draws: Draws, energy: NDArray[np.float64]) -> tuple[str, float]:
    """The scalar that is most correlated with the energy, or "" if none is by much."""
    best = ("", 0.0)
    e = (energy - energy.mean()) / energy.std()
    for name, x in draws.posterior.items():
        if not x.size:
            continue
        with np.errstate(all="ignore"):
            moved = x - x.mean(axis=(0, 1))
            r = np.nan_to_num(np.einsum("cd,cd...->...", e, moved / moved.std(axis=(0, 1))) / e.size)
        k = int(np.argmax(np.abs(r)))
        if abs(r.flat[k]) > max(abs(best[1]), FOLLOWS_ENERGY):
            best = draws.label(name, [int(i) for i in np.unravel_index(k, r.shape)]), float(r.flat[k])
    return best


def steps(draws: Draws) -> list[Finding]:
    """Chains that settled on step sizes of another order."""
    eps = draws.sample_stats.get("step_size")
    if eps is None or draws.chains < 2:
        return []
    last = eps[:, -1]
    usual = float(np.median(last))
    chains = tuple(int(c) for c in np.flatnonzero(np.maximum(last / usual, usual / last) > STEPS_DIFFER))
    if not chains:
        return []
    sizes = ", ".join(f"{last[c]:.2g}" for c in chains)
    return [Finding(
        "step_size",
        f"The step size of {listed(chains).lower()} is {sizes}, and {usual:.2g} in the median of all: the chains see "
        "densities of another sharpness. Warm-up may have been too short: raise tune.",
        chains=chains,
    )]  # fmt: skip


def few_effective(labels: Sequence[str], columns: Mapping[str, NDArray[np.float64]], chains: int) -> list[Finding]:
    """Effective sample sizes that do not carry an estimate."""
    ess = np.nan_to_num(np.minimum(columns["ess_bulk"], columns["ess_tail"]), nan=np.inf)
    least = ESS_PER_CHAIN * chains
    low = np.flatnonzero(ess < least)
    if not len(low):
        return []
    order = [int(k) for k in low[np.argsort(ess[low], kind="stable")]]
    worst = order[0]
    part = "bulk" if columns["ess_bulk"][worst] <= columns["ess_tail"][worst] else "tail"
    return [Finding(
        "ess",
        f"Effective sample size is below {least} for {len(low)} of {len(labels)}, least {labels[worst]} "
        f"({ess[worst]:.0f} in the {part}). Draw {max(least / ess[worst], 1.1):.2g} times as many, or reparameterise.",
        labels=tuple(labels[k] for k in order),
    )]  # fmt: skip


def heavy_tails(scalars: Mapping[str, NDArray[Any]]) -> list[Finding]:
    """Scalars whose mean does not settle, because a few far draws make it."""
    found = {}
    for label, x in scalars.items():
        flat = np.asarray(x, dtype=np.float64).ravel()
        if len(flat) >= 4 * ENOUGH and np.all(np.isfinite(flat)) and (k := tail_shape(flat)) > TAIL_LIMIT:
            found[label] = k
    if not found:
        return []
    labels = tuple(sorted(found, key=lambda label: -found[label]))
    worst = labels[0]
    of = f" for {worst}" if len(labels) > 1 else ""
    return [Finding(
        "heavy_tails",
        f"The tails of {shortened(labels)} are so heavy (Pareto k {found[worst]:.2f}{of}; from 1 on there is no mean) "
        "that means and standard deviations do not settle. Report medians and quantiles, or give lighter tails to the "
        "prior.",
        labels=labels,
    )]  # fmt: skip


def most_common(names: Sequence[str]) -> tuple[str, int]:
    """The name that occurs most, and how often."""
    return Counter(names).most_common(1)[0]


def listed(chains: Sequence[int]) -> str:
    """`Chain 2`, `Chains 0, 1 and 3`."""
    head, last = [str(c) for c in chains[:-1]], str(chains[-1])
    return f"Chains {', '.join(head)} and {last}" if head else f"Chain {last}"


def shortened(labels: Sequence[str], most: int = 3) -> str:
    """The first few labels."""
    return ", ".join(labels[:most]) + (f" and {len(labels) - most} more" if len(labels) > most else "")
