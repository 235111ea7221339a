"""Series: the base of distributions of whole series, time along the last axis or the one before the last."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.wrappers.combined import Combined
from probdiff.errors import ParameterError

__all__ = ["Series"]


class Series(Combined):
    """A series of `length` numbers."""

    length: Any

    static = ("length",)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.length),)

    def check_length(self, least: int) -> None:
        """ParameterError unless the length is an integer, and long enough."""
        whole = isinstance(self.length, (int, np.integer)) and not isinstance(self.length, bool)
        if not whole or self.length < least:
            owner = type(self).__name__
            raise ParameterError(f"{owner}.length must be an integer of at least {least}, got {self.length!r}")
