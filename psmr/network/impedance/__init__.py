"""Impedances of the grid and of a plant at a bus, and whether both are stable together."""
