"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    What it needs is imported here, so that Ctrl-C is no traceback while that takes its time, either.
    """
    try:
        from psmr.cli import entry
    except KeyboardInterrupt:
        print("psmr: error: interrupted before anything was begun", file=sys.stderr)
        return 130
    return entry.main(argv)
