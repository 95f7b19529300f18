"""Shi and Rojas: the stabilized multirate explicit scheme."""
