"""Every univariate family under XLA: its density and tails with their gradients, beside the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from probdiff import compile, value_and_grad
from probdiff.tree import flatten
from tests.distributions.case import Case
from tools.catalogue import CASES

jax = pytest.importorskip("jax")

LARGEST = 700  # operations; XLA takes seconds to compile more, and loops


def operations(jaxpr: Any) -> list[str]:
    """The names of all operations, those inside calls and branches too."""
    found = []
    for equation in jaxpr.eqns:
        found.append(equation.primitive.name)
        for value in flatten(list(equation.params.values()))[0]:
            inner = getattr(value, "jaxpr", value)
            found += operations(inner) if hasattr(inner, "eqns") else []
    return found


def program(case: Case) -> tuple[Any, tuple[Any, ...]]:
    """Density, its log-tail and tail with derivatives in the real parameters, at a draw; and the arguments."""
    setting = case.settings[0]
    real = [k for k, v in setting.items() if isinstance(v, float)]

    def everything(x: Any, *values: Any) -> Any:
        def of(method: str) -> Any:
            def f(*values: Any) -> Any:
                return getattr(case.family(**{**setting, **dict(zip(real, values, strict=True))}), method)(x)

            return value_and_grad(f)(*values) if real else f()

        return tuple(map(of, ("logpdf", "cdf", "logcdf")))

    x = float(case.family(**setting).rand(rng=np.random.default_rng(0)))
    return everything, (x, *(setting[k] for k in real))


@pytest.mark.parametrize("name", CASES)
def test_family(name: str) -> None:
    """All are lowered; those whose program is short are compiled and run."""
    from probdiff.compiler.xla.library import double
    from probdiff.compiler.xla.lower import called

    f, args = program(CASES[name])
    with double():
        names = operations(jax.make_jaxpr(lambda *xs: called(f, xs))(*args).jaxpr)
    if "while" in names or len(names) > LARGEST:
        return
    found, expected = (flatten(compile(f, backend=kind)(*args))[0] for kind in ("jax", "numpy"))
    for got, plain in zip(found, expected, strict=True):
        # A derivative is a difference of terms of the size of the value and of one.
        np.testing.assert_allclose(got, plain, rtol=1e-12, atol=1e-13 * (1.0 + abs(expected[0])))
