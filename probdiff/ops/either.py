"""A selection that leaves out the side that is not taken, where it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["either"]


def either(condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """np.where(condition, yes(), no()); if the condition is one plain truth value, only that side is evaluated."""
    if type(condition) is np.bool_ or type(condition) is bool:
        return yes() if condition else no()
    return np.where(condition, yes(), no())
