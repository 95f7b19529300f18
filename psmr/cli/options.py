"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_type_hints

from psmr.base.errors import InputError
from psmr.base.files import require_replaceable, require_suffix
from psmr.base.numbers import real_in, whole_in

if TYPE_CHECKING:
    from psmr.files.case_file import CaseFile


def case_options(
    command: argparse.ArgumentParser, metavar: str = "CASE", help: str = "case file", start: bool = True
) -> None:
    """Add the case file, and how it is read; with `start`, how its power flow is solved, too."""
    command.add_argument(
        "case",
        type=input_file,
        metavar=metavar,
        help=f"{help}, or a name that `psmr cases` lists; - reads standard input",
    )
    group = command.add_argument_group("reading a case")
    group.add_argument(
        "--format",
        choices=("toml", "raw", "rawx", "epc", "m"),
        help="format of the case, in place of what its suffix says; standard input is TOML otherwise",
    )
    group.add_argument(
        "--dynamics", type=path, metavar="FILE", help="DYR file with the dynamic data of a .raw file"
    )
    group.add_argument(
        "--sequence",
        type=path,
        metavar="FILE",
        help="SEQ file with the negative- and zero-sequence data of a .raw file",
    )
    group.add_argument(
        "--skip-unknown-models",
        action="store_true",
        help="leave out devices that psmr has no model of, with a warning for each",
    )
    group.add_argument(
        "--frequency", type=float, metavar="HZ", help="nominal frequency, which .m files do not have"
    )
    group.add_argument(
        "--loads",
        metavar="KIND",
        help="convert static loads after the power flow (PSS/E's CONL): to impedance, current, power, or"
        " shares of the three such as 'p=0.5,0.3,0.2 q=1,0,0'",
    )
    group.add_argument(
        "--net-unmodelled",
        action=argparse.BooleanOptionalAction,
        help="make generators without a dynamic model loads of their power, with a warning for each, or"
        " refuse them; by default those that a DYR file has no machine of are loads",
    )
    group.add_argument(
        "--mechanical",
        choices=("power", "torque"),
        help="what drives GENROU and its family; for RAW and DYR by default a power",
    )
    group.add_argument(
        "--adjust",
        metavar="WHAT",
        help="controls that the power flow moves: shunts, taps, phase-shifters, with commas; held otherwise",
    )
    group.add_argument(
        "--reactive",
        choices=("file", "equal", "rating"),
        help="how generators of one bus share reactive power: as the file stores it (default), equally, or by"
        " their ratings",
    )
    group.add_argument(
        "--netted",
        choices=("impedance", "current", "power"),
        help="what --net-unmodelled makes of generators, whatever --loads says",
    )
    group.add_argument(
        "--stator",
        choices=("flux", "speed"),
        help="stator voltages of GENROU and its family: fluxes (PSS/E) or fluxes times speed (PowerWorld)",
    )
    group.add_argument(
        "--modules",
        nargs="+",
        metavar="MODULE",
        help="Python modules beside the case, by name, with components of your own; they are imported",
    )
    code_option(group)
    if start:
        group.add_argument(
            "--reactive-limits",
            action=argparse.BooleanOptionalAction,
            help="whether the power flow keeps generators within q_min_mvar and q_max_mvar; by default as the"
            " solution that the file stores does",
        )
        group.add_argument(
            "--power-flow-start",
            choices=("stored", "flat", "linear"),
            help="where the power flow starts: at stored or flat voltages, or at the angles of the DC power"
            " flow; by default the first of them that leads to a solution",
        )
        group.add_argument(
            "--start-at-limits",
            choices=("adjust", "hold", "refuse"),
            help="what a start beyond a limit does: moves the limit (default), stays at it, or ends with an"
            " error",
        )


def code_option(command: Any) -> None:
    """Add --allow-code to a command, or a group of its options, that reads files which may name modules."""
    command.add_argument(
        "--allow-code",
        action="store_true",
        help="import the Python modules that the files name, which runs them: for files that you trust",
    )


def output_option(command: argparse.ArgumentParser, metavar: str, help: str) -> None:
    """Add -o."""
    command.add_argument("-o", "--output", type=path, metavar=metavar, help=help)


def path(text: str) -> str:
    """Read a path, which must not be empty: what names no file is not left out in silence."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; name a file or folder, or leave the option out")
    return text


def input_file(text: str) -> str:
    """Return the path of a case, study or sweep: a file, or else one that ships with psmr."""
    from psmr.files.shipped import located

    try:
        return located(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def require_targets(targets: Mapping[str, str | None], suffixes: Sequence[str]) -> None:
    """Find out before the work whether files can be written that options name, of those that are given.

    Raises
    ------
    InputError
        For a name with another ending than `suffixes`, and for what must not be replaced.
    """
    for option, target in targets.items():
        if target is not None:
            try:
                require_suffix(target, suffixes)
                require_replaceable(target)
            except InputError as error:
                raise InputError(f"{option}: {error}") from error


def scheme_options(command: argparse.ArgumentParser) -> None:
    """Add the options that make a scheme."""
    group = command.add_argument_group("scheme, for a case file")
    group.add_argument("--method", choices=Choices(_single_rate, "method"), help="single rate, with --h")
    group.add_argument("--h", type=float, metavar="S", help="step size in s")
    group.add_argument("--delta", type=float, metavar="D", help="multirate: threshold in 1/s")
    group.add_argument("--algebraic", choices=("participation", "fast"))
    group.add_argument("--h-slow", type=float, metavar="S", help="macro step in s")
    group.add_argument("--h-fast", type=float, metavar="S", help="fast step in s")
    group.add_argument("--predictor", choices=Choices(_multirate, "predictor"))
    group.add_argument("--solution", choices=Choices(_multirate, "solution"))
    group.add_argument("--interpolation", choices=Choices(_multirate, "interpolation"))
    group.add_argument("--predict", choices=Choices(_multirate, "predict"))
    group.add_argument(
        "--coupling",
        choices=Choices(_multirate, "coupling"),
        help="fast values in the slow equations: end of step or mean",
    )
    group.add_argument(
        "--interface",
        choices=Choices(_multirate, "interface"),
        help="network in the fast equations: held, or its response by the Schur complement",
    )
    group.add_argument("--corrections", type=corrections, metavar="K", help="0, 1, 2, ... or converge")


def _single_rate() -> type:
    from psmr.integrate.schemes.single_rate import SingleRate

    return SingleRate


def _multirate() -> type:
    from psmr.integrate.schemes.multirate import Multirate

    return Multirate


class Choices:
    """The values that a field of a scheme may have, as its declaration says.

    They are looked up when an option is read or explained: importing the schemes takes longer than help may.
    """

    def __init__(self, scheme: Callable[[], type], field: str) -> None:
        self._scheme, self._field = scheme, field

    def __iter__(self) -> Iterator[str]:
        hints = get_type_hints(self._scheme(), include_extras=True)
        return iter(hints[self._field].__metadata__[0])

    def __contains__(self, value: object) -> bool:
        return value in tuple(self)


def corrections(text: str) -> int | str:
    """Read a number of corrections or ``converge``."""
    return text if text == "converge" else whole_in(text)


def fraction(text: str) -> float:
    """Read 1%, 0.2pp or 0.01 as a fraction."""
    number = text.strip().removesuffix("pp").removesuffix("%").strip()
    value = real_in(number)
    return value / 100.0 if number != text.strip() else value


def hertz(text: str) -> float:
    """Read 2Hz or 2 as a frequency in Hz."""
    return real_in(text.strip().lower().removesuffix("hz"))


def add_command(
    subparsers: Any, name: str, function: Any, help: str, example: str, json_flag: bool = True
) -> argparse.ArgumentParser:
    """Add a command with its help, its example and, where it has results, --json."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog=f"example: {example}",
        allow_abbrev=False,  # --h is a step, not --help
    )
    command.set_defaults(command=function)
    if json_flag:
        command.add_argument("--json", action="store_true", help="print the result as JSON")
    return command


def case_file(arguments: argparse.Namespace) -> CaseFile:
    """Return the case file that a command names, with the options on how to read it."""
    from psmr.files.case_file import CaseFile

    # Converting a case solves no power flow of it.
    return CaseFile(
        arguments.case,
        arguments.dynamics,
        arguments.skip_unknown_models,
        arguments.frequency,
        getattr(arguments, "reactive_limits", None),
        loads=arguments.loads,
        net_unmodelled=arguments.net_unmodelled,
        mechanical=arguments.mechanical,
        start_at_limits=getattr(arguments, "start_at_limits", None) or "adjust",
        format=arguments.format,
        reactive=arguments.reactive or "file",
        adjust=tuple(part.strip() for part in (arguments.adjust or "").split(",") if part.strip()),
        power_flow_start=getattr(arguments, "power_flow_start", None),
        modules=tuple(arguments.modules or ()),
        stator=arguments.stator,
        netted=arguments.netted,
        sequence=arguments.sequence,
        allow_code=arguments.allow_code,
    )


def names_study(arguments: argparse.Namespace) -> bool:
    """Return whether what a command names is a study; a case whose format was given is not."""
    from psmr.study.file.read_study import is_study

    return arguments.format is None and is_study(arguments.case)


_PREPARED = (
    "loads",
    "net_unmodelled",
    "mechanical",
    "stator",
    "netted",
    "start_at_limits",
    "reactive",
    "power_flow_start",
    "adjust",
)


def check_study_options(arguments: argparse.Namespace, scheme: dict[str, Any]) -> None:
    """Raise InputError for an option that belongs to a case file, where a study is given."""
    fields = {
        key: key
        for key in ("dynamics", "sequence", "skip_unknown_models", "reactive_limits", "modules", *_PREPARED)
    }
    fields["frequency"] = "frequency_hz"
    places = dict.fromkeys(scheme, "its scheme is in [scheme]")
    given = {key: getattr(arguments, key) for key in fields}
    places |= {
        key: f"it has a field {fields[key]}" for key, value in given.items() if value not in (None, False)
    }
    for key, where in places.items():
        option = "--" + key.replace("_", "-")
        raise InputError(f"{option}: {arguments.case} is a study, {where}; give the option with a case file")
