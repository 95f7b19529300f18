"""Converters that follow the grid or form it."""
