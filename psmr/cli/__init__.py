"""The command line."""

from psmr.cli.entry import main, parser

__all__ = ["main", "parser"]
