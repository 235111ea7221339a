"""The transition of NUTS with one line changed: what the tests of it must notice."""

import inspect
import types

from probdiff.sampling import trajectory

FAULTS = {
    "sign of the turning check": ("(np.sum(left * total) <= 0.0)", "(np.sum(left * total) >= 0.0)"),
    "no check inside subtrees": ("turned | diverging, diverging,", "diverging, diverging,"),
    "no check across halves of a subtree": ("((i < last) & halves)", "((i < 0) & halves)"),
    "no check across the halves of the tree": ("| turning(outer, near, t.total + near)", ""),
    "weights within a subtree": ("np.log(u) < -error - log_weight", "np.log(u) < -log_weight"),
    "no weight of the old tree": ("(np.log(u) < s.log_weight - t.log_weight)", "(np.log(u) < s.log_weight)"),
    "always to the new half": ("(np.log(u) < s.log_weight - t.log_weight)", "(np.log(u) < 0.0)"),
    "a stopped half is used": ("~s.stop & (np.log(u)", "(np.log(u)"),
    "energy without its half": ("0.5 * np.sum(z.r * z.r)", "np.sum(z.r * z.r)"),
    "gradient of the wrong metric": ("stretched(metric, metric.scale * grad)", "stretched(metric, grad)"),
    "a direction left out": ("carry[0] < metric.rank,", "carry[0] < metric.rank - 1,"),
    "divergence at the wrong end": ("np.where(t.forward, a, b)", "np.where(t.forward, b, a)"),
}


def planted(fault):
    """The module of the transition with one of its lines changed."""
    old, new = FAULTS[fault]
    source = inspect.getsource(trajectory)
    assert source.count(old) == 1
    module = types.ModuleType("planted")
    exec(compile(source.replace(old, new), "planted", "exec", dont_inherit=True), module.__dict__)
    return module
