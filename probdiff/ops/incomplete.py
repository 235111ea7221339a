"""Logs of the tails of the gamma and beta laws and their derivatives in the shapes, of any order, on plain arrays.

The formulas are those of `compiler.formulas`, in machine code.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def log_gamma_tail(order: int, upper: bool, a: Any, x: Any) -> Any:
    """The derivative of `order` in a of log Q(a, x) if `upper`, else of log P(a, x); a > 0, x >= 0.

    NaN outside the domain. At x = 0 and x = ∞ the value is its limit, and derivatives are zero.
    """
    from probdiff.ops.incomplete_rows import gamma_tail

    return by_formula(gamma_tail(order, upper), (a, x))


def log_beta_tail(order: tuple[int, int], upper: bool, a: Any, b: Any, x: Any) -> Any:
    """The derivative of `order` in (a, b) of log (1 - I_x(a, b)) if `upper`, else of log I_x(a, b); a, b > 0.

    NaN outside the domain. At x = 0 and x = 1 the value is its limit, and derivatives are zero.
    """
    from probdiff.ops.incomplete_rows import beta_tail

    return by_formula(beta_tail(order, upper), (a, b, x))


def by_formula(op: Any, args: tuple[Any, ...]) -> Any:
    """A row by machine code, in single precision if all its arguments are."""
    from probdiff.compiler.native.routine import evaluator

    # Python's numbers say nothing about precision.
    strong = [a.dtype for a in args if isinstance(a, np.ndarray | np.generic)]
    single = strong and all(k in (np.float32, np.float16) for k in strong)
    found = evaluator(op)(*args)
    return found.astype(np.float32) if single else found
