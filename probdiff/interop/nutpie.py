"""Our models in nutpie."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.sampling.target import Model


def to_nutpie(posterior: Model) -> Any:
    """`posterior` as a compiled model of nutpie: `nutpie.sample(to_nutpie(posterior))`.

    The log-density and its gradient are ours, called from nutpie's threads through Python, one at a time; draws come
    out by name, derived values included, with the posterior's dimensions. Chains start at the model's candidates.
    """
    try:
        from_pyfunc = import_module("nutpie.compiled_pyfunc").from_pyfunc
    except ModuleNotFoundError:
        raise UnsupportedError("to_nutpie needs nutpie. Install it with: pip install nutpie") from None
    posterior.check_sampleable()
    example = {name: np.asarray(x) for name, x in posterior.constrain(np.zeros(posterior.dim)).items()}
    coords = {dim: _labels(np.asarray(labels)) for dim, labels in posterior.coords.items()}
    for name, axes in posterior.dims.items():  # nutpie learns the length of an axis from its labels
        coords |= {axis: np.arange(n) for axis, n in zip(axes, example[name].shape, strict=True) if axis not in coords}

    def logdensity() -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        def value_and_grad(q: np.ndarray) -> tuple[float, np.ndarray]:
            with np.errstate(all="ignore"):
                value, gradient = posterior.value_and_grad(q)
            return float(value), np.asarray(gradient)

        return value_and_grad

    def expand(*seeds: int) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        def named(q: np.ndarray) -> dict[str, np.ndarray]:
            return {name: np.asarray(x, dtype=np.float64) for name, x in posterior.constrain(q).items()}

        return named

    return from_pyfunc(
        ndim=posterior.dim,
        make_logp_fn=logdensity,
        make_expand_fn=expand,
        expanded_dtypes=[np.dtype(np.float64)] * len(example),
        expanded_shapes=[x.shape for x in example.values()],
        expanded_names=list(example),
        coords=coords,
        dims=dict(posterior.dims),
        make_initial_point_fn=lambda seed: posterior.initial(np.random.default_rng(seed)),
    )


def _labels(labels: np.ndarray) -> np.ndarray:
    """Numbers as they are, everything else as the objects that nutpie takes for text."""
    return labels if labels.dtype.kind in "iuf" else labels.astype(str).astype(object)
