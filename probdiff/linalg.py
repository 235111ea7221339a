"""Linear algebra that differentiates in both modes and at any order. Batches lead: a matrix is (..., n, n).

NumPy's own names work, too: `np.linalg.cholesky`, `solve`, `inv`, `det`, `slogdet`, `eigh`, `eigvalsh`, `qr`, `svd`,
`svdvals`, `lstsq`, `pinv`, `multi_dot`, `matrix_power`, `norm` and `np.kron`, on values that are being differentiated,
are the functions of this module. SciPy's do not dispatch: call `solve_triangular`, `cho_solve` and `expm` from here.

Symmetric matrices. `cholesky`, `logdet`, `eigh` and `eigvalsh` read the lower triangle alone, as LAPACK does. Their
gradient is that of the function of the full symmetric matrix, f((a + a') / 2): it is symmetric itself, and holds
df = sum(gradient * da) for every symmetric change da. A parameter that stands in two places of the matrix therefore
gets the sum of both entries, whichever way the matrix was filled.

Failure. Without a compiled program around it, a matrix that is singular or not positive definite raises
`LinAlgError`; in a compiled one the result is NaN, and a sampler rejects the point.
"""

from __future__ import annotations

from probdiff.errors import LinAlgError
from probdiff.ops.matrix import (
    EighResult,
    QRResult,
    SlogdetResult,
    SVDResult,
    cho_solve,
    cholesky,
    det,
    eigh,
    eigvalsh,
    expm,
    inv,
    kron,
    logdet,
    lstsq,
    matrix_power,
    multi_dot,
    pinv,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
)

__all__ = [
    "EighResult",
    "LinAlgError",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "expm",
    "inv",
    "kron",
    "logdet",
    "lstsq",
    "matrix_power",
    "multi_dot",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
]
