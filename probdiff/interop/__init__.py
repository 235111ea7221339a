"""Our models in other people's samplers, and our programs inside theirs."""

from probdiff.interop.blackjax import JaxDensity, to_blackjax
from probdiff.interop.in_jax import sharded, to_jax
from probdiff.interop.in_pytensor import to_pytensor
from probdiff.interop.in_torch import to_torch
from probdiff.interop.nutpie import to_nutpie

__all__ = ["JaxDensity", "sharded", "to_blackjax", "to_jax", "to_nutpie", "to_pytensor", "to_torch"]
