"""The posteriors that are sampled beside our peers, one a file, and what runs and judges the runs."""
