"""What `sample` can run where: machine code or XLA, and what it refuses early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from probdiff.errors import ParameterError, UnsupportedError
from probdiff.sampling.kernel import State
from probdiff.sampling.target import Model

if TYPE_CHECKING:
    from probdiff.sampling.lockstep import Lockstep

Backend = Literal["native", "jax"]
Precision = Literal["float64", "float32"]


def check_backend(
    backend: Any, model: Any, kernel: Any, chains: int, mesh: Any, precision: Any, owner: str = "sample"
) -> None:
    """Refuse what cannot be together, before anything is computed."""
    if backend not in ("native", "jax"):
        raise ParameterError(f"{owner}.backend must be 'native' or 'jax', got {backend!r}")
    if precision not in ("float64", "float32"):
        raise ParameterError(f"{owner}.precision must be 'float64' or 'float32', got {precision!r}")
    least = getattr(kernel, "least_chains", 1)
    if backend == "native":
        if mesh is not None:
            raise ParameterError(f"{owner}.mesh is for backend='jax'. Give that, or leave mesh out.")
        if precision != "float64":
            raise ParameterError(
                f"{owner}.precision='float32' is for backend='jax'. Give that, or leave precision out."
            )
        if least > 1:
            raise UnsupportedError(
                f"{owner}.kernel={kernel!r} moves many chains together under XLA. Give backend='jax', or take NUTS()."
            )
        return
    from probdiff.compiler.xla.library import jax
    from probdiff.interop.processes import holders

    if not hasattr(kernel, "motion"):
        raise UnsupportedError(f"{owner}.kernel must be NUTS() or ChEES() with backend='jax', got {kernel!r}")
    if chains < least:
        raise ParameterError(
            f"{owner}.chains must be at least {least} for {type(kernel).__name__}, which learns from all chains "
            f"together, got {chains}. Give more, or take NUTS()."
        )
    if not hasattr(model, "logdensity"):
        raise UnsupportedError(
            f"{owner}.backend='jax' needs a model whose log-density can be traced, got {type(model).__name__}. "
            "Build a Posterior, or a LogDensity of a NumPy function."
        )
    if mesh is None:
        return
    if not isinstance(mesh, jax.sharding.Mesh):
        raise ParameterError(f"{owner}.mesh must be a jax.sharding.Mesh or None, got {mesh!r}. See jax.make_mesh.")
    axis = chain_axis(mesh)
    if axis is not None and (parts := holders(mesh, axis)) > 1:
        raise UnsupportedError(
            f"{owner}.mesh splits chains over the axis {axis!r}, whose devices belong to {parts} processes. Take those "
            "of one process, and spread rows of the data over the others with an axis 'data'; or run chains apart "
            "with executor=."
        )
    if axis is not None and chains % mesh.shape[axis]:
        raise ParameterError(
            f"{owner}.chains must be a multiple of the {mesh.shape[axis]} devices on the mesh's axis {axis!r}, "
            f"got {chains}"
        )


def chain_axis(mesh: Any) -> str | None:
    """The axis of a mesh over which chains are split: "chains", or the first one, if it is not "data"."""
    axes: tuple[str, ...] = () if mesh is None else mesh.axis_names
    return "chains" if "chains" in axes else next((axis for axis in axes[:1] if axis != "data"), None)


def lockstep(model: Model, kernel: Any, rngs: Sequence[np.random.Generator], states: Sequence[State],
             settings: Mapping[str, Any], mesh: Any) -> Lockstep:  # fmt: skip
    """All chains of a run under XLA, as one that a crew moves."""
    from probdiff.compiler.xla.library import double
    from probdiff.sampling.device import Device
    from probdiff.sampling.lockstep import Lockstep

    tune, draws, keep_warmup = settings["tune"], settings["draws"], settings["keep_warmup"]
    with double():
        device = Device(model, mesh, chain_axis(mesh), settings["precision"])
        motion = kernel.motion(device, rngs, device.starting(states), tune)
    return Lockstep(motion, len(states), model.dim, tune, draws, keep_warmup)
