"""Machine code on disk: what one process has compiled, the next one loads.

A file is named by all that decides its content: the LLVM text, the processor, the versions of LLVM and of this package.
It is written beside its place and moved there, so that readers and writers never meet halfway; it carries a checksum,
so that a damaged one is ignored and replaced. Code that someone else could have written is not run.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MAGIC = b"probdiff code 1\n"
LIMIT = 256 << 20  # bytes in the folder; the files used longest ago go first
CHECKED = 64  # writes of a process between two looks at the size of the folder
SUFFIX = ".code"
DAY = 86400.0  # seconds

_said: set[str] = set()
_writes = 0


class Stored(NamedTuple):
    """A compiled module: its object file, and the functions outside it that it calls."""

    symbols: tuple[str, ...]
    code: bytes


def folder() -> Path | None:
    """Where machine code is kept: PROBDIFF_CACHE_DIR or the platform's place; None with PROBDIFF_CACHE=0."""
    if os.environ.get("PROBDIFF_CACHE") == "0":
        return None
    own = os.environ.get("PROBDIFF_CACHE_DIR")
    if own:
        return Path(own)
    try:
        if sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        elif sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home, as in some containers
        return None
    return base / "probdiff"


def key(*parts: str) -> str:
    """The name under which a module with this content is kept."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read(name: str) -> Stored | None:
    """The module of that name, if a sound file of ours has it."""
    place = _usable(create=False)
    if place is None:
        return None
    path = place / (name + SUFFIX)
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _ours(status, path):
                return None
            data = file.read()
    except OSError:
        return None
    found = _unpacked(name, data)
    if found is not None and time.time() - status.st_mtime > DAY:
        _touch(path)
    return found


def write(name: str, stored: Stored) -> None:
    """Keep a module; a folder that cannot be written to is left alone."""
    global _writes
    place = _usable(create=True)
    if place is None:
        return
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=place)
        with open(descriptor, "wb") as file:
            file.write(_packed(name, stored))
        os.replace(temporary, place / (name + SUFFIX))
    except OSError:
        if temporary is not None:
            _remove(temporary)
        return
    if _writes % CHECKED == 0:
        prune(place)
    _writes += 1


def prune(place: Path, limit: int = LIMIT) -> None:
    """Delete what was used longest ago until 3/4 of `limit` are left, and what killed writers left behind."""
    now, files, total = time.time(), [], 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(SUFFIX):
                    files.append((status.st_mtime, status.st_size, entry.path))
                    total += status.st_size
                elif entry.name.startswith(".new-") and now - status.st_mtime > DAY:
                    _remove(entry.path)
    except OSError:  # another process deletes at the same time
        return
    if total <= limit:
        return
    for _, size, path in sorted(files):
        if total <= 0.75 * limit:
            return
        _remove(path)
        total -= size


def _packed(name: str, stored: Stored) -> bytes:
    symbols = "\n".join(stored.symbols).encode()
    body = len(symbols).to_bytes(4, "little") + symbols + stored.code
    return MAGIC + hashlib.sha256(name.encode() + body).digest() + body


def _unpacked(name: str, data: bytes) -> Stored | None:
    start = len(MAGIC) + 32
    body = data[start:]
    if not data.startswith(MAGIC) or hashlib.sha256(name.encode() + body).digest() != data[len(MAGIC) : start]:
        return None
    n = int.from_bytes(body[:4], "little")
    return Stored(tuple(body[4 : 4 + n].decode().split("\n")) if n else (), body[4 + n :])


def _usable(create: bool) -> Path | None:
    """The folder, if it is there (or can be made) and nobody else may write to it."""
    place = folder()
    if place is None:
        return None
    try:
        if create:
            os.makedirs(place.parent, exist_ok=True)
            try:
                os.mkdir(place, 0o700)
            except FileExistsError:
                pass
        status = os.stat(place)
    except OSError:
        return None
    return place if stat.S_ISDIR(status.st_mode) and _ours(status, place) else None


def _ours(status: os.stat_result, path: Path) -> bool:
    """Whether only this user (and the administrator) can have written it. Windows keeps its folders private itself."""
    if sys.platform == "win32":
        return True
    if status.st_uid == os.geteuid() and not status.st_mode & 0o022:
        return True
    if str(path) not in _said:
        _said.add(str(path))
        reason = "belongs to another user" if status.st_uid != os.geteuid() else "can be written to by other users"
        warnings.warn(
            f"The cache of machine code is not used: {path} {reason}. "
            "Set PROBDIFF_CACHE_DIR to a folder of your own with mode 700, or PROBDIFF_CACHE=0.",
            stacklevel=2,
        )
    return False


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:  # gone already, or in use
        pass


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        pass


def names(place: Path) -> Sequence[str]:
    """The modules that a folder has."""
    return sorted(p.name.removesuffix(SUFFIX) for p in place.glob("*" + SUFFIX))
