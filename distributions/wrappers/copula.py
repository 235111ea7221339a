"""GaussianCopula: any distributions, dependent as correlated normal variables are."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.support import Support, TriangularFactor
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.distributions.wrappers.combined import Combined, check_components
from probdiff.distributions.wrappers.product import Product
from probdiff.distributions.wrappers.transported import QuantileMap
from probdiff.errors import ShapeError
from probdiff.tree import Array

__all__ = ["GaussianCopula"]


class GaussianCopula(Combined):
    """p(x) = Π_j f_j(x_j) · N(z; 0, L L') / Π_j N(z_j; 0, 1),  Φ(z_j) = F_j(x_j).

    components  a continuous distribution whose last batch axis has the margins; or a tuple of distributions
    scale_tril  L, the lower triangular factor of a correlation matrix: as `LKJCholesky` draws it

    Song (2000), Multivariate dispersion models generated from Gaussian copula.
    """

    components: Any
    scale_tril: TriangularFactor

    trailing = {"components": 1}

    def check_parts(self) -> None:
        check_components("GaussianCopula", self.components)
        for part in self.components if isinstance(self.components, tuple) else (self.components,):
            self.refuse_unless(part, discrete=False)
        count, size = self._margins().event_shape[0], self.scale_tril.shape[-1]
        if count != size:
            raise ShapeError(f"GaussianCopula has {count} margins and a factor of {size} rows.")

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self._margins().event_shape

    @property
    def support(self) -> Support:
        return self._margins().support

    def logpdf(self, x: Array) -> Array:
        z = self._each("inverse", x)
        zeros = np.zeros(self.event_shape)
        dependence = MvNormal(zeros, self.scale_tril, check=False).logpdf(z) - np.sum(Normal().logpdf(z), axis=-1)
        return self._margins().logpdf(x) + dependence

    def mean(self) -> Array:
        return self._margins().mean()

    def var(self) -> Array:
        return self._margins().var()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        normal = MvNormal(np.zeros(self.event_shape), self.scale_tril, check=False)
        return self._each("forward", normal.draw(shape, rng))

    def _margins(self) -> Product:
        return Product(self.components)

    def _each(self, way: str, x: Array) -> Array:
        """Values of the margins from normal variables, or back."""
        if not isinstance(self.components, tuple):
            return getattr(QuantileMap(self.components), way)(x)
        return np.stack([getattr(QuantileMap(p), way)(x[..., j]) for j, p in enumerate(self.components)], axis=-1)
