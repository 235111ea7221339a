"""Our functions as operations of PyTorch, with rules for its reverse and forward mode and for `torch.func.vmap`.

An operation is a `PerElement` or a `Whole` with the tensors that it takes. Derivatives of any order are operations of
these kinds again, and PyTorch's own arithmetic.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.interop.entries import Entries, Leaf, entries_of, entry_for, without_refs
from probdiff.interop.per_element import PerElement
from probdiff.interop.programs import kinds_of
from probdiff.interop.whole import Ahead, Whole
from probdiff.tree import Tree, flatten

try:
    import torch
except ModuleNotFoundError:
    raise UnsupportedError("to_torch needs PyTorch 2.3 or later. Install it with: pip install torch") from None

DTYPES: dict[Any, np.dtype] = {
    torch.float64: np.dtype(np.float64),
    torch.float32: np.dtype(np.float32),
    torch.int64: np.dtype(np.int64),
    torch.int32: np.dtype(np.int32),
    torch.int16: np.dtype(np.int16),
    torch.int8: np.dtype(np.int8),
    torch.uint8: np.dtype(np.uint8),
    torch.bool: np.dtype(np.bool_),
}
Tensor = Any


F = TypeVar("F", bound=Callable[..., Any])


def _uncompiled(f: F) -> F:
    """f, which `torch.compile` calls as it is: it has machine code of its own."""

    @functools.wraps(f)
    def call(*args: Any) -> Any:
        return torch.compiler.disable(f)(*args) if torch.compiler.is_compiling() else f(*args)

    return cast(F, call)


@_uncompiled
def call(f: Any, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> Tree:
    """f(*args, **kwargs), some of the leaves being tensors; so are all numbers and arrays of the result."""
    entries = entries_of(f)
    f, args, held = without_refs(f, args)
    return apply_entry(entries, f, args, kwargs, held)


@_uncompiled
def apply_entry(
    entries: Entries, f: Any, args: tuple[Tree, ...], kwargs: dict[str, Any], held: Any = (), strict: bool = False
) -> Tree:
    """f(*args, **kwargs) by the operation recorded for it."""
    leaves, spec = flatten((args, kwargs))
    found = entry_for(entries, f, [_described(x) for x in leaves], spec, held, strict)
    device = next((x.device for x in leaves if isinstance(x, torch.Tensor)), torch.device("cpu"))
    xs = [_tensor(leaves[k], d, device) for k, d in zip(found.places, found.dtypes, strict=True)]
    return found.rebuild(operation(found.node, xs))


def _described(x: Any) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    if x.layout is not torch.strided or x.dtype not in DTYPES:
        if x.layout is not torch.strided:
            raise UnsupportedError(f"tensors of layout {x.layout} are not supported. Use dense ones: x.to_dense().")
        raise UnsupportedError(f"tensors of {x.dtype} are not supported. Use float64 or float32: x.to(torch.float64).")
    return Leaf(tuple(x.shape), DTYPES[x.dtype])


def _tensor(x: Any, dtype: np.dtype, device: Any) -> Tensor:
    if isinstance(x, torch.Tensor):
        return x
    array = np.asarray(x, dtype)
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def operation(node: PerElement | Whole, xs: list[Tensor]) -> list[Tensor]:
    """The results of `node`, computed together with partials or residuals where a gradient will come."""
    along = tuple(k for k in node.free if xs[k].requires_grad) if torch.is_grad_enabled() else ()
    if isinstance(node, PerElement):
        node = node.with_partials(along) if along else node
        return list(Elements.apply(node, *xs)[: node.count])
    node = (node.ahead(along) if along else None) or node
    return list(Arrays.apply(node, None, *xs)[: node.count])


def _numpy(xs: Sequence[Tensor]) -> list[np.ndarray]:
    return [x.numpy(force=True) for x in xs]  # from a GPU, through the host


def _tensors(ys: Sequence[np.ndarray], like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    device = like[0].device if like else "cpu"
    return tuple(torch.from_numpy(y).to(device) for y in ys)


def _keep(ctx: Any, node: Any, xs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    ctx.node = node
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(*(y for y in outputs if not y.is_floating_point()))
    ctx.save_for_backward(*xs, *outputs)
    ctx.save_for_forward(*xs, *outputs)


def _kept(ctx: Any, count: int) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """Inputs, of which there are `count`, and outputs."""
    saved = ctx.saved_tensors
    return saved[:count], saved[count:]


def _sum_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """A cotangent of a broadcast result, summed back to the shape that its argument had."""
    lead = x.ndim - len(shape)
    if lead:
        x = x.sum(dim=tuple(range(lead)))
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and x.shape[k] != 1)
    return x.sum(dim=axes, keepdim=True) if axes else x


def _product(bar: Tensor, partial: Tensor | float) -> Tensor:
    """bar * partial, where a cotangent of zero makes zero of an infinite partial too: nobody asked for it."""
    if isinstance(partial, float):
        return bar * partial
    if not torch.is_grad_enabled():
        found = bar * partial
        flat = found.reshape(-1)
        try:
            if not torch.isnan(torch.dot(flat, flat)):
                return found
        except RuntimeError:  # within vmap, no value can be asked for
            pass
    return bar * torch.where((bar == 0) & ~torch.isfinite(partial), torch.zeros_like(partial), partial)


class Elements(torch.autograd.Function):  # type: ignore[misc]
    """A `PerElement` of tensors that broadcast."""

    @staticmethod
    def forward(node: PerElement, *xs: Tensor) -> tuple[Tensor, ...]:
        return _tensors(node(_numpy(xs)), xs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _keep(ctx, inputs[0], inputs[1:], output)

    @staticmethod
    def backward(ctx: Any, *bars: Tensor | None) -> tuple[Tensor | None, ...]:
        node: PerElement = ctx.node
        n = len(node.dtypes)
        xs, outputs = _kept(ctx, n)
        wanted = [k for k in node.free if ctx.needs_input_grad[1 + k]]
        if any(bar is not None for bar in bars[node.count :]) or not set(wanted) <= set(node.along):
            node = node.derivative
            outputs = Elements.apply(node, *xs)
        x_bars: list[Tensor | None] = [None] * n
        for k in wanted:
            terms = [_product(bar, partial) for bar, partial in _column(node, outputs, bars, k)]
            x_bars[k] = _sum_to(sum(terms), xs[k].shape).to(xs[k].dtype) if terms else torch.zeros_like(xs[k])
        return (None, *x_bars)

    @staticmethod
    def jvp(ctx: Any, _: None, *dots: Tensor | None) -> tuple[Tensor | None, ...]:
        node: PerElement = ctx.node
        xs, outputs = _kept(ctx, len(node.dtypes))
        given = _filled([dots[k] for k in node.free], [xs[k] for k in node.free])
        y_dots = iter(Elements.apply(node.pushed, *xs, *given))
        return tuple(next(y_dots) if y.is_floating_point() else None for y in outputs)

    @staticmethod
    def vmap(info: Any, in_dims: Any, node: PerElement, *xs: Tensor) -> tuple[Any, Any]:
        dims = in_dims[1:]
        ndim = max(x.ndim - (d is not None) for x, d in zip(xs, dims, strict=True))
        aligned = []
        for x, d in zip(xs, dims, strict=True):
            if d is not None:
                x = x.movedim(d, 0)
                x = x.reshape(x.shape[0], *(1,) * (ndim + 1 - x.ndim), *x.shape[1:])
            aligned.append(x)
        found = Elements.apply(node, *aligned)
        return found, (0,) * len(found)


def _column(node: PerElement, outputs: Sequence[Tensor], bars: Sequence[Tensor | None], k: int) -> list[Any]:
    """Cotangents of the outputs that depend on argument k, each with the partial."""
    found = []
    for bar, row in zip(bars, node.rows, strict=False):
        if bar is not None and k in row:
            p = row[k]
            found.append((bar, outputs[p] if isinstance(p, int) else p))
    return found


# PyTorch binds the arguments of `forward` to its signature at each call, which takes longer than a small operation.
_ANY = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
vars(Elements.forward)["__signature__"] = _ANY
Batch = tuple[bool, ...] | None  # which inputs have one more axis in front, or None if the operation is not batched


class Arrays(torch.autograd.Function):  # type: ignore[misc]
    """A `Whole` of tensors; with `batch`, one call for each index of the first axis of some of them."""

    @staticmethod
    def forward(node: Whole, batch: Batch, *xs: Tensor) -> tuple[Tensor, ...]:
        if batch is None:
            return _tensors(node(_numpy(xs)), xs)
        arrays = _numpy(xs)
        size = _size(batch, xs)
        found = [node([x[b] if f else x for x, f in zip(arrays, batch, strict=True)]) for b in range(size)]
        if node.program is not None and not found:
            return _tensors([np.zeros((0, *shape), dtype) for shape, dtype in kinds_of(node.program.outputs)], xs)
        return _tensors([np.stack(column) for column in zip(*found, strict=True)], xs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _keep(ctx, inputs[0], inputs[2:], output)
        ctx.batch = inputs[1]

    @staticmethod
    def backward(ctx: Any, *bars: Tensor | None) -> tuple[Tensor | None, ...]:
        node, batch = ctx.node, ctx.batch
        xs, outputs = _kept(ctx, len(node.kinds))
        wanted = tuple(k for k in node.free if ctx.needs_input_grad[2 + k])
        terms: dict[int, list[Tensor]] = {k: [] for k in wanted}

        def add(places: Sequence[int], found: Sequence[Tensor]) -> None:
            for k, x_bar in zip(places, found, strict=True):
                if k in terms:
                    terms[k].append(x_bar if batch is None or batch[k] else x_bar.sum(dim=0))

        if isinstance(node, Ahead) and set(wanted) <= set(node.along):
            if any(bar is not None for bar in bars[: node.count]):
                add(node.along, _of_results(node, batch, xs, outputs, bars))
            if any(bar is not None for bar in bars[node.count :]):
                given = _filled(bars[node.count :], outputs[node.count :])
                add(wanted, _applied(node.residuals.pulled(wanted), batch, xs, given))
        elif any(bar is not None for bar in bars):
            add(wanted, _applied(node.pulled(wanted), batch, xs, _filled(bars, outputs)))
        x_bars = [
            None if k not in terms else sum(terms[k]) if terms[k] else torch.zeros_like(x) for k, x in enumerate(xs)
        ]
        return (None, None, *x_bars)

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *dots: Tensor | None) -> tuple[Tensor | None, ...]:
        node, batch = ctx.node, ctx.batch
        xs, outputs = _kept(ctx, len(node.kinds))
        given = _filled([dots[k] for k in node.free], [xs[k] for k in node.free])
        flags = None if batch is None else [batch[k] for k in node.free]
        y_dots = iter(_applied(node.pushed, batch, xs, given, flags))
        return tuple(next(y_dots) if y.is_floating_point() else None for y in outputs)

    @staticmethod
    def vmap(info: Any, in_dims: Any, node: Whole, batch: Batch, *xs: Tensor) -> tuple[Any, Any]:
        dims = in_dims[2:]
        moved = [x if d is None else x.movedim(d, 0) for x, d in zip(xs, dims, strict=True)]
        outer = tuple(d is not None for d in dims)
        if batch is None:
            found = Arrays.apply(node, outer, *moved)
            return found, (0,) * len(found)
        # Two axes of a batch become one.
        inner_size = _size(batch, [x[0] if f else x for x, f in zip(moved, outer, strict=True)])
        joined = []
        for x, a, b in zip(moved, outer, batch, strict=True):
            if a or b:
                x = x if a else x.unsqueeze(0)
                x = x if b else x.unsqueeze(1)
                x = x.expand(info.batch_size, inner_size, *x.shape[2:]).flatten(0, 1)
            joined.append(x)
        found = Arrays.apply(node, tuple(a or b for a, b in zip(outer, batch, strict=True)), *joined)
        return tuple(y.unflatten(0, (info.batch_size, inner_size)) for y in found), (0,) * len(found)


vars(Arrays.forward)["__signature__"] = _ANY


def _size(batch: Sequence[bool], xs: Sequence[Tensor]) -> int:
    return int(next(x.shape[0] for x, f in zip(xs, batch, strict=True) if f))


def _filled(given: Sequence[Tensor | None], like: Sequence[Tensor]) -> list[Tensor]:
    """Tangents or cotangents of all real values, zeros for those that nobody gave."""
    pairs = zip(given, like, strict=True)
    return [torch.zeros_like(x) if g is None else g for g, x in pairs if x.is_floating_point()]


def _applied(
    node: Whole, batch: Batch, xs: Sequence[Tensor], more: Sequence[Tensor], flags: Sequence[bool] | None = None
) -> tuple[Tensor, ...]:
    """node of leaves and further ones, which are batched if not said otherwise."""
    if batch is not None:
        batch = (*batch, *(flags if flags is not None else [True] * len(more)))
    found: tuple[Tensor, ...] = Arrays.apply(node, batch, *xs, *more)
    return found


def _of_results(
    node: Ahead, batch: Batch, xs: Sequence[Tensor], outputs: Sequence[Tensor], bars: Sequence[Tensor | None]
) -> Sequence[Tensor]:
    """What the cotangents of the results send to the leaves."""
    residuals = outputs[node.count :]
    if node.scalar:
        y_bar = next(bar for bar in bars[: node.count] if bar is not None)
        return [_product(y_bar.reshape(y_bar.shape + (1,) * (g.ndim - y_bar.ndim)), g) for g in residuals]
    y_bars = _filled(bars[: node.count], outputs[: node.count])
    used = [xs[k] for k in node.used]
    flags = None if batch is None else tuple(batch[k] for k in node.used)
    return _applied(node.back, flags, used, [*residuals, *y_bars])
