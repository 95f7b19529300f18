"""A controller in a file as a case names it, and that of a device: opened only where the person allowed it.

What a case, a study or a saved run holds is paths and numbers. A library is a program: it is opened by
`CodeFile.allowed`, which the reader of a case calls where the person said so, and by nothing that is in a
file. What is pickled or saved is closed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from psmr.base.errors import InputError
from psmr.base.modules import ALLOW
from psmr.sampled.description import EMT, labels, state_names
from psmr.sampled.isolated import Isolated, serve_requests
from psmr.sampled.library import CodeLibrary

LIBRARY, FMU = "library", "fmu"

_allowed = ContextVar("allowed", default=False)


@contextmanager
def code_allowed(allowed: bool = True) -> Iterator[None]:
    """Open what is unpickled within: for whoever passes on that the person allowed it."""
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


@dataclass(frozen=True)
class CodeFile:
    """A file with a controller, and what a case says of it.

    Attributes
    ----------
    path
        The file.
    kind
        ``"library"`` of the IEEE/CIGRE interface, or ``"fmu"``.
    mode
        1: instantaneous values, 2: phasors; of a library.
    parameters
        Names and values of those that are not the file's own.
    isolate
        Whether it runs in a process of its own.
    period, clocks
        Of an FMU: its communication step in s, and which of its clocks are activated; None and (): its own.
    where
        What names it: file and line.
    """

    path: str
    kind: str = LIBRARY
    mode: int = EMT
    parameters: tuple[tuple[str, float | str], ...] = ()
    isolate: bool = False
    period: float | None = None
    clocks: tuple[str, ...] = ()
    where: str = field(default="", compare=False)

    def allowed(self) -> CodeFile:
        """Return it such that it may be opened: the person said so."""
        made = replace(self)
        object.__setattr__(made, "_may", True)
        return made

    def opened(self) -> Any:
        """Return the library or the unit, with its description `info`.

        Raises InputError where it may not be opened, and for what is wrong with the file.
        """
        if not (getattr(self, "_may", False) or _allowed.get()):
            raise InputError(
                f"{f'{self.where}: ' if self.where else ''}{self.path} would run; where you trust that code,"
                f" give {ALLOW}"
            )
        if "_opened" not in self.__dict__:
            if self.kind == FMU:
                from psmr.sampled.fmu import Fmu

                made: Any = Fmu(self.path, self.period, self.clocks)
            else:
                made = CodeLibrary(self.path)
            object.__setattr__(self, "_opened", made)
        return self.__dict__["_opened"]

    def instance(self, name: str) -> Any:
        """Return a controller of its own, which messages call by a name."""
        mode = {"mode": self.mode} if self.kind == LIBRARY else {}
        return self.opened().instance(name, **mode, **dict(self.parameters))

    def states(self) -> tuple[str, ...]:
        """Return the names of the states that a controller keeps between samples."""
        if self.kind == LIBRARY:
            return state_names(self.opened().info)
        return tuple(self.instance("").states)

    def inputs(self) -> tuple[str, ...]:
        """Return a name for each value that it reads."""
        return labels(self.opened().info.inputs)

    def outputs(self) -> tuple[str, ...]:
        """Return a name for each value that it gives."""
        return labels(self.opened().info.outputs)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True)
class ControllerCode:
    """The external code of a device (`psmr.ExternalCode`): opened when a run first asks for its address.

    Attributes
    ----------
    file
        What runs.
    name
        The device.
    scales
        What each value of its outputs is multiplied by.
    later
        Time in s that it ran before t = 0, from which its own time counts.
    """

    file: CodeFile
    name: str
    scales: tuple[float, ...]
    later: float = 0.0

    @property
    def live(self) -> Any:
        """The controller in memory."""
        if "_live" not in self.__dict__:
            if self.file.isolate:
                made: Any = Isolated(self, self.file.inputs(), self.file.states())
            else:
                made = self.file.instance(self.name)
                made.scale(self.scales)
                made.later = self.later
            object.__setattr__(self, "_live", made)
        return self.__dict__["_live"]

    @property
    def address(self) -> int:
        """See `psmr.ExternalCode`."""
        return int(self.live.address)

    @property
    def handle(self) -> int:
        """See `psmr.ExternalCode`."""
        return int(self.live.handle)

    @property
    def repeatable(self) -> bool:
        """See `psmr.ExternalCode`."""
        return bool(self.live.repeatable)

    @property
    def opaque(self) -> bool:
        """Whether its states are no numbers that could be changed a little."""
        return bool(getattr(self.live, "opaque", False))

    @property
    def messages(self) -> list[tuple[float, str]]:
        """What it said so far: (time in s, words); nothing where it never ran."""
        return list(self.live.messages) if "_live" in self.__dict__ else []

    def failure(self, t: float, reads: Sequence[float]) -> str:
        """See `psmr.ExternalCode`."""
        return str(self.live.failure(t, reads))

    def started(self, later: float) -> ControllerCode:
        """Return the code of a controller that has run for a time in s before t = 0."""
        made = replace(self, later=later)
        if "_live" in self.__dict__:
            object.__setattr__(made, "_live", self.live)
            self.live.later = later
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def serve() -> None:
    """Run the controller that standard input tells of for another process, which may (`Isolated`)."""

    def made(told: dict[str, Any]) -> ControllerCode:
        file = told["file"] | {"isolate": False, "clocks": tuple(told["file"]["clocks"])}
        file["parameters"] = tuple(map(tuple, file["parameters"]))
        return ControllerCode(CodeFile(**file).allowed(), told["name"], tuple(told["scales"]), told["later"])

    serve_requests(made)
