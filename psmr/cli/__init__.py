"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    What it needs is imported here, so that Ctrl-C is no traceback while that takes its time, either.
    """
    try:
        if argv is None:  # the process is this command's
            from psmr.base.modules import defer

            defer("numpy", "f2py", "testing")
        from psmr.cli import entry

        code = entry.main(argv)
    except KeyboardInterrupt as error:  # before or after the command itself
        print(f"psmr: error: {str(error) or 'interrupted before anything was begun'}", file=sys.stderr)
        code = getattr(error, "code", 130)
    if code == 130:
        # Python remembers an interrupt that passed through an `exec` of a text (dataclasses are made by one)
        # and ends itself by the signal in place of the exit code, unless another `exec` came to its end.
        exec("")
    return code
