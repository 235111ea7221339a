"""A compiled log-density as a C function, for samplers written in other languages.

    int density(size_t n, const double *x, double *grad, double *logp, void *data)

It returns 0, or 1 if n is not the length of the vector, 2 if an index of the program is out of range, 3 if there is no
memory. `data` is ignored: what the density depends on is tied in. Several threads may call it at once; x, grad and logp
must not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from probdiff.compiler.fuse import Opaque
from probdiff.compiler.native import jit
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node

STACK = 256 << 10  # bytes of workspace that a call takes from the stack; more come from malloc
WANTED = "compiled.address needs compile(value_and_grad(f)) with f(x, *data) of one float64 vector x"


_alive: list[Any] = []  # arrays that the functions read: whoever holds an address holds nothing that keeps them


def density(run: Any, data: Sequence[np.ndarray]) -> int:
    """The address of the C function of a recorded program, the inputs after the first one being `data`."""
    layout = run.layout
    program = layout.program
    _check(layout, len(data))
    arrays: list[np.ndarray] = [*data, *run.fixed]
    where = ["%x", *map(_constant, arrays)]
    for o, target in zip(program.outputs, ("%logp", "%grad"), strict=True):
        if isinstance(o, Node):
            where.append(target)
    where.append("%work")
    copies = []
    for o, target in zip(program.outputs, ("%logp", "%grad"), strict=True):
        if not isinstance(o, Node):  # a result that does not depend on x
            value = np.ascontiguousarray(o)
            arrays.append(value)
            source = _constant(value)
            copies.append(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {value.nbytes}, i1 0)")
    (n,) = program.inputs[0].shape
    text = _text(n, layout.workspace, where, layout.code[0] if layout.code else 0, copies)
    (address,) = jit.load(text, ["density"], speed=1, cached=False)
    _alive.append(arrays)
    return address


def _check(layout: Any, given: int) -> None:
    for step in layout.segments:
        if isinstance(step, Opaque):
            node = step.node
            kinds = ", ".join(f"{a.dtype}{list(a.shape)}" for a in node.args if hasattr(a, "shape"))
            raise UnsupportedError(
                f"compiled.address needs a program that is all machine code; NumPy evaluates {node.op}({kinds}) "
                "in this one. compiled.explain() lists such steps."
            )
    inputs, outputs = layout.program.inputs, layout.program.outputs
    if len(inputs) != 1 + given:
        raise UnsupportedError(
            f"{WANTED}; this one takes {len(inputs)} arrays. Bind those after x: compiled.with_data(...).address."
        )
    x = inputs[0]
    if len(x.shape) != 1 or x.dtype != np.float64:
        raise UnsupportedError(f"{WANTED}, got {x.dtype}{list(x.shape)}.")
    results = [(o.shape, o.dtype) for o in outputs]
    if results != [((), np.float64), (x.shape, np.float64)]:
        shown = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in results)
        raise UnsupportedError(f"{WANTED}: results float64[], float64{list(x.shape)}; this one returns {shown}.")


def _constant(a: np.ndarray) -> str:
    return f"inttoptr (i64 {a.ctypes.data} to ptr)"


def _text(n: int, workspace: int, where: list[str], code: int, copies: list[str]) -> str:
    small = workspace <= STACK
    stores = "\n".join(
        f"  %at.{k} = getelementptr ptr, ptr %buffers, i64 {k}\n  store ptr {p}, ptr %at.{k}"
        for k, p in enumerate(where)
    )
    written = "\n".join("  " + c for c in copies)
    memory = f"%work = alloca i8, i64 {max(workspace, 1)}, align 64"
    claim, release = "br label %call", ""
    if not small:
        memory = f"%work = call ptr @malloc(i64 {workspace})"
        claim = "%none = icmp eq ptr %work, null\n  br i1 %none, label %poor, label %call"
        release = "call void @free(ptr %work)"
    call = f"call i64 inttoptr (i64 {code} to ptr)(ptr %buffers)" if code else "add i64 0, 0"
    return f"""
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i32 @density(i64 %n, ptr noalias %x, ptr noalias %grad, ptr noalias %logp, ptr %data) {{
entry:
  %buffers = alloca ptr, i64 {len(where)}
  %fits = icmp eq i64 %n, {n}
  br i1 %fits, label %run, label %wrong
wrong:
  ret i32 1
poor:
  ret i32 3
run:
  {memory}
  {claim}
call:
{stores}
{written}
  %error = {call}
  {release}
  %bad = icmp ne i64 %error, 0
  %result = select i1 %bad, i32 2, i32 0
  ret i32 %result
}}
"""
