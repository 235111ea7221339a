"""What cannot be traced says so: the user's file and line, and the way out.

A value that is being differentiated eagerly still has its number, so branching on it works; what would lose the
derivative (`float(x)`, an entry of a plain array) does not. A value that is being compiled has no number at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

from probdiff import compile as compile_program
from probdiff import grad, gradient, pushforward
from probdiff.errors import ProbdiffError, TracedValueError

X = np.array([0.5, 2.0])
TABLE = np.arange(10.0)
OUT = np.zeros(2)


# Each function has its offending expression on the line below `def`.
def makes_an_array(x: Any) -> Any:
    return np.sum(np.array([x[0], x[1]]))


def assigns_an_entry(x: Any) -> Any:
    OUT[0] = x[0]
    return np.sum(OUT)


def fills_an_array(x: Any) -> Any:
    OUT[:] = x
    return np.sum(OUT)


def asks_math(x: Any) -> Any:
    return math.log(x[0])


def asks_a_float(x: Any) -> Any:
    return x[0] * float(x[1])


def asks_scipy_stats(x: Any) -> Any:
    return np.sum(scipy.stats.norm.logpdf(x))


def asks_scipy_logsumexp(x: Any) -> Any:
    return scipy.special.logsumexp(x)


def branches(x: Any) -> Any:
    if x[0] > 0:
        return np.sum(x**2)
    return np.sum(-x)


def indexes_a_table(x: Any) -> Any:
    return TABLE[np.argmax(x)] * x[0]


def line_of(f: Callable[..., Any]) -> str:
    return f"{__file__.rsplit('/', 1)[-1]}:{f.__code__.co_firstlineno + 1}"


ROADS = {
    "gradient": lambda f: gradient(f, X),
    "pushforward": lambda f: pushforward(f, X)(np.ones(2)),
    "compile": lambda f: compile_program(f)(X),
    "compile a gradient": lambda f: compile_program(grad(f))(X),
}
each_road = pytest.mark.parametrize("road", ROADS.values(), ids=ROADS.keys())
compiled_road = pytest.mark.parametrize("road", [ROADS["compile"], ROADS["compile a gradient"]], ids=["value", "grad"])

# What the message must offer, besides the place.
WAYS_OUT = {
    makes_an_array: "np.stack",
    fills_an_array: "np.where|np.stack|np.concatenate",
    asks_math: "np.log|numpy",
    asks_a_float: "stop_gradient|np\\.",
    asks_scipy_stats: "probdiff.distributions|NumPy|np\\.",
    asks_scipy_logsumexp: "probdiff.special",
}


@each_road
@pytest.mark.parametrize("f", WAYS_OUT, ids=lambda f: f.__name__)
def test_refused_with_place(f: Any, road: Any) -> None:
    with pytest.raises(ProbdiffError) as caught:
        road(f)
    assert line_of(f) in str(caught.value)


@each_road
@pytest.mark.parametrize("f", WAYS_OUT, ids=lambda f: f.__name__)
def test_refused_with_way_out(f: Any, road: Any) -> None:
    with pytest.raises(ProbdiffError, match=WAYS_OUT[f]):
        road(f)


@each_road
def test_assignment_of_an_entry_is_refused_with_place_and_way_out(road: Any) -> None:
    # NumPy turns any error from an assigned sequence into this ValueError, and shows ours above it as the cause.
    with pytest.raises(ValueError, match="setting an array element") as caught:
        road(assigns_an_entry)
    cause = caught.value.__cause__
    assert isinstance(cause, ProbdiffError)
    assert line_of(assigns_an_entry) in str(cause)
    assert "np.stack" in str(cause)


@compiled_road
def test_branch_is_refused_when_compiled(road: Any) -> None:
    with pytest.raises(TracedValueError, match=r"np\.where") as caught:
        road(branches)
    assert line_of(branches) in str(caught.value)


def test_branch_works_eagerly() -> None:
    np.testing.assert_array_equal(gradient(branches, X)[0], [1.0, 4.0])
    assert pushforward(branches, X)(np.ones(2)) == 5.0


def test_index_works_eagerly() -> None:
    np.testing.assert_array_equal(gradient(indexes_a_table, X)[0], [1.0, 0.0])
    assert pushforward(indexes_a_table, X)(np.ones(2)) == 1.0


@compiled_road
def test_index_of_a_plain_table_is_refused_when_compiled(road: Any) -> None:
    with pytest.raises(TracedValueError, match="probdiff.take") as caught:
        road(indexes_a_table)
    assert line_of(indexes_a_table) in str(caught.value)


@pytest.mark.parametrize("f", [makes_an_array, fills_an_array, asks_math, asks_a_float], ids=lambda f: f.__name__)
def test_compiled_refusals_are_of_one_kind(f: Any) -> None:
    with pytest.raises(TracedValueError):
        compile_program(f)(X)
