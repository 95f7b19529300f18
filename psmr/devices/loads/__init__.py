"""Loads: ZIP, exponential, characteristics of the standard library, induction motors."""
