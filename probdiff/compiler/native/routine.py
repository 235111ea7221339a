"""Formulas as functions of machine code: compiled once for all programs that call them, and kept on disk."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.formulas import recorded
from probdiff.compiler.native import jit
from probdiff.compiler.native.values import DOUBLE, F64
from probdiff.graph.program import Node, Program
from probdiff.ops.elementwise import Elementwise

PREFIX = "probdiff."


@functools.cache
def routine(name: str) -> str:
    """The symbol by which compiled code calls the formula of the row `name`."""
    from probdiff.compiler.native.outside import available, structure

    symbol = PREFIX + name
    known = structure(("formula", name))
    found = jit.recall(known, [symbol], available, jit.Account()) if known else None
    if found is None:
        found = jit.load(_text(symbol, recorded(name)), [symbol], structure=known)
    jit.symbol(symbol, found[0])
    return symbol


def _text(symbol: str, program: Program) -> str:
    from probdiff.compiler.native.scalar import Scope, emit_program

    module = ir.Module()
    scope = Scope(module)
    scope.inlines = False  # of a formula's many logarithms a call runs few: one copy of each is enough
    n = len(program.inputs)
    f = ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE] * n), symbol)
    b = ir.IRBuilder(f.append_basic_block())
    b.ret(emit_program(scope, b, program, list(f.args), [F64] * n)[0])
    return str(module)


@functools.cache
def evaluator(op: Elementwise) -> Callable[..., Any]:
    """A row in machine code as a function of arrays, in float64."""
    from probdiff.compiler.native.kernel import elementwise_kernel

    inputs = [Node(None, (), {}, (), F64) for _ in op.partials]
    run = elementwise_kernel(Program(inputs, [Node(op, tuple(inputs), {}, (), F64)]))
    return lambda *args: run(*(np.asarray(a, F64) for a in args))[0]
