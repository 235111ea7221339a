"""Divergent transitions in words: how many, in what region of the posterior, and what the model can do about it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from probdiff.sampling.divergences import worst_coordinates
from probdiff.sampling.findings import Finding, most_common

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

MOSTLY = 0.9
"""Share of divergences in one chain from which that chain is named."""
FEW = 10
"""Divergences that may all fall into one chain by bad luck."""
CHANCE = 0.01
"""Chance that a region is named although divergences are spread as the draws are."""


@dataclass(frozen=True)
class Region:
    """Where divergent draws gather: at small or large values of one scalar, in the median against all draws."""

    name: str
    label: str
    small: bool
    here: float
    all: float

    def __str__(self) -> str:
        side = "small" if self.small else "large"
        return f"{side} {self.label} (median {self.here:.3g} against {self.all:.3g} over all draws)"


def diverged(draws: Draws, full: bool) -> list[Finding]:
    """The finding of divergences; in full, also what the points where they happened have in common."""
    diverging = draws.sample_stats.get("diverging")
    if diverging is None or not (count := int(diverging.sum())):
        return []
    sentences = [
        f"{count} of {diverging.size} transitions diverged: the density bends faster than the step size follows."
    ]
    each_chain = diverging.sum(axis=1)
    alone = int(np.argmax(each_chain))
    lopsided = draws.chains > 2 and count >= FEW and each_chain[alone] > MOSTLY * count
    if lopsided:
        sentences.append(f"{each_chain[alone]} of them are in chain {alone}.")
    region, thrown = gathering(draws), thrown_off(draws)
    labels = []
    if region is not None:
        sentences.append(f"They gather at {region}.")
        labels.append(region.label)
    if full and thrown is not None:
        name, times = thrown
        sentences.append(f"The gradient of {name} threw off {times} of {len(draws.divergences)}.")
        labels.append(name)
        seen = [each.worst_observation for each in draws.divergences if each.worst_observation]
        worst, times = most_common(seen) if seen else ("", 0)
        if times > 1:
            sentences.append(f"The observation that fits worst there is {worst} ({times} of {len(seen)}).")
    sentences.append(advice(draws, region, thrown))
    chains = (alone,) if lopsided else ()
    return [Finding("divergences", " ".join(sentences), tuple(dict.fromkeys(labels)), chains)]


def thrown_off(draws: Draws) -> tuple[str, int] | None:
    """The coordinate whose gradient threw off most of the trajectories whose place is known, and how many."""
    if draws.model is None or not draws.diverged:
        return None
    names = draws.model.coordinate_names
    return most_common([names[k] for k in worst_coordinates(draws.diverged["momentum"])])


def gathering(draws: Draws) -> Region | None:
    """The scalar whose divergent draws lie most to one side of all draws, if chance does not explain it.

    The rank of the median of n of them is, if they are spread as all are, Beta((n + 1)/2, (n + 1)/2).
    """
    diverging = draws.sample_stats["diverging"]
    best: tuple[float, float, str, tuple[int, ...]] | None = None
    scalars = 0
    for name, x in draws.posterior.items():
        if not x.size:
            continue
        middle = np.median(x[diverging], axis=0)
        share = np.asarray(np.mean(x < middle, axis=(0, 1)) + 0.5 * np.mean(x == middle, axis=(0, 1)))
        share = np.where(np.isfinite(middle), share, 0.5)
        scalars += share.size
        k = int(np.argmax(np.abs(share - 0.5)))
        index = tuple(map(int, np.unravel_index(k, share.shape)))
        if best is None or abs(share[index] - 0.5) > abs(best[0] - 0.5):
            best = float(share[index]), float(middle[index]), name, index
    if best is None or not isfinite(best[1]):
        return None
    from scipy.special import betainc

    rank, here, name, index = best
    half = (int(diverging.sum()) + 1) / 2
    if 2 * scalars * betainc(half, half, min(rank, 1 - rank)) > CHANCE:
        return None
    x = draws.scalar(name, index)
    return Region(name, draws.label(name, index), rank < 0.5, here, float(np.median(x)))


def advice(draws: Draws, region: Region | None, thrown: tuple[str, int] | None) -> str:
    """What to try: other coordinates for what hangs on the variable that is to blame, or smaller steps."""
    name = region.name if region is not None else ""
    if region is None and thrown is not None and 2 * thrown[1] > len(draws.divergences):
        name = thrown[0].split("[")[0]
    dependants = getattr(draws.model, "dependants", None)
    if dependants is not None and name in draws.posterior and np.all(draws[name] > 0):
        hanging = dependants(name)
        centred = [each for each, is_centred in hanging.items() if is_centred]
        others = [each for each in hanging if each not in centred]
        if centred and (region is None or region.small):
            names, verb = " and ".join(centred), "is" if len(centred) == 1 else "are"
            return (
                f"{names} {verb} centred on {name}, which makes a funnel: write noncentered(…) around the distribution "
                f'of {names}, or sample with reparam="auto".'
            )
        if others and region is not None and not region.small:
            names, verb = " and ".join(others), "is" if len(others) == 1 else "are"
            return (
                f"{names} {verb} non-centred, which is worse where the data fix it well: take noncentered(…) off the "
                f"distribution of {names}, or raise target_accept."
            )
    return "Raise target_accept, or reparameterise the model."
