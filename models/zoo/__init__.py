"""Ready-made models with their data, one a file."""

from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.eight_schools import eight_schools
from probdiff.models.zoo.kidscore_momhsiq import kidscore_momhsiq

__all__ = ["eight_schools", "kidscore_momhsiq", "load"]
