"""A controller in a file as a case names it, and that of a device: opened only where the person allowed it.

What a case, a study or a saved run holds is paths and numbers. What is copied, pickled or saved is closed:
whoever reads it for a person who said so opens it (`CodeFile.allowed`, `allow_codes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from psmr.base.errors import InputError
from psmr.base.modules import ALLOW
from psmr.sampled.description import EMT, RMS, labels, state_names
from psmr.sampled.isolated import Isolated, described, serve_requests
from psmr.sampled.library import CodeLibrary

LIBRARY, FMU = "library", "fmu"


class _Closed:
    """What has names with an underscore in this process alone."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def _once(self, name: str, make: Any) -> Any:
        if name not in vars(self):
            object.__setattr__(self, name, make())
        return vars(self)[name]


@dataclass(frozen=True)
class CodeFile(_Closed):
    """A file with a controller, and what a case says of it.

    Attributes
    ----------
    path, kind
        The file: a ``"library"`` of the IEEE/CIGRE interface, or an ``"fmu"``.
    mode
        Of a library. 1: instantaneous values, 2: phasors; 0: what it says of itself.
    parameters
        Names and values of those that are not the file's own.
    isolate
        Whether it runs in a process of its own.
    period, clocks
        Of an FMU: its communication step in s, and which of its clocks are activated; None and (): its own.
    start
        File with the values from which its start goes on, and into which they are written; "" for none.
    where
        What names it: file and line.
    """

    path: str
    kind: str = LIBRARY
    mode: int = 0
    parameters: tuple[tuple[str, float | str], ...] = ()
    isolate: bool = False
    period: float | None = None
    clocks: tuple[str, ...] = ()
    start: str = ""
    where: str = field(default="", compare=False)

    def allowed(self) -> CodeFile:
        """Let it be opened: the person said so."""
        object.__setattr__(self, "_may", True)
        return self

    def opened(self) -> Any:
        """Return the library or the unit, with its description `info`.

        Raises InputError where it may not be opened, and for what is wrong with the file.
        """
        if not getattr(self, "_may", False):
            where = f"{self.where}: " if self.where else ""
            raise InputError(f"{where}{self.path} would run; where you trust that code, give {ALLOW}")
        return self._once("_opened", self._open)

    def _open(self) -> Any:
        if self.isolate:
            return described(asdict(self))
        if self.kind == LIBRARY:
            return CodeLibrary(self.path)
        from psmr.sampled.fmu import Fmu  # needs FMPy

        return Fmu(self.path, self.period, self.clocks)

    def instance(self, name: str) -> Any:
        """Return a controller of its own, which messages call by a name."""
        made = self.opened()
        own = {"mode": self.mode or (RMS if made.info.mode == RMS else EMT)} if self.kind == LIBRARY else {}
        return made.instance(name, **own, **dict(self.parameters))

    def description(self) -> dict[str, Any]:
        """Return what it says of itself, once its parameters are found to be right, as a message has it."""
        made = self.opened()
        states = list(self.instance("").states)
        return {"info": asdict(made.info), "states": states, "scheduled": getattr(made, "scheduled", False)}

    def states(self) -> tuple[str, ...]:
        """Return the names of the states that a controller keeps between samples."""
        if self.kind == LIBRARY:
            return state_names(self.opened().info)
        return tuple(self.opened().states if self.isolate else self.instance("").states)

    def inputs(self) -> tuple[str, ...]:
        """Return a name for each value that it reads."""
        return labels(self.opened().info.inputs)

    def outputs(self) -> tuple[str, ...]:
        """Return a name for each value that it gives."""
        return labels(self.opened().info.outputs)


@dataclass(frozen=True)
class ControllerCode(_Closed):
    """The external code of a device (`psmr.ExternalCode`): opened when a run first asks for its address.

    `file`, `name`: What runs, and the device.
    `scales`: What each value of its outputs is multiplied by.
    `later`: Time in s that it ran before t = 0, from which its own time counts.
    """

    file: CodeFile
    name: str
    scales: tuple[float, ...]
    later: float = 0.0

    @property
    def live(self) -> Any:
        """The controller in memory, or in its process."""
        return self._once("_live", self._open)

    def _open(self) -> Any:
        if self.file.isolate:
            return Isolated(self, self.file.inputs(), self.file.states())
        made = self.file.instance(self.name)
        made.scale(self.scales)
        made.later = self.later
        return made

    @property
    def address(self) -> int:
        """See `psmr.ExternalCode`; where its process has ended in a run before, another one is begun."""
        if isinstance(self.live, Isolated):
            self.live.go_on()
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
        return list(self.live.messages) if "_live" in vars(self) else []

    def failure(self, t: float, reads: Sequence[float]) -> str:
        """See `psmr.ExternalCode`."""
        return str(self.live.failure(t, reads))

    def started(self, later: float) -> ControllerCode:
        """Return the code of this controller after it has run for a time in s before t = 0."""
        made = replace(self, later=later)
        object.__setattr__(made, "_live", self.live)
        return made


def allow_codes(codes: Iterable[Any]) -> None:
    """Let the controllers in files among codes of devices be opened: the person said so."""
    for code in codes:
        if isinstance(code, ControllerCode):
            code.file.allowed()


def messages_of(devices: Iterable[Any]) -> list[str]:
    """Return what the controllers in files among devices have said so far, with their times and names."""
    return [
        f"t = {t:.9g} s: {device.name} says: {words}"
        for device in devices
        if isinstance(device.code, ControllerCode)
        for t, words in device.code.messages
    ]


def serve() -> None:
    """Run or describe the controller that standard input tells of for another process, which may."""

    def made(told: dict[str, Any]) -> Any:
        file = told["file"] | {"isolate": False, "clocks": tuple(told["file"]["clocks"])}
        file["parameters"] = tuple(map(tuple, file["parameters"]))
        code = CodeFile(**file).allowed()
        if "name" not in told:
            return code
        return ControllerCode(code, told["name"], tuple(told["scales"]), told["later"])

    serve_requests(made)
