"""The command line: run a study, look at modes, partitions and deformations.

Results go to standard output or to files, everything else to standard error; the exit code is 0 only for
success, 2 for input that is wrong and 1 for a failure, or for a case that `check` finds cannot start.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from psmr.cli.commands import (
    check,
    convert,
    deformation,
    explain,
    modes,
    partition,
    plot,
    reproduce,
    run,
    tune,
    warmup,
)
from psmr.errors import InputError, PsmrError, PsmrWarning

# In the order in which the help lists them.
COMMANDS = (run, check, plot, modes, partition, deformation, tune, explain, convert, reproduce, warmup)

# New objects after which Python looks for unreachable ones. With its 700, and the walk through everything at
# exit, that took a quarter of the processor time of `psmr run` on WSCC-9 (measured).
NEW_OBJECTS = 50_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if argv is None:  # the process is this command's
        gc.set_threshold(NEW_OBJECTS)
        atexit.register(gc.freeze)  # at exit everything goes anyway
    arguments = parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("always", PsmrWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            code = arguments.command(arguments)
            sys.stdout.flush()
        except InputError as error:
            return _fail(error, 2)
        except PsmrError as error:
            return _fail(error, 1)
        except KeyboardInterrupt:
            return _fail("interrupted; nothing was written", 130)
        except BrokenPipeError:
            # The reader of our output (`head`) has gone; standard output must not complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
    return code or 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="psmr",
        description="Multirate simulation of power systems that says how much the numerics deform each mode.",
    )
    top.add_argument("--version", action="version", version=f"psmr {_version()}")
    subparsers = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    for command in COMMANDS:
        command.add(subparsers)
    return top


def _show_warning(message: Any, category: type[Warning], *place: Any, **rest: Any) -> None:
    print(f"psmr: warning: {message}", file=sys.stderr)


def _fail(error: object, code: int) -> int:
    print(f"psmr: error: {error}", file=sys.stderr)
    return code


def _version() -> str:
    from psmr.version import __version__

    return __version__
