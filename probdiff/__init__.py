"""probdiff: differentiable log-likelihoods in plain NumPy, and the samplers that use them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from probdiff.ad.broadcast import Ref, broadcast
from probdiff.ad.check import check_gradient
from probdiff.ad.checkpoint import checkpoint
from probdiff.ad.control import cond, fori_loop, scan, while_loop
from probdiff.ad.fwddiff import fwddiff
from probdiff.ad.jacobian import hessian, hvp, jacobian
from probdiff.ad.rules import custom
from probdiff.ad.thunk import Thunk, unthunk
from probdiff.ad.transforms import grad, gradient, pullback, pushforward, stop_gradient, value_and_grad
from probdiff.compiler.compiled import compile
from probdiff.ops.dispatch import is_lifted as is_traced
from probdiff.ops.functions.selection import take

if TYPE_CHECKING:
    from probdiff import distributions, interop, linalg, models, sampling, special
    from probdiff.approximate import laplace, optimize, pathfinder
    from probdiff.compiler.native.parallel import set_num_threads
    from probdiff.interop import to_jax, to_pytensor, to_torch
    from probdiff.sampling import HMC, NUTS, Draws, resume, sample

__version__ = "0.1.0"

_lazy = {
    "set_num_threads": "probdiff.compiler.native.parallel",
    "to_jax": "probdiff.interop",
    "to_pytensor": "probdiff.interop",
    "to_torch": "probdiff.interop",
    "sample": "probdiff.sampling",
    "HMC": "probdiff.sampling",
    "NUTS": "probdiff.sampling",
    "Draws": "probdiff.sampling",
    "resume": "probdiff.sampling",
    "laplace": "probdiff.approximate",
    "optimize": "probdiff.approximate",
    "pathfinder": "probdiff.approximate",
}
_modules = ("distributions", "interop", "linalg", "models", "sampling", "special")


def __getattr__(name: str) -> Any:
    if name in _lazy:
        return getattr(import_module(_lazy[name]), name)
    if name in _modules:
        return import_module(f"probdiff.{name}")
    raise AttributeError(f"module 'probdiff' has no attribute {name!r}")


__all__ = [
    "HMC",
    "NUTS",
    "Draws",
    "Ref",
    "Thunk",
    "broadcast",
    "check_gradient",
    "checkpoint",
    "compile",
    "cond",
    "custom",
    "distributions",
    "fori_loop",
    "fwddiff",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "interop",
    "is_traced",
    "jacobian",
    "laplace",
    "linalg",
    "models",
    "optimize",
    "pathfinder",
    "pullback",
    "pushforward",
    "resume",
    "sample",
    "sampling",
    "scan",
    "set_num_threads",
    "special",
    "stop_gradient",
    "take",
    "to_jax",
    "to_pytensor",
    "to_torch",
    "unthunk",
    "value_and_grad",
    "while_loop",
]
