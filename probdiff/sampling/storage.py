"""Draws in a file: one `.npz` archive of arrays and a JSON page that names them; no pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.errors import DataError

if TYPE_CHECKING:
    from probdiff.sampling.draws import Draws

FORMAT = "probdiff.Draws"
VERSION = 1
GROUPS = ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats", "observed", "coords", "diverged")


def save(draws: Draws, path: str | PathLike[str]) -> None:
    """Write to a temporary file beside `path`, then rename: a reader sees the old file or the whole new one."""
    target = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"Draws.save: there is no folder {folder!r}. Make it first.")
    page: dict[str, Any] = {"format": FORMAT, "version": VERSION, "groups": {}}
    arrays: dict[str, Any] = {}
    for group in GROUPS:
        members = getattr(draws, group)
        page["groups"][group] = list(members)
        for i, (name, x) in enumerate(members.items()):
            x = np.asarray(x)
            if x.dtype == object:
                x = _strings(x, group, name)
            # Numbered members: a variable's name may hold what a file name in an archive may not.
            arrays[f"{group}.{i}"] = x
    page |= {"dims": draws.dims, "attrs": draws.attrs, "notes": draws.notes}
    arrays["page"] = np.frombuffer(json.dumps(page, default=_plain).encode(), dtype=np.uint8)
    handle, temporary = tempfile.mkstemp(prefix=".draws-", suffix=".npz", dir=folder)
    done = False
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        done = True
    finally:
        if not done:
            os.unlink(temporary)


def load(path: str | PathLike[str]) -> Draws:
    """Read what `save` wrote, or the checkpoint of a run, or say what else the file is."""
    from probdiff.sampling import store
    from probdiff.sampling.draws import Draws

    name = os.fspath(path)
    if store.is_checkpoint(name):
        return store.load(name)
    if not zipfile.is_zipfile(name):
        if not os.path.exists(name):
            raise FileNotFoundError(f"Draws.load: there is no file {name!r}")
        raise DataError(f"Draws.load: {name!r} is not a file of Draws.save (no npz archive)")
    with np.load(name, allow_pickle=False) as archive:
        if "page" not in archive:
            raise DataError(f"Draws.load: {name!r} is not a file of Draws.save (no page)")
        page = json.loads(archive["page"].tobytes())
        if page.get("format") != FORMAT or page.get("version") != VERSION:
            raise DataError(
                f"Draws.load: {name!r} has format {page.get('format')!r} version {page.get('version')!r}; "
                f"this probdiff reads {FORMAT!r} version {VERSION}"
            )
        groups = {
            group: {name: archive[f"{group}.{i}"] for i, name in enumerate(names)}
            for group, names in page["groups"].items()
        }
    return Draws(**groups, dims=page["dims"], attrs=page["attrs"], notes=tuple(page["notes"]))


def _strings(x: Any, group: str, name: str) -> Any:
    if not all(isinstance(value, str) for value in x.flat):
        raise DataError(f"Draws.save: {group}[{name!r}] holds Python objects. Give numbers or strings.")
    return x.astype(np.str_)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
