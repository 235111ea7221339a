"""The log-density of a model as a function of JAX in which the data are arguments, with the data on devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from probdiff.ad.control import hoisted
from probdiff.ad.transforms import value_and_grad
from probdiff.compiler.xla.library import automatic, double, jax, jnp
from probdiff.compiler.xla.single import single
from probdiff.distributions.parameters import unchecked
from probdiff.errors import ShapeError, UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import capture
from probdiff.interop.jax_derivative import differentiable
from probdiff.interop.processes import check_alike, holders
from probdiff.models.posterior import Posterior
from probdiff.ops.shape import BROADCAST_TO, TRANSPOSE
from probdiff.tree import Array, flatten

AXIS = "data"
"""The axis of a mesh over which rows are spread."""

Density = Callable[..., Any]
Place = tuple[int, bool] | bool
"""Which array, and whether its transpose; or a mask that is the same everywhere, by its value."""


class Placed(NamedTuple):
    """`function(q, *data)`, the log-density at the unconstrained vector q (dim,), and its data as JAX's arrays.

    The derivatives that JAX takes along q are ours; there are none along the data.
    """

    function: Density
    data: tuple[Any, ...]
    key: Hashable
    """Equal for functions that do the same, whatever their data."""


def placed(posterior: Any, mesh: Any = None, dtype: Any = np.float64) -> Placed:
    """The log-density of `posterior` with its data on the devices of `mesh`, a `jax.sharding.Mesh`.

    Rows are along the first axis of the observed data; where a model holds its data itself, along the longest first
    axis of the arrays that its density reads. Arrays with that many rows are spread over the axis "data" of the mesh,
    if it has one; all others are on every device. ShapeError if the rows do not divide evenly.

    Where several processes hold the devices of that axis, the model of each is that of its own rows, as many in each:
    their log-likelihoods add up, and the prior counts once. DataError if the models differ in more than their rows.

    dtype  float64, or float32: arrays are in single precision, sums of them and single numbers in double; q, the value
           and the gradient are double
    """
    posterior.check_sampleable()
    if mesh is None:
        whole = Term(posterior.logdensity, posterior, dtype, True)
        with double():
            return Placed(whole.density, tuple(map(jnp.asarray, whole.arrays)), whole.key)
    mesh = automatic(mesh)
    parts = holders(mesh, AXIS)
    if parts == 1:
        whole = Term(posterior.logdensity, posterior, dtype, True)
        found = Placed(whole.density, whole.on(mesh, AXIS), whole.key)
    else:
        prior, likelihood = (Term(f, posterior, dtype, False) for f in _terms(posterior))
        data = prior.on(mesh, None) + likelihood.on(mesh, AXIS)
        found = Placed(_added(prior, likelihood, parts), data, (prior.key, likelihood.key, parts))
    check_alike(mesh, AXIS, found.function, posterior.dim, found.data)
    return found


class Term:
    """A log-density as a function of JAX of q and the arrays that it reads.

    With `fold`, masks that are the same everywhere belong to the program: which ones, hangs on the data.
    """

    def __init__(self, logdensity: Density, posterior: Any, dtype: Any, fold: bool) -> None:
        q = ((posterior.dim,), np.dtype(float))
        program, arrays = hoisted(capture(value_and_grad(logdensity), flatten((0.0,))[1], [q], [0]).program)
        observed = [len(x) for x in posterior.observed.values() if np.ndim(x)]
        self.rows = max(observed or [len(x) for x in arrays], default=0)
        kept, places = _distinct(arrays, self.rows, fold)
        program = _reading(program, kept, places)
        self.arrays = [x.astype(dtype, copy=False) if x.dtype == float else x for x in kept]
        self.density = _differentiable(single(program) if np.dtype(dtype) == np.float32 else program)
        self.key = program.key(), self.rows, np.dtype(dtype)

    def is_spread(self, x: np.ndarray) -> bool:
        """Whether an array has a row for each observation."""
        return len(x) == self.rows

    def on(self, mesh: Any, axis: str | None) -> tuple[Any, ...]:
        """The arrays on the devices of a mesh, rows over an axis if it has it."""
        with double():
            return tuple(_put(x, mesh, axis if axis in mesh.axis_names and self.is_spread(x) else None)
                         for x in self.arrays)  # fmt: skip


def _differentiable(program: Program) -> Density:
    """The density, of a program of it and its gradient."""
    both = differentiable(program)
    density = jax.custom_jvp(lambda *args: both(*args)[0])

    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        value, slope = both(*primals)
        return value, jnp.vdot(slope, tangents[0])

    density.defjvp(rule)
    function: Density = density
    return function


def _distinct(arrays: Sequence[np.ndarray], rows: int, fold: bool) -> tuple[list[np.ndarray], list[Place]]:
    """The arrays to keep, and where each of all is: the gradient of X @ b reads X.T, which is the memory of X."""
    kept: list[np.ndarray] = []
    known: dict[Any, Place] = {}
    for x in sorted(arrays, key=lambda x: len(x) != rows):
        if fold and x.dtype == bool and (x.all() or not x.any()):
            known[_memory(x)] = bool(x.all())
        elif _memory(x) not in known:
            known[_memory(x)], known[_memory(x.T)] = (len(kept), False), (len(kept), x.ndim > 1)
            kept.append(x)
    return kept, [known[_memory(x)] for x in arrays]


def _reading(program: Program, kept: Sequence[np.ndarray], places: Sequence[Place]) -> Program:
    """The program with the arrays to keep as its inputs after q."""
    q, *inputs = program.inputs
    ours = [Node(None, (), {}, x.shape, x.dtype) for x in kept]
    made = {q: q}
    for node, place in zip(inputs, places, strict=True):
        if isinstance(place, bool):
            made[node] = Node(BROADCAST_TO, (place,), {"shape": node.shape}, node.shape, node.dtype)
        elif place[1]:
            axes = tuple(reversed(range(len(node.shape))))
            made[node] = Node(TRANSPOSE, (ours[place[0]],), {"axes": axes}, node.shape, node.dtype)
        else:
            made[node] = ours[place[0]]
    for node in program.nodes:
        args = tuple(made[a] if isinstance(a, Node) else a for a in node.args)
        made[node] = Node(node.op, args, node.params, node.shape, node.dtype)
    return Program([q, *ours], [made[o] if isinstance(o, Node) else o for o in program.outputs])


def _memory(x: np.ndarray) -> Any:
    return x.ctypes.data, x.dtype, x.shape, x.strides


def _put(x: np.ndarray, mesh: Any, axis: str | None) -> Any:
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(axis))
    if axis is not None:
        devices = mesh.shape[axis] // holders(mesh, axis)
        if len(x) % devices:
            raise ShapeError(
                f"placed: {len(x)} rows do not divide evenly over the {devices} devices of the axis {axis!r}. Drop "
                f"{len(x) % devices}, or add {-len(x) % devices} whose observations are NaN, with "
                "Posterior(..., missing='skip')."
            )
    return jax.make_array_from_process_local_data(sharding, x)


def _terms(posterior: Any) -> tuple[Density, Density]:
    """What counts once, and the log-likelihood of the rows."""
    if not isinstance(posterior, Posterior):
        raise UnsupportedError(
            f"placed: of rows that several processes hold, only a Posterior is known to add up, got "
            f"{type(posterior).__name__}."
        )
    if posterior.model.imputed:
        raise UnsupportedError(
            f"placed: the missing observations {', '.join(posterior.model.imputed)} are variables, and several "
            "processes hold the rows. Pass missing='skip'."
        )

    def prior(q: Array) -> Array:
        with np.errstate(all="ignore"), unchecked():
            values, log_prior = posterior.prior.unpack(q, posterior.layout)
            return log_prior + posterior.weight(values) if posterior.factors else log_prior

    def likelihood(q: Array) -> Array:
        with np.errstate(all="ignore"), unchecked():
            return posterior.model.log_likelihood(posterior.prior.unpack(q, posterior.layout)[0])

    return prior, likelihood


def _added(prior: Term, likelihood: Term, parts: int) -> Density:
    """The prior, and the likelihoods of the rows of each part."""
    axes = [0 if likelihood.is_spread(x) else None for x in likelihood.arrays]
    if 0 not in axes:
        raise UnsupportedError("placed: the log-likelihood reads no array with a row for each observation.")

    def density(q: Any, *data: Any) -> Any:
        once, rows = data[: len(prior.arrays)], data[len(prior.arrays) :]
        split = [x if axis is None else x.reshape(parts, -1, *x.shape[1:]) for x, axis in zip(rows, axes, strict=True)]
        return prior.density(q, *once) + jnp.sum(jax.vmap(likelihood.density, (None, *axes))(q, *split))

    return density
