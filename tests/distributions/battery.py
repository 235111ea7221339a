"""The battery: what every univariate family must pass, fed with data only.

A family's test is a `Case`: parameters, outside values, invalid arguments and a naive density. Each check is a function
of a case, and `battery` makes one test of each; test_battery.py plants faults to see the checks catch them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.distributions import checks_interface, checks_law, checks_slopes, checks_values
from tests.distributions.case import Case

__all__ = ["CHECKS", "battery"]

CHECKS: dict[str, Callable[[Case], None]] = {
    name.removeprefix("check_"): function
    for module in (checks_values, checks_law, checks_interface, checks_slopes)
    for name, function in vars(module).items()
    if name.startswith("check_")
}


def battery(family: Any, **data: Any) -> Any:
    """One test per check, for the family and its data, which the test keeps as `case`."""
    case = Case(family, **data)

    @pytest.mark.parametrize("check", list(CHECKS.values()), ids=list(CHECKS))
    def test(check: Callable[[Case], None]) -> None:
        check(case)

    test.case = case
    return test
