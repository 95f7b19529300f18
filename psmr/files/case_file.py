"""Read a case file of whatever format its suffix says, and write one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from psmr.base.arguments import check_arguments
from psmr.base.declared import ALLOW_CODE, Option
from psmr.base.errors import CaseError, PsmrWarning, warn
from psmr.base.files import require_suffix, write_texts
from psmr.base.numbers import comma_separated, comma_separated_numbers
from psmr.files.text import STANDARD_INPUT
from psmr.files.user_components import UserComponents, load_user_components
from psmr.network.case.case import Case
from psmr.network.case.checks import unlikely
from psmr.network.case.region import Region
from psmr.network.case.switched_shunts import with_switched_shunts
from psmr.network.case.tables import AS_STORED, MECHANICAL, REACTIVE, STATOR
from psmr.network.case.tap_changers import with_tap_changers
from psmr.network.powerflow.voltages import STARTS

if TYPE_CHECKING:
    from psmr.network.powerflow.powerflow import PowerFlow
    from psmr.network.start.conversion import LoadShares


NETTED = ("impedance", "current", "power")
"""What netted generators can become."""

FORMATS = ("toml", "raw", "rawx", "epc", "m")
SUFFIXES = tuple(f".{name}" for name in FORMATS)
PSSE = ("raw", "rawx", "epc")


@dataclass(frozen=True)
class CaseFile:
    """A case file, how to read it (the arguments of `read_case`), to solve its power flow and to start.

    Attributes
    ----------
    path, dynamics, skip_unknown_models, frequency_hz, loads, net_unmodelled, mechanical, format, reactive,
    modules, adjust, stator, netted, sequence
        See `read_case`.
    reactive_limits
        Whether generators keep to q_min_mvar and q_max_mvar, see `power_flow`; None: as in the solution that
        the case stores.
    power_flow_start
        Where the power flow starts, see `power_flow`; None: at stored voltages where there are any.
    start_at_limits
        What a start beyond a limit does, see `build`.
    folder
        Where `modules` are; None: beside the case file.
    dynamic
        The part of the network with its own dynamics in place of what the case says, see `build`.
    delays
        Inputs that are read with a delay, and the delay in s, see `psmr.with_delays`.
    allow_code
        Whether the modules are imported that the case file names itself; no file can say so.
    """

    path: str | Path
    dynamics: Annotated[str | Path | None, "DYR file with the dynamic data of a .raw file", "FILE"] = None
    skip_unknown_models: Annotated[
        bool, "leave out devices that psmr has no model of, with a warning for each"
    ] = False
    frequency_hz: Annotated[
        float | None, "nominal frequency, which .m files do not have", "HZ", Option(name="frequency")
    ] = None
    reactive_limits: Annotated[
        bool | None,
        "whether the power flow keeps generators within q_min_mvar and q_max_mvar; by default as the"
        " solution that the file stores does",
    ] = None
    loads: Annotated[
        str | None,
        "convert static loads after the power flow (PSS/E's CONL): to impedance, current, power, or"
        " shares of the three such as 'p=0.5,0.3,0.2 q=1,0,0'",
        "KIND",
    ] = None
    net_unmodelled: Annotated[
        bool | None,
        "make generators without a dynamic model loads of their power, with a warning for each, or"
        " refuse them; by default those that a DYR file has no machine of are loads",
    ] = None
    mechanical: Annotated[
        str | None, MECHANICAL, "what drives GENROU and its family; for RAW and DYR by default a power"
    ] = None
    start_at_limits: Annotated[
        Literal["adjust", "hold", "refuse"],
        "what a start beyond a limit does: moves the limit (default), stays at it, or ends with an error",
    ] = "adjust"
    format: Annotated[
        str | None,
        FORMATS,
        "format of the case, in place of what its suffix says; standard input is TOML otherwise",
    ] = None
    reactive: Annotated[
        str,
        REACTIVE,
        "how generators of one bus share reactive power: as the file stores it (default), equally, or by"
        " their ratings",
    ] = AS_STORED
    power_flow_start: Annotated[
        str | None,
        STARTS,
        "where the power flow starts: at stored or flat voltages, at the angles of the DC power flow, or"
        " at the voltages without loads; by default the first of them that leads to a solution",
    ] = None
    modules: Annotated[
        tuple[str, ...],
        "Python modules beside the case, by name, with components of your own; they are imported",
        "MODULE",
    ] = ()
    folder: str | Path | None = None
    adjust: Annotated[
        tuple[str, ...],
        comma_separated,
        "controls that the power flow moves: shunts, taps, phase-shifters, with commas; held otherwise",
        "WHAT",
    ] = ()
    tap_changers: Annotated[
        tuple[float, ...],
        comma_separated_numbers,
        "taps and phase shifters that regulate in the file move in a run too: delays in s of the first and of"
        " further moves, typically 30,5; without it they stand still",
        "FIRST,NEXT",
    ] = ()
    switched_shunts: Annotated[
        tuple[float, ...],
        comma_separated_numbers,
        "shunts that regulate a voltage in the file are switched in a run too: delays in s below and above"
        " their bands, typically 10,10; without it they stand still",
        "LOW,HIGH",
    ] = ()
    stator: Annotated[
        str | None,
        STATOR,
        "stator voltages of GENROU and its family: fluxes (PSS/E) or fluxes times speed (PowerWorld)",
    ] = None
    netted: Annotated[
        str | None, NETTED, "what --net-unmodelled makes of generators, whatever --loads says"
    ] = None
    sequence: Annotated[
        str | Path | None, "SEQ file with the negative- and zero-sequence data of a .raw file", "FILE"
    ] = None
    dynamic: Region | None = None
    delays: tuple[tuple[str, float], ...] = ()
    allow_code: Annotated[bool, ALLOW_CODE] = field(default=False, compare=False)

    def read(self) -> Case:
        """Return the case."""
        case = self._in_file()
        for found in unlikely(case):
            warn(str(found))
        if self.dynamic is not None:
            # Only a table of a study; a report compares with other regions of its own accord.
            if case.dynamic is not None and self.dynamic.where:
                words = f"{self.dynamic.where}: the region {self.dynamic} takes the place of the case's"
                warn(f"{words}, {case.dynamic} ({case.dynamic.where})")
            case = replace(case, dynamic=self.dynamic)
        return self._prepared(case)

    def region(self) -> Region | None:
        """Return the part of the network with its own dynamics, as said here or by the case."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)  # said when the case is read for good
            return self.dynamic or self.read().dynamic

    def solve(self, case: Case, start: PowerFlow | None = None) -> PowerFlow:
        """Return the power flow of the case, or of one made of it, as the options say."""
        from psmr.network.powerflow.powerflow import power_flow

        return power_flow(case, self.reactive_limits, start=start or self.power_flow_start)

    def _in_file(self) -> Case:
        """Return the case as the file has it, with its sequence data and what else is said of it here."""
        path, files = self.path, (self.path, self.dynamics)
        beside = (Path(self.folder),) if self.folder else tuple(Path(file).parent for file in files if file)
        own = load_user_components(self.modules, (*beside, Path()), str(path), allowed=True)
        case = self._of_format(replace(own, allow_code=self.allow_code))
        if self.sequence is not None:
            if (self.format or Path(path).suffix.lower().lstrip(".")) not in PSSE:
                raise CaseError(
                    f"{self.sequence}: a SEQ file belongs to a .raw file; {path} has [[sequence]] of its own"
                )
            from psmr.files.psse.seq import with_seq

            case = with_seq(case, self.sequence)
        if self.tap_changers:
            case = with_tap_changers(case, self.tap_changers)
        if self.switched_shunts:
            case = with_switched_shunts(case, self.switched_shunts)
        if self.reactive == AS_STORED and self.stator is None:
            return case
        shared = case.reactive if self.reactive == AS_STORED else self.reactive
        return replace(case, reactive=shared, stator=self.stator or case.stator)

    def _of_format(self, own: UserComponents) -> Case:
        path, dynamics, format = self.path, self.dynamics, self.format
        for given in (path, *(() if dynamics is None else (dynamics,))):
            if not os.fspath(given):
                raise CaseError("the path of a case is empty; name its file")
        if format is not None and format not in FORMATS:
            raise CaseError(f"format = {format!r}: must be one of {', '.join(map(repr, FORMATS))}")
        usual = ".toml" if str(path) == STANDARD_INPUT else Path(path).suffix.lower()
        suffix = usual if format is None else f".{format}"
        if str(path) == STANDARD_INPUT and str(dynamics) == STANDARD_INPUT:
            raise CaseError("-: standard input is one file; give the case or its dynamic data as a file")
        if suffix == ".dyr":
            raise CaseError(
                f"{path}: a DYR file has the dynamic data of a case; give the RAW file as the case, and this"
                " one as dynamics (--dynamics)"
            )
        if suffix not in SUFFIXES:
            raise CaseError(
                f"{path}: psmr reads {', '.join(SUFFIXES)} and knows no format {suffix!r}; rename or convert"
                " the file, or say its format"
            )
        if dynamics is not None and suffix == ".toml":
            raise CaseError(f"{dynamics}: dynamic data belong to a .raw or .m file; {path} has its own")
        if self.frequency_hz is not None and suffix != ".m":
            raise CaseError(f"{path}: gives its own frequency; frequency_hz is for MATPOWER files")
        if self.mechanical is not None and suffix == ".m" and dynamics is None:
            raise CaseError(f"{path}: has no machines; mechanical is for cases with dynamic data")
        with_dyr = dynamics, self.skip_unknown_models, self.net_unmodelled is not False, self.mechanical
        if suffix.lstrip(".") in PSSE:
            from psmr.files.psse.raw import read_raw

            return read_raw(path, *with_dyr, suffix.lstrip("."), own)
        if suffix == ".m":
            from psmr.files.matpower.read import read_matpower

            return read_matpower(path, self.frequency_hz, *with_dyr, own)
        from psmr.files.toml.case import read_toml

        try:
            return read_toml(path, self.mechanical, own)
        except CaseError as error:
            if str(path) != STANDARD_INPUT or format is not None:
                raise
            words = "standard input is taken for TOML unless --format (format=) says else"
            refusal = CaseError(f"{error}; {words}")
            refusal.mistakes = error.mistakes
            raise refusal from error

    def _prepared(self, case: Case) -> Case:
        """Return the case with controls moved, generators netted and loads converted.

        Unless asked, generators are netted that a DYR file has no machine of, as currents: a generator of
        constant power draws the more current the lower its voltage is, so that a fault beside it has no
        solution.
        """
        net_unmodelled, netted, loads = self.net_unmodelled, self.netted, self.loads
        if net_unmodelled is None:
            net_unmodelled = self.dynamics is not None
            netted = netted or ("current" if net_unmodelled else None)
        dynamic = any(row.devices for row in case.generators)
        if netted is not None and not net_unmodelled:
            raise CaseError(
                f"netted = {netted!r}: says what net_unmodelled makes of generators; give that, too"
            )
        net_unmodelled = net_unmodelled and not all(row.devices for row in case.generators)
        lines = dynamic and any(row.held and not row.devices for row in case.generators)
        if loads is None and not net_unmodelled and not lines and not self.adjust:
            return case
        from psmr.network.powerflow.adjustment import adjusted
        from psmr.network.start.conversion import convert_loads, load_shares, net_generators

        shares = None if loads is None else load_shares(loads)
        case = adjusted(case, self.adjust, self.solve) if self.adjust else case
        if loads is None and not net_unmodelled and not lines:
            return case
        flow = self.solve(case)
        if net_unmodelled or lines:
            changed = net_generators(case, flow, net_unmodelled, netted)
            if changed is not case:
                # What was held at a reactive limit is held by its own row no more: the limits hold it again.
                case, flow = changed, self.solve(changed)
        return case if shares is None else convert_loads(case, flow, shares)


def read_case(
    path: str | Path,
    dynamics: str | Path | None = None,
    skip_unknown_models: bool = False,
    frequency_hz: float | None = None,
    loads: str | Mapping[str, Sequence[float]] | LoadShares | None = None,
    net_unmodelled: bool | None = None,
    mechanical: str | None = None,
    format: str | None = None,
    reactive: Annotated[str, REACTIVE] = AS_STORED,
    modules: Iterable[str] = (),
    adjust: Iterable[str] = (),
    stator: Annotated[str, STATOR] | None = None,
    netted: Annotated[str, NETTED] | None = None,
    sequence: str | Path | None = None,
    allow_code: bool = False,
    tap_changers: Sequence[float] = (),
    switched_shunts: Sequence[float] = (),
) -> Case:
    """Return the checked case in a file; the suffix says the format.

    Parameters
    ----------
    path
        ``.toml`` (psmr's own), ``.raw`` (PSS/E, versions 23 to 27 and 29 to 36), ``.rawx`` (PSS/E's JSON,
        versions 35 and 36) or ``.m`` (MATPOWER, versions 1 and 2). ``-`` is standard input.
    dynamics
        DYR file with the plants' devices for a RAW or MATPOWER file.
    skip_unknown_models
        For RAW and DYR: leave out devices that psmr has no model of, with a warning for each.
    frequency_hz
        For MATPOWER, whose files give none: the nominal frequency, 60 Hz with a warning when left out.
    loads
        What static loads become, with the power and voltage of the solved power flow: ``"impedance"``,
        ``"current"``, ``"power"`` or shares of the three for P and Q apart (see `load_shares`), for instance
        ``"p=0.5,0.3,0.2 q=1,0,0"``; None: as the file says.
    net_unmodelled
        Make generators without a dynamic model loads of their power in the solved power flow, with a warning
        for each; None: those that a DYR file has no machine of become currents; False: refuse them.
    mechanical
        What drives GENROU and its family, ``"torque"`` or ``"power"``; None: as the TOML file says, and for a
        RAW file with a DYR file ``"power"``, the convention of PSS/E.
    format
        ``"toml"``, ``"raw"``, ``"rawx"`` or ``"m"`` in place of what the suffix says; standard input, which
        has none, is TOML where this is left out.
    reactive
        How generators that hold the voltage of one bus share its reactive power: ``"file"``, as a TOML file
        says, and otherwise as the stored solution has it, what is left by ratings; ``"equal"``; or
        ``"rating"``, in proportion to their ratings.
    modules
        Python modules with components of your own, ``("mine",)`` for ``mine.py`` beside the file or in the
        current folder: a device's type, or a DYR record's model, may be one of them. They are imported.
    adjust
        Controls that the power flow moves to where they keep what they control, of ``"shunts"``, ``"taps"``
        and ``"phase-shifters"``; the others are held as the file has them. What moves is a warning.
    stator
        Stator voltages of GENROU and its family: ``"flux"``, as in PSS/E, or ``"speed"``, fluxes times the
        speed, as in PowerWorld; None: as the TOML file says, otherwise ``"flux"``.
    netted
        What netted generators become and stay, whatever `loads` says: ``"impedance"``, ``"current"``
        (PowerWorld's) or ``"power"``; None: a power, which `loads` converts.
    sequence
        SEQ file with negative- and zero-sequence data for a RAW file.
    allow_code
        Whether the modules are imported that a TOML file names itself, which runs them: for files whose
        authors you trust.
    tap_changers
        Delays in s of the first and of further moves, ``(30.0, 5.0)``, with which transformers that regulate
        in the file do so in a run, see `TapChanger` and `PhaseShifter`; without them, which RAW files do not
        have, they stand still. What moves, and what cannot, is a warning.
    switched_shunts
        Delays in s below and above their bands, ``(10.0, 10.0)``, with which shunts that regulate a voltage
        in steps in the file do so in a run, see `SwitchedShunt`; without them they stand still. What is
        switched, and what cannot, is a warning.

    Raises
    ------
    CaseError
        For a suffix that is not known, modules of the file that are not allowed, an option that the format
        has no use for, and everything the reader and `Case` object to.
    PowerFlowError
        Where `loads` or `net_unmodelled` need a power flow that has no solution.

    Warns
    -----
    PsmrWarning
        Of what is left out, netted or taken for something else, and of values that are possible and unlikely
        (T''d0 above T'd0, an inertia of 1e5 s, a branch of 1e-7 pu).
    """
    check_arguments(read_case, locals(), CaseError)
    return CaseFile(
        path=path,
        dynamics=dynamics,
        skip_unknown_models=skip_unknown_models,
        frequency_hz=frequency_hz,
        loads=loads,  # type: ignore[arg-type]  # a text alone in a file
        net_unmodelled=net_unmodelled,
        mechanical=mechanical,
        format=format,
        reactive=reactive,
        modules=tuple(modules),
        adjust=tuple(adjust),
        stator=stator,
        netted=netted,
        sequence=sequence,
        allow_code=allow_code,
        tap_changers=tuple(tap_changers),
        switched_shunts=tuple(switched_shunts),
    ).read()


WRITTEN = (".toml", ".raw", ".m")


def write_case(case: Case, path: str | Path) -> tuple[Path, ...]:
    """Write a case; the suffix says the format. Return the files written.

    Parameters
    ----------
    case
        The case.
    path
        ``.toml`` (psmr's own, keeps everything), ``.raw`` (PSS/E, version 33, with the plants' devices in a
        ``.dyr`` file beside it) or ``.m`` (MATPOWER, version 2, the network only).

    Raises
    ------
    CaseError
        For a suffix that is not known, a device that the format has no model of, a file that cannot be
        written. Nothing is written then.
    PowerFlowError
        For ``.raw`` and ``.m``, which store a solution, where there is none.

    Warns
    -----
    PsmrWarning
        For everything that the format cannot keep.
    """
    check_arguments(write_case, locals(), CaseError)
    path = Path(path)
    suffix = require_suffix(path, WRITTEN, CaseError)
    texts: dict[Path, str]
    if suffix == ".toml":
        from psmr.files.toml.write import toml_text

        texts = {path: toml_text(case)}
    elif suffix == ".m":
        from psmr.files.matpower.write import matpower_text

        texts = {path: matpower_text(case)}
    else:
        from psmr.files.psse.write_raw import psse_texts

        raw, dyr = psse_texts(case)
        texts = {path: raw} | ({path.with_suffix(".dyr"): dyr} if dyr else {})
    write_texts(texts, CaseError, parents=False)
    if suffix != ".toml" and case.dynamic is not None:
        words = f"{path}: the region with its own dynamics, {case.dynamic}, is not written; {suffix} has none"
        warn(words)
    beside = path.with_suffix(".dyr")
    if suffix == ".raw" and beside not in texts and beside.exists():
        warn(
            f"{beside}: is of another case, this one has no dynamic data; do not give it with {path}, or "
            "remove it"
        )
    return tuple(texts)
