"""Kernels: covariances of the values of a random function, as functions of the places."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from probdiff.tree import Array

__all__ = ["Kernel", "Matern12", "Matern32", "Matern52", "Periodic", "Plus", "SquaredExponential", "Times"]


@dataclass(frozen=True)
class Kernel:
    """A covariance function: called with two arrays of places, (n,) or (n, dimensions), it gives the n × m matrix.

    Kernels are added and multiplied.
    Rasmussen & Williams, Gaussian Processes for Machine Learning, ch. 4.
    """

    def __call__(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def __add__(self, other: Kernel) -> Plus:
        return Plus(self, other)

    def __mul__(self, other: Kernel) -> Times:
        return Times(self, other)


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel of the distance r / length; `scale` is the standard deviation of a value.

    length  positive; an array has a length for each dimension of the places
    """

    length: Any = 1.0
    scale: Any = 1.0

    def squared(self, x: Array, y: Array) -> Array:
        """(r / length)²."""
        if x.ndim == 1:
            return ((x[:, None] - y[None, :]) / self.length) ** 2
        return np.sum(((x[:, None, :] - y[None, :, :]) / self.length) ** 2, axis=-1)

    def distance(self, x: Array, y: Array) -> Array:
        """r / length, with slope zero where it is zero."""
        square = self.squared(x, y)
        return np.where(square > 0, np.sqrt(np.where(square > 0, square, 1.0)), 0.0)


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """scale² exp(-r² / 2 length²)."""

    def __call__(self, x: Array, y: Array) -> Array:
        return self.scale**2 * np.exp(-0.5 * self.squared(x, y))


@dataclass(frozen=True)
class Matern12(Stationary):
    """scale² exp(-r / length)."""

    def __call__(self, x: Array, y: Array) -> Array:
        return self.scale**2 * np.exp(-self.distance(x, y))


@dataclass(frozen=True)
class Matern32(Stationary):
    """scale² (1 + z) exp(-z),  z = √3 r / length."""

    def __call__(self, x: Array, y: Array) -> Array:
        z = math.sqrt(3.0) * self.distance(x, y)
        return self.scale**2 * (1 + z) * np.exp(-z)


@dataclass(frozen=True)
class Matern52(Stationary):
    """scale² (1 + z + z² / 3) exp(-z),  z = √5 r / length."""

    def __call__(self, x: Array, y: Array) -> Array:
        z = math.sqrt(5.0) * self.distance(x, y)
        return self.scale**2 * (1 + z + z * z / 3) * np.exp(-z)


@dataclass(frozen=True)
class Periodic(Kernel):
    """scale² exp(-2 sin²(π |x - y| / period) / length²), for places that are numbers."""

    period: Any = 1.0
    length: Any = 1.0
    scale: Any = 1.0

    def __call__(self, x: Array, y: Array) -> Array:
        wave = np.sin(math.pi * (x[:, None] - y[None, :]) / self.period) / self.length
        return self.scale**2 * np.exp(-2 * wave * wave)


@dataclass(frozen=True)
class Plus(Kernel):
    """The sum of two kernels."""

    first: Kernel
    second: Kernel

    def __call__(self, x: Array, y: Array) -> Array:
        return self.first(x, y) + self.second(x, y)


@dataclass(frozen=True)
class Times(Kernel):
    """The product of two kernels."""

    first: Kernel
    second: Kernel

    def __call__(self, x: Array, y: Array) -> Array:
        return self.first(x, y) * self.second(x, y)
