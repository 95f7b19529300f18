"""MATPOWER case files."""
