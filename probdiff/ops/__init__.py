"""The table of primitives, and how NumPy reaches it."""

from probdiff.ops import functions as functions  # fills the table of NumPy functions
