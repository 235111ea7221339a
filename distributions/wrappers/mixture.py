"""Mixture: a value of one of several distributions, chosen at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.support import LogWeightVector, ProbabilityVector, Support
from probdiff.distributions.univariate.discrete.categorical import Categorical
from probdiff.distributions.wrappers.combined import (
    Combined,
    any_of,
    check_components,
    is_unbounded,
    log_tail,
    name_of,
    of_each,
)
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.tree import Array

__all__ = ["Mixture"]


class Mixture(Combined):
    """p(x) = Σ_k w_k p_k(x).

    components  a distribution whose last batch axis has the p_k; or a tuple of distributions, of one family or several
    weights     w, probabilities along the last axis
    logits      along the last axis, in place of weights: w = exp(logits) / Σ exp(logits)

    McLachlan & Peel, Finite Mixture Models, ch. 1.
    """

    components: Any
    weights: ProbabilityVector = None
    logits: LogWeightVector = None

    exclusive = ("weights", "logits")
    trailing = {"components": 1}

    def check_parts(self) -> None:
        check_components("Mixture", self.components)
        first, *others = self._parts()
        for part in others:
            if part.support.discrete != first.support.discrete:
                raise UnsupportedError(
                    f"Mixture: {name_of(first)} and {name_of(part)} are not both continuous or both discrete. "
                    "For a point mass at zero, use Hurdle."
                )
            if part.event_shape != first.event_shape:
                raise ShapeError(f"Mixture: components have values of shapes {first.event_shape}, {part.event_shape}.")
        count = self._count()
        if count != self._weights().shape[-1]:
            raise ShapeError(f"Mixture has {count} components and {self._weights().shape[-1]} weights.")

    @property
    def event_shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._parts()[0].event_shape
        return shape

    @property
    def support(self) -> Support:
        sets: list[Support] = [part.support for part in self._parts()]
        return sets[0] if sets[0].event_ndim else any_of(*sets, along_axis=len(sets) == 1)

    def logpdf(self, x: Array) -> Array:
        return self._mixed("logpdf", x)

    def logcdf(self, x: Array) -> Array:
        return log_tail(self._mixed("logcdf", x), self._mixed("logccdf", x))

    def logccdf(self, x: Array) -> Array:
        return log_tail(self._mixed("logccdf", x), self._mixed("logcdf", x))

    def mean(self) -> Array:
        return np.sum(self._per_component() * self._moment("mean"), axis=self._axis())

    def var(self) -> Array:
        axis, w, mean = self._axis(), self._per_component(), self._moment("mean")
        center = np.sum(w * mean, axis=axis, keepdims=True)
        return np.sum(w * (self._moment("var") + (mean - center) ** 2), axis=axis)

    def kinks(self) -> tuple[Array, ...]:
        found = []
        for part in self._parts():
            ends = (end for end in (part.support.lower, part.support.upper) if not is_unbounded(end))
            for kink in (*part.kinks(), *ends):
                # Of one distribution, the components are the last axis, if the kink hangs on them.
                several = not isinstance(self.components, tuple) and len(getattr(kink, "shape", ())) > 0
                found += [kink[..., k] for k in range(kink.shape[-1])] if several else [kink]
        return tuple(found)

    def responsibilities(self, x: Array) -> Array:
        """The probability of each component given `x`, along a new last axis."""
        from probdiff.special import softmax

        return softmax(self._log_weights() + self._of_each("logpdf", x), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        chosen = np.asarray(self._label().draw(shape, rng))
        event, count = len(self.event_shape), self._count()
        if isinstance(self.components, tuple):
            drawn = [np.asarray(part.draw(shape, rng)) for part in self.components]
            every = np.stack([np.broadcast_to(each, shape + self.event_shape) for each in drawn], axis=self._axis())
        else:
            every = np.asarray(self.components.draw((*shape, count), rng))
        index = chosen.reshape(shape + (1,) * (1 + event))
        return np.take_along_axis(every, index, axis=self._axis()).squeeze(self._axis())

    def _mixed(self, method: str, x: Array) -> Array:
        from probdiff.special import logsumexp

        return logsumexp(self._log_weights() + self._of_each(method, x), axis=-1)

    def _of_each(self, method: str, x: Array) -> Array:
        """A method of each component, along a new last axis."""
        if isinstance(self.components, tuple):
            return of_each(self.components, method, x)
        return getattr(self.components, method)(np.expand_dims(x, self._axis()))

    def _moment(self, name: str) -> Array:
        """A moment of each component, along a new axis before those of one value."""
        if isinstance(self.components, tuple):
            shape = self.batch_shape + self.event_shape
            moments = [np.broadcast_to(getattr(part, name)(), shape) for part in self.components]
            return np.stack(moments, axis=self._axis())
        return getattr(self.components, name)()

    def _parts(self) -> tuple[Any, ...]:
        return self.components if isinstance(self.components, tuple) else (self.components,)

    def _axis(self) -> int:
        """The axis of the components, from the end."""
        return -1 - len(self.event_shape)

    def _count(self) -> int:
        if isinstance(self.components, tuple):
            return len(self.components)
        return int(self.components.batch_shape[-1])

    def _weights(self) -> Array:
        return self.logits if self.weights is None else self.weights

    def _label(self) -> Categorical:
        return Categorical(p=self.weights, logits=self.logits, check=False)

    def _log_weights(self) -> Array:
        return self._label()._log_probabilities()

    def _per_component(self) -> Array:
        """The weights, with axes of length one for those of one value."""
        w = self._label()._probabilities()
        return np.reshape(w, w.shape + (1,) * len(self.event_shape))
