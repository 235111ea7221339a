"""Distributions made of distributions."""

from probdiff.distributions.wrappers.iid import IID

__all__ = ["IID"]
