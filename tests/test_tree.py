"""Structures: what is a node, what is a leaf, and the way there and back."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

from probdiff import gradient
from probdiff.errors import ShapeError
from probdiff.tree import flatten, map_leaves, paths, ravel, register, unflatten


@dataclasses.dataclass(frozen=True)
class Frozen:
    loc: Any
    scale: Any

    def __post_init__(self) -> None:
        if not isinstance(self.scale, float | np.ndarray):  # a check that rebuilding must not run
            raise TypeError(f"scale is {self.scale!r}")


@dataclasses.dataclass
class Open:
    a: Any
    b: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    x: Any
    y: Any


@dataclasses.dataclass
class OpenSlotted:
    __slots__ = ("x",)
    x: Any


class Point(NamedTuple):
    x: Any
    y: Any


class Tagged:
    def __init__(self, value: Any, name: str) -> None:
        self.value = value
        self.name = name

    def __repr__(self) -> str:
        return f"Tagged({self.value!r}, {self.name!r})"


register(Tagged, ("value",), static=("name",))

STRUCTURES = [
    1.5,
    np.arange(3.0),
    (1.0, 2.0),
    [1.0, [2.0]],
    {"b": 1.0, "a": {"c": 2.0}},
    OrderedDict([("b", 1.0), ("a", 2.0)]),
    Point(1.0, 2.0),
    Frozen(0.0, 1.0),
    Open(1.0, (2.0, 3.0)),
    Slotted(1.0, Frozen(2.0, 3.0)),
    OpenSlotted(1.0),
    (Frozen(np.ones(2), 2.0), None, {"k": [Point(1.0, None)]}),
    (),
    None,
    {},
    "label",
    Tagged(1.0, "name"),
]


@pytest.mark.parametrize("tree", STRUCTURES, ids=repr)
def test_round_trip(tree: Any) -> None:
    leaves, spec = flatten(tree)
    again = unflatten(spec, leaves)
    assert type(again) is type(tree)
    assert flatten(again)[1] == spec
    for a, b in zip(flatten(again)[0], leaves, strict=True):
        np.testing.assert_array_equal(a, b)
    assert spec.num_leaves == len(leaves)


def test_order_of_leaves() -> None:
    assert flatten({"b": 1.0, "a": 2.0})[0] == [2.0, 1.0]  # by key, so that equal dicts are equal structures
    assert flatten(OrderedDict([("b", 1.0), ("a", 2.0)]))[0] == [1.0, 2.0]
    assert flatten(Frozen(1.0, 2.0))[0] == [1.0, 2.0]
    assert flatten((1.0, None, [2.0, "s"]))[0] == [1.0, 2.0, "s"]


def test_none_is_structure() -> None:
    assert flatten((None, 1.0))[1] != flatten((1.0, None))[1]
    assert flatten(None)[0] == []


def test_rebuilding_runs_no_constructor() -> None:
    leaves, spec = flatten(Frozen(0.0, 1.0))
    again = unflatten(spec, [0.0, "not a number"])
    assert again.scale == "not a number"


def test_static_fields_are_structure() -> None:
    assert flatten(Tagged(1.0, "a"))[1] != flatten(Tagged(1.0, "b"))[1]
    assert flatten(Tagged(1.0, "a"))[1] == flatten(Tagged(2.0, "a"))[1]
    again = map_leaves(lambda x: x + 1.0, Tagged(1.0, "a"))
    assert (again.value, again.name) == (2.0, "a")


def test_map_over_several_trees() -> None:
    got = map_leaves(lambda a, b: a + b, {"x": 1.0, "y": (2.0, None)}, {"x": 10.0, "y": (20.0, None)})
    assert got == {"x": 11.0, "y": (22.0, None)}


def test_paths() -> None:
    tree = ({"a": [1.0, 2.0]}, Open(1.0, Point(2.0, 3.0)))
    assert paths(tree) == ["[0]['a'][0]", "[0]['a'][1]", "[1].a", "[1].b.x", "[1].b.y"]
    assert paths(1.0) == [""]


def test_dataclass_found_late() -> None:
    @dataclasses.dataclass
    class Local:
        x: Any

    assert flatten([Local(1.0), Local(Local(2.0))])[0] == [1.0, 2.0]


def test_ravel() -> None:
    tree = {"m": np.arange(6.0).reshape(2, 3), "s": 7.0, "e": np.zeros((0, 2))}
    vector, back = ravel(tree)
    np.testing.assert_array_equal(vector, np.arange(8.0)[[0, 1, 2, 3, 4, 5, 7]])
    again = back(2.0 * vector)
    np.testing.assert_array_equal(again["m"], 2.0 * tree["m"])
    assert again["s"] == 14.0 and np.shape(again["s"]) == ()
    assert again["e"].shape == (0, 2)
    with pytest.raises(ShapeError, match=r"unravel needs a vector of length 7, got shape \(8,\)"):
        back(np.zeros(8))
    with pytest.raises(ShapeError, match=r"unravel needs a vector of length 7, got shape \(7, 1\)"):
        back(np.zeros((7, 1)))


def test_ravel_of_nothing() -> None:
    vector, back = ravel(((), None))
    assert vector.shape == (0,)
    assert back(vector) == ((), None)


def test_ravel_differentiates() -> None:
    _, back = ravel((np.ones((2, 2)), 1.0))

    def f(v: Any) -> Any:
        m, s = back(v)
        return np.sum(m) * s

    (g,) = gradient(f, np.arange(1.0, 6.0))
    np.testing.assert_array_equal(g, [5.0, 5.0, 5.0, 5.0, 10.0])
