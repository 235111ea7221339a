"""Where trajectories diverged: the point, the parameter that was thrown off, the observation that fits it worst."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import UnsupportedError
from probdiff.sampling.predictive import by_outcome, model_of

if TYPE_CHECKING:
    from probdiff.sampling.chain import Drawn
    from probdiff.sampling.draws import Draws

Arrays = dict[str, NDArray[Any]]
BASELINE = 200
"""Draws, evenly spread over the run, from which the usual log-likelihood of an observation is taken."""
SHOWN = 10


@dataclass(frozen=True, eq=False)
class Divergence:
    """A transition whose energy went off, at the leaf where it did.

    chain, draw        the transition: it made this draw
    q, momentum        (dim,) the unconstrained position, and the momentum in the sampler's round coordinates
    point              the named values at q. The trajectory may have been thrown far by then: where it came from, near
                       its own draw, is what `Draws.diagnose` looks at
    worst_parameter    the coordinate with the largest momentum there, which is `pull`. Momenta start standard normal,
                       so that one of 50 was thrown there by the gradient of this coordinate
    worst_observation  the one whose log-likelihood is farthest below its mean over the draws, or the first where it is
                       not finite; None if the model has no observations one by one
    """

    chain: int
    draw: int
    q: NDArray[np.float64]
    momentum: NDArray[np.float64]
    point: Arrays
    worst_parameter: str
    pull: float
    worst_observation: str | None


def collect(chains: Sequence[Drawn], n: int) -> Arrays:
    """The divergences that the chains remember from their first `n` draws, as arrays; {} without any."""
    found = [
        (c, i, q, p) for c, chain in enumerate(chains) for i, q, p in getattr(chain, "diverged", ()) if i < n
    ]  # fmt: skip
    if not found:
        return {}
    chain, draw, q, momentum = zip(*found, strict=True)
    return {"chain": np.array(chain), "draw": np.array(draw), "q": np.stack(q), "momentum": np.stack(momentum)}


class Divergences(Sequence[Divergence]):
    """The divergences whose place was kept, in order of chain and draw: at most 100 a chain."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws

    def __len__(self) -> int:
        return len(self.draws.diverged.get("chain", ()))

    @overload
    def __getitem__(self, index: int) -> Divergence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Divergence]: ...
    def __getitem__(self, index: int | slice) -> Divergence | Sequence[Divergence]:
        return self.records[index]

    @functools.cached_property
    def records(self) -> tuple[Divergence, ...]:
        """All of them; the model is asked once for all points."""
        if not len(self):
            return ()
        model = model_of(self.draws, "divergences")
        chain, draw, q, momentum = (self.draws.diverged[key] for key in ("chain", "draw", "q", "momentum"))
        points = model.constrain_many(q)
        worst = worst_coordinates(momentum)
        observations = worst_observations(self.draws, model, points)
        return tuple(
            Divergence(
                chain=int(chain[k]),
                draw=int(draw[k]),
                q=q[k],
                momentum=momentum[k],
                point={name: x[k] for name, x in points.items()},
                worst_parameter=model.coordinate_names[worst[k]],
                pull=float(abs(momentum[k, worst[k]])),
                worst_observation=observations[k],
            )
            for k in range(len(self))
        )

    def __repr__(self) -> str:
        diverging = np.asarray(self.draws.sample_stats.get("diverging", False))
        if not diverging.any():
            return "No transition diverged."
        total = int(diverging.sum())
        title = f"{total} of {diverging.size} transitions diverged"
        if not len(self):
            return f"{title}; where is not known."
        rows = [("chain", "draw", "worst parameter", "pull", "worst observation")]
        for each in self.records[:SHOWN]:
            rows.append((
                str(each.chain), str(each.draw), each.worst_parameter, f"{each.pull:.3g}",
                each.worst_observation or "-",
            ))  # fmt: skip
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        kept = title + (f"; the place of {len(self)} is known" if len(self) < total else "")
        more = [f"... {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([kept, *lines, *more])


def worst_coordinates(momentum: NDArray[np.float64]) -> NDArray[np.int64]:
    """The coordinate of the largest momentum in each row; the first that is no number, if there is one."""
    return np.asarray(np.argmax(np.where(np.isnan(momentum), np.inf, np.abs(momentum)), axis=1))


def worst_observations(draws: Draws, model: Any, points: Arrays) -> list[str | None]:
    """For each point the observation that it fits worst, measured from the mean over the draws."""
    nobody: list[str | None] = [None] * len(next(iter(points.values())))
    if not hasattr(model, "log_likelihood_draws"):
        return nobody
    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in draws.posterior.items()}
    total = draws.chains * draws.draws
    some = np.linspace(0, total - 1, min(BASELINE, total)).astype(int)
    try:
        usual = by_outcome(model, {name: x[some] for name, x in flat.items()}, len(some))
        here = by_outcome(model, points, len(nobody))
    except UnsupportedError:  # a log-likelihood that is one number
        return nobody
    names: list[str] = []
    gaps: list[NDArray[np.float64]] = []
    for name, terms in here.items():
        with np.errstate(all="ignore"):
            gap = np.where(np.isfinite(terms), terms - usual[name].mean(axis=0), -np.inf)
        indices = [", ".join(map(str, index)) for index in np.ndindex(terms.shape[1:])]
        names += [f"{name}[{index}]" if index else name for index in indices]
        gaps.append(gap.reshape(len(gap), -1))
    return [names[k] for k in np.argmin(np.concatenate(gaps, axis=1), axis=1)]
