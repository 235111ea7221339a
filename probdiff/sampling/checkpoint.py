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
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probdiff.errors import DataError
from probdiff.sampling.chain import Block, Mover, lanes_of
from probdiff.sampling.kernel import State
from probdiff.sampling.store import KINDS, Page, import_zarr, is_checkpoint, lay_out, state_of
from probdiff.sampling.target import Model


class Checkpoint:
    """A store that is open for writing by one run, or by the run of one chain; `page` is what its root says of the run.

    Chains share no file that is written, so that each may have a writer of its own.
    """

    def __init__(self, path: str, model: Model, chain: int | None = None) -> None:
        self.model = model
        self.release = weakref.finalize(self, _release, _locked(path, chain))
        for cut_off in Path(path).rglob("*.partial"):  # files that a killed run did not finish
            if chain is None or _belongs(cut_off.relative_to(path).parts, chain):
                cut_off.unlink()
        self.open(path)
        self.page: Page = dict(self.root.attrs["probdiff"])
        self.places: dict[int, dict[str, Any]] = {c: {} for c in range(self.page["chains"])}

    @staticmethod
    def create(path: str, model: Model, page: Page, states: Sequence[State], chains: Sequence[Mover]) -> Checkpoint:
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

    def write(self, chain: Mover, seconds: float) -> None:
        """Add the draws since the last time, then the state that belongs to them."""
        if not is_checkpoint(self.path):
            raise FileNotFoundError(errno.ENOENT, "it has been removed", self.path)
        lanes = lanes_of(chain)
        place = dict(self.places[chain.index])
        for phase, kept in (("warmup_", chain.warmup_kept), ("", chain.kept)):
            pieces = kept[place.get(f"{phase}pieces", 0) :]
            if pieces:
                q, info = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
                q, info = (np.moveaxis(x, 1, 0) if x.ndim == 3 else x[None] for x in (q, info))
                first = place.get(f"{phase}draws", 0)
                self._add(phase, lanes, first, q, info)
                place |= {f"{phase}pieces": len(kept), f"{phase}draws": first + q.shape[1]}
        place["slot"] = "b" if place.get("slot") == "a" else "a"
        place |= {"transitions": chain.done_iterations, "seconds": seconds}
        for lane in lanes[:0:-1]:  # for who reads them one by one
            self._state(lane.index, lane.snapshot(), place)
        self._state(chain.index, chain.snapshot() | lanes[0].snapshot(), place)  # makes all of it valid
        self.places[chain.index] = place

    def _state(self, chain: int, snapshot: dict[str, Any], place: Mapping[str, Any]) -> None:
        group = self.root[f"state/chain_{chain}"]
        archive = io.BytesIO()
        np.savez(archive, **snapshot)
        group.create_array(
            place["slot"], data=np.frombuffer(archive.getvalue(), dtype=np.uint8), overwrite=True,
            dimension_names=(f"byte_{place['slot']}",),
        )  # fmt: skip
        group.update_attributes({name: value for name, value in place.items() if not name.endswith("pieces")})

    def _add(self, phase: str, lanes: Sequence[Any], first: int, q: NDArray[Any], info: NDArray[Any]) -> None:
        chains, n, dim = q.shape
        where = slice(lanes[0].index, lanes[-1].index + 1), slice(first, first + n)
        self._array(f"{phase}unconstrained/q")[where] = q
        for name, x in self.model.constrain_many(q.reshape(-1, dim)).items():
            self._array(f"{phase}posterior/{name}")[where] = np.reshape(x, (chains, n, *np.shape(x)[1:]))
        for k, name in enumerate(self.page["fields"]):
            self._array(f"{phase}sample_stats/{name}")[where] = info[:, :, k].astype(KINDS.get(name, np.float64))

    def _array(self, name: str) -> Any:
        if name not in self.arrays:
            self.arrays[name] = self.root[name]
        return self.arrays[name]

    def recall(self, chain: Mover) -> float:
        """Put a new chain where the last state was, with the draws up to it; the seconds that they took."""
        place, snapshot = state_of(self.root, chain.index)
        chain.restore(snapshot)
        lanes = lanes_of(chain)
        where = slice(lanes[0].index, lanes[-1].index + 1)
        for phase, kept in (("warmup_", chain.warmup_kept), ("", chain.kept)):
            if n := place.get(f"{phase}draws", 0):
                q = self._array(f"{phase}unconstrained/q")[where, :n]
                if not np.all(np.isfinite(q)):
                    raise DataError(f"resume: {self.path} has lost draws of chain {chain.index}. Start the run anew.")
                stats = [self._array(f"{phase}sample_stats/{name}")[where, :n] for name in self.page["fields"]]
                info = np.stack(stats, axis=-1, dtype=np.float64, casting="unsafe")
                together = lanes[0] is not chain
                kept.append(Block(np.moveaxis(q, 0, 1), np.moveaxis(info, 0, 1), n) if together else (q[0], info[0]))
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


def _belongs(parts: tuple[str, ...], chain: int) -> bool:
    """Whether a file of a store holds draws or the state of a chain: `…/c/<chain>/…`, `state/chain_<chain>/…`."""
    return f"chain_{chain}" in parts[:2] or ("c", str(chain)) in zip(parts, parts[1:], strict=False)


def _locked(path: str, chain: int | None) -> list[int]:
    """Hold a store, or a chain of it, for this process, until it lets go or ends; [] where there are no such locks."""
    try:
        fcntl = import_module("fcntl")
    except ModuleNotFoundError:
        return []
    wanted = [(path, fcntl.LOCK_EX if chain is None else fcntl.LOCK_SH)]
    if chain is not None:
        wanted.append((os.path.join(path, f"state/chain_{chain}"), fcntl.LOCK_EX))
    handles: list[int] = []
    try:
        for folder, kind in wanted:
            handles.append(os.open(folder, os.O_RDONLY))
            fcntl.flock(handles[-1], kind | fcntl.LOCK_NB)
    except BlockingIOError:
        _release(handles)
        raise DataError(f"The checkpoint {path!r} is being written by another run. Wait for it, or end it.") from None
    except OSError:  # a network file system without locks
        _release(handles)
        return []
    return handles


def _release(handles: list[int]) -> None:
    for handle in handles:
        os.close(handle)


@contextlib.contextmanager
def _named_error(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"The checkpoint cannot be written: {error.strerror or error}", path) from error
