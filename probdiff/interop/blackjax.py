"""Our models in BlackJAX, and in whatever else takes a log-density that JAX can call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from probdiff.approximate.points import first_point, generator, named_draws
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.sampling.draws import Draws
from probdiff.sampling.target import Model


class JaxDensity:
    """The log-density of a model as a function of an unconstrained JAX array (dim,), for `jit`, `grad`, `jvp`, `vmap`.

    Value and gradient are ours, one native call for each vector, reached by `jax.pure_callback` on the CPU; a batch is
    one callback. Derivatives are first ones. Without `jax_enable_x64` they are rounded to single precision on the way.
    """

    def __init__(self, posterior: Model) -> None:
        self.posterior = posterior
        self._function = _jax_function(posterior)

    def __call__(self, q: Any) -> Any:
        """The log-density of `q`."""
        return self._function(q)

    def initial_positions(self, chains: int, seed: int = 0) -> np.ndarray:
        """A start for each chain (chains, dim), where log-density and gradient are finite."""
        return np.stack(
            [first_point(self.posterior, self.posterior, generator(seed, k), "to_blackjax").q for k in range(chains)]
        )

    def draws(self, positions: ArrayLike, stats: Mapping[str, ArrayLike] | None = None) -> Draws:
        """Positions (chain, draw, dim) by name, with statistics (chain, draw), under ArviZ's names if they have one."""
        q = np.asarray(positions, dtype=np.float64)
        if q.ndim != 3 or q.shape[-1] != self.posterior.dim:
            raise ShapeError(f"draws needs positions (chain, draw, {self.posterior.dim}), got shape {q.shape}.")
        kept = {name: np.asarray(x) for name, x in (stats or {}).items()}
        return named_draws(self.posterior, q, kept, {"inference_library": "blackjax"})

    def __repr__(self) -> str:
        return f"JaxDensity({self.posterior!r})"


def to_blackjax(posterior: Model) -> JaxDensity:
    """`posterior` as a log-density that BlackJAX's algorithms take: `blackjax.nuts(to_blackjax(posterior), …)`.

    Its `initial_positions(chains)` are starts, and `draws(positions)` gives positions back by name.
    """
    posterior.check_sampleable()
    return JaxDensity(posterior)


def _jax_function(posterior: Model) -> Any:
    try:
        import jax
        import jax.numpy as jnp
    except ModuleNotFoundError:
        raise UnsupportedError("to_blackjax needs JAX. Install it with: pip install jax") from None

    def evaluate(q: Any) -> tuple[np.ndarray, np.ndarray]:
        q = np.asarray(q)
        rows = q.reshape(-1, posterior.dim).astype(np.float64)
        with np.errstate(all="ignore"):
            found = [posterior.value_and_grad(row) for row in rows]
        values = np.array([value for value, _ in found], dtype=q.dtype).reshape(q.shape[:-1])
        return values, np.array([gradient for _, gradient in found], dtype=q.dtype).reshape(q.shape)

    def value_and_grad(q: Any) -> Any:
        if q.shape != (posterior.dim,):
            raise ShapeError(f"The log-density needs a vector of length {posterior.dim}, got shape {q.shape}.")
        shapes = jax.ShapeDtypeStruct((), q.dtype), jax.ShapeDtypeStruct(q.shape, q.dtype)
        return jax.pure_callback(evaluate, shapes, q, vmap_method="expand_dims")

    def slope(primals: Any, tangents: Any) -> Any:
        value, gradient = value_and_grad(*primals)
        return value, jnp.vdot(gradient, *tangents)

    logdensity = jax.custom_jvp(lambda q: value_and_grad(q)[0])
    logdensity.defjvp(slope)
    return lambda q: logdensity(jnp.asarray(q))
