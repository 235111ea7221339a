"""Several processes of one program: which of them hold rows, and whether their models are the same otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import double, jax, jnp
from probdiff.errors import DataError, UnsupportedError


def holders(mesh: Any, axis: str) -> int:
    """Among how many groups of processes the devices of an axis are divided; 1 if this one has all, or no such axis."""
    if axis not in mesh.axis_names:
        return 1
    mine = [d.process_index == jax.process_index() for d in mesh.devices.flat]
    places = np.nonzero(np.reshape(mine, mesh.devices.shape))[mesh.axis_names.index(axis)]
    own = np.unique(places)
    whole: int = mesh.shape[axis]
    if not own.size or np.any(np.diff(own) != 1) or whole % own.size or own[0] % own.size:
        raise UnsupportedError(
            f"placed: the devices of process {jax.process_index()} must be neighbours on the axis {axis!r}, as many "
            f"for each process, got places {own.tolist()} of {whole}. Make the mesh with jax.make_mesh."
        )
    return whole // int(own.size)


def check_alike(mesh: Any, axis: str, function: Callable[..., Any], dim: int, data: Sequence[Any]) -> None:
    """DataError unless the processes hold the same program and the same shared arrays, and rows as the mesh says."""
    if jax.process_count() == 1:
        return
    with double():
        text = jax.jit(function).lower(np.zeros(dim), *data).as_text()
    rows, shared = hashlib.sha256(), hashlib.sha256(text.encode())
    for x in data:
        for shard in x.addressable_shards:
            (shared if x.is_fully_replicated else rows).update(np.asarray(shard.data).tobytes())
    marks = np.stack([np.frombuffer(each.digest(), np.uint32) for each in (shared, rows)])
    found = _gathered(mesh, axis, marks)
    if np.any(found[:, :, 0] != marks[0]):
        raise DataError(
            "placed: the models of the processes differ in more than their rows. Give each the same prior and the same "
            "number of rows, and compute what depends on data in the model, from arrays of rows."
        )
    if np.any(found[:, :, 1] != found[:, :1, 1]):
        raise DataError(f"placed: processes at one place of the axis {axis!r} hold different rows. Give them the same.")
    if holders(mesh, axis) > 1 and not np.any(found[:, :, 1] != marks[1]):
        raise DataError("placed: all processes hold the same rows. Give each its own: they add up.")


def on_each_device(mesh: Any, x: np.ndarray, first: str = "") -> Any:
    """What each process has as x, once for each device: (devices, *shape), those of the axis `first` outermost."""
    names = sorted(mesh.axis_names, key=lambda name: name != first)
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(tuple(names)))
    here = np.broadcast_to(x, (len(mesh.local_devices), *x.shape))
    return jax.make_array_from_process_local_data(sharding, here)


def _gathered(mesh: Any, axis: str, marks: np.ndarray) -> np.ndarray:
    """`marks` of the process of each device: (places on the axis, devices at each, *shape of marks)."""
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    found = jax.jit(jnp.asarray, out_shardings=everywhere)(on_each_device(mesh, marks, axis))
    width = mesh.shape[axis] if axis in mesh.axis_names else 1
    return np.asarray(found).reshape(width, -1, *marks.shape)
