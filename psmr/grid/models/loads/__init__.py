"""Loads: ZIP, exponential, induction motors."""
