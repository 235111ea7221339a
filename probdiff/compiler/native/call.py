"""Calls from Python into machine code, at the price of a builtin function.

`caller(address, arguments)` makes a builtin that takes as many arrays or floats as the program has buffers, checks each
against its description (dtype, shape, C order, writable where it is a result), and calls the code with the addresses of
their elements, without the interpreter lock. It returns 0, the code's error number, or -1 - k if argument k does not
fit its description.

The builtin is itself machine code; it reads objects by the layout of CPython 3.11 and later and of NumPy 2 (the public
PyArrayObject_fields). Where that layout does not hold (a debug or free-threaded interpreter), ctypes does the same,
slower.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.compiler.native import jit

_alive: list[Any] = []
Description = tuple[tuple[int, ...], np.dtype, bool]  # shape, dtype, written to
CARRAY, WRITEABLE = 0x101, 0x400  # NumPy's flags: C order and aligned; writable

# self is an int holding the address of a table of 64-bit words: code, number of arguments, then for each argument its
# dtype's address and number, its number of axes, the address of its shape and the flags it needs. A dtype fits if it is
# the same object, or has the same number and native byte order.
_text = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
@python.ndarray = external global i8
@python.float = external global i8
@python.float64 = external global i8
@python.double = external global i8

define ptr @call(ptr %self, ptr %args, i64 %n) {
entry:
  %table = call ptr @PyLong_AsVoidPtr(ptr %self)
  %code = load ptr, ptr %table
  %count.at = getelementptr i64, ptr %table, i64 1
  %count = load i64, ptr %count.at
  %same = icmp eq i64 %count, %n
  br i1 %same, label %start, label %wrong.count
start:
  %buffers = alloca ptr, i64 %n
  br label %head
head:
  %k = phi i64 [0, %start], [%k.next, %next]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %run
body:
  %arg.at = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg.at
  %slot = getelementptr ptr, ptr %buffers, i64 %k
  %type.at = getelementptr i8, ptr %arg, i64 8
  %type = load ptr, ptr %type.at
  %row.k = mul i64 %k, 5
  %row = add i64 %row.k, 2
  %descr.at = getelementptr i64, ptr %table, i64 %row
  %descr = load i64, ptr %descr.at
  %axes.at = getelementptr i64, ptr %descr.at, i64 1
  %axes = load i64, ptr %axes.at
  %shape.at = getelementptr i64, ptr %descr.at, i64 2
  %shape = load ptr, ptr %shape.at
  %need.at = getelementptr i64, ptr %descr.at, i64 3
  %kind.at = getelementptr i64, ptr %descr.at, i64 4
  %need.wide = load i64, ptr %need.at
  %need = trunc i64 %need.wide to i32
  %content.at = getelementptr i8, ptr %arg, i64 16
  %array = icmp eq ptr %type, @python.ndarray
  br i1 %array, label %check, label %number
number:
  %float = icmp eq ptr %type, @python.float
  %float64 = icmp eq ptr %type, @python.float64
  %either = or i1 %float, %float64
  %scalar = icmp eq i64 %axes, 0
  %double = icmp eq i64 %descr, ptrtoint (ptr @python.double to i64)
  %fits.0 = and i1 %scalar, %double
  %readable = icmp eq i32 %need, 257
  %fits.2 = and i1 %fits.0, %readable
  %fits.1 = and i1 %fits.2, %either
  store ptr %content.at, ptr %slot
  br i1 %fits.1, label %next, label %misfit
check:
  %d.at = getelementptr i8, ptr %arg, i64 56
  %d = load i64, ptr %d.at
  %flags.at = getelementptr i8, ptr %arg, i64 64
  %flags = load i32, ptr %flags.at
  %nd.at = getelementptr i8, ptr %arg, i64 24
  %nd = load i32, ptr %nd.at
  %nd.wide = sext i32 %nd to i64
  %ordered = and i32 %flags, %need
  %ok.flags = icmp eq i32 %ordered, %need
  %ok.same = icmp eq i64 %d, %descr
  br i1 %ok.same, label %dtype.ok, label %dtype
dtype:
  %d.ptr = inttoptr i64 %d to ptr
  %order.at = getelementptr i8, ptr %d.ptr, i64 26
  %order = load i8, ptr %order.at
  %number.at = getelementptr i8, ptr %d.ptr, i64 28
  %number.have = load i32, ptr %number.at
  %number.wide = load i64, ptr %kind.at
  %number.want = trunc i64 %number.wide to i32
  %ok.number = icmp eq i32 %number.have, %number.want
  %native.0 = icmp eq i8 %order, 61
  %native.1 = icmp eq i8 %order, 124
  %native = or i1 %native.0, %native.1
  %ok.kind = and i1 %native, %ok.number
  br label %dtype.ok
dtype.ok:
  %ok.d = phi i1 [true, %check], [%ok.kind, %dtype]
  %ok.nd = icmp eq i64 %nd.wide, %axes
  %ok.0 = and i1 %ok.flags, %ok.d
  %ok.1 = and i1 %ok.0, %ok.nd
  br i1 %ok.1, label %dims, label %misfit
dims:
  %sizes.at = getelementptr i8, ptr %arg, i64 32
  %sizes = load ptr, ptr %sizes.at
  br label %dim.head
dim.head:
  %j = phi i64 [0, %dims], [%j.next, %dim.ok]
  %j.more = icmp slt i64 %j, %axes
  br i1 %j.more, label %dim, label %good
dim:
  %have.at = getelementptr i64, ptr %sizes, i64 %j
  %have = load i64, ptr %have.at
  %want.at = getelementptr i64, ptr %shape, i64 %j
  %want = load i64, ptr %want.at
  %equal = icmp eq i64 %have, %want
  br i1 %equal, label %dim.ok, label %misfit
dim.ok:
  %j.next = add i64 %j, 1
  br label %dim.head
good:
  %content = load ptr, ptr %content.at
  store ptr %content, ptr %slot
  br label %next
next:
  %k.next = add i64 %k, 1
  br label %head
run:
  %state = call ptr @PyEval_SaveThread()
  %error = call i64 %code(ptr %buffers)
  call void @PyEval_RestoreThread(ptr %state)
  %result = call ptr @PyLong_FromLong(i64 %error)
  ret ptr %result
misfit:
  %bad = sub i64 -1, %k
  %bad.result = call ptr @PyLong_FromLong(i64 %bad)
  ret ptr %bad.result
wrong.count:
  %wrong = call ptr @PyLong_FromLong(i64 -1000000)
  ret ptr %wrong
}
"""


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@functools.cache
def _layout_holds() -> bool:
    plain = not sysconfig.get_config_var("Py_DEBUG") and not sysconfig.get_config_var("Py_GIL_DISABLED")
    if sys.implementation.name != "cpython" or not plain or struct.calcsize("P") != 8:
        return False
    probe = np.arange(6.0).reshape(2, 3)
    words = (ctypes.c_int64 * 9).from_address(id(probe))
    shape = (ctypes.c_int64 * 2).from_address(words[4])
    return (
        words[1] == id(np.ndarray)
        and words[2] == probe.ctypes.data
        and words[3] & 0xFFFFFFFF == 2
        and tuple(shape) == (2, 3)
        and words[7] == id(probe.dtype)
        and words[8] & 257 == 257
        and ctypes.c_int32.from_address(id(probe.dtype) + 28).value == probe.dtype.num
        and ctypes.c_char.from_address(id(probe.dtype) + 26).value == b"="
        and ctypes.c_double.from_address(id(np.float64(2.5)) + 16).value == 2.5
        and ctypes.c_double.from_address(id(float("2.5")) + 16).value == 2.5
    )


@functools.cache
def _method() -> Any:
    """The definition of the builtin, compiled once per process."""
    for name in ("PyLong_AsVoidPtr", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread"):
        jit.symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
    names = {"ndarray": np.ndarray, "float": float, "float64": np.float64, "double": np.dtype(np.float64)}
    for name, thing in names.items():
        jit.symbol(f"python.{name}", id(thing))
    (address,) = jit.load(_text, ["call"], speed=1)
    return _MethodDef(b"call", address, 0x80, b"")  # METH_FASTCALL


def caller(address: int, arguments: Sequence[Description]) -> Callable[..., int]:
    """A builtin for the code at `address`; see the top of this file."""
    if not _layout_holds():
        return functools.partial(_by_ctypes, ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address), arguments)
    words = [address, len(arguments)]
    for shape, dtype, written in arguments:
        sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        _alive.append((sizes, dtype))
        words += [id(np.dtype(dtype.str)), len(shape), ctypes.addressof(sizes), CARRAY | WRITEABLE * written, dtype.num]
    table = (ctypes.c_int64 * len(words))(*words)
    _alive.append(table)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    builtin: Callable[..., int] = make(ctypes.addressof(_method()), ctypes.addressof(table), None)
    return builtin


def _by_ctypes(code: Any, arguments: Sequence[Description], *args: Any) -> int:
    buffers = (ctypes.c_void_p * len(args))()
    keep = []
    for k, (x, (shape, dtype, written)) in enumerate(zip(args, arguments, strict=True)):
        a = np.asarray(x)
        fits = a.shape == shape and a.dtype == dtype and a.flags.c_contiguous and (a.flags.writeable or not written)
        if not fits:
            return -1 - k
        keep.append(a)
        buffers[k] = a.ctypes.data
    return int(code(ctypes.addressof(buffers)))
