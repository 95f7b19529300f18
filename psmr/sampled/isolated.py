"""A controller in a process of its own: what ends it does not end the run, which says so and is kept.

Each sample is a message through a pipe, a row of double: what to do, t, reads, values; the answer is a status
and the values. Neither side runs Python for it. The process opens the file by itself, from its path and
parameters, on behalf of a run that may.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, SimulationError, first_few
from psmr.dae.compile.decorators import lean, unit
from psmr.integrate.solve.records import integers, reals
from psmr.sampled.adapter import SIGNATURE
from psmr.sampled.description import CodeInfo, info_of

SAMPLE, INITIALIZE, LATER, SAY, EXPLAIN = range(5)
"""What a message asks for."""

ENDED = 1 << 42
"""The status where the process has ended."""

# Places in the row of either side: descriptors, counts, the message, functions of the C library, what poll
# waits for, whether all is over; and of the process's side the function of a sample and its handle.
TO, FROM, READS, VALUES, MESSAGE, WRITE, READ, POLL, POLLED, OVER, FUNCTION, HANDLE, SIZE = range(13)

POLL_IN, POLL_OUT, POLL_BAD = 1, 4, 0x28
"""Of poll: to read, to write; that the other end is closed."""

PATIENCE = 2000
"""Time in ms that a sample may take after a signal has interrupted the wait for it: it may never end."""

LAST = 2.0
"""Time in s that a process has to end by itself."""


@intrinsic
def _transfer(typing_context, function, descriptor, address, count):  # type: ignore[no-untyped-def]
    """Call read or write of the C library."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer, word = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(integer, [word, integer, integer]).as_pointer()
        function, descriptor, address, count = arguments
        narrow = builder.trunc(descriptor, word)
        return builder.call(builder.inttoptr(function, kind), [narrow, address, count])

    return types.int64(*(types.int64,) * 4), generate


@intrinsic
def _call(typing_context, function, handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Call the function of a sample."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer = ir.IntType(64)
        kind = ir.FunctionType(integer, [integer, ir.DoubleType(), integer, integer]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])

    return SIGNATURE.return_type(types.int64, *SIGNATURE.args), generate


@intrinsic
def _wait(typing_context, function, address, milliseconds):  # type: ignore[no-untyped-def]
    """Call poll of the C library for one descriptor."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer, word = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(word, [integer, integer, word]).as_pointer()
        function, address, milliseconds = arguments
        called = builder.inttoptr(function, kind)
        return builder.call(called, [address, integer(1), builder.trunc(milliseconds, word)])

    return types.int32(*(types.int64,) * 3), generate


@lean
def _all(row, out, count):  # type: ignore[no-untyped-def]
    """Send or receive so many bytes of the message; return whether it could be done.

    Where a signal has interrupted that, it goes on where something comes soon.
    """
    function, descriptor = (row[WRITE], row[TO]) if out else (row[READ], row[FROM])
    polled, done = row[POLLED:OVER], 0
    while done < count:
        moved = _transfer(function, descriptor, row[MESSAGE] + done, count - done)
        if moved == 0:
            return False
        if moved < 0:
            polled[0] = descriptor + ((POLL_OUT if out else POLL_IN) << 32)
            if _wait(row[POLL], polled.ctypes.data, PATIENCE) <= 0 or (polled[0] >> 48) & POLL_BAD != 0:
                return False
        done += max(moved, 0)
    return True


def _ask(handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Have the process run a sample, see `psmr.dae.declare.samples.ExternalCode`."""
    row = integers(handle, SIZE)
    n, m = row[READS], row[VALUES]
    message, given, own = reals(row[MESSAGE], 2 + n + m), reals(reads, n), reals(values, m)
    if row[OVER] != 0:
        return np.int64(ENDED)
    message[0], message[1] = SAMPLE, t
    for k in range(n):
        message[2 + k] = given[k]
    for k in range(m):
        message[2 + n + k] = own[k]
    if not _all(row, True, 8 * (2 + n + m)) or not _all(row, False, 8 * (1 + m)):
        row[OVER] = 1
        return np.int64(ENDED)
    status = np.int64(message[0])
    if status == 0:
        for k in range(m):
            own[k] = message[1 + k]
    return status


def _serve(handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Run samples until something else is asked for, which the message has then; 1 where nobody asks."""
    row = integers(handle, SIZE)
    n, m = row[READS], row[VALUES]
    message = reals(row[MESSAGE], 2 + n + m)
    while _all(row, False, 8 * (2 + n + m)):
        if message[0] != SAMPLE:
            return np.int64(0)
        first = row[MESSAGE] + 16
        status = _call(row[FUNCTION], row[HANDLE], message[1], first, first + 8 * n)
        message[0] = status
        for k in range(m):
            message[1 + k] = message[2 + n + k]
        if not _all(row, True, 8 * (1 + m)):
            break
    return np.int64(1)


ask = unit(SIGNATURE, "the calls of controllers in processes of their own", 1)(_ask)
serve = unit(SIGNATURE, "the calls of controllers in processes of their own", 1)(_serve)


def _row(to: int, back: int, reads: int, values: int, message: Reals) -> np.ndarray:
    library = ctypes.CDLL(None)
    functions = [
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in ("write", "read", "poll")
    ]
    return np.array([to, back, reads, values, message.ctypes.data, *functions, 0, 0, 0, 0], np.int64)


def _take(descriptor: int, count: int) -> bytes:
    parts = b""
    while len(parts) < count:
        part = os.read(descriptor, count - len(parts))
        if not part:
            raise EOFError
        parts += part
    return parts


RUN = (sys.executable, "-P", "-c", "from psmr.sampled.code import serve; serve()")
"""What starts its process; -P: not what lies in the current folder."""


class Described:
    """What a file says of itself in a process of its own: `info`, `states`, and whether it is `scheduled`."""

    def __init__(self, info: CodeInfo, states: Sequence[str], scheduled: bool) -> None:
        self.info, self.states, self.scheduled = info, states, scheduled

    def instance(self, name: str, **parameters: Any) -> None:
        """Make none: its parameters were found to be right there."""


def described(file: dict[str, Any]) -> Described:
    """Return what a file says of itself; raise InputError for what is wrong there, or ends its process."""
    if sys.platform == "win32":
        raise InputError(f"{file['path']}: isolate = true: there is none on Windows yet; leave it out")
    told = json.dumps({"file": file}).encode() + b"\n"
    done = subprocess.run(RUN, input=told, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        why = _ending(done.returncode)
        raise InputError(f"{file['path']}: {why} while it said what it is or checked its parameters")
    found = json.loads(done.stdout[8:])
    if "error" in found:
        raise InputError(found["error"])
    return Described(info_of(found["info"]), found["states"], found["scheduled"])


def _ending(code: int) -> str:
    """Return in words how a process ended."""
    return f"its process ended ({signal.Signals(-code).name if code < 0 else f'status {code}'})"


class Isolated:
    """The controller of a device in a process of its own; what it has is what `CodeInstance` has.

    Raises InputError where the file cannot be opened there, and on Windows.
    """

    def __init__(self, code: Any, reads: Sequence[str], states: Sequence[str]) -> None:
        if sys.platform == "win32":
            raise InputError(f"{code.name}: isolate = true: there is none on Windows yet; leave it out")
        self.name, self.path, self.states, self.reads = code.name, code.file.path, tuple(states), reads
        self._told = {"file": asdict(code.file), "name": code.name, "scales": code.scales}
        self._later = code.later
        head = self._begin()
        self.repeatable, self.values = head["repeatable"], np.zeros(head["values"])
        self._message = np.zeros(2 + len(reads) + len(self.values))
        self._row = _row(self.to, self.back, len(reads), len(self.values), self._message)
        self.address, self.handle = ask.address, self._row.ctypes.data

    def _begin(self) -> dict[str, Any]:
        """Start its process; return what that says of it."""
        folder = tempfile.mkdtemp(prefix="psmr-code-")  # what it leaves behind goes with it
        own = os.environ | {"TMPDIR": folder}
        self.process = subprocess.Popen(RUN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own)
        self.close = weakref.finalize(self, _end, self.process, folder)
        self.to, self.back = (pipe.fileno() for pipe in (self.process.stdin, self.process.stdout) if pipe)
        os.write(self.to, json.dumps(self._told | {"later": self._later}).encode() + b"\n")
        head = dict(json.loads(self._answer()))
        if "error" in head:
            raise InputError(head["error"])
        return head

    def go_on(self) -> None:
        """Start another process where this one has ended, or an interrupt has left it in a sample."""
        if self._row[OVER] or self.process.poll() is not None:
            self.process.kill()
            self.close()
            self._begin()
            self._row[[TO, FROM, OVER]] = self.to, self.back, 0

    def _answer(self) -> str:
        try:
            return _take(self.back, int.from_bytes(_take(self.back, 8), "little")).decode()
        except (EOFError, OSError):
            return json.dumps({"error": f"{self.name}: {self.path}: {self._why()}"})

    def _request(self, what: int, t: float = 0.0, values: Sequence[float] | Reals = ()) -> dict[str, Any]:
        message = np.zeros(len(self._message))
        message[:2], message[2 : 2 + len(values)] = (what, t), values
        if self._row[OVER]:
            self.process.kill()
        try:
            with contextlib.suppress(OSError):
                os.write(self.to, message.tobytes())
            return dict(json.loads(self._answer()))
        except BaseException:  # an interrupt: its answer would be taken for that to the next question
            self.process.kill()
            raise

    def _why(self) -> str:
        """Return how the process ended."""
        return _ending(self.process.wait())

    @property
    def later(self) -> float:
        """See `CodeInstance`."""
        return self._later

    @later.setter
    def later(self, seconds: float) -> None:
        self._later = seconds
        self._request(LATER, seconds)

    @property
    def messages(self) -> list[tuple[float, str]]:
        """See `CodeInstance`; nothing where its process has ended."""
        return [(t, words) for t, words in self._request(SAY).get("messages", ())]

    def initialize(self, t: float, inputs: Reals, outputs: Reals | None = None) -> Reals:
        """See `CodeInstance`."""
        own = np.zeros(len(self.values) - len(self.states)) if outputs is None else outputs
        found = self._request(INITIALIZE, t, [*inputs, *np.zeros(len(self.states)), *own])
        if "error" in found:
            raise SimulationError(found["error"])
        self.values[:] = found["values"]
        return self.values.copy()

    def failure(self, t: float, reads: Reals) -> str:
        """See `CodeInstance`."""
        if not self._row[OVER]:
            found = self._request(EXPLAIN, t, reads)
            if "failure" in found:
                return str(found["failure"])
        given = [f"{name} = {value:.6g}" for name, value in zip(self.reads, reads, strict=True)]
        try:
            self.process.wait(LAST)  # where it has ended, that is all but known
            why = self._why()
        except subprocess.TimeoutExpired:
            self.process.kill()
            why = f"it does not come back, {PATIENCE / 1000:g} s after an interrupt"
        return (
            f"{self.name}: {self.path}, t = {t:.9g} s: {why}. Its inputs at that sample:"
            f" {first_few(given, 8)}"
        )


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(LAST)
    except subprocess.TimeoutExpired:  # its library does not come back
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _end_with(parent: int) -> None:
    """End this process once the one that it works for has: some libraries do not come back by themselves."""
    while os.getppid() == parent:
        time.sleep(LAST)
    os.kill(os.getpid(), signal.SIGKILL)


def serve_requests(make: Callable[[dict[str, Any]], Any]) -> None:
    """Run the controller that standard input tells of, of which `make` returns the code."""
    # An interrupt is for the one that it works for, which then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # What a library prints goes to standard error: the pipe has answers alone.
    back = os.dup(1)
    os.dup2(2, 1)
    line = b""
    while not line.endswith(b"\n"):
        line += _take(0, 1)

    def answer(found: dict[str, Any]) -> None:
        data = json.dumps(found).encode()
        os.write(back, len(data).to_bytes(8, "little") + data)

    try:
        told = json.loads(line)
        code = make(told)
        if "name" not in told:
            answer(code.description())
            return
        live = code.live
        reads, values = len(code.file.inputs()), len(live.states) + len(code.scales)
        answer({"repeatable": live.repeatable, "values": values})
    except Exception as error:
        answer({"error": str(error)})
        return
    message = np.zeros(2 + reads + values)
    row = _row(back, 0, reads, values, message)
    row[[FUNCTION, HANDLE]] = live.address, live.handle
    kinds = ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_int64, ctypes.c_int64
    run = ctypes.CFUNCTYPE(*kinds)(serve.address)
    while run(row.ctypes.data, 0.0, 0, 0) == 0:
        what, t, given = int(message[0]), float(message[1]), message[2 : 2 + reads]
        if what == LATER:
            live.later = t
            answer({})
        elif what == INITIALIZE:
            try:
                outputs = message[2 + reads + len(live.states) :]
                answer({"values": live.initialize(t, given, outputs).tolist()})
            except Exception as error:
                answer({"error": str(error)})
        elif what == SAY:
            answer({"messages": live.messages})
        else:
            answer({"failure": live.failure(t, given)})
