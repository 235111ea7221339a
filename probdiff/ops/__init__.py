"""The table of primitives, and how NumPy reaches it."""

from probdiff.ops import matrix as matrix  # fills the table of NumPy functions
from probdiff.ops import protocol as protocol
