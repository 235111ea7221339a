"""NumPy programs as functions of JAX: `jax.grad`, `jvp`, `vmap`, `hessian` of them give our derivatives."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import probdiff
import probdiff.ops.special  # noqa: F401  (its rows join the table)
from probdiff import (
    broadcast,
    cond,
    custom,
    fori_loop,
    fwddiff,
    gradient,
    hessian,
    jacobian,
    pushforward,
    scan,
    to_jax,
    while_loop,
)
from probdiff.distributions import Exponential, Gamma, Normal, logpdf
from probdiff.errors import ParameterError, TracedValueError, UnsupportedError
from probdiff.models.zoo import MODELS
from probdiff.ops.dispatch import apply, is_float
from probdiff.ops.elementwise import rows
from probdiff.tree import flatten
from tests.ad.test_control import KERNELS, OURS, PROGRAMS, V, total
from tests.ad.test_control import X as START
from tests.compiler.test_jax_functions import same
from tests.compiler.test_jax_programs import in_groups
from tests.ops.domains import domains

jax = pytest.importorskip("jax")
jnp = jax.numpy
double = pytest.importorskip("probdiff.compiler.xla.library").double

X = np.array([0.3, 1.2, 2.5])
Y = np.array([1.1, 0.4, 3.0])
# One row of each way in which a row gets its derivatives in JAX: by JAX's own rule, by ours around JAX's function,
# around code of ours, around a formula; of one argument and of two, with kinks and without.
ROWS = (
    *("multiply", "power", "exp", "tanh", "where", "maximum", "times", "softplus", "clip", "hypot", "arccosh", "fmin"),
    *("gammaln", "beta", "polygamma", "erfcx", "log_ndtr", "xlogy", "exprel", "i1e", "j0", "k1e"),
)


@pytest.fixture(autouse=True)
def in_double() -> Any:
    with double():
        yield


def test_rows(names: tuple[str, ...] = ROWS) -> None:
    """Gradient, tangent and Hessian-vector product that JAX takes, beside ours."""
    places = [(name, i) for name in names for i in rows[name].smooth if domains[name][i].dtype.kind == "f"]
    points = [domains[name][i] for name, i in places]
    directions = [np.linspace(0.5, 1.5 + i, p.size) for (_, i), p in zip(places, points, strict=True)]

    def f(*moved: Any) -> Any:
        given = dict(zip(places, moved, strict=True))
        values = [apply(rows[name], *(given.get((name, i), a) for i, a in enumerate(domains[name]))) for name in names]
        return sum(np.sum(v) for v in values)

    def theirs(*xs: Any) -> Any:
        slopes = jax.grad(to_jax(f), argnums=tuple(range(len(xs))))
        return slopes(*xs), jax.jvp(to_jax(f), xs, tuple(directions))[1], jax.jvp(slopes, xs, tuple(directions))[1]

    def ours(*xs: Any) -> Any:
        products = pushforward(lambda *xs: gradient(f, *xs), *xs)(*directions)
        return gradient(f, *xs), pushforward(f, *xs)(*directions), products

    same(jax.jit(theirs)(*points), probdiff.compile(ours, backend="numpy")(*points), 1e-11)


@pytest.mark.parametrize("name", ["two carries", "closure", "rows differentiated", "branch in a loop", "cholesky"])
def test_loops(name: str) -> None:
    def ours(x: Any) -> Any:
        return PROGRAMS[name](OURS, x)

    score = total(ours)
    same(jax.jit(jax.value_and_grad(to_jax(score)))(START), (score(START), gradient(score, START)[0]))
    same(jax.jit(jax.hessian(to_jax(score)))(START), hessian(score)(START), 1e-11)
    same(jax.jit(to_jax(ours))(START), ours(START))


@in_groups([name for name in PROGRAMS if name != "float32"], 7)
def test_loops_with_many_results(names: list[str]) -> None:
    """JAX's Jacobians of all results, taken row by row and column by column."""

    def results(x: Any) -> list[Any]:
        leaves = [y for name in names for y in flatten(PROGRAMS[name](OURS, x))[0]]
        return [y for y in leaves if is_float(y)]

    expected = probdiff.compile(lambda x: [jacobian(lambda x, k=k: results(x)[k])(x) for k in range(count)])
    count = len(results(START))
    for take in (jax.jacrev, jax.jacfwd):
        same(jax.jit(take(to_jax(results)))(START), expected(START), 1e-11)


@pytest.mark.parametrize("name", ["newton", "series", "forced", "branch", "loop until a root"])
def test_kernels(name: str) -> None:
    """A `while_loop` inside `fwddiff` has a reverse mode, which JAX itself refuses."""
    kernel = broadcast(fwddiff(KERNELS[name][0]))
    f = to_jax(kernel)
    slope = probdiff.compile(lambda v: pushforward(kernel, v)(np.ones(4)), backend="numpy")(V)
    same(jax.jit(lambda v: jax.vjp(f, v)[1](np.ones(4))[0])(V), slope)
    same(jax.jit(lambda v: jax.jvp(f, (v,), (np.ones(4),))[1])(V), slope)
    same(jax.jit(jax.vmap(jax.grad(f)))(V), slope)
    if name != "loop until a root":
        bend = jax.jit(lambda v: jax.jvp(jax.grad(lambda v: jnp.sum(f(v))), (v,), (np.ones(4),))[1])(V)
        same(bend, np.diag(hessian(lambda v: np.sum(kernel(v)))(V)), 1e-11)


def test_several_results_of_all_kinds() -> None:
    def f(x: Any, n: Any, label: Any) -> Any:
        return {"running": np.cumsum(np.sin(x)) * x, "count": n * 2, "label": label, "constant": 2.0}

    found = to_jax(f)(X, 3, "a")
    assert found["label"] == "a" and found["count"] == 6 and found["constant"] == 2.0
    g = to_jax(lambda x: f(x, 3, "a")["running"])
    expected = jacobian(lambda x: f(x, 3, "a")["running"])(X)

    def derivatives(x: Any) -> Any:
        second = jax.jacfwd(jax.jacrev(g))(x), jax.jacrev(jax.jacfwd(g))(x)
        return jax.jacfwd(g)(x), jax.jacrev(g)(x), *second

    forward, reverse, *second = jax.jit(derivatives)(X)
    same([forward, reverse], [expected, expected])
    for found in second:
        for k in range(3):
            same(found[k], hessian(lambda x, k=k: f(x, 3, "a")["running"][k])(X))


def test_orders_and_maps() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.exp(x) * y**3) + x[0] * y[1]

    g = to_jax(f)
    rows_of = np.stack([X, Y, X * Y])

    def everything(x: Any, y: Any, many: Any) -> Any:
        second = (jax.hessian(g)(x, y), jax.jacrev(jax.grad(g))(x, y), jax.jacrev(jax.jacfwd(g))(x, y))
        mapped = jax.vmap(g, (0, None))(many, y), jax.vmap(jax.grad(g), (0, None))(many, y)
        return second, jax.jacfwd(jax.hessian(g))(x, y), mapped

    second, third, mapped = jax.jit(everything)(X, Y, rows_of)
    for found in second:
        same(found, hessian(lambda x: f(x, Y))(X))
    same(third, np.exp(X)[:, None, None] * Y[:, None, None] ** 3 * np.eye(3)[:, :, None] * np.eye(3)[:, None, :])
    same(mapped, (np.array([f(x, Y) for x in rows_of]), np.stack([gradient(f, x, Y)[0] for x in rows_of])))


def test_nothing_leaks_from_the_side_that_is_not_taken() -> None:
    root = to_jax(lambda x: np.sum(np.where(x > 0.0, np.sqrt(x), 0.0)))
    same(jax.grad(root)(np.array([0.0, 4.0])), np.array([0.0, 0.25]))
    same(jax.hessian(to_jax(lambda x: np.sum(x * x)))(np.zeros(2)), 2.0 * np.eye(2))
    outside = to_jax(lambda x: np.sum(Exponential(2.0).logpdf(x)))
    assert outside(np.array([-1.0, 1.0])) == -np.inf
    same(jax.grad(outside)(np.array([-1.0, 1.0])), np.array([0.0, -0.5]))


def test_residuals_are_the_partials() -> None:
    """Reverse mode of a fused kernel of two arguments keeps two numbers an element, however deep the kernel is."""
    f = to_jax(broadcast(fwddiff(lambda a, b: while_loop(lambda c: c < 50.0, lambda c: c * a + b, a))))
    a, b = np.linspace(1.1, 2.0, 100), np.linspace(0.1, 1.0, 100)
    kept = jax.tree_util.tree_leaves(jax.vjp(f, a, b)[1])
    assert sum(np.size(x) for x in kept) <= 2 * a.size


def test_memory_does_not_grow_with_the_number_of_steps() -> None:
    def needed(steps: int) -> int:
        root = broadcast(fwddiff(lambda a: fori_loop(0, steps, lambda i, x: 0.5 * (x + a / x), 1.0 + 0.0 * a)))
        gradients = jax.jit(jax.grad(to_jax(lambda a: np.sum(root(a)))))
        return int(gradients.lower(np.ones(1000)).compile().memory_analysis().temp_size_in_bytes)

    assert needed(300) == needed(3)


def test_data_on_several_devices() -> None:
    """Rows spread over four devices: one gradient, as on one device."""
    code = (
        "import jax, numpy as np, probdiff\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec\n"
        "from probdiff.distributions import Normal\n"
        "jax.config.update('jax_enable_x64', True)\n"
        "f = probdiff.to_jax(lambda m, y: np.sum(probdiff.broadcast(probdiff.fwddiff(lambda m, y: "
        "Normal(m, 2.0).logpdf(y)))(m, y)))\n"
        "rows = NamedSharding(Mesh(np.array(jax.devices()), ('rows',)), PartitionSpec('rows'))\n"
        "y = np.sin(np.arange(40.0))\n"
        "spread = jax.device_put(y, rows)\n"
        "slopes = jax.jit(jax.grad(f, (0, 1)))\n"
        "found = slopes(0.3, spread)\n"
        "assert len(jax.devices()) == 4 and found[1].sharding.is_equivalent_to(rows, 1)\n"
        "for a, b in zip(found, slopes(0.3, y)):\n"
        "    np.testing.assert_allclose(a, b, rtol=1e-14)\n"
    )
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env={**os.environ, **flags})


def test_a_while_loop_outside_fwddiff_runs_forwards() -> None:
    f = to_jax(lambda x: while_loop(lambda c: c < 10.0, lambda c: c * x, 1.0))
    same(jax.jvp(f, (3.0,), (1.0,)), (27.0, 27.0))
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work for lax.while_loop"):
        jax.grad(f)(3.0)


def test_rules_of_ones_own() -> None:
    @custom
    def triple(x: Any) -> Any:
        return 3.0 * x

    @triple.rrule
    def _(x: Any) -> Any:
        return 3.0 * x, lambda z_bar: (100.0 * z_bar,)

    same(jax.grad(to_jax(lambda x: np.sum(triple(x))))(X), np.full(3, 100.0))


def test_distributions_and_containers() -> None:
    def f(p: Any, data: Any) -> Any:
        return np.sum(logpdf(Gamma(p["shape"], p["scale"]), data)) + Normal(0.0, 1.0).logpdf(p["shape"])

    p = {"shape": 2.5, "scale": 0.7}
    found = jax.jit(jax.grad(to_jax(f)))(p, X)
    expected = gradient(f, p, X)[0]
    same([found["shape"], found["scale"]], [expected["shape"], expected["scale"]])


def test_single_precision_without_64_bits() -> None:
    def f(x: Any) -> Any:
        return np.sum(Gamma(2.5, 1.0 + x).logpdf(X.astype(np.float32))) + np.sum(Normal(0.0, 1.0).logcdf(x))

    with jax.enable_x64(False):
        value, slope = jax.jit(jax.value_and_grad(to_jax(f)))(jnp.asarray(X))
    assert value.dtype == slope.dtype == np.float32
    np.testing.assert_allclose(value, f(X), rtol=1e-5)
    np.testing.assert_allclose(slope, gradient(f, X)[0], rtol=2e-5, atol=1e-5)


def test_the_users_setting_is_left_alone() -> None:
    code = (
        "import jax, numpy as np, probdiff\n"
        "x = np.linspace(0.0, 1.0, 3)\n"
        "found = probdiff.compile(lambda x: np.exp(x), backend='jax')(x)\n"
        "assert found.dtype == np.float64 and abs(found - np.exp(x)).max() < 1e-15\n"
        "assert not jax.config.jax_enable_x64 and jax.numpy.ones(2).dtype == np.float32\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_name_bound_anew_is_noticed() -> None:
    scale = 2.0

    def f(x: Any) -> Any:
        return scale * x

    g = to_jax(f)
    assert g(1.5) == 3.0
    scale = 4.0
    assert g(1.5) == 6.0


def test_it_is_a_function_of_ours_too() -> None:
    g = to_jax(lambda x: np.sum(np.sin(x)))
    same(gradient(g, X)[0], np.cos(X))
    same(probdiff.compile(g)(X), np.sum(np.sin(X)))


def test_refusals() -> None:
    with pytest.raises(TracedValueError, match="asks for the value of an array that is being traced"):
        to_jax(lambda x: x if x > 0 else -x)(1.0)
    with pytest.raises(UnsupportedError, match="complex numbers are not supported"):
        to_jax(np.sum)(np.zeros(2, complex))
    with pytest.raises(ParameterError, match="to_jax cannot close over a value that is being differentiated"):
        gradient(lambda x: to_jax(lambda y: x * y)(2.0), 1.0)


def test_branches_that_run_alone() -> None:
    def f(x: Any) -> Any:
        return cond(x[0] > 0.0, lambda x: np.sum(x * x), lambda x: np.prod(x), x)

    for x in (X, -X):
        same(jax.jit(jax.grad(to_jax(f)))(x), gradient(f, x)[0])
    many = np.stack([X, -X])
    same(jax.vmap(jax.grad(to_jax(f)))(many), np.stack([gradient(f, x)[0] for x in many]))


def test_a_scan_over_data() -> None:
    def filtered(a: Any, y: Any) -> Any:
        return scan(lambda c, r: (a * c + r, Normal(a * c, 1.0).logpdf(r)), 0.0, y)[1].sum()

    y = np.sin(np.arange(30.0))
    same(jax.jit(jax.grad(to_jax(filtered), (0, 1)))(0.7, y), gradient(filtered, 0.7, y))


QUICK = ("eight_schools", "garch11", "german_credit", "lotka_volterra", "radon")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MODELS])
def test_zoo(name: str) -> None:
    """Log-density and gradient of every model under XLA are those of machine code."""
    posterior = MODELS[name]()
    q = 0.3 * np.random.default_rng(0).normal(size=posterior.dim)
    value, slope = posterior.value_and_grad(q)
    found = jax.jit(jax.value_and_grad(to_jax(posterior.logdensity)))(q)
    np.testing.assert_allclose(found[0], value, rtol=1e-10)
    np.testing.assert_allclose(found[1], slope, rtol=1e-10, atol=1e-10 * np.max(np.abs(slope)))


def test_without_jax_everything_else_works() -> None:
    code = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('jax', 'jaxlib'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import numpy as np, probdiff\n"
        "assert probdiff.compile(lambda x: np.sum(x * x))(np.ones(3)) == 3.0\n"
        "def attempt(f):\n"
        "    try:\n"
        "        f(np.ones(3))\n"
        "    except probdiff.errors.UnsupportedError as error:\n"
        "        print(error)\n"
        "attempt(probdiff.compile(np.sum, backend='jax'))\n"
        "attempt(lambda x: probdiff.to_jax(np.sum)(x))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120)
    text = "The JAX backend needs JAX 0.8 or later. Install it with: pip install jax"
    assert run.stdout.splitlines() == [text, text]
