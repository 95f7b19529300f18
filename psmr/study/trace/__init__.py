"""Traces of other programs, and how far a run is from them."""
