"""Plots of draws with Matplotlib, drawn without pyplot: no window, no global state."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import ParameterError

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

MOST = 40
"""Most scalars in one figure."""
COLOURS = ("#3b6fb6", "#d9813b", "#4c9a6a", "#b5484f", "#7d62a8", "#8a6a4f", "#c46ca6", "#6f7a83")
INK, PALE = "#2b2b2b", "#d9dee5"


def plot(draws: Draws, path: str | PathLike[str] | None, names: Sequence[str] | None) -> Any:
    """A row per scalar: densities of the chains on the left, their traces on the right, divergences as ticks."""
    from matplotlib.figure import Figure

    scalars = _chosen(draws, names, "plot")
    figure = Figure(figsize=(10, 1.6 * len(scalars) + 0.4), layout="constrained")
    axes = figure.subplots(len(scalars), 2, squeeze=False, width_ratios=(1, 2))
    diverging = draws.sample_stats.get("diverging")
    for (left, right), (label, x) in zip(axes, scalars.items(), strict=True):
        for c in range(draws.chains):
            colour = COLOURS[c % len(COLOURS)]
            grid, density = _density(x[c])
            left.plot(grid, density, color=colour, lw=1.2)
            right.plot(x[c], color=colour, lw=0.5, alpha=0.8)
            if diverging is not None and diverging[c].any():
                at = np.flatnonzero(diverging[c])
                right.plot(at, np.full(len(at), 0.02), "|", color=INK, ms=6, transform=right.get_xaxis_transform())
        left.set_title(label, fontsize=10, loc="left", color=INK)
        left.set_yticks([])
        left.set_ylim(bottom=0)
        right.margins(x=0)
        for axis in (left, right):
            _plain(axis)
    axes[-1, 1].set_xlabel("draw", fontsize=9)
    return _finish(figure, path)


def plot_posterior(draws: Draws, path: str | PathLike[str] | None, names: Sequence[str] | None) -> Any:
    """A panel per scalar: density of all chains, central 94 % shaded, mean marked."""
    from matplotlib.figure import Figure

    scalars = _chosen(draws, names, "plot_posterior")
    across = min(4, len(scalars))
    down = -(-len(scalars) // across)
    figure = Figure(figsize=(3.0 * across, 2.2 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for axis, (label, x) in zip(axes.flat, scalars.items(), strict=False):
        flat = np.asarray(x, dtype=np.float64).ravel()
        grid, density = _density(flat)
        low, high, mean = np.quantile(flat, 0.03), np.quantile(flat, 0.97), flat.mean()
        inside = (grid >= low) & (grid <= high)
        axis.fill_between(grid, density, color=PALE, lw=0)
        axis.fill_between(grid[inside], density[inside], color=COLOURS[0], alpha=0.35, lw=0)
        axis.plot(grid, density, color=COLOURS[0], lw=1.4)
        axis.axvline(mean, color=INK, lw=0.9)
        axis.set_title(label, fontsize=10, color=INK)
        axis.set_xlabel(f"{mean:.3g}  [{low:.3g}, {high:.3g}]", fontsize=8.5)
        axis.set_yticks([])
        axis.set_ylim(bottom=0)
        _plain(axis)
    for axis in list(axes.flat)[len(scalars) :]:
        axis.set_axis_off()
    return _finish(figure, path)


def _chosen(draws: Draws, names: Sequence[str] | None, owner: str) -> dict[str, NDArray[Any]]:
    scalars = draws.scalars(names)
    if len(scalars) > MOST:
        if names is not None:
            raise ParameterError(f"Draws.{owner} draws at most {MOST} scalars, got {len(scalars)}. Give fewer names.")
        scalars = dict(list(scalars.items())[:MOST])
    return scalars


def _density(x: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A Gaussian kernel estimate on a grid over the range of `x`; a spike where all values are one."""
    x = np.asarray(x, dtype=np.float64)
    x = x[np.isfinite(x)]
    if len(x) < 4 or np.ptp(x) <= 1e-12 * np.max(np.abs(x)):
        centre = float(x[0]) if len(x) else 0.0
        width = abs(centre) * 0.05 or 0.05
        return np.array([centre - width, centre, centre, centre + width]), np.array([0.0, 0.0, 1.0, 0.0])
    # One draw in 2000 at either end is left out of view, so that a far one does not squeeze the rest.
    low, high = np.quantile(x, (0.0005, 0.9995))
    x = x[(x >= low) & (x <= high)]
    spread = min(x.std(), float(np.subtract(*np.quantile(x, [0.75, 0.25]))) / 1.34) or x.std()
    bins = 512
    counts, edges = np.histogram(x, bins=bins, range=(low, high))
    grid = 0.5 * (edges[1:] + edges[:-1])
    # Silverman's width; counts are mirrored at both ends, so that a density with a hard edge keeps it.
    width = max(0.9 * spread * len(x) ** -0.2 / (grid[1] - grid[0]), 0.5)
    reach = min(int(4 * width) + 1, bins)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    padded = np.pad(counts.astype(np.float64), reach, mode="symmetric")
    density = np.convolve(padded, kernel / kernel.sum(), mode="valid") / (len(x) * (grid[1] - grid[0]))
    return grid, density


def _plain(axis: Any) -> None:
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(labelsize=8, color=INK)


def _finish(figure: Any, path: str | PathLike[str] | None) -> Any:
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
