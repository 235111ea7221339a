"""Many draws of a joint distribution at once: variable by variable, each from one distribution that holds all rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.errors import UnsupportedError
from probdiff.models.dimensions import Coords, over_rows, resolve
from probdiff.models.rows import Rows
from probdiff.models.transport import is_improper
from probdiff.models.variables import Factor, is_function
from probdiff.tree import map_leaves

if TYPE_CHECKING:
    from probdiff.models.joint import Joint

# Compiling the functions of a prior costs about as much as this many draws, one after the other.
MANY = 500


def rand_rows(joint: Joint, size: int, rng: np.random.Generator) -> dict[str, Any] | None:
    """`size` draws of all variables, stacked along a first axis; None if they can only be made one by one.

    That is so with factors and fixed variables, whose rules are those of single draws, and where a function returns a
    Joint.
    """
    if unusual(joint):
        return None
    try:
        return _rows(joint, size, rng, {}, "")
    except NotByRows:
        return None


class NotByRows(Exception):
    """A variable whose rows are no distribution and no arrays."""


def unusual(joint: Joint) -> bool:
    """Whether there are factors or fixed variables anywhere."""
    variables = joint.variables.values()
    nested = any(unusual(each) for each in variables if hasattr(each, "walk"))
    return nested or bool(joint.fixed) or any(isinstance(each, Factor) for each in variables)


def _rows(joint: Joint, size: int, rng: np.random.Generator, coords: Coords, prefix: str) -> dict[str, Any]:
    coords = {**coords, **joint.coords}
    drawn: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, needs in joint.needs.items():
        variable, full = joint.variables[name], prefix + name
        if not is_function(variable) or all(need in plain for need in needs):
            if is_function(variable):
                variable = variable(**{need: plain[need] for need in needs})
            if hasattr(variable, "walk"):
                drawn[name] = _rows(variable, size, rng, coords, f"{full}.")
            elif isinstance(variable, Distribution):
                check_proper(full, variable)
                drawn[name] = np.asarray(resolve(variable, coords, f"Joint.{full}").rand(size, rng=rng))
            else:
                plain[name] = variable
            continue
        drawn[name] = _row_function(variable, needs, drawn, plain, rng, (full, coords))
    stacked = {name: np.repeat(np.asarray(value)[None], size, axis=0) for name, value in plain.items()}
    return {name: stacked[name] if name in plain else drawn[name] for name in joint.needs}


def _row_function(
    function: Any,
    needs: tuple[str, ...],
    drawn: Mapping[str, Any],
    plain: Mapping[str, Any],
    rng: np.random.Generator,
    place: tuple[str, Coords],
) -> Any:
    """The values of a variable that is a function of drawn ones: the function's own, or drawn from what it returns."""
    full, coords = place
    # Constants are not rows: one may be a size, which is part of the program.
    constants = {need: plain[need] for need in needs if need in plain}
    rows = {need: drawn[need] for need in needs if need in drawn}
    one = function(**constants, **map_leaves(lambda x: x[0], rows))
    if one is None or hasattr(one, "walk"):
        raise NotByRows
    found = Rows(lambda row: function(**constants, **row), sum(np.size(x) for x in rows.values()) // MANY)(rows)
    if not isinstance(one, Distribution):
        return found
    check_proper(full, one)
    one, found = (resolve(each, coords, f"Joint.{full}") for each in (one, found))
    return np.asarray(over_rows(found, one).rand(rng=rng))


def check_proper(name: str, distribution: Distribution) -> None:
    """UnsupportedError for what has no draws."""
    if is_improper(distribution):
        raise UnsupportedError(f"{name} is Flat, and an improper prior cannot be drawn from. Give it a proper one.")
