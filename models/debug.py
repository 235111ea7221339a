"""Every term of a log-density at one point, and the first that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.distributions.base import Distribution
from probdiff.distributions.bijectors import Identity
from probdiff.distributions.parameters import unchecked
from probdiff.distributions.wrappers.wrapped import Wrapped
from probdiff.models.dimensions import elements
from probdiff.models.joint import FACTOR, Dims
from probdiff.models.text import aligned
from probdiff.models.transport import bijector_of
from probdiff.models.values import Given, flat_values
from probdiff.tree import Array

if TYPE_CHECKING:
    from probdiff.models.posterior import Posterior

PRIOR, STANDARDISED, JACOBIAN, LIKELIHOOD = "prior", "standardised prior", "log-Jacobian", "likelihood"


@dataclass(frozen=True)
class Term:
    """One term: the variable, outcome or factor it belongs to, what it is, its parts, and the values they are of."""

    name: str
    kind: str
    parts: np.ndarray
    values: np.ndarray | None = None

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return float(np.sum(self.parts))

    @property
    def bad(self) -> tuple[int, ...] | None:
        """Where the first part is that is not finite."""
        wrong = ~np.isfinite(self.parts)
        return tuple(int(i) for i in np.argwhere(wrong)[0]) if np.any(wrong) else None

    def where(self) -> str:
        """The first part that is not finite, in words: `the likelihood of y is -inf at index 3 (observation 7.0)`."""
        index = self.bad
        assert index is not None
        text = f"the {self.kind} of {self.name} is {self.parts[index]}"
        if index:
            text += f" at index {index[0] if len(index) == 1 else index}"
        if self.values is not None and self.values[index].ndim == 0:
            text += f" ({'observation' if self.kind == LIKELIHOOD else 'value'} {self.values[index]})"
        return text


@dataclass(frozen=True, repr=False)
class Terms:
    """What `debug` returns: the terms in the order in which they are evaluated.

    `str` is a table with a verdict under it; `repr` is the verdict alone.
    """

    terms: tuple[Term, ...]

    @property
    def total(self) -> float:
        """The log-density."""
        with np.errstate(invalid="ignore"):
            return float(sum(term.total for term in self.terms))

    @property
    def first_bad(self) -> Term | None:
        """The first term that is not finite; later ones may be so because of it."""
        return next((term for term in self.terms if term.bad is not None), None)

    def __getitem__(self, key: tuple[str, str]) -> float:
        """The sum of a term by name and kind: `terms["tau", "prior"]`."""
        found = [term.total for term in self.terms if (term.name, term.kind) == key]
        if not found:
            raise KeyError(
                f"there is no term {key!r}; there are {', '.join(f'{t.kind} of {t.name}' for t in self.terms)}"
            )
        return found[0]

    def explain(self) -> str:
        """The first term that is not finite, in words; empty if all are."""
        bad = self.first_bad
        return "" if bad is None else bad.where()

    def __repr__(self) -> str:
        text = self.explain()
        return f"<log-density {self.total:.6g}: {text or 'every term is finite'}>"

    def __str__(self) -> str:
        rows = [("term", "of", "log-density")]
        rows += [(term.kind, term.name, f"{term.total:.6g}") for term in self.terms]
        rows.append(("total", "", f"{self.total:.6g}"))
        text = self.explain()
        verdict = f"First term that is not finite: {text}." if text else "Every term is finite."
        return f"{aligned(rows)}\n{verdict}"


class Walker:
    """Collects terms while a posterior is evaluated at named values, or at an unconstrained vector."""

    def __init__(self, posterior: Posterior, point: Any) -> None:
        self.posterior, self.found = posterior, list[Term]()
        self.q = None if isinstance(point, Mapping) else np.asarray(point, dtype=float)
        self.given = Given(posterior.of_prior(point) if self.q is None else {})

    def add(self, name: str, kind: str, parts: Any, values: Any = None) -> None:
        """Note a term, with the values that its parts line up with."""
        parts = np.asarray(parts, dtype=float)
        array = np.asarray(values)
        # A vector has one part: its entries do not line up with anything.
        fits = values is not None and array.shape == parts.shape
        self.found.append(Term(name, kind, parts, array if fits else None))

    def choose(self, name: str, distribution: Distribution, dims: Dims) -> Array:
        """The value of a variable at the point; notes its terms."""
        element = elements(distribution)
        if self.q is None:
            x = self.given.take(name, distribution)
            self.add(name, PRIOR, element.logpdf(x), x)
            return x
        u, bijector = self.posterior.layout.slots[name].read(self.q), bijector_of(distribution)
        x = bijector.forward(u)
        if isinstance(element, Wrapped):
            self.add(name, STANDARDISED, element.standard().logpdf(u), u)
            return x
        self.add(name, PRIOR, element.logpdf(x), x)
        if not isinstance(bijector, Identity):
            self.add(name, JACOBIAN, bijector.log_jacobian(u))
        return x

    def weigh(self, name: str, terms: Array, why: str) -> None:
        """Note the term of a factor."""
        self.add(name, "factor" if why == FACTOR else PRIOR, terms)


def terms_at(posterior: Posterior, point: Any) -> Terms:
    """The terms of the log-density at named values or, log-Jacobians included, at an unconstrained vector."""
    walker = Walker(posterior, point)
    if walker.q is not None:
        posterior.check_sampleable()
        posterior.check_vector(walker.q, "debug")
    with np.errstate(all="ignore"), unchecked():
        values = posterior.prior.walk(walker.choose, walker.weigh)
        if walker.q is None:
            flat = flat_values(point)
            values |= {name: posterior.checked(name, flat) for name in posterior.model.imputed}
        else:
            values, log_jacobian = posterior.model.unpack(values, walker.q, posterior.layout)
            if posterior.model.imputed:
                walker.add(", ".join(posterior.model.imputed), JACOBIAN, log_jacobian)
        observed = posterior.observed
        for name, terms in posterior.model.by_outcome(values).items():
            walker.add(name, LIKELIHOOD, terms, observed.get(name))
        for name, terms in posterior.factor_terms(values).items():
            walker.add(name, "factor", terms)
    return Terms(tuple(walker.found))
