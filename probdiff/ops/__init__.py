"""The table of primitives, and how NumPy reaches it."""

from probdiff.ops import functions as functions  # these two fill the table of NumPy functions
from probdiff.ops import matrix as matrix
