"""The table of primitives, and how NumPy reaches it."""

from probdiff.ops import protocol as protocol  # fills the table of NumPy functions

from probdiff.ops import matrix as matrix  # and of its linear algebra, some of it in place of the protocol's
