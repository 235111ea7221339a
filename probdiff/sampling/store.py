"""The layout of a run on disk: how a store begins, and how it is read.

Zarr v3; xarray opens it as a tree::

    posterior, sample_stats        name (chain, draw, ...), filled with NaN, 0 or False where there is no draw yet
    unconstrained                  q (chain, draw, coordinate)
    warmup_...                     the same three for the warm-up, if it is kept
    observed_data
    start                          q, logp, grad of the starting points
    state/chain_<k>                two slots of bytes, an archive of `Chain.snapshot()` each; the attributes say which
                                   slot is valid and how many draws belong to it
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import DataError, UnsupportedError
from probdiff.sampling.chain import rectangle
from probdiff.sampling.diagnose import quick
from probdiff.sampling.draws import Draws
from probdiff.sampling.kernel import State
from probdiff.sampling.target import Model

FORMAT = "probdiff.checkpoint"
VERSION = 1
CHUNK_NUMBERS = 1 << 19
"""About how many numbers (4 MB) are a chunk: what is rewritten when a draw is added to it."""
KINDS = {"n_steps": "int64", "tree_depth": "int64", "diverging": "bool", "reached_max_treedepth": "bool"}
"""Kinds of statistics that are no float64."""

Page = dict[str, Any]
"""What the root says of the run: its settings, and by what the model is known again."""


def is_checkpoint(path: str | PathLike[str]) -> bool:
    """Whether a path is a Zarr store."""
    return os.path.isfile(os.path.join(path, "zarr.json"))


def check_format(path: str | PathLike[str], owner: str) -> str:
    """The absolute path of a store of this version, or an error that says what else is there."""
    name = os.path.abspath(os.fspath(path))
    if not os.path.exists(name):
        raise FileNotFoundError(f"{owner}: there is no checkpoint {name!r}")
    page = import_zarr().open_group(name, mode="r").attrs.get("probdiff", {}) if is_checkpoint(name) else {}
    if page.get("format") != FORMAT or page.get("version") != VERSION:
        found = f"format {page.get('format')!r} version {page.get('version')!r}" if page else "something else"
        raise DataError(f"{owner}: {name!r} is {found}; this probdiff reads {FORMAT!r} version {VERSION}")
    return name


def load(path: str | PathLike[str]) -> Draws:
    """The draws of a store, finished or not: those of the chains that make the largest rectangle."""
    name = check_format(path, "Draws.load")
    root = import_zarr().open_group(name, mode="r")
    page = root.attrs["probdiff"]
    places, snapshots = zip(*(state_of(root, c) for c in range(page["chains"])), strict=True)
    n = rectangle([place.get("draws", 0) for place in places])
    kept = [c for c, place in enumerate(places) if place.get("draws", 0) >= n]
    warm = min(places[c].get("warmup_draws", 0) for c in kept)

    def group(name: str, size: int) -> dict[str, NDArray[Any]]:
        return {x: root[f"{name}/{x}"][:][kept, :size] for x in page[name.removeprefix("warmup_")]}

    def whole(name: str) -> NDArray[Any]:
        x: NDArray[Any] = root[name][:]
        return np.array(x.tolist()) if x.dtype.kind == "T" else x

    partial = len(kept) < page["chains"] or n < page["draws"]
    note = f"Unfinished: {n} of {page['draws']} draws of {len(kept)} of {page['chains']} chains."
    seconds = max(place["seconds"] for place in places)
    draws = Draws(
        posterior=group("posterior", n),
        sample_stats=group("sample_stats", n),
        warmup_posterior=group("warmup_posterior", warm) if warm else {},
        warmup_sample_stats=group("warmup_sample_stats", warm) if warm else {},
        observed={x: whole(f"observed_data/{x}") for x in page["observed"]},
        dims={x: tuple(dims) for x, dims in page["dims"].items()},
        coords={x: whole(f"posterior/{x}") for x in page["coords"]},
        attrs=page["attrs"] | {"sampling_time": seconds, "partial": partial},
        diverged=_diverged([snapshots[c] for c in kept], n),
    )
    return replace(draws, notes=((note,) if partial else ()) + (tuple(quick(draws)) if n else ()))


def state_of(root: Any, chain: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """How far a chain is, and its snapshot there."""
    group = root[f"state/chain_{chain}"]
    place = dict(group.attrs)
    with np.load(io.BytesIO(group[place["slot"]][:].tobytes()), allow_pickle=False) as archive:
        return place, dict(archive)


def _diverged(snapshots: Sequence[Mapping[str, NDArray[Any]]], n: int) -> dict[str, NDArray[Any]]:
    """Where the first `n` draws diverged, from snapshots that know it, as in `Draws.diverged`."""
    known = [(c, x, x["diverged_at"] < n) for c, x in enumerate(snapshots) if "diverged_at" in x]
    if not any(here.any() for _, _, here in known):
        return {}
    return {
        "chain": np.concatenate([np.full(here.sum(), c) for c, _, here in known]),
        "draw": np.concatenate([x["diverged_at"][here] for _, x, here in known]),
        "q": np.concatenate([x["diverged_q"][here] for _, x, here in known]),
        "momentum": np.concatenate([x["diverged_r"][here] for _, x, here in known]),
    }


def lay_out(path: str, model: Model, page: Page, states: Sequence[State]) -> None:
    """All groups and arrays of a new store, without draws."""
    chains = len(states)
    start = np.stack([state.q for state in states])
    named = {name: np.asarray(x) for name, x in model.constrain_many(start).items()}
    page = page | {
        "format": FORMAT, "version": VERSION, "posterior": list(named), "sample_stats": page["fields"],
        "observed": list(model.observed), "dims": {name: list(dims) for name, dims in model.dims.items()},
        "coords": list(model.coords),
    }  # fmt: skip
    root = import_zarr().create_group(path, zarr_format=3, attributes={"probdiff": page})

    def section(phase: str, draws: int) -> None:
        def add(group: Any, name: str, shape: tuple[int, ...], dims: Sequence[str], dtype: Any) -> None:
            size = max(int(np.prod(shape)), 1)
            group.create_array(
                name, shape=(chains, draws, *shape), dtype=dtype,
                chunks=(1, min(draws, max(1, CHUNK_NUMBERS // size)), *(max(n, 1) for n in shape)),
                fill_value=np.nan if np.dtype(dtype).kind == "f" else 0, dimension_names=("chain", "draw", *dims),
            )  # fmt: skip

        posterior = root.create_group(f"{phase}posterior")
        for name, x in named.items():
            given = model.dims.get(name, ())
            axes = [given[i] if i < len(given) else f"{name}_dim_{i}" for i in range(x.ndim - 1)]
            add(posterior, name, x.shape[1:], axes, x.dtype)
        for name, labels in model.coords.items():
            _put(posterior, name, labels, (name,))
        statistics = root.create_group(f"{phase}sample_stats")
        for name in page["fields"]:
            add(statistics, name, (), (), KINDS.get(name, "float64"))
        unconstrained = root.create_group(f"{phase}unconstrained")
        add(unconstrained, "q", (model.dim,), ("coordinate",), "float64")
        _put(unconstrained, "coordinate", model.coordinate_names, ("coordinate",))

    section("", page["draws"])
    if page["keep_warmup"] and page["tune"]:
        section("warmup_", page["tune"])
    observed = root.create_group("observed_data")
    for name, x in model.observed.items():
        dims = model.dims.get(name, ())
        axes = [dims[i] if i < len(dims) else f"{name}_dim_{i}" for i in range(np.ndim(x))]
        _put(observed, name, x, axes)
    group = root.create_group("start")
    _put(group, "q", start, ("chain", "coordinate"))
    _put(group, "logp", [state.logp for state in states], ("chain",))
    _put(group, "grad", np.stack([state.grad for state in states]), ("chain", "coordinate"))
    state = root.create_group("state")
    for c in range(chains):
        state.create_group(f"chain_{c}")


def _put(group: Any, name: str, values: Any, dims: Sequence[str]) -> None:
    x = np.asarray(values)
    if x.dtype.kind in "UO":  # the Zarr kind of strings of any length
        text = np.array([str(value) for value in x.flat], dtype=np.dtypes.StringDType()).reshape(x.shape)
        group.create_array(name, shape=x.shape, dtype=text.dtype, dimension_names=tuple(dims))[...] = text
    else:
        group.create_array(name, data=x, dimension_names=tuple(dims))


def import_zarr() -> Any:
    try:
        return import_module("zarr")
    except ModuleNotFoundError:
        raise UnsupportedError("Checkpoints need zarr. Install it with: pip install 'probdiff[checkpoint]'") from None
