"""LLVM, set up once per process: text in, addresses of machine code out."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.binding as llvm

_engines: list[Any] = []  # machine code lives as long as the process: compiled functions are called by address


@functools.cache
def target_machine() -> Any:
    """The host's processor, at full optimisation."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3)


@functools.cache
def _layout() -> tuple[str, str]:
    machine = target_machine()
    return str(machine.target_data), machine.triple


def optimised(text: str, speed: int = 3) -> Any:
    """A module after LLVM's pipeline, loop vectoriser included."""
    machine = target_machine()
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


def load(text: str, names: list[str], speed: int = 3) -> list[int]:
    """Compile a module and return the addresses of its functions `names`."""
    module = optimised(text, speed)
    engine = llvm.create_mcjit_compiler(module, target_machine())
    engine.finalize_object()
    _engines.append(engine)
    return [engine.get_function_address(n) for n in names]


def symbol(name: str, address: int) -> None:
    """Make a function of this process known to compiled modules under `name`."""
    target_machine()
    llvm.add_symbol(name, address)


def has_symbol(name: str) -> bool:
    """Whether the process (its C library) has a function of that name."""
    target_machine()
    return llvm.address_of_symbol(name) is not None
