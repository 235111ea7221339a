"""Our models in other people's samplers."""

from probdiff.interop.blackjax import JaxDensity, to_blackjax
from probdiff.interop.nutpie import to_nutpie

__all__ = ["JaxDensity", "to_blackjax", "to_nutpie"]
