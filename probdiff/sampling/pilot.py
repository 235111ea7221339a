"""The coordinates that a run moves in: as they are written, as they are named, or as a pilot run finds them better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.nuts import NUTS
from probdiff.sampling.target import Model

Reparam = Mapping[str, str] | Literal["auto"] | None
TUNE, DRAWS, CHAINS = 150, 100, 2
"""Of the pilot: a sixteenth of the transitions of a default run. The share that decides has a standard error of 0.1
for one element, less for the median of many."""
MAX_DEPTH = 4
"""Of the pilot. Where the data are strong, non-centred coordinates are so correlated that a trajectory would be long;
the variance that is left beside location and scale is small however short it is."""
PILOT = 1 << 32
"""The place of the pilot's seed among the streams of a run, far from those of its chains."""


def in_coordinates(model: Model, init: Any, reparam: Reparam, seed: int) -> tuple[Model, Any, dict[str, Any]]:
    """The model that is sampled, `init` for it, and what `Draws.attrs` says: the form of each variable that has one."""
    if reparam is None:
        return model, init, {}
    if not (isinstance(reparam, Mapping) or reparam == "auto"):
        raise ParameterError(
            f"sample.reparam must be 'auto', a dict such as {{'theta': 'noncentered'}} or None, got {reparam!r}"
        )
    other: Any = getattr(model, "reparameterised", None)
    if other is None and reparam != "auto":
        raise UnsupportedError(
            f"sample.reparam needs a Posterior, whose variables have priors; got {type(model).__name__}."
        )
    choices = reparam if reparam != "auto" else chosen(model, seed) if other is not None else {}
    told = {"reparam": dict(choices)}
    if not choices:
        return model, init, told
    moved = other(choices)
    return moved, moved_points(model, moved, init), told


def moved_points(model: Any, moved: Any, init: Any) -> Any:
    """`init` in the coordinates of `moved`, if it is made of vectors in those of `model`."""
    if init is None or isinstance(init, (str, Mapping)):
        return init
    points = np.asarray(init, dtype=np.float64)
    if points.ndim == 0 or points.shape[-1] != model.dim:
        return init  # which is refused with every other shape that is wrong
    return np.apply_along_axis(lambda q: moved.unconstrain(model.constrain(q)), -1, points)


def chosen(model: Any, seed: int) -> dict[str, str]:
    """The better form of each variable whose location or scale hangs on others, from a short run with z for all."""
    from probdiff.models.reparam import NONCENTERED, better_forms, hierarchical
    from probdiff.sampling.run import sample

    names = hierarchical(model)
    if not names:
        return {}
    own = int(np.random.SeedSequence(seed, spawn_key=(PILOT,)).generate_state(1)[0])
    free = model.reparameterised(dict.fromkeys(names, NONCENTERED))
    pilot = sample(free, DRAWS, TUNE, CHAINS, own, NUTS(max_depth=MAX_DEPTH), progress=False)
    if pilot.partial:  # the interrupt was meant for the run
        raise KeyboardInterrupt
    rows = {name: x.reshape(-1, *x.shape[2:]) for name, x in pilot.posterior.items()}
    return better_forms(model, rows, names)
