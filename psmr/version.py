"""The version of psmr."""

__version__ = "1.0.0"
