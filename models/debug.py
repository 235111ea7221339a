"""Every term of a log-density at one point, and the first that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.models.text import aligned


@dataclass(frozen=True)
class Term:
    """One term: the variable, outcome or factor it belongs to, what it is, its parts, and the values they are of."""

    name: str
    kind: str
    parts: np.ndarray
    values: np.ndarray | None = None

    @property
    def total(self) -> float:
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
            text += f" ({'observation' if self.kind == 'likelihood' else 'value'} {self.values[index]})"
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
            raise KeyError(f"there is no term {key!r}; there are {', '.join(f'{t.kind} of {t.name}' for t in self.terms)}")
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


def terms_of(found: Mapping[tuple[str, str], tuple[Any, Any]]) -> Terms:
    """Terms from arrays by (name, kind), each with the values that it is of, or None."""
    return Terms(tuple(
        Term(name, kind, np.asarray(parts, dtype=float), None if values is None else fitting(values, np.shape(parts)))
        for (name, kind), (parts, values) in found.items()
    ))  # fmt: skip


def fitting(values: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """The values, if they line up with the parts of a term; a vector has one part."""
    array = np.asarray(values)
    return array if array.shape[: len(shape)] == shape else None
