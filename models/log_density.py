"""A bare log-density over a structured point, as a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import optree

from probdiff.distributions.parameters import unchecked
from probdiff.distributions.support import Support, real
from probdiff.distributions.univariate.continuous.flat import Flat
from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.models.density import FlatDensity
from probdiff.models.dimensions import elements
from probdiff.models.joint import outside
from probdiff.models.layout import Layout
from probdiff.models.transport import add_up, bijector_of, log_volume
from probdiff.models.values import total
from probdiff.tree import NAMESPACE, Array, Tree, flatten, unflatten


class LogDensity(FlatDensity):
    """A function from a structured point to its log-density, as a model that can be sampled.

    Parameters
    ----------
    f
        Takes one point and returns the log-density of it; it can be traced.
    point
        An example of a point: a number, an array, a tuple, dict, dataclass, distribution or any nest of these. Its
        structure and shapes count, and the values of what is no real number (integers, strings), which stay as they
        are.
    supports
        The support of each part that is not all of the real line, by name: `{"tau": positive}`. Names are those of the
        parts with dots between levels, `prior.scale`; a point that is one array is called x.

    Bijectors and their log-Jacobians are added as for a `Flat` prior on each support.
    """

    def __init__(
        self,
        f: Callable[[Any], Array],
        point: Tree,
        supports: Mapping[str, Support] | None = None,
    ) -> None:
        if not callable(f):
            raise ParameterError(f"LogDensity.f must be a function of a point, got {f!r}.")
        self.f = f
        self.example, self.spec = flatten(point)
        accessors = optree.tree_accessors(point, namespace=NAMESPACE)
        names = [".".join(_entry(each) for each in accessor) or "x" for accessor in accessors]
        self.places = {name: k for k, name in enumerate(names) if _moves(self.example[k])}
        supports = dict(supports or {})
        for name, given in supports.items():
            if name not in self.places:
                raise ParameterError(f"LogDensity.supports: {name} is no part of the point ({', '.join(self.places)}).")
            if not isinstance(given, Support):
                raise ParameterError(f"LogDensity.supports[{name!r}] must be a support, got {given!r}.")
        self.layout = Layout()
        self.priors: dict[str, Any] = {}
        for name, k in self.places.items():
            self.priors[name] = _flat(supports.get(name, real), np.shape(self.example[k]), name)
            self.layout.add(name, self.priors[name])
        self.dims: dict[str, tuple[str, ...]] = {}
        self.coords: dict[str, Any] = {}
        self.observed: dict[str, np.ndarray] = {}

    @property
    def coordinate_names(self) -> list[str]:
        """A name for each unconstrained coordinate."""
        return [name for slot in self.layout.slots.values() for name in slot.coordinate_names({})]

    def check_sampleable(self) -> None:
        """UnsupportedError if nothing in the point can move."""
        if self.dim == 0:
            raise UnsupportedError("LogDensity.point has no real number: there is nothing to sample.")

    def logdensity(self, q: Array) -> Array:
        """The log-density of the unconstrained vector `q`, log-Jacobians included. It can be traced."""
        self.check_vector(q, "logdensity")
        with np.errstate(all="ignore"), unchecked():
            values, jacobian = self.located(q), None
            for name, prior in self.priors.items():
                if prior.support is not real:
                    term = add_up(bijector_of(prior).log_jacobian(self.layout.slots[name].read(q)))
                    jacobian = term if jacobian is None else jacobian + term
            value = self.f(self.structured(values))
            return value if jacobian is None else value + jacobian

    def log_jacobian(self, q: Array) -> Array:
        """log |dx/dq| of the supports of the parts, summed. It can be traced."""
        return total([log_volume(prior, self.layout.slots[name].read(q)) for name, prior in self.priors.items()])

    def located(self, q: Array) -> dict[str, Any]:
        """The parts of the point at `q`, by name. It can be traced."""
        return {
            name: bijector_of(prior).forward(self.layout.slots[name].read(q)) for name, prior in self.priors.items()
        }

    def structured(self, values: Mapping[str, Any]) -> Tree:
        """The point from its parts by name."""
        leaves = list(self.example)
        for name, k in self.places.items():
            leaves[k] = values[name]
        return unflatten(self.spec, leaves)

    def point(self, q: np.ndarray) -> Tree:
        """The structured point at the unconstrained vector `q`."""
        return self.structured(self.constrain(q))

    def unconstrain(self, point: Tree) -> np.ndarray:
        """The unconstrained vector of a point: a structure like the example's, or a dict of its parts by name.

        ParameterError, naming the part, outside its support.
        """
        if isinstance(point, Mapping) and set(point) == set(self.places):
            parts = dict(point)
        else:
            leaves, spec = flatten(point)
            if spec != self.spec:
                raise ShapeError(f"unconstrain needs a point of the structure {self.spec}, got {spec}.")
            parts = {name: leaves[k] for name, k in self.places.items()}
        found = [np.zeros(0)]
        for name, prior in self.priors.items():
            value = np.asarray(parts[name], dtype=float)[()]
            if np.shape(value) != self.layout.slots[name].shape:
                raise ShapeError(
                    f"The value of {name} has shape {np.shape(value)}, the example {self.layout.slots[name].shape}."
                )
            if not np.all(elements(prior).support.contains(value)):
                raise outside(name, prior, value)
            with np.errstate(all="ignore"):
                u = np.ravel(bijector_of(prior).inverse(value))
            if not np.all(np.isfinite(u)):
                raise outside(name, prior, value)
            found.append(u)
        return np.concatenate(found)

    def explain_point(self, q: np.ndarray) -> str:
        """What the function says at `q` if that is not finite; empty otherwise."""
        with np.errstate(all="ignore"), unchecked():
            value = self.f(self.structured(self.located(np.asarray(q, dtype=float))))
        name = getattr(self.f, "__name__", "the function")
        return "" if np.isfinite(value) else f"{name} returns {value}"

    def __repr__(self) -> str:
        return f"LogDensity({getattr(self.f, '__name__', self.f)!s}, {', '.join(self.places)}: {self.dim} coordinates)"


def _entry(entry: Any) -> str:
    return str(getattr(entry, "name", None) or getattr(entry, "field", None) or entry.entry)


def _moves(leaf: Any) -> bool:
    """Whether a leaf is made of real numbers, so that it has coordinates."""
    return isinstance(leaf, float) or getattr(getattr(leaf, "dtype", None), "kind", "") == "f"


def _flat(support: Support, shape: tuple[int, ...], name: str) -> Any:
    """A flat prior on a support, of that shape."""
    axes = support.event_ndim
    if len(shape) < axes or (axes == 2 and shape[-1] != shape[-2]):
        raise ShapeError(f"LogDensity.point: {name} has shape {shape}, and a value of {support.name} has {axes} axes.")
    prior = Flat(support, shape[-1]) if axes else Flat(support)
    return prior.iid(*shape[: len(shape) - axes]) if len(shape) > axes else prior
