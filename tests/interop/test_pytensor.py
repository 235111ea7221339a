"""NumPy programs as operations of PyTensor, under its backends, and as likelihoods of PyMC's models."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import probdiff
from probdiff import broadcast, fwddiff, gradient, hessian, jacobian, to_pytensor, while_loop
from probdiff.distributions import Normal, StudentT, logpdf
from probdiff.errors import ParameterError, ShapeError, TracedValueError, UnsupportedError

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*could not link to a BLAS:UserWarning"),  # of PyTensor's C code, unused here
    pytest.mark.filterwarnings("ignore:.*cxx.*:UserWarning"),
]
pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pt = pytest.importorskip("pytensor.tensor")

X = np.array([0.7, 1.3, 2.2])
DATA = np.array([0.5, 3.0, 1.0])
PYTHON = pytensor.compile.mode.Mode(linker="py", optimizer="fast_run")  # each operation by its `perform`


def same(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(got), expected, rtol=rtol, atol=1e-14)


def loglike(p: Any, data: Any) -> Any:
    return np.sum(Normal(p["mu"], np.exp(p["s"])).logpdf(data)) + np.prod(p["mu"])


def variables() -> tuple[Any, Any]:
    return pt.vector("mu", shape=(3,), dtype="float64"), pt.scalar("s", dtype="float64")


def operations(function: Any) -> list[str]:
    """The operations of a compiled function that are ours."""
    return [str(n.op) for n in function.maker.fgraph.toposort() if "to_pytensor" in str(n.op)]


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(PYTHON, id="Python"),
        pytest.param("NUMBA", id="Numba", marks=pytest.mark.slow),  # Numba compiles for several seconds
        pytest.param("JAX", id="JAX", marks=pytest.mark.slow),
    ],
)
def test_value_gradient_and_hessian(mode: Any) -> None:
    if mode == "JAX":
        pytest.importorskip("jax")
    mu, s = variables()
    y = to_pytensor(loglike)({"mu": mu, "s": s}, DATA)
    dmu, ds = pytensor.grad(y, [mu, s])
    evaluate = pytensor.function([mu, s], [y, dmu, ds, pytensor.gradient.hessian(y, mu)], mode=mode)
    value, d, e, h = evaluate(X, 0.3)
    expected = gradient(loglike, {"mu": X, "s": 0.3}, DATA)[0]
    same(value, loglike({"mu": X, "s": 0.3}, DATA))
    same(d, expected["mu"])
    same(e, expected["s"])
    same(h, hessian(lambda mu: loglike({"mu": mu, "s": 0.3}, DATA))(X))


def test_verify_grad() -> None:
    """PyTensor's own check by finite differences, of the gradient and of the gradient's."""
    f = to_pytensor(lambda mu, s: loglike({"mu": mu, "s": s}, DATA))
    verify = pytensor.gradient.verify_grad
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        verify(f, [X, np.array(0.3)], rng=np.random.default_rng(0), mode=PYTHON)
        slope = to_pytensor(lambda x: np.cumsum(np.sin(x)) * x)
        verify(slope, [X], rng=np.random.default_rng(0), mode=PYTHON)
        verify(lambda x: pytensor.grad(slope(x)[2], x), [X], rng=np.random.default_rng(0), mode=PYTHON)


def test_value_and_gradient_are_one_call() -> None:
    """And a gradient that nobody reads is not computed."""
    mu, s = variables()
    y = to_pytensor(loglike)({"mu": mu, "s": s}, DATA)
    dmu, ds = pytensor.grad(y, [mu, s])
    assert operations(pytensor.function([mu, s], [y, dmu, ds], mode=PYTHON)) == ["to_pytensor(loglike).ahead"]
    only = pytensor.function([mu, s], ds, mode=PYTHON)
    (node,) = [n for n in only.maker.fgraph.toposort() if "to_pytensor" in str(n.op)]
    assert len(node.outputs) == 1
    same(only(X, 0.3), gradient(loglike, {"mu": X, "s": 0.3}, DATA)[0]["s"])
    assert operations(pytensor.function([mu, s], y, mode=PYTHON)) == ["to_pytensor(loglike)"]


def test_results_of_all_kinds() -> None:
    def f(x: Any, k: Any) -> Any:
        return {"a": np.cumsum(x) * k, "n": k + 1, "b": np.outer(x, x), "text": "t"}

    x, k = pt.vector("x", shape=(3,), dtype="float64"), pt.lscalar("k")
    found = to_pytensor(f)(x, k)
    assert found["text"] == "t"
    assert (found["b"].type.shape, found["n"].type.dtype) == ((3, 3), "int64")
    values = pytensor.function([x, k], [found["a"], found["n"], found["b"]], mode=PYTHON)(X, 2)
    for got, expected in zip(values, (np.cumsum(X) * 2, 3, np.outer(X, X)), strict=True):
        same(got, expected)
    slopes = pytensor.gradient.jacobian(found["b"].ravel(), x)
    evaluate = pytensor.function([x, k], slopes, mode=PYTHON, on_unused_input="ignore")
    same(evaluate(X, 2), jacobian(lambda x: np.outer(x, x))(X).reshape(9, 3))


def test_pushforward() -> None:
    x, v = pt.vector("x", shape=(3,), dtype="float64"), pt.vector("v", shape=(3,), dtype="float64")
    y = to_pytensor(lambda x: np.cumsum(np.sin(x)))(x)
    push = getattr(pytensor.gradient, "pushforward", None) or pytensor.gradient.Rop
    by_name = {} if push is not pytensor.gradient.Rop else {"use_op_rop_implementation": True}
    y_dot = push(y, [x], [v], **by_name)
    (y_dot,) = y_dot if isinstance(y_dot, list) else [y_dot]
    same(pytensor.function([x, v], y_dot, mode=PYTHON)(X, DATA), np.cumsum(np.cos(X) * DATA))


def test_shapes_that_pytensor_does_not_know() -> None:
    x = pt.vector("x", dtype="float64")
    with pytest.raises(ShapeError, match=r"whose shape PyTensor does not know\. Give arguments of a possible shape"):
        to_pytensor(np.sum)(x)
    y = to_pytensor(lambda x: np.sum(np.sin(x)) * x, like=(np.ones(2),))(x)
    assert y.type.shape == (None,)
    evaluate = pytensor.function([x], [y, pytensor.grad(y.sum(), x)], mode=PYTHON)
    for at in (X, X[:1], np.zeros(0)):
        value, slope = evaluate(at)
        same(value, np.sum(np.sin(at)) * at)
        same(slope, gradient(lambda x: np.sum(np.sum(np.sin(x)) * x), at)[0])


def test_single_precision_stays() -> None:
    x = pt.vector("x", shape=(3,), dtype="float32")
    y = to_pytensor(lambda x, a: np.sum(a * x**2))(x, 2.5)
    slope = pytensor.grad(y, x)
    assert (y.type.dtype, slope.type.dtype) == ("float32", "float32")
    value, d = pytensor.function([x], [y, slope], mode=PYTHON)(X.astype(np.float32))
    np.testing.assert_allclose(d, 5 * X, rtol=1e-6)


def test_while_loops_inside_fwddiff() -> None:
    def root(a: Any) -> Any:
        return while_loop(lambda x: np.abs(x * x - a) > 1e-13 * a, lambda x: 0.5 * (x + a / x), 1.0 + 0.0 * a)

    x = pt.vector("x", shape=(3,), dtype="float64")
    y = to_pytensor(broadcast(fwddiff(root)))(x)
    value, slope = pytensor.function([x], [y, pytensor.grad(y.sum(), x)], mode=PYTHON)(X)
    same(value, np.sqrt(X))
    same(slope, 0.5 / np.sqrt(X))


def test_it_is_a_function_of_ours_too() -> None:
    g = to_pytensor(lambda x: np.sum(np.sin(x)))
    same(gradient(g, X)[0], np.cos(X))
    same(probdiff.compile(g)(X), np.sum(np.sin(X)))


def test_refusals() -> None:
    x = pt.scalar("x", dtype="float64")
    with pytest.raises(TracedValueError, match="np.where"):
        to_pytensor(lambda x: x if x > 0 else -x)(x)
    with pytest.raises(UnsupportedError, match="complex numbers are not supported"):
        to_pytensor(np.sum)(pt.vector("z", shape=(2,), dtype="complex128"))
    with pytest.raises(ParameterError, match="cannot close over a value that is being differentiated"):
        gradient(lambda a: to_pytensor(lambda x: a * x)(x), 1.0)


def test_without_pytensor_everything_else_works() -> None:
    code = (
        "import sys\n"
        "sys.modules['pytensor'] = None\n"
        "import numpy as np, probdiff\n"
        "try:\n"
        "    probdiff.to_pytensor(np.sum)(np.ones(3))\n"
        "except probdiff.errors.UnsupportedError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120)
    assert run.stdout == "to_pytensor needs PyTensor 2.26 or later. Install it with: pip install pytensor\n"


# PyMC

rng = np.random.default_rng(1)
COVARIATE = rng.normal(size=100)
OBSERVED = 1.0 + 2.0 * COVARIATE + 0.5 * rng.standard_t(4, size=100)


def regression(alpha: Any, beta: Any, sigma: Any, y: Any) -> Any:
    return np.sum(broadcast(fwddiff(logpdf))(StudentT(4.0, alpha + beta * COVARIATE, sigma), y))


def models(pm: Any) -> dict[str, Any]:
    """One model of PyMC alone, and two whose likelihood is ours."""

    def priors() -> Any:
        return pm.Normal("alpha", 0, 5), pm.Normal("beta", 0, 5), pm.HalfNormal("sigma", 2.0)

    made = {name: pm.Model() for name in ("twin", "potential", "distribution")}
    with made["twin"]:
        alpha, beta, sigma = priors()
        pm.StudentT("y", nu=4.0, mu=alpha + beta * COVARIATE, sigma=sigma, observed=OBSERVED)
    with made["potential"]:
        pm.Potential("y", to_pytensor(regression)(*priors(), OBSERVED))
    with made["distribution"]:
        pm.CustomDist("y", *priors(), logp=lambda y, *p: to_pytensor(regression)(*p, y), observed=OBSERVED)
    return made


@pytest.fixture(scope="module")
def pymc() -> Any:
    return pytest.importorskip("pymc", reason="PyMC is not installed")


def test_log_density_in_pymc(pymc: Any) -> None:
    made = models(pymc)
    point = {"alpha": np.array(0.8), "beta": np.array(1.7), "sigma_log__": np.array(-0.4)}
    value, slope = made["twin"].compile_logp()(point), made["twin"].compile_dlogp()(point)
    for name in ("potential", "distribution"):
        # The twin's constants are single logarithms of gamma functions of PyTensor's own, good to ten digits.
        same(made[name].compile_logp()(point), value, 1e-9)
        same(made[name].compile_dlogp()(point), slope, 1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of PyMC's sampler and of ArviZ, whose versions differ
def test_sampling_in_pymc(pymc: Any) -> None:
    import arviz

    def draw(model: Any, seed: int) -> Any:
        with model:
            return pymc.sample(
                draws=500,
                tune=500,
                chains=2,
                cores=1,
                random_seed=seed,
                progressbar=False,
                compute_convergence_checks=False,
            )

    made = models(pymc)
    theirs, ours = draw(made["twin"], 1), draw(made["distribution"], 2)
    for name in ("alpha", "beta", "sigma"):
        a, b = np.asarray(theirs.posterior[name]), np.asarray(ours.posterior[name])
        errors = [np.std(x) / np.sqrt(np.ravel(arviz.ess(x))[0]) for x in (a, b)]
        assert abs(a.mean() - b.mean()) < 5 * np.hypot(*errors), name  # two-sided false alarm rate 6e-7 each
        assert np.std(a) == pytest.approx(np.std(b), rel=0.25)
