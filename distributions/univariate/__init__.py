"""Distributions of one number."""
