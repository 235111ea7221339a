"""The errors of probdiff: one root, and each kind also the builtin that callers expect.

A message names the owner, the argument, the rule and the value, then the way out.
"""

from __future__ import annotations

import numpy as np


class ProbdiffError(Exception):
    """Root of every error that probdiff raises on purpose."""


class ParameterError(ProbdiffError, ValueError):
    """A parameter of a distribution, a sampler or a function has a value outside its domain."""


class ShapeError(ProbdiffError, ValueError):
    """Shapes that do not go together, or a result of another shape than the call needs."""


class DataError(ProbdiffError, ValueError):
    """Data that a model cannot take: NaN, wrong shape, outside the support."""


class TracedValueError(ProbdiffError, TypeError):
    """Python asked for the value of an array that is being recorded and has none yet."""


class UnsupportedError(ProbdiffError, TypeError):
    """An operation, a type or a combination that has no rule here."""


class DifferentiationError(ProbdiffError, TypeError):
    """A derivative was asked of something that has none: a non-scalar output, an integer, a rule that is missing."""


class GradientMismatch(ProbdiffError, AssertionError):
    """`check_gradient` found two ways of differentiation that disagree."""


class InitialPointError(ProbdiffError, ValueError):
    """No starting point with finite log-density and gradient was found."""


class LinAlgError(ProbdiffError, np.linalg.LinAlgError):
    """A matrix that an operation cannot take: singular, or not positive definite."""
