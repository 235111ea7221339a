"""What NumPy's functions do with lifted arrays; importing a module here fills the tables of `dispatch`."""

from probdiff.ops.functions import conversions, linear_algebra, products, reductions, selection, shapes, ufuncs

__all__ = ["conversions", "linear_algebra", "products", "reductions", "selection", "shapes", "ufuncs"]
