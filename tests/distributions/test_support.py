"""Supports: membership, bounds and words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff.distributions import Normal, Uniform, support
from probdiff.distributions import support as support_function
from probdiff.distributions.support import (
    boolean,
    integer_interval,
    integers,
    interval,
    lower_cholesky,
    nonnegative,
    nonnegative_integers,
    open_unit_interval,
    positive,
    positive_definite,
    real,
    real_vector,
    simplex,
    unit_interval,
)

VALUES = [-math.inf, -1.0, 0.0, 0.5, 1.0, 2.0, math.inf, math.nan]
MEMBERS = [
    (real, [-1.0, 0.0, 0.5, 1.0, 2.0]),
    (positive, [0.5, 1.0, 2.0]),
    (nonnegative, [0.0, 0.5, 1.0, 2.0]),
    (unit_interval, [0.0, 0.5, 1.0]),
    (open_unit_interval, [0.5]),
    (interval(-1.0, 0.5), [-1.0, 0.0, 0.5]),
    (integers, [-1.0, 0.0, 1.0, 2.0]),
    (nonnegative_integers, [0.0, 1.0, 2.0]),
    (integer_interval(0.0, 1.0), [0.0, 1.0]),
    (boolean, [0.0, 1.0]),
]


@pytest.mark.parametrize(("domain", "members"), MEMBERS, ids=[repr(domain) for domain, _ in MEMBERS])
def test_membership(domain: Any, members: list[float]) -> None:
    np.testing.assert_array_equal(domain.contains(np.array(VALUES)), [v in members for v in VALUES])
    assert [bool(domain.contains(v)) for v in VALUES] == [v in members for v in VALUES]
    assert domain.accepts(np.array(members)) and domain.accepts(np.zeros(0))
    assert not domain.accepts(np.array([*members, math.nan]))


def test_vectors_and_matrices() -> None:
    weights = np.array([[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]])
    np.testing.assert_array_equal(simplex.contains(weights), [True, False, False])
    np.testing.assert_array_equal(real_vector.contains(np.array([[0.0, 1.0], [0.0, math.inf]])), [True, False])
    factors = np.array([[[1.0, 0.0], [5.0, 2.0]], [[1.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 0.0]]])
    np.testing.assert_array_equal(lower_cholesky.contains(factors), [True, False, False])
    matrices = np.array([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]]])
    np.testing.assert_array_equal(positive_definite.contains(matrices), [True, False, False])


def test_bounds_may_be_arrays() -> None:
    domain = Uniform([0.0, 2.0], [1.0, 3.0]).support
    np.testing.assert_array_equal(domain.contains(np.array([0.5, 0.5])), [True, False])
    np.testing.assert_array_equal(domain.lower, [0.0, 2.0])


def test_words() -> None:
    assert (repr(positive), positive.rule, positive.lower, positive.upper) == ("positive", "positive", 0.0, math.inf)
    assert repr(interval(0.0, 2.0)) == "interval(0.0, 2.0)"
    assert not real.discrete and boolean.discrete and simplex.event_ndim == 1
    assert support_function(Normal()) is real is support(Normal())
