"""Benchmarks that ship with the package: each checks all answers first, then times us beside our peers."""
