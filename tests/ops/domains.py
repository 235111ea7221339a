"""Points at which each row of the table of operations is tested: one array per argument, well inside the domain.

A row without an entry here fails its test, so a new row comes with its domain.
"""

from __future__ import annotations

import numpy as np

Points = tuple[np.ndarray, ...]

ANY = np.array([-2.3, -0.7, 0.4, 1.3, 3.1])
OTHER = np.array([1.7, -1.2, 2.6, 0.45, -0.8])
POSITIVE = np.array([0.3, 0.8, 1.7, 2.9, 6.4])
POSITIVE_TOO = np.array([2.2, 0.6, 1.1, 4.5, 0.9])
UNIT = np.array([-0.8, -0.3, 0.2, 0.55, 0.9])
PROBABILITY = np.array([0.06, 0.3, 0.5, 0.72, 0.93])
ABOVE_ONE = np.array([1.2, 1.7, 2.5, 4.0, 9.0])
INTEGERS = np.array([-7, -2, 0, 3, 12])
INTEGERS_TOO = np.array([3, 5, -4, 2, 7])
COUNTS = np.array([0, 1, 3, 6, 11])
BOOLEANS = np.array([True, False, True, True, False])
BOOLEANS_TOO = np.array([True, True, False, True, False])
ORDERS = np.array([0.0, 1.0, 2.0, 0.5, 3.0])

domains: dict[str, Points] = {
    # arithmetic
    "add": (ANY, OTHER),
    "subtract": (ANY, OTHER),
    "multiply": (ANY, OTHER),
    "divide": (ANY, OTHER),
    "negative": (ANY,),
    "positive": (ANY,),
    "reciprocal": (ANY,),
    "square": (ANY,),
    "sqrt": (POSITIVE,),
    "cbrt": (ANY,),
    "fabs": (ANY,),
    "absolute": (ANY,),
    "hypot": (ANY, OTHER),
    "remainder": (ANY, OTHER),
    "fmod": (ANY, OTHER),
    "copysign": (ANY, OTHER),
    "ldexp": (ANY, np.array([3, -2, 0, 1, 5], np.int32)),
    "heaviside": (ANY, OTHER),
    "nextafter": (ANY, OTHER),
    # exponentials and logarithms
    "exp": (ANY,),
    "exp2": (ANY,),
    "expm1": (ANY,),
    "log": (POSITIVE,),
    "log2": (POSITIVE,),
    "log10": (POSITIVE,),
    "log1p": (np.array([-0.7, -0.2, 0.4, 1.3, 5.0]),),
    "logaddexp": (ANY, OTHER),
    "logaddexp2": (ANY, OTHER),
    "softplus": (ANY,),
    # trigonometric and hyperbolic
    "sin": (ANY,),
    "cos": (ANY,),
    "tan": (UNIT,),
    "arcsin": (UNIT,),
    "arccos": (UNIT,),
    "arctan": (ANY,),
    "arctan2": (ANY, OTHER),
    "sinh": (ANY,),
    "cosh": (ANY,),
    "tanh": (ANY,),
    "arcsinh": (ANY,),
    "arccosh": (ABOVE_ONE,),
    "arctanh": (UNIT,),
    "deg2rad": (ANY,),
    "rad2deg": (ANY,),
    # order
    "maximum": (ANY, OTHER),
    "minimum": (ANY, OTHER),
    "fmax": (ANY, OTHER),
    "fmin": (ANY, OTHER),
    # steps and predicates
    "floor": (ANY,),
    "ceil": (ANY,),
    "trunc": (ANY,),
    "rint": (ANY,),
    "sign": (ANY,),
    "floor_divide": (ANY, OTHER),
    "spacing": (ANY,),
    "equal": (ANY, OTHER),
    "not_equal": (ANY, OTHER),
    "less": (ANY, OTHER),
    "less_equal": (ANY, OTHER),
    "greater": (ANY, OTHER),
    "greater_equal": (ANY, OTHER),
    "isnan": (ANY,),
    "isinf": (ANY,),
    "isfinite": (ANY,),
    "signbit": (ANY,),
    "logical_and": (BOOLEANS, BOOLEANS_TOO),
    "logical_or": (BOOLEANS, BOOLEANS_TOO),
    "logical_xor": (BOOLEANS, BOOLEANS_TOO),
    "logical_not": (BOOLEANS,),
    "bitwise_and": (INTEGERS, INTEGERS_TOO),
    "bitwise_or": (INTEGERS, INTEGERS_TOO),
    "bitwise_xor": (INTEGERS, INTEGERS_TOO),
    "invert": (INTEGERS,),
    "left_shift": (INTEGERS, COUNTS),
    "right_shift": (INTEGERS, COUNTS),
    "gcd": (INTEGERS, INTEGERS_TOO),
    "lcm": (INTEGERS, INTEGERS_TOO),
    # special cases
    "power": (POSITIVE, OTHER),
    "float_power": (POSITIVE, OTHER),
    "where": (BOOLEANS, ANY, OTHER),
    "times": (ANY, OTHER),
    "stop_gradient": (ANY,),
    "clip": (ANY, np.full(5, -1.0), np.full(5, 1.0)),
    # gamma and beta
    "stirling_error": (POSITIVE,),
    "deviance": (POSITIVE, POSITIVE_TOO),
    "gammaln": (POSITIVE,),
    "gamma": (POSITIVE,),
    "rgamma": (POSITIVE,),
    "psi": (POSITIVE,),
    "polygamma": (COUNTS, POSITIVE),
    "beta": (POSITIVE, POSITIVE_TOO),
    "betaln": (POSITIVE, POSITIVE_TOO),
    "gammainc": (POSITIVE, POSITIVE_TOO),
    "gammaincc": (POSITIVE, POSITIVE_TOO),
    "betainc": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "betaincc": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "gammaincinv": (POSITIVE, PROBABILITY),
    "gammainccinv": (POSITIVE, PROBABILITY),
    "betaincinv": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "betainccinv": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "beta_odds": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "beta_oddsc": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "log_gammainc": (POSITIVE, POSITIVE_TOO),
    "log_gammaincc": (POSITIVE, POSITIVE_TOO),
    "log_betainc": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    "log_betaincc": (POSITIVE, POSITIVE_TOO, PROBABILITY),
    # error functions and the normal distribution
    "erf": (ANY,),
    "erfc": (ANY,),
    "erfcx": (ANY,),
    "erfinv": (UNIT,),
    "erfcinv": (np.array([0.1, 0.5, 0.9, 1.3, 1.8]),),
    "ndtr": (ANY,),
    "log_ndtr": (ANY,),
    "ndtri": (PROBABILITY,),
    "stdtr": (POSITIVE_TOO, ANY),
    "student_inverse": (POSITIVE_TOO, PROBABILITY),
    # logistic and entropies
    "expit": (ANY,),
    "logit": (PROBABILITY,),
    "log_expit": (ANY,),
    "xlogy": (ANY, POSITIVE),
    "xlog1py": (ANY, POSITIVE),
    "entr": (POSITIVE,),
    "rel_entr": (POSITIVE, POSITIVE_TOO),
    "kl_div": (POSITIVE, POSITIVE_TOO),
    "exprel": (ANY,),
    "cosm1": (ANY,),
    # Bessel functions and neighbours
    "i0": (ANY,),
    "i1": (ANY,),
    "i0e": (ANY,),
    "i1e": (ANY,),
    "j0": (ANY,),
    "j1": (ANY,),
    "y0": (POSITIVE,),
    "y1": (POSITIVE,),
    "k0e": (POSITIVE,),
    "k1e": (POSITIVE,),
    "kve": (ORDERS, POSITIVE),
    "ive": (ORDERS, POSITIVE),
    "dawsn": (ANY,),
    "spence": (POSITIVE,),
}
