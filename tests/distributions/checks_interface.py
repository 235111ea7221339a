"""Checks of what a family takes and refuses: values outside, invalid parameters, precision, containers."""

from __future__ import annotations

import math
import pickle
import re
from typing import Any

import numpy as np
import pytest

from probdiff import gradient
from probdiff.distributions import functions
from probdiff.errors import ParameterError
from probdiff.tree import flatten, unflatten
from tests.distributions.case import Case, inner

EPS_SINGLE = 1.2e-7


def check_outside(case: Case) -> None:
    """Outside the support the log-density is -inf, without a warning, and the distribution function 0 or 1."""
    for d in case.members():
        x = np.array([*case.outside, math.nan, math.inf, -math.inf])
        np.testing.assert_array_equal(d.logpdf(x), -math.inf)
        np.testing.assert_array_equal(d.pdf(x), 0.0)
        if d.support.discrete:
            assert d.logpdf(0.5) == -math.inf
        else:
            below = np.array([v for v in case.outside if v < np.min(d.support.lower)])
            above = np.array([v for v in case.outside if v > np.max(d.support.upper)])
            np.testing.assert_array_equal(d.cdf(below), 0.0)
            np.testing.assert_array_equal(d.ccdf(above), 0.0)


def check_invalid(case: Case) -> None:
    """Each invalid parameter is refused, in words that name it, the rule and the value; `check=False` lets it pass."""
    setting = case.settings[0]
    for name, (rule, values) in case.invalid.items():
        for value in values:
            rest = {k: v for k, v in setting.items() if k != name}
            if name in case.family.exclusive:
                rest = {k: v for k, v in rest.items() if k not in case.family.exclusive}
            text = f"^{case.family.__name__}.{name} must be {re.escape(rule)}, got {re.escape(repr(value))}$"
            with pytest.raises(ParameterError, match=text):
                case.family(**rest, **{name: value})
            case.family(**rest, **{name: value}, check=False)


def check_dtypes(case: Case) -> None:
    """Single precision stays; integers of any width and lists count as double; empty arrays keep their shape."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        x = inner(d)
        single_agrees(case, setting, x)
        expected = d.logpdf(np.array([0.0, 1.0]))
        assert expected.dtype == np.float64
        for kind in (bool, np.uint8, np.int8, np.int32, np.int64, np.float16):
            np.testing.assert_array_equal(d.logpdf(np.array([0, 1], dtype=kind)), expected)
        np.testing.assert_array_equal(d.logpdf([0, 1]), expected)
        assert d.logpdf(np.zeros((0, 3))).shape == (0, 3)
        assert np.ndim(d.logpdf(1)) == 0


def single_agrees(case: Case, setting: dict[str, Any], x: np.ndarray) -> None:
    """Of single numbers, densities and both tails are single, and good to the roundings of a stable formula."""
    real = {k: np.float32(v) for k, v in setting.items() if isinstance(v, float)}
    single = case.family(**{**setting, **real})
    for method in ("logpdf", "pdf", "cdf", "ccdf", "logcdf", "logccdf"):
        got = getattr(single, method)(x.astype(np.float32))
        assert got.dtype == np.float32, (single, method, got.dtype)
        for place, value in zip(x.astype(np.float32).astype(float), got, strict=True):

            def exact(place: Any, *values: Any, method: str = method) -> Any:
                return getattr(case.family(**{**setting, **dict(zip(real, values, strict=True))}), method)(place)

            at = [float(place), *(float(v) for v in real.values())]
            expected, bars = exact(*at), gradient(exact, *at)
            size = abs(expected) + sum(abs(u * bar) for u, bar in zip(at, bars, strict=True))
            close = value == expected or abs(value - expected) <= 100 * EPS_SINGLE * size
            assert close, (single, method, place, value, expected)


def check_container(case: Case) -> None:
    """A family is a value: flattened and rebuilt, pickled, compared and printed; methods are functions too."""
    for setting, d in zip(case.settings, case.members(), strict=True):
        leaves, spec = flatten(d)
        assert unflatten(spec, leaves) == d == pickle.loads(pickle.dumps(d))
        assert hash(unflatten(spec, leaves)) == hash(d)
        assert repr(d) == f"{case.family.__name__}({', '.join(f'{k}={v!r}' for k, v in setting.items())})"
        x = inner(d)
        np.testing.assert_array_equal(functions.logpdf(d, x), d.logpdf(x))
        batch = case.family(**{k: np.full((2, 1), v) for k, v in setting.items()})
        assert batch.batch_shape == (2, 1) and batch != d
        # A vectorised loop and a scalar call may round differently.
        np.testing.assert_allclose(batch.logpdf(x), np.broadcast_to(d.logpdf(x), (2, x.size)), rtol=1e-13, atol=1e-14)
        assert batch.rand((3,), rng=np.random.default_rng(0)).shape == (3, 2, 1)
        assert np.shape(batch.var()) == (2, 1)
