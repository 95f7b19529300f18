"""A study run."""
