"""Models as text for people: one line for `repr`, a table for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from probdiff.models.layout import Layout, Slot
from probdiff.models.variables import Factor, is_function

Needs = Mapping[str, tuple[str, ...]]
# Longer constants are shown by their shape.
LONGEST_CONSTANT = 6


def joint_text(variables: Mapping[str, Any], needs: Needs, fixed: Mapping[str, Any]) -> str:
    """`Joint(mu=Normal(loc=0.0, scale=5.0), theta=(mu) -> …)`; `… | mu=1.5)` if something is fixed."""
    shown = ", ".join(f"{name}={variable_text(variables[name], needs[name])}" for name in needs)
    given = ", ".join(f"{name}={variable_text(np.asarray(value).tolist(), ())}" for name, value in fixed.items())
    return f"Joint({shown} | {given})" if given else f"Joint({shown})"


def variable_text(variable: Any, needs: tuple[str, ...]) -> str:
    """A variable as `print` of a joint distribution shows it."""
    if isinstance(variable, Factor):
        return f"factor({', '.join(needs)})"
    if is_function(variable):
        return f"({', '.join(needs)}) -> …"
    array = None if hasattr(variable, "logpdf") else np.asarray(variable)
    return f"array{list(array.shape)}" if array is not None and array.size > LONGEST_CONSTANT else repr(variable)


def variables_table(
    variables: Mapping[str, Any],
    layout: Layout,
    needs: Needs,
    outcomes: Sequence[tuple[str, ...]],
    fixed: Mapping[str, Any],
) -> str:
    """One line a random variable, then what has no coordinates (fixed, constant, computed, a factor), then outcomes."""
    rows: list[tuple[str, ...]] = [("variable", "distribution", "depends on", "shape", "support", "dims")]
    rows += [slot_row(slot, needs.get(slot.name.split(".")[0], ())) for slot in layout.slots.values()]
    for name, needed in needs.items():
        if any(slot == name or slot.startswith(f"{name}.") for slot in (*layout.slots, *fixed)):
            continue
        kind = "factor" if isinstance(variables[name], Factor) else "computed" if needed else "constant"
        shape = str(np.shape(variables[name])) if kind == "constant" else ""
        rows.append((name, kind, ", ".join(needed), shape, "", ""))
    for name, value in fixed.items():
        rows.append((name, "fixed", ", ".join(needs.get(name.split(".")[0], ())), str(np.shape(value)), "", ""))
    return aligned([*rows, *outcomes])


def slot_row(slot: Slot, needed: tuple[str, ...]) -> tuple[str, ...]:
    """A line of the table of variables."""
    dims = ", ".join(dim or "·" for dim in slot.dims) if any(slot.dims) else ""
    return (slot.name, slot.family, ", ".join(needed), str(slot.shape), slot.support, dims)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two spaces apart, with a rule under the first row."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def posterior_text(prior: object, observed: Mapping[str, np.ndarray], dim: int) -> str:
    """`Posterior(Joint(…), y: 8 observations, 10 coordinates)`."""
    outcomes = "".join(f", {name}: {array.size} observations" for name, array in observed.items())
    return f"Posterior({prior!r}{outcomes}, {dim} coordinates)"
