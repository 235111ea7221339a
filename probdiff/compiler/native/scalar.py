"""Programs of scalars in LLVM: nodes, branches and loops over values in registers."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.native.instructions import SHORT, has_instruction, instruction
from probdiff.compiler.native.values import DOUBLE, F64, FLAGS, FLOAT, I64, cast, constant, load
from probdiff.compiler.native.vectormath import bits, decompositions
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import capture
from probdiff.ops.control import CALL_DENSITY, COND, PROJECT, QUADRATURE, SCAN, Control, rule, scalar_program
from probdiff.ops.dispatch import dtype_of
from probdiff.ops.elementwise import Elementwise, rows
from probdiff.tree import flatten

bit_rows = {name: Elementwise(name, f, ()) for name, f in bits.EVALUATE.items()}
rows.update(bit_rows)


class Scope:
    """What emission needs of its module: declared functions, each once."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.functions: dict[Any, Any] = {}
        self.inlines = True  # whether decompositions are inlined where they are called
        self.long = False  # a program in which inlining everything would cost seconds

    def intrinsic(self, b: Any, name: str, args: list[Any]) -> Any:
        """Call llvm.<name> for the type of the first argument."""
        t = args[0].type
        suffix = "f64" if t == DOUBLE else "f32" if t == FLOAT else f"i{t.width}"
        return b.call(self.declare(f"llvm.{name}.{suffix}", t, [t] * len(args)), args)

    def declare(self, name: str, result: Any, args: list[Any]) -> Any:
        """An external function."""
        if name not in self.functions:
            f = ir.Function(self.module, ir.FunctionType(result, args), name)
            if not name.startswith("llvm."):
                f.attributes.add("nounwind")
            self.functions[name] = f
        return self.functions[name]

    def table(self, name: str, values: Any) -> Any:
        """Pointer to constant doubles."""
        if name not in self.functions:
            kind = ir.ArrayType(DOUBLE, len(values))
            f = self.functions[name] = ir.GlobalVariable(self.module, kind, name)
            f.linkage, f.global_constant, f.initializer = "internal", True, ir.Constant(kind, list(map(float, values)))
        return self.functions[name]

    def decomposition(self, name: str, n: int) -> Any:
        """The function `name` of doubles, in plain arithmetic, to be inlined."""
        key = f"pd.{name}"
        if key not in self.functions:
            f = ir.Function(self.module, ir.FunctionType(DOUBLE, [DOUBLE] * n), key)
            f.linkage = "internal"
            f.attributes.add("alwaysinline")
            self.functions[key] = f
            b = ir.IRBuilder(f.append_basic_block())
            program = decomposed(name, n)
            values: dict[Node, Any] = dict(zip(program.inputs, f.args, strict=True))
            inlines, self.inlines = self.inlines, True  # what it calls, so that it vectorises where it is inlined
            for node in program.nodes:
                values[node] = emit(self, b, node, values)
            self.inlines = inlines
            (out,) = program.outputs
            b.ret(values[out] if isinstance(out, Node) else constant(out, F64))
        return self.functions[key]


@functools.cache
def decomposed(name: str, n: int) -> Program:
    """The recording of a decomposition."""
    f = decompositions.get(name) or SHORT[name]
    spec = flatten((0.0,) * n)[1]
    return capture(f, spec, [((), F64)] * n, list(range(n))).program


def emit(scope: Scope, b: Any, node: Node, values: dict[Node, Any]) -> Any:
    """The value of an elementwise node, given those of its arguments."""
    op = node.op
    assert op is not None
    if op is PROJECT:
        return values[node.args[0]][node.params["k"]]
    if isinstance(op, Control):
        operands = [values[a] if isinstance(a, Node) else constant(a, dtype_of(a)) for a in node.args]
        return emit_control(scope, b, op, node.params, operands, [dtype_of(a) for a in node.args])
    if not has_native(node):
        raise UnsupportedError(f"{op.name} of {', '.join(str(dtype_of(a)) for a in node.args)} has no machine code")
    dtypes = compute_dtypes(node)
    args = []
    for a, dtype in zip(node.args, dtypes, strict=False):
        args.append(cast(b, values[a], a.dtype, dtype) if isinstance(a, Node) else constant(a, dtype))
    result = dtypes[-1]
    if op.name == "astype":
        return args[0]
    value = instruction(scope, b, op.name, args, dtypes[0] if dtypes else result, node)
    return cast(b, value, result, node.dtype)


def has_registers(dtype: np.dtype) -> bool:
    """Whether machine code computes with the dtype; half and extended precision are left to NumPy."""
    return dtype.kind in "iub" or dtype.kind == "f" and dtype.itemsize in (4, 8)


def has_native(node: Node) -> bool:
    """Whether `emit` knows the node; NumPy evaluates what it does not."""
    op = node.op
    assert op is not None
    if op.name in bit_rows or op is PROJECT:
        return True
    if op is CALL_DENSITY:
        return False
    if isinstance(op, Control):
        return all(native_body(p) for p in node.params.values() if isinstance(p, Program))
    dtypes = compute_dtypes(node)
    if not all(has_registers(d) for d in (*dtypes, *map(dtype_of, node.args))):
        return False
    return has_instruction(node, dtypes[0])


def native_body(program: Program) -> bool:
    """Whether a body is a program of scalars that `emit` knows throughout."""
    if program.native is None:
        program.native = scalar_program(program) and all(map(has_native, program.nodes))
    return program.native


def emit_program(scope: Scope, b: Any, program: Program, args: list[Any], kinds: list[np.dtype]) -> list[Any]:
    """The outputs of a program of scalars, for values of its inputs that have the dtypes `kinds`."""
    values: dict[Node, Any] = {
        n: cast(b, v, kind, n.dtype) for n, v, kind in zip(program.inputs, args, kinds, strict=True)
    }
    for node in program.nodes:
        values[node] = emit(scope, b, node, values)
    return [values[o] if isinstance(o, Node) else constant(o, dtype_of(o)) for o in program.outputs]


def emit_control(
    scope: Scope, b: Any, op: Control, params: dict[str, Any], args: list[Any], kinds: list[np.dtype]
) -> list[Any]:
    """A branch or loop over scalars, as real control flow; the list of its results."""
    if op is COND:
        pred = cast(b, args[0], kinds[0], np.dtype(bool))
        with b.if_else(pred) as (then, otherwise):
            with then:
                taken = emit_program(scope, b, params["true"], args[1:], kinds[1:])
                true_end = b.block
            with otherwise:
                other = emit_program(scope, b, params["false"], args[1:], kinds[1:])
                false_end = b.block
        results = []
        for x, y in zip(taken, other, strict=True):
            phi = b.phi(x.type)
            phi.add_incoming(x, true_end)
            phi.add_incoming(y, false_end)
            results.append(phi)
        return results
    if op is QUADRATURE:
        return _quadrature(scope, b, params, args, kinds)
    k, body = params["carry"], params["body"]
    carry_kinds = [n.dtype for n in body.inputs[:k]]
    start = [cast(b, v, d, n) for v, d, n in zip(args[:k], kinds[:k], carry_kinds, strict=True)]
    if op is SCAN:
        if params["xs"] or len(body.outputs) > k:
            raise UnsupportedError("a scan over rows inside a kernel")
        consts, const_kinds = args[k:], kinds[k:]
        loop = Loop(b, start, params["length"])
        with loop as (_, carry):
            out = emit_program(scope, b, body, [*carry, *consts], [*carry_kinds, *const_kinds])
            loop.next(_as_carry(b, body, out, carry_kinds))
        return loop.carry
    m = params["cond_consts"]
    check, check_kinds, step, step_kinds = args[k : k + m], kinds[k : k + m], args[k + m :], kinds[k + m :]
    before = b.block
    head, inside, after = (b.append_basic_block(name) for name in ("while", "do", "done"))
    b.branch(head)
    b.position_at_end(head)
    carry = [b.phi(v.type) for v in start]
    for phi, v in zip(carry, start, strict=True):
        phi.add_incoming(v, before)
    (going,) = emit_program(scope, b, params["cond"], [*carry, *check], [*carry_kinds, *check_kinds])
    b.cbranch(going, inside, after)
    b.position_at_end(inside)
    out = emit_program(scope, b, body, [*carry, *step], [*carry_kinds, *step_kinds])
    for phi, v in zip(carry, _as_carry(b, body, out, carry_kinds), strict=True):
        phi.add_incoming(v, b.block)
    b.branch(head)
    b.position_at_end(after)
    return carry


def _quadrature(scope: Scope, b: Any, params: dict[str, Any], args: list[Any], kinds: list[np.dtype]) -> list[Any]:
    """Weighted sums over the nodes of a rule, which the vectoriser takes side by side."""
    body, panels = params["body"], params["panels"]
    nodes, weights = (scope.table(f"{n}{panels}", v) for n, v in zip(("nodes", "weights"), rule(panels), strict=True))
    zeros = [DOUBLE(0.0) for _ in body.outputs]
    before = b.block
    with b.if_then(cast(b, args[0], kinds[0], np.dtype(bool))):
        loop = Loop(b, zeros, rule(panels)[0].size)
        with loop as (i, carry):
            x, w = (load(b, b.gep(t, [i], source_etype=DOUBLE), F64) for t in (nodes, weights))
            inlines, scope.inlines = scope.inlines, True  # or it would not vectorise
            terms = emit_program(scope, b, body, [x, *args[1:]], [F64, *kinds[1:]])
            scope.inlines = inlines
            terms = [cast(b, y, dtype_of(o), F64) for y, o in zip(terms, body.outputs, strict=True)]
            loop.next([b.fadd(s, b.fmul(w, y, flags=FLAGS), flags=FLAGS) for s, y in zip(carry, terms, strict=True)])
        inside = b.block
    results = []
    for zero, total in zip(zeros, loop.carry, strict=True):
        phi = b.phi(DOUBLE)
        phi.add_incoming(zero, before)
        phi.add_incoming(total, inside)
        results.append(phi)
    return results


def _as_carry(b: Any, body: Program, out: list[Any], kinds: list[np.dtype]) -> list[Any]:
    return [cast(b, v, dtype_of(o), d) for v, o, d in zip(out, body.outputs, kinds, strict=False)]


class Loop:
    """`with Loop(b, start, n) as (i, carry)`: a counted loop that carries values; call `next` with the new ones."""

    def __init__(self, b: Any, start: list[Any], length: int) -> None:
        self.b, self.start, self.length = b, start, length

    def __enter__(self) -> tuple[Any, list[Any]]:
        b = self.b
        before = b.block
        self.head, inside, self.after = (b.append_basic_block(name) for name in ("head", "loop", "after"))
        b.branch(self.head)
        b.position_at_end(self.head)
        self.i = b.phi(I64)
        self.i.add_incoming(I64(0), before)
        self.carry = [b.phi(v.type) for v in self.start]
        for phi, v in zip(self.carry, self.start, strict=True):
            phi.add_incoming(v, before)
        b.cbranch(b.icmp_signed("<", self.i, I64(self.length)), inside, self.after)
        b.position_at_end(inside)
        return self.i, self.carry

    def next(self, values: list[Any]) -> None:
        """The carry of the next round."""
        following = self.b.add(self.i, I64(1), flags=("nsw",))
        self.i.add_incoming(following, self.b.block)
        for phi, v in zip(self.carry, values, strict=True):
            phi.add_incoming(v, self.b.block)

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self.b.branch(self.head)
            self.b.position_at_end(self.after)


def compute_dtypes(node: Node) -> tuple[np.dtype, ...]:
    """Dtypes in which arguments enter the operation, and the one in which its result leaves it."""
    op = node.op
    if op.name == "astype":
        return (node.dtype, node.dtype)
    kinds = tuple(a.dtype if isinstance(a, Node | np.generic | np.ndarray) else type(a) for a in node.args)
    return _compute_dtypes(op, kinds, node.dtype)


@functools.lru_cache(maxsize=4096)
def _compute_dtypes(op: Elementwise, kinds: tuple[Any, ...], result: np.dtype) -> tuple[np.dtype, ...]:
    if op.ufunc is not None:
        kinds = tuple(np.dtype(bool) if k is bool else k for k in kinds)
        return op.ufunc.resolve_dtypes((*kinds, None))
    if op.name in bit_rows:
        return tuple(np.dtype(float) if k is float or k is int else np.dtype(k) for k in kinds) + (result,)
    if op.name == "where":
        return (np.dtype(bool), result, result, result)
    return (result,) * (len(kinds) + 1)
