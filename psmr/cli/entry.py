"""The command line: its parser, and how a command ends, also from outside.

Results go to standard output or to files, everything else to standard error; the exit code is 0 only for
success, 2 for input that is wrong and 1 for a failure, or for a case that `check` finds cannot start; 128 and
its number for a signal.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from psmr.base.errors import InputError, PsmrError, PsmrWarning, printable
from psmr.base.modules import broken_package, import_failure
from psmr.base.numbers import real_in, whole_in
from psmr.cli.acceptance import accept
from psmr.cli.cases import cases, check, convert, new, reproduce, warmup
from psmr.cli.course import exercise
from psmr.cli.frequency import response, scan
from psmr.cli.linear import deformation, explain, modes, partition, tune
from psmr.cli.options import add_command, call
from psmr.cli.runs import compare, plot, run, sweep, view
from psmr.cli.voltage import pv, qv


class EndedBySignal(KeyboardInterrupt):
    """A signal, `number`, has asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def code(self) -> int:
        """The exit code by the convention of shells."""
        return 128 + self.number

    def __str__(self) -> str:
        return f"ended by {signal.Signals(self.number).name}; {LEFT}"


LEFT = "no partial files were left behind"

# Time in s after which a signal that was swallowed comes once more.
AGAIN = 0.05

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

# What signals have raised. A library may make another exception of it: C code that imports a module, say.
heard: list[KeyboardInterrupt] = []


def heed_signals() -> None:
    """Let the signals that end a process end it like an interrupt, so that what is begun is cleared away.

    A signal that is ignored (`nohup`) stays ignored, and a process that is forked off ends as it would.
    """
    owner = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL if os.getpid() != owner else signal.SIG_IGN)
        if os.getpid() != owner:
            os.kill(os.getpid(), number)
            return
        heard.append(EndedBySignal(number))
        raise heard[-1]

    def interrupt(number: int, frame: FrameType | None) -> None:
        heard.append(KeyboardInterrupt())
        raise heard[-1]

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    heeded = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    if not heeded:  # it is heeded already, or none is to be
        return
    for number in heeded:
        signal.signal(number, end)
    usual = sys.unraisablehook

    def swallowed(unraisable: Any) -> None:
        # Raised where nothing can be: while an object is cleared away. It comes once more, a moment later.
        error = unraisable.exc_value
        if not isinstance(error, KeyboardInterrupt) or os.getpid() != owner:
            usual(unraisable)
            return
        number = error.number if isinstance(error, EndedBySignal) else signal.SIGINT
        if number in heeded:
            signal.signal(number, end)
        again = threading.Timer(AGAIN, os.kill, (owner, number))
        again.daemon = True
        again.start()

    sys.unraisablehook = swallowed


def disregard_signals() -> None:
    """Let a process that is done come to its end."""
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)


def require_streams() -> None:
    """Find out before anything is done whether results can be shown, and keep files off the standard streams.

    A file that is opened takes the lowest number that is free: of a closed stream, so that what is printed
    would go into it. Raises PsmrError where standard output is closed.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    if sys.stdout is None:
        raise PsmrError(
            "standard output is closed; send it to a file, or to /dev/null if nobody is to read it"
        )
    # A pipe on Windows has a code page, which lacks most letters.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def say(sentence: str) -> None:
    """Say something on standard error, if anybody can hear it."""
    try:
        print(printable(sentence), file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        silence(sys.stderr)


def silence(stream: Any) -> None:
    """Let a stream that cannot be written lead nowhere, so that it does not complain again at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        pass


# In the order in which the help lists them.
COMMANDS = (
    run,
    cases,
    sweep,
    check,
    plot,
    compare,
    accept,
    modes,
    partition,
    deformation,
    response,
    scan,
    pv,
    qv,
    tune,
    view,
    explain,
    convert,
    new,
    exercise,
    reproduce,
    warmup,
)

# New objects after which Python looks for unreachable ones. With its 700, and the walk through everything at
# exit, that took a quarter of the processor time of `psmr run` on WSCC-9 (measured).
NEW_OBJECTS = 50_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if argv is None:  # the process is this command's
        gc.set_threshold(NEW_OBJECTS)
        atexit.register(gc.freeze)  # at exit everything goes anyway
        heed_signals()
        code = _ended(None)
        disregard_signals()
        return code
    return _ended(argv)


def _ended(argv: Sequence[str] | None) -> int:
    """Carry a command out and return its exit code, however it ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PsmrWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        try:
            try:
                if argv is None:
                    require_streams()
                arguments = parser().parse_args(argv)
                code = call(arguments)
            finally:
                if sys.stdout is not None:  # closed by who started us
                    sys.stdout.flush()
        except BaseException as error:
            code = _exit_code(heard[-1] if heard else error)
            if code is None:
                raise
            return code
    return code or 0


def _exit_code(error: BaseException) -> int | None:
    """Print the error that ended a command and return its exit code; None for errors that are not psmr's."""
    if not isinstance(error, PsmrError | KeyboardInterrupt | MemoryError | SystemExit):
        package = broken_package(error)
        if package is not None:
            return _fail(f"the package {package} {import_failure(package, error)}", 1)
    match error:
        case InputError():
            return _fail(error, 2)
        case PsmrError():
            return _fail(error, 1)
        case EndedBySignal():
            return _fail(error, error.code)
        case KeyboardInterrupt():
            return _fail(f"interrupted; {LEFT}", 130)
        case BrokenPipeError():  # the reader of our output (`head`) has gone
            silence(sys.stdout)
            return 1
        case MemoryError():
            more = f" ({error})" if str(error) else ""
            return _fail(
                f"the memory of this machine is not enough{more}; record fewer signals or every k-th step, "
                "take a smaller case, or a larger machine",
                1,
            )
        case OSError():
            # Files say themselves what is wrong with them.
            silence(sys.stdout)
            place = f"{error.filename}: " if error.filename else "standard output: "
            return _fail(f"{place}{error.strerror or error}; what was to be written there is lost", 1)
    return None


class Parser(argparse.ArgumentParser):
    """A parser whose help and version are as much output as a result; numbers have digits 0 to 9."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("type", float, real_in)
        self.register("type", int, whole_in)
        self.fill: Callable[[Parser], None] | None = None

    def parse_known_args(self, *arguments: Any, **options: Any) -> Any:
        """Read arguments, after the options of this command have been added."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(*arguments, **options)

    def _print_message(self, message: str, file: Any = None) -> None:
        # That of argparse hides that standard output is full.
        message = printable(message)  # it may quote what was typed, or what a shell found in a folder
        if file is sys.stdout and message:
            file.write(message)
        else:
            super()._print_message(message, file)


def parser() -> Parser:
    """Return the parser of the command line."""
    top = Parser(
        prog="psmr",
        description="Multirate simulation of power systems that says how much the numerics deform each mode.",
    )
    top.add_argument("--version", action="version", version=f"psmr {_version()}")
    subparsers = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    for command in COMMANDS:
        add_command(subparsers, command)
    return top


def _show_warning(message: Any, category: type[Warning], *place: Any, **rest: Any) -> None:
    say(f"psmr: warning: {message}")


def _fail(error: object, code: int) -> int:
    say(f"psmr: error: {error}")
    return code


def _version() -> str:
    from psmr.version import __version__

    return __version__
