"""LLVM, set up once per process: text in, addresses of machine code out."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from probdiff.compiler.native import cache

_engines: list[Any] = []  # machine code lives as long as the process: compiled functions are called by address
LONG = 20_000  # lines of a text from which LLVM works less hard: straight code that long gains little from more
_address = re.compile(r"inttoptr \(?i64 -?\d")  # of something in this process
VERSION = "1"  # of what surrounds the text: passes and options below


@dataclass
class Account:
    """Where the time of a compilation went, in seconds, and whether the machine code was found on disk."""

    planning: float = 0.0
    emitting: float = 0.0
    optimising: float = 0.0
    generating: float = 0.0
    loading: float = 0.0
    found: bool = False


@functools.cache
def target_machine(effort: int = 3) -> Any:
    """The host's processor, at full optimisation unless `effort` says less."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=effort)


@functools.cache
def _layout() -> tuple[str, str]:
    machine = target_machine()
    return str(machine.target_data), machine.triple


@functools.cache
def _surroundings() -> tuple[str, ...]:
    """What besides the text decides the machine code: processor, LLVM, C library, and this package's passes."""
    features = llvm.get_host_cpu_features()
    has = ",".join(sorted(name for name, on in features.items() if on))
    version = ".".join(map(str, llvm.llvm_version_info))
    library = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", {}) else ""
    return VERSION, llvmlite.__version__, version, *_layout(), llvm.get_host_cpu_name(), has, library or ""


def optimised(text: str, speed: int = 3, effort: int = 3) -> Any:
    """A module after LLVM's pipeline, loop vectoriser included."""
    machine = target_machine(effort)
    module = llvm.parse_assembly(text)
    module.data_layout, module.triple = _layout()
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = True
    options.slp_vectorization = speed > 1
    options.loop_interleaving = True
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def recall(structure: str, names: list[str], available: Callable[[str], bool], account: Account) -> list[int] | None:
    """The functions `names` of a module that was loaded with this `structure`, from disk; None if it is not there.

    `available(name)` tells whether a function outside the module can be called, and may make it so.
    """
    start = time.perf_counter()
    if cache.folder() is None:
        return None
    stored = _stored(cache.key(structure, *_surroundings()), available)
    return None if stored is None else _loaded(stored, names, start, account)


def load(
    text: str,
    names: list[str],
    speed: int = 3,
    *,
    cached: bool = True,
    structure: str | None = None,
    account: Account | None = None,
) -> list[int]:
    """Compile a module, or find it on disk, and return the addresses of its functions `names`.

    structure  under which `recall` finds it, before there is a text
    cached     False for a text with addresses of this process in it: nobody else can use its code
    account    where to write down the time taken
    """
    account = account or Account()
    start = time.perf_counter()
    target_machine()
    name, effort = "", 3
    if text.count("\n") > LONG:
        speed, effort = 1, 1
    if cached and not _address.search(text) and cache.folder() is not None:
        name = cache.key(text, str(speed), str(effort), *_surroundings())
        stored = _stored(name, has_symbol)
        if stored is not None:
            if structure is not None:  # unknown until now, as after a change of this package that the text survived
                cache.write(cache.key(structure, *_surroundings()), stored)
            return _loaded(stored, names, start, account)
    module = optimised(text, speed, effort)
    account.optimising = time.perf_counter() - start
    start = time.perf_counter()
    outside = tuple(f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm."))
    made: list[bytes] = []
    engine = llvm.create_mcjit_compiler(module, target_machine(effort))
    if name:
        engine.set_object_cache(lambda _, code: made.append(code))
    engine.finalize_object()
    account.generating = time.perf_counter() - start
    _engines.append(engine)
    if made:
        cache.write(name, cache.Stored(outside, made[0]))
        if structure is not None:
            cache.write(cache.key(structure, *_surroundings()), cache.Stored(outside, made[0]))
    return [engine.get_function_address(n) for n in names]


def _stored(name: str, available: Callable[[str], bool]) -> cache.Stored | None:
    """The machine code of that name; None if there is none, or a function that it calls is not here."""
    stored = cache.read(name)
    return stored if stored is not None and all(available(s) for s in stored.symbols) else None


def _loaded(stored: cache.Stored, names: list[str], start: float, account: Account) -> list[int]:
    """The functions `names` of machine code from disk, looked for since `start`."""
    engine = llvm.create_mcjit_compiler(_empty(), target_machine())
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(stored.code))
    engine.finalize_object()
    _engines.append(engine)
    account.found = True
    account.loading = time.perf_counter() - start
    return [engine.get_function_address(n) for n in names]


def _empty() -> Any:
    module = llvm.parse_assembly("")
    module.data_layout, module.triple = _layout()
    return module


def symbol(name: str, address: int) -> None:
    """Make a function of this process known to compiled modules under `name`."""
    target_machine()
    llvm.add_symbol(name, address)


def has_symbol(name: str) -> bool:
    """Whether the process (its C library) has a function of that name."""
    _open_process()
    return llvm.address_of_symbol(name) is not None


@functools.cache
def _open_process() -> None:
    """LLVM sees the functions of the process from its first engine on: before it, the answer would be another."""
    _engines.append(llvm.create_mcjit_compiler(_empty(), target_machine()))
