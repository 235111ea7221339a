"""Kullback and Leibler's divergence: closed forms of the usual pairs, quadrature or summation for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.distributions.expectation import expectation, is_countable
from probdiff.distributions.support import Points
from probdiff.errors import UnsupportedError
from probdiff.tree import Array

__all__ = ["closed_form", "kl_divergence"]

_closed: dict[tuple[type, type], Callable[[Any, Any], Array]] = {}


def closed_form(p: type, q: type) -> Callable[[Callable[[Any, Any], Array]], Callable[[Any, Any], Array]]:
    """Register the divergence of a pair of families: `@closed_form(Gamma, Gamma)`."""

    def register(formula: Callable[[Any, Any], Array]) -> Callable[[Any, Any], Array]:
        _closed[p, q] = formula
        return formula

    return register


def kl_divergence(p: Any, q: Any) -> Array:
    """KL(p || q) = E_p[log p(X) - log q(X)], in nats; infinite where q has no mass where p has.

    By the registered formula of the pair, else by quadrature or summation, good to about 1e-11 relative to the
    entropies. UnsupportedError for a discrete and a continuous distribution.
    """
    formula = _closed.get((type(p), type(q)))
    if formula is not None:
        with np.errstate(all="ignore"):
            return formula(p, q)
    countable = is_countable(p)
    if countable != is_countable(q):
        pair = f"{type(p).__name__} and {type(q).__name__}"
        raise UnsupportedError(f"kl_divergence: {pair} are discrete and continuous; they share no base measure.")
    kinks = () if countable else q.kinks()
    distance = expectation(p, lambda x: p.logpdf(x) - q.logpdf(x), kinks)
    if not countable:
        # An integral passes over what is infinite.
        gaps = expectation(p, lambda x: np.where((q.logpdf(x) == -np.inf) & (p.logpdf(x) > -np.inf), 1.0, 0.0), kinks)
        distance = np.where(gaps > 1e-15, np.inf, distance)
    if isinstance(p.support, Points):
        return distance
    beyond = (p.support.lower < q.support.lower) | (p.support.upper > q.support.upper)
    return np.where(beyond, np.inf, distance)[()]
