"""Golden cases 1-21 by the reverse mode of JAX, PyTorch and autograd, in which our functions are operations.

The tests of `tests.golden.test_a_fwddiff` run here again: its verbs are those of a framework meanwhile.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from probdiff import fwddiff, to_torch, tree
from probdiff.ad.arguments import cotangents
from probdiff.ad.broadcast import Broadcast
from probdiff.ad.fwddiff import FwdDiff
from tests.golden import test_a_fwddiff as cases
from tests.golden.modes import assert_equal_structure, is_float
from tests.interop.frameworks import FRAMEWORKS, vjp

# What a framework cannot represent, and why. These tests are not collected here.
COUNTS = "a framework asks for all cotangents in one pass: how lazily they are computed shows in our pullback alone"
NOTHING = "no derivative is taken"
ELSEWHERE = {
    "test_case_01_plain_call_is_the_function": NOTHING,
    "test_case_07_lazy_evaluation_counts": COUNTS,
    "test_case_07_direct_pullback_is_lazy_by_default": COUNTS,
    "test_case_07_thunks_are_cached": COUNTS,
    "test_case_07_single_pass_is_one_evaluation": COUNTS,
    "test_case_08_lazy_cotangent": "a cotangent of a framework is an array",
    "test_case_12_flatten_round_trip": NOTHING,
    "test_case_12_ravel_round_trip": NOTHING,
    "test_case_12_degrees_of_freedom": NOTHING,
    "test_case_12_wrong_length": NOTHING,
    "test_case_13_dataclass_round_trip": NOTHING,
    "test_case_14_constructor_called_plainly": NOTHING,
    "test_case_15_wrt_keeps_duals_out_of_the_other_arguments": "a recording traces every argument",
    "test_case_21_evaluation_counts_in_broadcast": COUNTS,
}


def once(test: Any) -> Any:
    """A test in one of its modes: they are ways of our own pullback, which a framework does not call."""
    copy = types.FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    marks = getattr(test, "pytestmark", [])
    one = [pytest.mark.parametrize("mode", m.args[1][-1:]).mark if m.args[0] == "mode" else m for m in marks]
    vars(copy)["pytestmark"] = one
    return copy


TESTS = {name: test for name, test in vars(cases).items() if name.startswith("test_")}
assert set(ELSEWHERE) <= set(TESTS)
globals().update({name: once(test) for name, test in TESTS.items() if name not in ELSEWHERE})


def joined(f: Any) -> Any:
    """f where it is an operation of the framework itself; else f as one kernel."""
    return f if isinstance(f, FwdDiff | Broadcast) else fwddiff(f)


def pullback_in(framework: str, wrap: Callable[[Any], Any] = joined) -> Callable[..., Any]:
    """`pullback` by the reverse mode of a framework."""

    def pullback(f: Any, *args: Any) -> Any:
        leaves, spec = tree.flatten(args)
        moving = [k for k, leaf in enumerate(leaves) if is_float(leaf)]
        result: dict[str, Any] = {}

        def of(*xs: Any) -> list[Any]:
            full = list(leaves)
            for k, x in zip(moving, xs, strict=True):
                full[k] = x
            out, result["spec"] = tree.flatten(wrap(f)(*tree.unflatten(spec, full)))
            return out

        ys, back = vjp(framework, of, [np.asarray(leaves[k]) for k in moving])

        def bars(y_bar: Any) -> Any:
            found = dict(zip(moving, back(cotangents(y_bar, result["spec"], ys)), strict=True))
            each = tree.unflatten(spec, [found[k] if k in found else None for k in range(len(leaves))])
            return tuple(
                bar if any(map(is_float, tree.flatten(a)[0])) else None for bar, a in zip(each, args, strict=True)
            )

        return tree.unflatten(result["spec"], ys), bars

    return pullback


@pytest.fixture(params=[*FRAMEWORKS, "to_torch"], autouse=True)
def verbs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The verbs of the golden cases, by a framework."""
    if request.param == "to_torch":
        pullback = pullback_in("torch", to_torch)
    else:
        pullback = pullback_in(request.param)

    def gradient(f: Any, *args: Any) -> Any:
        return pullback(f, *args)[1](1.0)

    def assert_gradient(f: Any, *args: Any, expected: Any, rtol: float = 1e-9, **_: Any) -> None:
        assert_equal_structure(gradient(f, *args), expected, request.param, rtol, 1e-12)

    monkeypatch.setattr(cases, "pullback", pullback)
    monkeypatch.setattr(cases, "gradient", gradient)
    monkeypatch.setattr(cases, "gradient_by", lambda mode, f, *args: gradient(f, *args))
    monkeypatch.setattr(cases, "assert_gradient", assert_gradient)
    yield
