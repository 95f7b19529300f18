"""The version of psmr."""

__version__ = "0.1.0"
