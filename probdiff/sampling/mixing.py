"""R-hat in words: whether chains sit in different modes, one is lost, or all are only slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.sampling.convergence import apart, split_r_hat
from probdiff.sampling.findings import ENOUGH, Finding, few_effective, listed, shortened

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

Floats = NDArray[np.float64]
R_HAT_LIMIT = 1.01
"""Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021, Bayesian Analysis 16:667."""
LENGTH = 1000
"""Draws of a chain for which R_HAT_LIMIT is meant: the noise of R-hat is inversely proportional to them."""
SETTLED = 1.1
"""R-hat between the halves of one chain below which it has come to rest; the limit before 2021."""
LOST = 10.0
"""Nats of log-density by which a group of chains is below the best from which it is taken for stuck."""
NOT_CONVERGED = "The chains have not converged"
"""Every finding begins so."""


def converged(
    draws: Draws, r_hat: Mapping[str, Floats], labels: Sequence[str], columns: Mapping[str, Floats]
) -> list[Finding]:
    """The findings of R-hat and of effective sample sizes, which say nothing more where chains are in other modes."""
    found = mixing(draws, r_hat)
    if any(each.kind == "modes" for each in found):
        return found
    return found + few_effective(labels, columns, draws.chains)


def mixing(draws: Draws, r_hat: Mapping[str, Floats], limit: float = R_HAT_LIMIT) -> list[Finding]:
    """The finding of R-hat, from its values by variable."""
    bad = [
        (float(value), name, index)
        for name, values in r_hat.items()
        if np.any(np.asarray(values) > limit)
        for index, value in np.ndenumerate(values)
        if value > limit
    ]
    if not bad:
        return []
    bad.sort(key=lambda each: -each[0])
    labels = tuple(draws.label(name, index) for _, name, index in bad)
    value, name, index = bad[0]
    total = sum(np.size(values) for values in r_hat.values())
    begin = f"{NOT_CONVERGED}: R-hat is above {limit:.4g} for {len(bad)} of {total}, worst {labels[0]} ({value:.4g})."
    x = np.asarray(draws.scalar(name, index), dtype=np.float64)
    groups = apart(x)
    settled = np.nan_to_num(np.array([split_r_hat(chain[None]) for chain in x]), nan=1.0) < SETTLED
    if draws.draws >= ENOUGH and len(groups) > 1 and np.all(settled):
        return [modes(draws, begin, labels, (name, x), groups)]
    if draws.chains > 2 and len(groups) == 2 and min(map(len, groups)) == 1:
        lone = min(groups, key=len)
        text = (
            f"{begin} Chain {lone[0]} is elsewhere ({labels[0]} near {np.median(x[lone]):.3g}, the others near "
            f"{np.median(np.delete(x, lone, axis=0)):.3g}), and not all are at rest. Raise tune, or start it elsewhere "
            "with init=."
        )
        return [Finding("r_hat", text, labels, tuple(lone))]
    if not np.all(settled):
        moving = [int(c) for c in np.flatnonzero(~settled)]
        text = (
            f"{begin} {listed(moving)} still {'wanders' if len(moving) == 1 else 'wander'} from the first half of the "
            f"draws to the second in {labels[0]}. Raise tune and draws, or check that the posterior is proper."
        )
        return [Finding("r_hat", text, labels, tuple(moving))]
    slow = f" Slow are {shortened(labels)}." if len(labels) > 1 else ""
    text = f"{begin}{slow} The chains overlap and mix slowly: run longer, or reparameterise."
    return [Finding("r_hat", text, labels)]


def modes(
    draws: Draws, begin: str, labels: tuple[str, ...], worst: tuple[str, Floats], groups: list[list[int]]
) -> Finding:
    """Chains that are at rest in different places."""
    name, x = worst
    places = ", ".join(f"{listed(group).lower()} near {np.median(x[group]):.3g}" for group in groups)
    text = f"{begin} The chains are at rest in different places: {labels[0]} of {places}."
    lost, below = lost_chains(draws, groups)
    if lost:
        who, whom = ("it is", "it") if len(lost) == 1 else ("they are", "them")
        end = (
            f" The log-density of {listed(lost).lower()} is lower by {below:.3g}: most likely {who} stuck far from the "
            f"mass. Start {whom} elsewhere with init=, or take another seed."
        )
    elif switched(draws[name], groups):
        end = f" They differ only in the order of {name}: its labels are switched. Give {name} the support ordered."
    else:
        end = (
            " The log-densities are alike: the posterior has several modes, and how much weight each has these draws "
            "do not tell. Restrict the model to one, or sum over them in the likelihood."
        )
    return Finding("modes", text + end, labels, tuple(lost))


def lost_chains(draws: Draws, groups: list[list[int]]) -> tuple[list[int], float]:
    """Chains of much lower log-density than the best group, and by how much the nearest of them is lower."""
    lp = draws.sample_stats.get("lp")
    if lp is None:
        return [], 0.0
    level = [float(np.median(lp[group])) for group in groups]
    best = int(np.argmax(level))
    far = max(LOST, 3 * float(np.std(lp[groups[best]])))
    below = [max(level) - each for each in level]
    lost = [chain for group, gap in zip(groups, below, strict=True) if gap > far for chain in group]
    return sorted(lost), min((gap for gap in below if gap > far), default=0.0)


def switched(x: NDArray[Any], groups: list[list[int]]) -> bool:
    """Whether groups of chains have the same entries along the first axis of a variable, in another order."""
    if x.ndim != 3:
        return False
    means = [x[group].mean(axis=(0, 1)) for group in groups]
    width = np.max([x[group].std(axis=(0, 1)).max() for group in groups])
    first = np.sort(means[0])
    return all(np.all(np.abs(np.sort(each) - first) < 2 * width) for each in means[1:])
