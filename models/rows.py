"""Functions of one point, applied to many: a native loop over the rows, compiled once for any number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from probdiff.distributions.parameters import unchecked
from probdiff.errors import ProbdiffError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, Tree, flatten, map_leaves, unflatten

# Rows to a block: enough that the cost of a call does not show, few enough that a short last block wastes little.
ROWS = 512
NUMBERS = 1 << 16


class Rows:
    """`f` of one row, as a function of a structure of arrays with rows along their first axis.

    f      its result is a structure of numbers and arrays; if it cannot be traced, it is called row by row
    width  about how many numbers f takes and gives, which bounds the memory of a block
    size   the rows of a block, in place of what follows from the width
    """

    def __init__(self, f: Callable[[Any], Tree], width: int = 1, size: int | None = None) -> None:
        from probdiff import compile

        self.f = f
        self.size = max(1, min(ROWS, NUMBERS // max(width, 1))) if size is None else size
        self.compiled = compile(self.block)
        self.traces = True

    def block(self, rows: Tree) -> Tree:
        """The results of a block of rows, stacked. It can be traced."""
        from probdiff import scan

        constant: dict[int, np.ndarray] = {}
        spec: Any = None

        def step(carry: Array, row: Tree) -> tuple[Array, list[Array]]:
            nonlocal spec
            leaves, spec = flatten(self.f(row))
            # What is the same in every row, such as a scale that is data, has no part in the loop.
            constant.update({k: np.asarray(x) for k, x in enumerate(leaves) if not is_lifted(x)})
            return carry, [x for k, x in enumerate(leaves) if k not in constant]

        moving = iter(scan(step, 0.0, rows)[1])
        count = flatten(rows)[0][0].shape[0]
        whole = {k: np.repeat(x[None], count, axis=0) for k, x in constant.items()}
        return unflatten(spec, [whole[k] if k in whole else next(moving) for k in range(spec.num_leaves)])

    def blocks(self, rows: Tree) -> Iterator[Tree]:
        """The results of each block."""
        leaves, spec = flatten(rows)
        count = len(leaves[0])
        for start in range(0, count, self.size):
            part = [leaf[start : start + self.size] for leaf in leaves]
            real = min(self.size, count - start)
            if real < self.size:
                part = [np.concatenate([x, np.repeat(x[-1:], self.size - real, axis=0)]) for x in part]
            # The last block is filled up to the size that was compiled, and cut back.
            result = self.run(spec, part)
            yield result if real == self.size else map_leaves(lambda x, real=real: x[:real], result)

    def run(self, spec: Any, part: list[np.ndarray]) -> Tree:
        """The results of a full block."""
        if self.traces:
            # A function written for plain numbers may do anything to them. If the fault lies elsewhere, the calls below
            # meet it again.
            try:
                return self.compiled(unflatten(spec, part))
            except (ProbdiffError, TypeError):
                self.traces = False
        with np.errstate(all="ignore"), unchecked():
            found = [self.f(unflatten(spec, [leaf[k] for leaf in part])) for k in range(self.size)]
        return map_leaves(lambda *column: np.stack([np.asarray(x) for x in column]), *found)

    def __call__(self, rows: Tree) -> Tree:
        """The results of all rows, stacked along the first axis; there must be a row."""
        pieces: list[list[np.ndarray]] = []
        spec: Any = None
        for result in self.blocks(rows):
            leaves, spec = flatten(result)
            pieces.append(leaves)
        columns = zip(*pieces, strict=True)
        return unflatten(spec, [column[0] if len(column) == 1 else np.concatenate(column) for column in columns])
