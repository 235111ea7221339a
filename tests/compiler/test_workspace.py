"""The memory that a gradient needs besides data and results does not grow with the number of observations."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from probdiff import compile, scan, value_and_grad
from probdiff.benchmarks.programs.contenders import module_of
from probdiff.benchmarks.programs.varying_intercept import GROUPS
from probdiff.compiler.fuse import MATVEC_LIMIT


def workspace(name: str, *size: int) -> int:
    """Bytes planned for the gradient of one of the benchmark's programs."""
    program = importlib.import_module(module_of(name))
    at = program.problem(*size)
    function = compile(value_and_grad(lambda theta: program.density(theta, *at.data)))
    return function.record(at.theta).explain().workspace


# With 100,000 observations loops run in blocks, with 1,000 they do not.
@pytest.mark.parametrize("name", ["varying_intercept", "poisson", "autoregression", "mixture", "student_t"])
def test_twice_the_data_need_the_same_workspace(name: str) -> None:
    small = workspace(name, 1_000)
    assert 0 < small < 8_000  # less than the observations
    assert workspace(name, 2_000) == small
    assert workspace(name, 100_000) == small


def test_a_regression_with_special_functions() -> None:
    assert 0 < workspace("beta_binomial", 1_000) == workspace("beta_binomial", 2_000) < 8_000


def test_a_product_with_a_matrix_is_part_of_the_loop_up_to_its_limit() -> None:
    n = MATVEC_LIMIT // 50
    small, below, above = (workspace("logistic", rows) for rows in (1_000, n, n + 1_000))
    assert 0 < small == below < 8_000
    assert abs(above - below - 2 * 8 * (n + 1_000)) <= 2 * 64  # BLAS writes X θ and reads its cotangent


def test_twice_the_groups_need_two_more_numbers_each() -> None:
    more = workspace("varying_intercept", 12_573, 2 * GROUPS) - workspace("varying_intercept", 12_573)
    assert abs(more - 2 * 8 * GROUPS) <= 2 * 64  # the intercepts and their cotangents, each in whole lines of the cache


def test_what_has_to_be_kept_is_seen_to_grow() -> None:
    def walk(n: int) -> int:
        def density(x: Any) -> Any:
            return scan(lambda carry, _: (np.sin(carry), carry), x, None, n)[0]

        return compile(value_and_grad(density)).record(0.3).explain().workspace

    assert walk(2_000) - walk(1_000) >= 8_000  # reverse mode keeps the carries of a scan
