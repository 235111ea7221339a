"""The programs of `benchmarks.gradients`, one a file: data from a fixed seed, and each contender's coding."""
