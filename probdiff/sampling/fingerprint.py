"""What a run was made of, as text that a checkpoint keeps, and whether a run that goes on is made of the same."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import DataError, ParameterError
from probdiff.sampling.chees import ChEES
from probdiff.sampling.hmc import HMC
from probdiff.sampling.kernel import Kernel, State
from probdiff.sampling.nuts import NUTS
from probdiff.sampling.target import Model

SAME = 1e-8
"""Relative difference of log-densities up to which a model is the same on another machine."""
KERNELS: dict[str, type] = {"HMC": HMC, "NUTS": NUTS, "ChEES": ChEES}

Fingerprint = dict[str, Any]


def fingerprint(model: Model, kernel: Kernel) -> Fingerprint:
    """Kernel, data and versions; names of coordinates and densities at the starting points are kept as arrays."""
    return {
        "kernel": described(kernel),
        "data": {name: digest(np.asarray(x)) for name, x in model.observed.items()},
        "versions": versions(),
    }


def check_same(path: str, then: Fingerprint, names: Sequence[str], starts: Sequence[State], model: Model) -> None:
    """DataError if the model, its data or this package are not those of the checkpoint; a warning if only bits are."""
    if then["versions"]["probdiff"] != versions()["probdiff"]:
        raise DataError(
            f"resume: {path!r} was made by probdiff {then['versions']['probdiff']}, this is {versions()['probdiff']}. "
            "Go on with that version; Draws.load reads what is there with any."
        )
    if list(names) != list(model.coordinate_names):
        raise DataError(
            f"resume: {path!r} has {len(names)} coordinates ({_some(names)}), the model has {model.dim} "
            f"({_some(model.coordinate_names)}). Give the model of that run."
        )
    data = {name: digest(np.asarray(x)) for name, x in model.observed.items()}
    if differing := [name for name in {**then["data"], **data} if then["data"].get(name) != data.get(name)]:
        raise DataError(
            f"resume: the data {', '.join(differing)} are not those of {path!r}. Give the data of that run."
        )
    exact = True
    for c, state in enumerate(starts):
        with np.errstate(all="ignore"):
            logp, grad = model.value_and_grad(state.q.copy())
        if not abs(logp - state.logp) <= SAME * max(1.0, abs(state.logp)):
            raise DataError(
                f"resume: the log-density where chain {c} began is {logp:.10g}, in {path!r} it is {state.logp:.10g}. "
                "Give the model and data of that run."
            )
        exact = exact and logp == state.logp and np.array_equal(grad, state.grad)
    if not exact:
        changed = [f"{name} {then['versions'][name]} -> {now}" for name, now in versions().items()
                   if then["versions"].get(name) != now]  # fmt: skip
        warnings.warn(
            f"resume: densities differ from those of {path!r} in their last bits"
            + (f" ({', '.join(changed)})" if changed else "")
            + ". The draws are as good, but not those of the unbroken run.",
            RuntimeWarning,
            stacklevel=3,
        )


def chosen_kernel(path: str, then: Fingerprint, kernel: Kernel | None) -> Kernel:
    """The kernel of a checkpoint: `kernel` if it is the same, or one made anew."""
    was = then["kernel"]
    if kernel is not None:
        if described(kernel) != was:
            raise ParameterError(f"resume.kernel must be that of {path!r}, {was['text']}, got {kernel!r}")
        return kernel
    try:
        found: Kernel = KERNELS[was["name"]](**{name: ast.literal_eval(x) for name, x in was["fields"].items()})
    except (KeyError, ValueError, SyntaxError):
        raise ParameterError(f"resume.kernel must be given for {path!r}: it is {was['text']}") from None
    return found


def described(kernel: Any) -> Mapping[str, Any]:
    """The name of a kernel and the fields that are not at their defaults, as text that is the same in each process."""
    fields = {
        f.name: _text(getattr(kernel, f.name))
        for f in (dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel) else ())
        if f.default is dataclasses.MISSING or getattr(kernel, f.name) != f.default
    }
    name = type(kernel).__qualname__
    return {"name": name, "fields": fields, "text": f"{name}({', '.join(f'{k}={v}' for k, v in fields.items())})"}


def _text(value: Any) -> str:
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return repr(value)


def digest(x: NDArray[Any]) -> str:
    """A hash of an array's kind, shape and elements."""
    return hashlib.sha256(f"{x.dtype.str}{x.shape}".encode() + np.ascontiguousarray(x).tobytes()).hexdigest()[:32]


def versions() -> dict[str, str]:
    """Of what bits may depend on."""
    import platform
    from importlib import metadata

    libraries = {name: metadata.version(name) for name in ("probdiff", "numpy", "scipy", "llvmlite")}
    return libraries | {"python": platform.python_version(), "machine": platform.machine()}


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
