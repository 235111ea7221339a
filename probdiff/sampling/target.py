"""What the sampler asks of a model, and the wrapper that makes a plain function one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import ParameterError
from probdiff.sampling.kernel import Vector


class Model(Protocol):
    """A log-density over an unconstrained vector, and the way from there to named parameters.

    `value_and_grad(q)` includes the log-Jacobian, may return -inf or NaN, and must give a new gradient array each time.
    A model may also have `unconstrain(values) -> q`, so that `init=` takes named values, `explain_point(q) -> str`,
    which says which term is not finite at `q` (empty if all are), and `releases_gil = True` if `value_and_grad` may run
    in several threads at once.
    """

    @property
    def dim(self) -> int: ...
    @property
    def coordinate_names(self) -> Sequence[str]: ...
    @property
    def dims(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def coords(self) -> Mapping[str, Any]: ...
    @property
    def observed(self) -> Mapping[str, NDArray[Any]]: ...

    def value_and_grad(self, q: Vector, /) -> tuple[Any, Any]: ...
    def initial(self, rng: np.random.Generator, /) -> Vector: ...
    def constrain(self, q: Vector, /) -> dict[str, NDArray[Any]]: ...
    def constrain_many(self, q: Vector, /) -> dict[str, NDArray[Any]]: ...
    def check_sampleable(self) -> None: ...


class Target:
    """A function `q -> (log-density, gradient)` of a vector of `dim` real numbers, as a model.

    function  its value and gradient; the gradient is a new array of shape (dim,) each time
    names     a name per coordinate; without them there is one parameter `x` of shape (dim,)
    initial   `rng -> q`, a candidate starting point; uniform in (-2, 2) without it
    """

    def __init__(
        self,
        function: Callable[[Vector], tuple[Any, Any]],
        dim: int,
        *,
        names: Sequence[str] | None = None,
        initial: Callable[[np.random.Generator], Vector] | None = None,
    ) -> None:
        if not callable(function):
            raise ParameterError(f"Target.function must be callable, got {function!r}")
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
            raise ParameterError(f"Target.dim must be a positive integer, got {dim!r}")
        if names is not None and (len(names) != dim or len(set(names)) != dim):
            raise ParameterError(f"Target.names must be {dim} different names, got {list(names)!r}")
        self.value_and_grad = function
        self.dim = int(dim)
        self.names = None if names is None else tuple(names)
        self.coordinate_names = list(names) if names is not None else [f"x[{i}]" for i in range(dim)]
        self.dims: dict[str, tuple[str, ...]] = {}
        self.coords: dict[str, Sequence[Any]] = {}
        self.observed: dict[str, NDArray[Any]] = {}
        self._initial = initial

    def initial(self, rng: np.random.Generator) -> Vector:
        """A candidate starting point."""
        return rng.uniform(-2.0, 2.0, self.dim) if self._initial is None else self._initial(rng)

    def constrain(self, q: Vector) -> dict[str, NDArray[Any]]:
        """The parameters at `q`."""
        return {name: value[0] for name, value in self.constrain_many(q[None]).items()}

    def constrain_many(self, q: Vector) -> dict[str, NDArray[Any]]:
        """The parameters at each row of `q`."""
        if self.names is None:
            return {"x": q}
        return {name: q[:, i] for i, name in enumerate(self.names)}

    def check_sampleable(self) -> None:
        """Every coordinate is a real number: nothing to refuse."""

    def __repr__(self) -> str:
        return f"Target({getattr(self.value_and_grad, '__name__', self.value_and_grad)!s}, dim={self.dim})"
