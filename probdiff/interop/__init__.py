"""Our models in other people's samplers, and our programs inside theirs."""

from probdiff.interop.blackjax import JaxDensity, to_blackjax
from probdiff.interop.in_jax import to_jax
from probdiff.interop.nutpie import to_nutpie

__all__ = ["JaxDensity", "to_blackjax", "to_jax", "to_nutpie"]
