"""Which carries and results have a tangent is read off a program; pushing a loop forward runs its body once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from probdiff import cond, custom, fori_loop, pushforward, scan, stop_gradient, while_loop
from probdiff.ad import control_rules
from probdiff.ad.moving import carried, moving
from probdiff.graph.program import Program
from probdiff.graph.trace import capture
from probdiff.tree import flatten

FLOAT = np.dtype(float)


def recorded(f: Callable[..., Any], n: int) -> Program:
    """f of n numbers."""
    return capture(f, flatten((0.0,) * n)[1], [((), FLOAT)] * n, list(range(n))).program


def test_a_result_moves_with_what_it_is_made_of() -> None:
    program = recorded(lambda x, y: (x * y, np.sin(y), np.floor(x), x > y, stop_gradient(x) + y, x, 2.0), 2)
    assert moving(program, [True, False]) == [True, False, False, False, False, True, False]
    assert moving(program, [False, True]) == [True, True, False, False, True, False, False]
    assert moving(program, [False, False]) == [False] * 7


def test_a_condition_does_not_move_a_choice() -> None:
    assert moving(recorded(lambda c, x, y: np.where(c > 0, x, y), 3), [True, False, False]) == [False]


def test_a_carry_that_is_reached_in_the_second_round_moves() -> None:
    body = recorded(lambda a, b, c, x: (np.sin(a), a, b, x), 4)
    assert carried(body, [True, False, False], [False]) == [True, True, True]
    assert carried(body, [False, False, True], [False]) == [False, False, True]
    assert carried(body, [False, False, False], [True]) == [False, False, False]


def test_loops_and_branches_inside() -> None:
    def f(x: Any, y: Any) -> Any:
        counted = fori_loop(0, 3, lambda i, carry: (carry[0] + i, carry[1] * x), (0, y))
        chosen = cond(y > 0, lambda: x, lambda: y)
        last, rows = scan(lambda carry, _: (carry * y, carry), x, None, 4)
        below = while_loop(lambda c: c[0] < 9.0, lambda c: (c[0] + 1.0, c[1] * y), (0.0, 1.0))
        return *counted, chosen, last, np.sum(rows), *below

    program = recorded(f, 2)
    assert moving(program, [True, False]) == [False, True, True, True, True, False, False]
    assert moving(program, [False, True]) == [False, True, True, True, True, False, True]


def test_a_function_with_rules_of_its_own_may_drop_a_tangent_that_was_expected() -> None:
    @custom
    def flat(x: Any) -> Any:
        return x * 3.0

    flat.frule(lambda dots, x: (x * 3.0, None))
    assert pushforward(lambda x: scan(lambda carry, _: (flat(carry), None), x, None, 3)[0], 2.0)(1.0) == 0.0


def test_a_loop_in_a_loop_is_pushed_forward_once_a_level(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = control_rules._dual_program
    calls = []

    def counted(*args: Any) -> Any:
        calls.append(args)
        return pushed(*args)

    monkeypatch.setattr(control_rules, "_dual_program", counted)

    def nested(depth: int, x: Any) -> Any:
        return fori_loop(0, 2, lambda _, y: nested(depth - 1, y), x) if depth else 1.1 * x

    assert pushforward(lambda x: nested(3, x), 1.0)(1.0) == pytest.approx(1.1**8, rel=1e-14)
    assert len(calls) == 3
