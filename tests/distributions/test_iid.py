"""IID: sums over event axes, shapes and names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from probdiff.distributions import IID, Categorical, MvNormal, Normal
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.tree import flatten, unflatten


def test_log_density_is_a_sum() -> None:
    x = np.arange(12.0).reshape(3, 4)
    d = Normal(0, 5)
    assert d.iid(4).logpdf(x[0]) == pytest.approx(np.sum(d.logpdf(x[0])), rel=1e-15)
    np.testing.assert_allclose(d.iid(4).logpdf(x), np.sum(d.logpdf(x), axis=1), rtol=1e-15)
    assert d.iid(3, 4).logpdf(x) == pytest.approx(np.sum(d.logpdf(x)), rel=1e-15)
    assert d.iid(0).logpdf(np.zeros(0)) == 0.0


def test_event_axes_follow_the_batch() -> None:
    d = Normal(np.array([0.0, 10.0])).iid(3)
    x = np.array([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]])
    assert (d.batch_shape, d.event_shape) == ((2,), (3,))
    np.testing.assert_allclose(d.logpdf(x), [Normal().iid(3).logpdf(x[0])] * 2, rtol=1e-15)
    drawn = d.rand(1000, rng=np.random.default_rng(1))
    assert drawn.shape == (1000, 2, 3)
    np.testing.assert_array_less(abs(np.mean(drawn, axis=(0, 2)) - [0.0, 10.0]), 0.2)
    np.testing.assert_array_equal(d.mean(), [[0.0] * 3, [10.0] * 3])
    np.testing.assert_allclose(d.entropy(), 3 * Normal().entropy(), rtol=1e-15)


def test_of_labels() -> None:
    p = np.array([[0.2, 0.8], [0.6, 0.4]])
    d = Categorical(p).iid(2)
    np.testing.assert_allclose(d.logpdf(np.array([[0, 1], [1, 1]])), np.log([0.2 * 0.8, 0.4 * 0.4]), rtol=1e-15)


def test_of_vectors() -> None:
    d = MvNormal([1.0, 2.0], np.eye(2)).iid(3)
    assert d.event_shape == (3, 2)
    assert d.rand(5, rng=np.random.default_rng(0)).shape == (5, 3, 2)
    assert d.logpdf(np.tile([1.0, 2.0], (3, 1))) == pytest.approx(-3 * math.log(2 * math.pi), rel=1e-14)


def test_names_are_resolved_later() -> None:
    d = Normal().iid(2, "school")
    assert repr(d) == "Normal(loc=0.0, scale=1.0).iid(2, 'school')"
    assert d.logpdf(np.zeros((2, 7))) == pytest.approx(14 * Normal().logpdf(0.0), rel=1e-14)
    assert d.resolve({"school": 7, "year": 3}) == Normal().iid(2, 7)
    with pytest.raises(ShapeError) as caught:
        d.rand(rng=np.random.default_rng(0))
    assert str(caught.value) == "iid: the length of 'school' is not known. Give it as a coordinate of the model."


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: Normal().iid(3).logpdf(1.0), ShapeError, "iid: a value must have shape (..., 3), got ()"),
    (lambda: Normal().iid(3).logpdf(np.zeros((3, 1))), ShapeError, "iid: a value must have shape (..., 3), got (3, 1)"),
    (lambda: Normal().iid(-1), ParameterError, "iid: a size must be a nonnegative integer or a name, got -1"),
    (lambda: Normal().iid(2).iid(3), UnsupportedError, "iid: give all sizes at once, d.iid(m, n)"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_refused(build: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value) == text


def test_sizes_are_structure() -> None:
    d = Normal(1.0, 2.0).iid(2, "school")
    leaves, spec = flatten(d)
    assert leaves == [1.0, 2.0]
    rebuilt = unflatten(spec, leaves)
    assert isinstance(rebuilt, IID) and rebuilt == d and rebuilt.sizes == (2, "school")
