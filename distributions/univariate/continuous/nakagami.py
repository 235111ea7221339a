"""Nakagami: amplitudes of signals that fade."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.univariate.continuous.generalized_gamma import GeneralizedGamma

__all__ = ["nakagami"]


def nakagami(shape: Any, spread: Any = 1.0) -> GeneralizedGamma:
    """The root of a gamma variable of this shape (at least 1/2 in the books) whose mean is `spread`.

    Nakagami, The m-distribution: a general formula of intensity distribution of rapid fading (1960).
    """
    return GeneralizedGamma(shape, 2.0, np.sqrt(spread / shape))
