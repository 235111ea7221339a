"""A run that is written as it goes on: draws, then the state of each chain, so that it can be resumed.

A state is written into the slot that is not valid, and one small file, replaced as a whole, makes it valid. Draws that
no state counts are written again by the run that goes on, with the same bits.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import weakref
from collections.abc import Iterator, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import DataError
from probdiff.sampling.chain import Moving
from probdiff.sampling.kernel import State
from probdiff.sampling.store import KINDS, Page, import_zarr, is_checkpoint, lay_out, state_of
from probdiff.sampling.target import Model


class Checkpoint:
    """A store that is open for writing by one run; `page` is what its root says of the run."""

    def __init__(self, path: str, model: Model) -> None:
        self.model = model
        self.release = weakref.finalize(self, _release, _locked(path))
        for cut_off in Path(path).rglob("*.partial"):  # files that a killed run did not finish
            cut_off.unlink()
        self.open(path)
        self.page: Page = dict(self.root.attrs["probdiff"])
        self.places: dict[int, dict[str, Any]] = {c: {} for c in range(self.page["chains"])}

    @staticmethod
    def create(path: str, model: Model, page: Page, states: Sequence[State], chains: Sequence[Moving]) -> Checkpoint:
        """A new store, with the states from which the chains begin; it has its name when it is whole."""
        temporary = f"{path}.new"
        shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed before it began
        with _named_error(path):
            try:
                lay_out(temporary, model, page, states)
                checkpoint = Checkpoint(temporary, model)
                for chain in chains:
                    checkpoint.write(chain, 0.0)
                os.rename(temporary, path)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
        checkpoint.open(path)
        return checkpoint

    def open(self, path: str) -> None:
        """Read and write under this path from now on."""
        self.path = path
        self.root = import_zarr().open_group(path, mode="r+")
        self.arrays: dict[str, Any] = {}

    def close(self) -> None:
        """Let other runs write."""
        self.release()

    def write(self, chain: Moving, seconds: float) -> None:
        """Add the draws since the last time, then the state that belongs to them."""
        if not is_checkpoint(self.path):
            raise FileNotFoundError(errno.ENOENT, "it has been removed", self.path)
        place = dict(self.places[chain.index])
        for phase, kept in (("warmup_", chain.warmup_kept), ("", chain.kept)):
            pieces = kept[place.get(f"{phase}pieces", 0) :]
            if pieces:
                q, info = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
                first = place.get(f"{phase}draws", 0)
                self._add(phase, chain.index, first, q, info)
                place |= {f"{phase}pieces": len(kept), f"{phase}draws": first + len(q)}
        place["slot"] = "b" if place.get("slot") == "a" else "a"
        place |= {"transitions": chain.done_iterations, "seconds": seconds}
        group = self.root[f"state/chain_{chain.index}"]
        archive = io.BytesIO()
        snapshot: dict[str, Any] = {**chain.snapshot()}
        np.savez(archive, **snapshot)
        group.create_array(
            place["slot"], data=np.frombuffer(archive.getvalue(), dtype=np.uint8), overwrite=True,
            dimension_names=(f"byte_{place['slot']}",),
        )  # fmt: skip
        group.update_attributes({name: value for name, value in place.items() if not name.endswith("pieces")})
        self.places[chain.index] = place

    def _add(self, phase: str, chain: int, first: int, q: NDArray[Any], info: NDArray[Any]) -> None:
        where = slice(first, first + len(q))
        self._array(f"{phase}unconstrained/q")[chain, where] = q
        for name, x in self.model.constrain_many(q).items():
            self._array(f"{phase}posterior/{name}")[chain, where] = x
        for k, name in enumerate(self.page["fields"]):
            self._array(f"{phase}sample_stats/{name}")[chain, where] = info[:, k].astype(KINDS.get(name, np.float64))

    def _array(self, name: str) -> Any:
        if name not in self.arrays:
            self.arrays[name] = self.root[name]
        return self.arrays[name]

    def recall(self, chain: Moving) -> float:
        """Put a new chain where the last state was, with the draws up to it; the seconds that they took."""
        place, snapshot = state_of(self.root, chain.index)
        chain.restore(snapshot)
        for phase, kept in (("warmup_", chain.warmup_kept), ("", chain.kept)):
            if n := place.get(f"{phase}draws", 0):
                q = self._array(f"{phase}unconstrained/q")[chain.index, :n]
                if not np.all(np.isfinite(q)):
                    raise DataError(f"resume: {self.path} has lost draws of chain {chain.index}. Start the run anew.")
                stats = [self._array(f"{phase}sample_stats/{name}")[chain.index, :n] for name in self.page["fields"]]
                kept.append((q, np.stack(stats, axis=1, dtype=np.float64, casting="unsafe")))
                place[f"{phase}pieces"] = 1
        self.places[chain.index] = place
        return float(place["seconds"])

    def starts(self) -> list[State]:
        """The starting points."""
        q, logp, grad = (self.root[f"start/{name}"][:] for name in State._fields)
        return [State(q[c].copy(), float(logp[c]), grad[c].copy()) for c in range(len(q))]

    def coordinate_names(self) -> list[str]:
        """Those of the model of the run."""
        return [str(name) for name in self.root["unconstrained/coordinate"][:]]


def check_path(path: str | PathLike[str], numbers: int) -> str:
    """The absolute path of a store of `numbers` that can be made; an OSError that names it, if not."""
    import_zarr()
    target = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"sample.checkpoint: there is no folder {folder!r}. Make it first.")
    if os.path.lexists(target):
        raise FileExistsError(
            f"sample.checkpoint: {target!r} exists. Continue it with resume({os.fspath(path)!r}, posterior), delete "
            "it, or give another path."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"sample.checkpoint: {target!r} cannot be made: no right to write to its folder.")
    free = shutil.disk_usage(folder).free
    if 8 * numbers > free:
        raise OSError(
            errno.ENOSPC,
            f"sample.checkpoint needs up to {8e-9 * numbers:.3g} GB and {1e-9 * free:.3g} GB are free",
            target,
        )
    return target


def _locked(path: str) -> int | None:
    """Hold a folder for this process, until it lets go or ends; None where the system has no such locks."""
    try:
        fcntl = import_module("fcntl")
    except ModuleNotFoundError:
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise DataError(f"The checkpoint {path!r} is being written by another run. Wait for it, or end it.") from None
    except OSError:  # a network file system without locks
        os.close(handle)
        return None
    return handle


def _release(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


@contextlib.contextmanager
def _named_error(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"The checkpoint cannot be written: {error.strerror or error}", path) from error
