"""A function of one number at many points: computed at few of them, and from these at the others.

Of whole numbers every value between the least and the greatest is computed once. The real line is cut into pieces, and
in each a polynomial passes through the function at Chebyshev's nodes. It stands if it meets the function at both ends
and in the middle of its piece too; else the piece is halved. Where no polynomial stands, or few points lie, the
function itself is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["at_integers", "by_pieces"]

Numbers = np.ndarray[Any, Any]
Function = Callable[[Numbers], Numbers]

NODES = 10
TOLERANCE = 2e-14  # relative to the function, whose own rounding is some 1e-15
FEWEST = 4 * NODES  # points in a piece from which a polynomial saves work
COARSEST, FINEST = 2, 7  # a piece is cut from an octave of the distance to an end, as one of 2^2 to 2^7
BLOCK = 8192  # points at a time: what is computed on the way stays in the cache

_angles = np.pi * (np.arange(NODES) + 0.5) / NODES
_orders = np.arange(NODES)[:, None]
POINTS = np.concatenate([np.cos(_angles), [-1.0, 0.0, 1.0]])  # the nodes, and where the polynomial is checked
FITTED = np.cos(_orders * _angles) * np.where(_orders == 0, 1.0, 2.0) / NODES  # coefficients of Chebyshev polynomials
POWERS = np.zeros((NODES, NODES))  # and those of powers from them
for _k in range(NODES):
    POWERS[: _k + 1, _k] = np.polynomial.chebyshev.cheb2poly([0.0] * _k + [1.0])


def at_integers(f: Function, k: Numbers) -> Numbers | None:
    """f at whole numbers, by its values from the least to the greatest; None if these are too many, or not finite."""
    low, high = np.min(k), np.max(k)
    if not high - low < k.size // 8:
        return None
    found: Numbers = np.take(f(np.arange(low, high + 1.0)), (k - low).astype(np.intp), mode="clip")
    return found


def by_pieces(f: Function, x: Numbers, bottom: float, top: float) -> Numbers | None:
    """f by polynomials where it is smooth within (bottom, top); None if too few points are there, or too far apart.

    f  takes and returns arrays along one axis
    """
    flat = x.ravel()
    inside = (flat > bottom) & (flat < top)
    if np.count_nonzero(inside) < FEWEST:
        return None
    if not np.all(inside):
        within = by_pieces(f, flat[inside], bottom, top)
        if within is None:
            return None
        out = np.empty(flat.size)
        out[inside], out[~inside] = within, f(flat[~inside])
        return out.reshape(x.shape)
    line = _line(flat, bottom, top)
    if line is None:
        return None
    cells = line.cells(flat)
    base = int(cells.min()) >> FINEST << FINEST
    cells -= base
    counts = np.bincount(cells)
    counts = np.pad(counts, (0, -len(counts) % 2**FINEST))
    row = np.zeros(len(counts), np.intp)  # of the table, by cell; the first one says that there is none
    table = [np.full((NODES + 2, 1), np.nan)]
    rows = 1
    for level in range(COARSEST, FINEST + 1):
        width = 2 ** (FINEST - level)
        waiting = np.where(row == 0, counts, 0).reshape(-1, width).sum(axis=1)
        pieces = np.flatnonzero(waiting >= FEWEST)
        if not len(pieces):
            break
        new, good = _polynomials(f, *line.ends(pieces + base // width, level))
        found = int(np.count_nonzero(good))
        row.reshape(-1, width)[pieces[good]] = rows + np.arange(found)[:, None]
        table.append(new[:, good])
        rows += found
        if level == COARSEST + 2 and rows == 1:
            return None
    return _evaluated(f, flat, row, cells, np.concatenate(table, axis=1)).reshape(x.shape)


class _Line(NamedTuple):
    """Where pieces are: octaves of the distance x - left, or right - x where x is mirrored, each cut into equal cells.

    Cells are numbered by the leading bits of the distance, from `first` on, and down from -1 where x is mirrored.
    """

    left: float
    right: float
    split: float
    mirrored_below: bool  # whether those below `split` are mirrored, or the others
    first: int

    def cells(self, x: Numbers) -> Numbers:
        """The cells of points; the distance of none may be less than that of the first cell."""
        out = np.empty(x.size, np.int64)
        for start in range(0, x.size, BLOCK):
            here = x[start : start + BLOCK]
            mirrored = (here < self.split) == self.mirrored_below
            distance = np.where(mirrored, self.right - here, here - self.left)
            cell = _cell(distance) - self.first
            out[start : start + BLOCK] = np.where(mirrored, ~cell, cell)
        return out

    def ends(self, pieces: Numbers, level: int) -> tuple[Numbers, Numbers]:
        """The ends of pieces, which are groups of 2^(FINEST - level) cells."""
        mirrored = pieces < 0
        cell = np.where(mirrored, ~pieces, pieces) + (self.first >> (FINEST - level))
        near, far = ((cell + k << (52 - level)).view(np.float64) for k in (0, 1))
        low = np.where(mirrored, self.right - far, self.left + near)
        return low, np.where(mirrored, self.right - near, self.left + far)


def _cell(distance: Any) -> Any:
    return distance.view(np.int64) >> (52 - FINEST)


def _line(x: Numbers, bottom: float, top: float) -> _Line | None:
    """Pieces that shrink towards the ends of the support, or, if it has none near the points, are as wide in their
    middle as these are spread there.
    """
    below, middle, above = np.quantile(x[:: max(1, x.size // 512)], [0.25, 0.5, 0.75])
    spread, least, greatest = 0.5 * (above - below), np.min(x), np.max(x)
    if not (np.isfinite(least) and np.isfinite(greatest)):
        return None
    if min(below - bottom, top - above) > 4 * spread:
        line, nearest = (middle - spread, middle + spread, middle, True), spread
    elif np.isfinite(bottom) and np.isfinite(top):
        line, nearest = (bottom, top, bottom + 0.5 * (top - bottom), False), min(least - bottom, top - greatest)
    elif np.isfinite(bottom):
        line, nearest = (bottom, np.inf, -np.inf, True), least - bottom
    else:
        line, nearest = (-np.inf, top, np.inf, True), top - greatest
    if not nearest > 0:
        return None
    return _Line(*line, int(_cell(np.float64(nearest))) >> FINEST << FINEST)


def _polynomials(f: Function, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """Columns of coefficients, middle and scale, and which of the polynomials stand."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    values = f((middle + POINTS[:, None] * half).ravel()).reshape(len(POINTS), -1)
    fitted = FITTED @ values[:NODES]
    coefficients = POWERS @ fitted
    powers = POINTS[NODES:, None] ** np.arange(NODES)
    scale = 1.0 / half
    numbers = np.isfinite(middle) & np.isfinite(scale) & (scale > 0)  # pieces among the largest or least numbers
    one_sign = np.min(values, axis=0) * np.max(values, axis=0) >= 0
    wrong = np.max(abs(powers @ coefficients - values[NODES:]) / abs(values[NODES:]), axis=0)
    rest = np.max(abs(fitted[-2:]), axis=0) / np.min(abs(values), axis=0)
    stands = numbers & one_sign & (wrong < TOLERANCE) & (rest < TOLERANCE)
    return np.concatenate([coefficients, [middle], [scale]]), stands


def _evaluated(f: Function, x: Numbers, row: Numbers, cells: Numbers, table: Numbers) -> Numbers:
    out = np.empty(x.size)
    spare = []
    for start in range(0, x.size, BLOCK):
        here, value = x[start : start + BLOCK], out[start : start + BLOCK]
        k = np.take(row, cells[start : start + BLOCK])
        u = (here - np.take(table[NODES], k)) * np.take(table[NODES + 1], k)
        coefficient = np.empty_like(value)
        np.take(table[NODES - 1], k, out=value, mode="clip")
        for order in range(NODES - 2, -1, -1):
            value *= u
            value += np.take(table[order], k, out=coefficient, mode="clip")
        spare.append(start + np.flatnonzero(k == 0))
    rest = np.concatenate(spare)
    if len(rest):
        out[rest] = f(x[rest])
    return out
