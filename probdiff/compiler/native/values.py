"""Numbers in LLVM: their types in registers and in memory, constants, conversions."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np

F64 = np.dtype(np.float64)
DOUBLE = ir.DoubleType()
FLOAT = ir.FloatType()
I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
PTR = ir.PointerType()
FLAGS = ("reassoc", "nsz", "contract")  # of the additions and products that make a reduction, so that they vectorise


def ir_type(dtype: np.dtype) -> Any:
    """Type of a value in a register."""
    if dtype.kind == "f":
        return DOUBLE if dtype.itemsize == 8 else FLOAT
    return I1 if dtype.kind == "b" else ir.IntType(8 * dtype.itemsize)


def memory_type(dtype: np.dtype) -> Any:
    """Type of a value in an array."""
    return I8 if dtype.kind == "b" else ir_type(dtype)


def constant(value: Any, dtype: np.dtype) -> Any:
    """A number as an immediate of that dtype."""
    if dtype.kind == "f":
        return ir.Constant(ir_type(dtype), float(np.asarray(value).astype(dtype)))
    return ir.Constant(ir_type(dtype), int(np.asarray(value).astype(dtype)))


def load(b: Any, pointer: Any, dtype: np.dtype) -> Any:
    """The value at a pointer; booleans are bytes in memory."""
    value = b.load(pointer, typ=memory_type(dtype))
    return b.icmp_unsigned("!=", value, ir.Constant(I8, 0)) if dtype.kind == "b" else value


def store(b: Any, value: Any, pointer: Any, dtype: np.dtype) -> None:
    """Write a value to a pointer; booleans are bytes in memory."""
    b.store(b.zext(value, I8) if dtype.kind == "b" else value, pointer)


def cast(b: Any, v: Any, old: np.dtype, new: np.dtype) -> Any:
    """The value in another dtype, as NumPy converts it."""
    if old == new:
        return v
    t = ir_type(new)
    if new.kind == "b":
        return (
            b.fcmp_unordered("!=", v, ir.Constant(v.type, 0.0))
            if old.kind == "f"
            else b.icmp_unsigned("!=", v, ir.Constant(v.type, 0))
        )
    if old.kind == "f":
        if new.kind == "f":
            return b.fpext(v, t) if new.itemsize > old.itemsize else b.fptrunc(v, t)
        return b.fptosi(v, t) if new.kind == "i" else b.fptoui(v, t)
    if new.kind == "f":
        return b.sitofp(v, t) if old.kind == "i" else b.uitofp(v, t)
    if v.type.width > t.width:
        return b.trunc(v, t)
    if v.type.width < t.width:
        return b.sext(v, t) if old.kind == "i" else b.zext(v, t)
    return v
