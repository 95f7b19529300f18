"""Faults along lines and unbalanced faults: what they are to the positive-sequence network."""
