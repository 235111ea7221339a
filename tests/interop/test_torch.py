"""NumPy programs inside PyTorch: reverse mode, `torch.func`, dtypes, containers, and what is refused."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import probdiff
from probdiff import Ref, broadcast, fwddiff, gradient, hessian, jacobian, scan, to_torch, while_loop
from probdiff.distributions import Exponential, Gamma, MvNormal, Normal, Poisson, Uniform, logpdf
from probdiff.errors import ParameterError, TracedValueError, UnsupportedError
from probdiff.models.zoo import eight_schools

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
# Its own forward mode warns of the script that it loads; nothing of ours is in it.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

X = np.array([0.7, 1.3, 2.2])
Y = np.array([0.5, 3.0, 1.0])


def tensor(x: Any, grad: bool = False) -> Any:
    return torch.tensor(x, dtype=torch.float64, requires_grad=grad)


def same(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=rtol, atol=1e-14)


def root(a: Any) -> Any:
    """The square root by Newton's method, in as many steps as it takes."""
    return while_loop(lambda x: np.abs(x * x - a) > 1e-13 * a, lambda x: 0.5 * (x + a / x), 1.0 + 0.0 * a)


def loglike(scale: Any, data: Any) -> Any:
    return torch.sum(broadcast(fwddiff(logpdf))(broadcast(fwddiff(Exponential))(scale), data))


ROOTS = broadcast(fwddiff(root))
ROOT = fwddiff(lambda a: np.sum(root(a[0]) * a))
OUTSIDE = tensor(2.0)
F: Any = None  # the function of `test_second_derivatives`
VECTOR = fwddiff(lambda x, y: (np.cumsum(np.sin(x)) * y, np.outer(x, y)))
WHOLE = to_torch(lambda x, y: np.sum(Normal(x, np.exp(y[0])).logpdf(y)) * np.prod(x))
MANY = to_torch(lambda x, y: {"a": np.cumsum(np.sin(x)) * y, "b": (np.outer(x, y),)})


@pytest.mark.parametrize(
    "f",
    [loglike, WHOLE, lambda x, y: VECTOR(x, y), lambda x, y: (MANY(x, y)["a"], MANY(x, y)["b"][0])],
    ids=["per element", "scalar", "several results", "containers"],
)
def test_derivatives_against_differences(f: Any) -> None:
    """PyTorch's own check by finite differences, of the gradient and of the gradient's gradient, in both modes."""
    xs = tensor(X, grad=True), tensor(Y, grad=True)
    assert torch.autograd.gradcheck(f, xs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, xs, check_fwd_over_rev=True)


@pytest.mark.parametrize("f", [ROOTS, ROOT], ids=["per element", "whole"])
def test_while_loops_inside_fwddiff(f: Any) -> None:
    """Newton's method stops at a residual, so that differences of it are only good to about that."""
    x = tensor(X, grad=True)
    assert torch.autograd.gradcheck(f, (x,))
    assert torch.autograd.gradgradcheck(f, (x,))


def test_values_and_slopes() -> None:
    scale, data = tensor(X, grad=True), tensor(Y, grad=True)
    value = loglike(scale, data)
    value.backward()
    same(value, np.sum(-np.log(X) - Y / X))
    same(scale.grad, Y / X**2 - 1 / X)
    same(data.grad, -1 / X)


def test_one_node() -> None:
    """The result hangs on one operation, whose inputs are the leaves."""
    scale, data = tensor(X, grad=True), tensor(Y, grad=True)
    y = broadcast(fwddiff(logpdf))(Exponential(scale), data)
    assert [type(f).__name__ for f, _ in y.grad_fn.next_functions if f is not None] == ["AccumulateGrad"] * 2
    y = fwddiff(lambda a, b: np.sum(np.exp(a) * b))(scale, data)
    assert [type(f).__name__ for f, _ in y.grad_fn.next_functions if f is not None] == ["AccumulateGrad"] * 2


@pytest.mark.parametrize(
    "nested",
    [
        lambda d: d.jacfwd(d.jacrev(F)),
        lambda d: d.jacrev(d.jacfwd(F)),
        lambda d: d.jacrev(d.jacrev(F)),
        lambda d: d.jacfwd(d.jacfwd(F)),
        lambda d: d.hessian(F),
    ],
    ids=["forward over reverse", "reverse over forward", "reverse twice", "forward twice", "hessian"],
)
@pytest.mark.parametrize("kind", ["elements", "whole", "seam"])
def test_second_derivatives(kind: str, nested: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ours(x: Any) -> Any:
        return np.sum(x * Normal(x, 1.0 + x**2).logpdf(0.5)) + x[0] * x[2]

    def by_elements(x: Any) -> Any:
        density = broadcast(fwddiff(lambda x: Normal(x, 1.0 + x**2).logpdf(0.5)))
        return torch.sum(x * density(x)) + x[0] * x[2]

    theirs = {"elements": by_elements, "whole": to_torch(ours), "seam": fwddiff(ours)}[kind]
    monkeypatch.setitem(globals(), "F", theirs)
    same(nested(torch.func)(tensor(X)), hessian(ours)(X), 1e-11)


def test_third_derivatives() -> None:
    f = to_torch(lambda x: np.sum(x**4))
    third = torch.func.jacrev(torch.func.hessian(f))(tensor(X))
    same(third[1, 1, 1], 24 * X[1])
    elements = broadcast(fwddiff(lambda x: x**4))
    third = torch.func.grad(torch.func.grad(torch.func.grad(elements)))(tensor(2.0))
    same(third, 48.0)


@pytest.mark.parametrize("kind", ["elements", "whole"])
def test_maps(kind: str) -> None:
    """vmap of values, of gradients and of Hessians; gradients of a map; a map in a map."""

    def ours(x: Any, y: Any) -> Any:
        return np.sum(Normal(x, 2.0).logpdf(y) * x)

    def by_elements(x: Any, y: Any) -> Any:
        return torch.sum(broadcast(fwddiff(lambda x, y: Normal(x, 2.0).logpdf(y) * x))(x, y))

    f = by_elements if kind == "elements" else to_torch(ours)
    rows, y = np.stack([X, Y, X * Y, X + Y]), tensor(Y)
    vmap, grad = torch.func.vmap, torch.func.grad
    same(vmap(f, (0, None))(tensor(rows), y), [ours(x, Y) for x in rows])
    same(vmap(f, (1, None))(tensor(rows.T.copy()), y), [ours(x, Y) for x in rows])
    same(vmap(grad(f), (0, None))(tensor(rows), y), [gradient(ours, x, Y)[0] for x in rows])
    same(vmap(torch.func.hessian(f), (0, None))(tensor(rows), y), [hessian(lambda x: ours(x, Y))(x) for x in rows])
    # The unmapped argument's gradient is the sum of those of the rows.
    slope = grad(lambda y: vmap(f, (0, None))(tensor(rows), y).sum())(y)
    same(slope, sum(gradient(ours, x, Y)[1] for x in rows))
    twice = vmap(vmap(grad(f), (0, None)), (0, 0))(tensor(rows.reshape(2, 2, 3)), tensor(np.stack([X, Y])))
    same(
        twice, [[gradient(ours, x, y)[0] for x in pair] for pair, y in zip(rows.reshape(2, 2, 3), (X, Y), strict=True)]
    )


def test_a_map_of_a_function_with_many_results() -> None:
    rows = np.stack([X, Y, X * Y])
    got = torch.func.vmap(torch.func.jacrev(lambda x: MANY(x, tensor(Y))["b"][0]))(tensor(rows))
    same(got, [jacobian(lambda x: np.outer(x, Y))(x) for x in rows])


def test_shapes_that_broadcast() -> None:
    """The gradient has the shape of its argument, whichever of its axes were stretched."""
    kernel = broadcast(fwddiff(lambda a, b, c: a * b**c))
    a, b = tensor(np.ones((2, 1)), grad=True), tensor(X, grad=True)
    kernel(a, b, 2).sum().backward()
    same(a.grad, np.full((2, 1), np.sum(X**2)))
    same(b.grad, 4 * X)
    y = kernel(a, tensor(np.ones(())), 2.0)
    assert y.shape == (2, 1)


def test_single_precision_stays() -> None:
    x = torch.tensor(X, dtype=torch.float32, requires_grad=True)
    for f in (
        broadcast(fwddiff(lambda x, a: a * x**2)),
        fwddiff(lambda x, a: a * x**2),
        to_torch(lambda x, a: a * x**2),
    ):
        y = f(x, 2.5)
        (slope,) = torch.autograd.grad(y.sum(), x)
        assert (y.dtype, slope.dtype) == (torch.float32, torch.float32)
        np.testing.assert_allclose(slope.numpy(), 5 * X, rtol=1e-6)
    assert broadcast(fwddiff(logpdf))(Normal(x, 2.0), 1.0).dtype == torch.float32
    mixed = broadcast(fwddiff(lambda x, y: x * y))(x, tensor(Y))
    (slope,) = torch.autograd.grad(mixed.sum(), x)
    assert (mixed.dtype, slope.dtype) == (torch.float64, torch.float32)


def test_integers_have_no_gradient() -> None:
    rate = tensor(X, grad=True)
    broadcast(fwddiff(logpdf))(Poisson(rate), torch.tensor([1, 2, 3])).sum().backward()
    same(rate.grad, np.array([1, 2, 3]) / X - 1)
    found = to_torch(lambda x, k: (x * k, k + 1, "text", None))(rate, torch.tensor([1, 2, 3]))
    assert found[1].dtype == torch.int64 and not found[1].requires_grad and found[2:] == ("text", None)
    same(torch.autograd.grad(found[0].sum(), rate)[0], [1.0, 2.0, 3.0])


def test_distributions_hold_tensors() -> None:
    x = tensor(X, grad=True)
    density = broadcast(fwddiff(logpdf))
    for d, plain in (
        (Exponential(rate=x), Exponential(rate=X)),
        (Gamma(x, 2.0), Gamma(X, 2.0)),
        (Uniform(x - 1, x + 1), Uniform(X - 1, X + 1)),
    ):
        same(density(d, 0.9), plain.logpdf(0.9))
    assert density(Normal(0.0, -x), 0.5).tolist() == [-np.inf] * 3  # as for traced parameters


def test_structures_keywords_and_constants() -> None:
    f = to_torch(lambda p, data, power=2: {"total": np.sum((p["a"] * data) ** power) + p["b"][1], "name": "f"})
    p = {"a": tensor(2.0, grad=True), "b": (1.0, tensor(X, grad=True))}
    found = f(p, Y, power=3)
    assert found["name"] == "f"
    found["total"].sum().backward()
    same(p["a"].grad, 3 * 3 * 4.0 * np.sum(Y**3))  # the result has three elements, each with the total in it
    same(p["b"][1].grad, np.ones(3))


def test_arguments_held_by_ref() -> None:
    x, w = tensor(X, grad=True), tensor(Y, grad=True)
    for kernel in (broadcast(fwddiff(lambda x, w: x * np.sum(w**2))), broadcast(lambda x, w: x * np.sum(w**2))):
        found = torch.autograd.grad(kernel(x, Ref(w)).sum(), (x, w))
        same(found[0], np.full(3, np.sum(Y**2)))
        same(found[1], 2 * Y * np.sum(X))
    rows = broadcast(fwddiff(lambda w, x: x * np.sum(w**2)), signature="(n),()->()")
    same(rows(tensor(np.stack([X, Y])), tensor([1.0, 2.0])), [np.sum(X**2), 2 * np.sum(Y**2)])


def test_wrt() -> None:
    x, y = tensor(X, grad=True), tensor(Y, grad=True)
    for f in (fwddiff(lambda x, y: np.sum(x * y), wrt=1), broadcast(fwddiff(lambda x, y: x * y, wrt=1))):
        found = torch.autograd.grad(f(x, y).sum(), (x, y), allow_unused=True)
        assert found[0] is None or not found[0].any()
        same(found[1], X)


def test_branches_in_python() -> None:
    """A kernel that cannot be recorded is run as it is."""
    f = fwddiff(lambda x: x**3 if x > 0 else -x)
    x = tensor(2.0, grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    same(slope, 12.0)
    same(torch.autograd.grad(slope, x)[0], 12.0)
    same(torch.func.grad(f)(tensor(-2.0)), -1.0)
    same(torch.func.jvp(f, (tensor(3.0),), (tensor(2.0),))[1], 54.0)


def test_nothing_leaks_from_the_side_that_is_not_taken() -> None:
    roots, total = broadcast(fwddiff(np.sqrt)), to_torch(lambda x: np.sum(np.sqrt(x)))
    x = tensor([-1.0, 0.0, 4.0], grad=True)
    chosen = torch.where(x > 0, roots(x), torch.zeros_like(x))
    same(torch.autograd.grad(chosen.sum(), x)[0], [0.0, 0.0, 0.25])
    found = torch.func.grad(lambda x: torch.where(x > 0, roots(x), torch.zeros_like(x)).sum())(x.detach())
    same(found, [0.0, 0.0, 0.25])
    same(torch.autograd.grad(torch.where(x[2] > 5, total(x), x[2]), x)[0], [0.0, 0.0, 1.0])


def test_gradients_are_for_those_that_need_them() -> None:
    """Constant tensors cost no partial: there is one output more for each tensor that has a gradient."""
    kernel = broadcast(fwddiff(lambda x, y: np.exp(x) * y))
    x, y = tensor(X, grad=True), tensor(Y)
    assert len(kernel(x, y).grad_fn.saved_tensors) == 2 + 2
    assert len(kernel(x, tensor(Y, grad=True)).grad_fn.saved_tensors) == 2 + 3
    assert kernel(tensor(X), y).grad_fn is None
    with torch.no_grad():
        assert not kernel(x, y).requires_grad


def test_checkpoints_and_parameters() -> None:
    mean = torch.nn.Parameter(tensor(0.0))
    data = tensor(Y)
    density = broadcast(fwddiff(logpdf))

    def loss(mean: Any) -> Any:
        return density(Normal(mean, 1.0), data).sum()

    torch.utils.checkpoint.checkpoint(loss, mean, use_reentrant=False).backward()
    same(mean.grad, np.sum(Y))


def test_optimizer() -> None:
    """Maximum likelihood of a Gaussian by L-BFGS: mean and standard deviation of the data."""
    y = np.random.default_rng(0).normal(3.0, 2.0, 200)
    loss = to_torch(lambda p, y: -np.mean(Normal(p[0], np.exp(p[1])).logpdf(y)))
    p = tensor([0.0, 0.0], grad=True)
    optimizer = torch.optim.LBFGS([p], max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-10)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss(p, tensor(y))
        value.backward()
        return value

    optimizer.step(closure)
    same(p, [np.mean(y), np.log(np.std(y))], 1e-6)


def test_log_density_of_a_model() -> None:
    posterior = eight_schools()
    q = 0.3 * np.random.default_rng(0).normal(size=(4, posterior.dim))
    density = to_torch(posterior.logdensity)
    values, slopes = zip(*map(posterior.value_and_grad, q), strict=True)
    same(torch.func.vmap(density)(tensor(q)), values)
    same(torch.func.vmap(torch.func.grad(density))(tensor(q)), np.stack(slopes), 1e-11)


def test_scans_inside() -> None:
    def filtered(a: Any, y: Any) -> Any:
        return scan(lambda c, r: (a * c + r, Normal(a * c, 1.0).logpdf(r)), 0.0, y)[1]

    a, y = tensor(0.7, grad=True), tensor(np.sin(np.arange(10.0)), grad=True)
    found = torch.autograd.grad(to_torch(filtered)(a, y).sum(), (a, y))
    expected = gradient(lambda a, y: np.sum(filtered(a, y)), 0.7, np.sin(np.arange(10.0)))
    same(found[0], expected[0])
    same(found[1], expected[1])


def test_a_while_loop_outside_fwddiff_runs_forwards() -> None:
    f = to_torch(lambda x: while_loop(lambda c: c < 10.0, lambda c: c * x, 1.0))
    value, slope = torch.func.jvp(f, (tensor(3.0),), (tensor(1.0),))
    assert (float(value), float(slope)) == (27.0, 27.0)
    x = tensor(3.0, grad=True)
    with pytest.raises(UnsupportedError, match="reverse mode met a while_loop"):
        f(x).backward()


def test_a_name_bound_anew_is_noticed() -> None:
    scale = 2.0
    functions = (to_torch(lambda x: scale * x), fwddiff(lambda x: scale * x), broadcast(fwddiff(lambda x: scale * x)))
    assert [float(f(tensor(1.5))) for f in functions] == [3.0] * 3
    scale = 4.0
    assert [float(f(tensor(1.5))) for f in functions] == [6.0] * 3


def test_arrays_in_the_closure_are_read_at_each_call() -> None:
    data = Y.copy()
    f = to_torch(lambda x: np.sum(x * data))
    assert float(f(tensor(X))) == pytest.approx(X @ Y)
    data *= 2
    assert float(f(tensor(X))) == pytest.approx(2 * X @ Y)


def test_it_is_a_function_of_ours_too() -> None:
    g = to_torch(lambda x: np.sum(np.sin(x)))
    np.testing.assert_allclose(gradient(g, X)[0], np.cos(X), rtol=1e-14)
    np.testing.assert_allclose(probdiff.compile(g)(X), np.sum(np.sin(X)), rtol=1e-14)
    assert repr(to_torch(root)) == "to_torch(root)"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ROOTS(torch.ones(2, dtype=torch.bfloat16)), UnsupportedError, r"torch\.bfloat16 .* x\.to\("),
        (lambda: ROOTS(torch.ones(2, dtype=torch.complex128)), UnsupportedError, r"torch\.complex128"),
        (lambda: ROOTS(torch.eye(2).to_sparse()), UnsupportedError, r"torch\.sparse_coo .* x\.to_dense\(\)"),
        (lambda: to_torch(lambda x: x if x > 0 else -x)(tensor(1.0)), TracedValueError, "np.where"),
        (lambda: fwddiff(lambda x: x * OUTSIDE)(tensor(1.0)), ParameterError, "an array of torch from OUTSIDE. Pass"),
        (
            lambda: gradient(lambda a: broadcast(fwddiff(logpdf))(Normal(a, 1.0), tensor(1.0)), 1.0),
            UnsupportedError,
            "arrays of torch and values that probdiff differentiates",
        ),
        (lambda: broadcast(fwddiff(np.add))(tensor(X), tensor(np.ones(2))), ValueError, "broadcast"),
    ],
    ids=["bfloat16", "complex", "sparse", "branch", "closure", "mixed", "shapes"],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_without_torch_everything_else_works() -> None:
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "import numpy as np, probdiff\n"
        "assert probdiff.fwddiff(lambda x: np.sum(x * x))(np.ones(3)) == 3.0\n"
        "try:\n"
        "    probdiff.to_torch(np.sum)(np.ones(3))\n"
        "except probdiff.errors.UnsupportedError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120)
    assert run.stdout == "to_torch needs PyTorch 2.3 or later. Install it with: pip install torch\n"


def test_copies() -> None:
    """A module that holds a function can be copied; the copy records anew."""
    for f in (to_torch(probdiff.special.logsumexp), fwddiff(np.sum), broadcast(fwddiff(np.exp))):
        value = f(tensor(X))
        same(copy.deepcopy(f)(tensor(X)), value)
        same(pickle.loads(pickle.dumps(f))(tensor(X)), value)


def test_empty_arrays_and_maps() -> None:
    f, g = to_torch(lambda x: np.sum(x**2)), broadcast(fwddiff(np.exp))
    x = tensor(np.zeros((0, 3)), grad=True)
    assert [torch.autograd.grad(h(x).sum(), x)[0].shape for h in (f, g)] == [x.shape] * 2
    assert torch.func.vmap(torch.func.grad(f))(x.detach()).shape == (0, 3)


def test_multivariate_densities() -> None:
    x, mean, root = tensor(X, grad=True), tensor(Y, grad=True), tensor(np.diag(X), grad=True)
    density = to_torch(lambda x, mean, root: MvNormal(mean, covariance=root @ root.T + np.eye(3)).logpdf(x))
    assert torch.autograd.gradcheck(density, (x, mean, root))
    value = MvNormal(Y, covariance=np.diag(X**2 + 1)).logpdf(X)
    same(density(x, mean, root), value)
    same(fwddiff(logpdf)(MvNormal(mean, covariance=tensor(np.diag(X**2 + 1))), x), value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of PyTorch's compiler
def test_torch_compile() -> None:
    """The operation stays as it is within a function that PyTorch compiles."""
    density, total = broadcast(fwddiff(logpdf)), to_torch(lambda x: np.sum(np.sin(x)))
    f = torch.compile(lambda x: 2 * torch.sum(density(Normal(x, 1.0), 0.5)) + total(2 * x))
    x = tensor(X, grad=True)
    for _ in range(2):
        same(torch.autograd.grad(f(x), x)[0], 2 * (0.5 - X) + 2 * np.cos(2 * X))
