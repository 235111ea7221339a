"""The table of primitives, and how NumPy reaches it."""

from probdiff.ops import protocol as protocol  # fills the table of NumPy functions
