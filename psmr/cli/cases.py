"""Commands on cases: what ships with psmr, a start of one's own, a check, another format."""

from __future__ import annotations

import keyword
import math
import os
import sys
import warnings
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Literal

from psmr.base.declared import Option
from psmr.base.errors import EventError, InputError, in_line
from psmr.base.files import write_texts
from psmr.cli.console import Progress, give_table, print_result, show, tell_written, write_csv
from psmr.cli.options import (
    CSV,
    JSON,
    READ,
    START,
    TABLE,
    Fills,
    Given,
    case_file,
    input_file,
    names_study,
    path,
    refuse_beside_study,
)

if TYPE_CHECKING:
    from psmr.dae.system.system import System
    from psmr.files.case_file import CaseFile
    from psmr.network.case.case import Case
    from psmr.study.file.study import Study

USUAL_CASE = "wscc9"
NEW_CASE = Fills(READ.made, "dynamics sequence allow_code")
ADD = Option(
    "give generators without devices standard ones", heading="dynamics, for a case that is only a power flow"
)
DRAWN = Fills(
    "psmr.network.typical_plants.add_dynamics",
    "converters seed",
    ADD.heading,
)


def cases(*, json: Annotated[bool, JSON] = False, output: Annotated[str | None, TABLE, CSV] = None) -> None:
    """List the cases, studies and sweeps that ship with psmr.

    example: psmr cases
    """
    import pandas as pd

    from psmr.files.shipped import FOLDER, shipped_files

    head = (
        f"Use a name in place of a path, as in `psmr run wscc9/fault`; the files are in {FOLDER.resolve()}."
    )
    give_table(pd.DataFrame(shipped_files()), head, json, output, left=True)


def check(
    case: Annotated[
        str,
        input_file,
        "case file, or study file for its case and events, or a name that `psmr cases` lists; - reads"
        " standard input",
        "CASE|STUDY",
    ],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    all: Annotated[bool, "show every bus, device and variable"] = False,
    modes: Annotated[bool, "look for growing oscillations in a large system, too"] = False,
    output: Annotated[
        str | None, TABLE, "write the table of variables as CSV", "FILE", Option(name="o,output")
    ] = None,
) -> int:
    """Check whether a case starts in equilibrium: power flow, set-points, limits, residuals.

    example: psmr check cases/wscc9/wscc9.toml
    """
    from psmr.cli.run_study import check_output
    from psmr.dae.system.assemble import with_delays
    from psmr.study.check import check
    from psmr.study.file.read_study import read_study, usual_folder
    from psmr.study.file.study import Output, with_phases

    study = None
    if names_study(case, reading):
        refuse_beside_study(case, reading)
        study = read_study(case, bool(reading.get("allow_code")))
    file = study.case if study else case_file(case, reading)
    found, warned = _read(file)
    looked = partial(
        check,
        reactive_limits=file.reactive_limits,
        modes=modes or None,
        start_at_limits=file.start_at_limits,
        power_flow_start=file.power_flow_start,
    )
    report = looked(found)
    if study is not None and report.system is not None:
        phases = with_phases(found, report.system, study.events)
        if phases is not found:
            report = looked(phases)
    if study is not None and report.system is not None:
        _check_events(study, with_delays(report.system, dict(file.delays)))
        check_output(
            study, study.output or Output(str(usual_folder(study.source))), report.system, study.record
        )
    write_csv(output, report.variables)
    print_result(json, report.record, report.text(all, warned), written=[output])
    return 0 if report.good else 1


def _check_events(study: Study, system: System) -> None:
    """Refuse the events of a study that a run of it would refuse."""
    from psmr.study.events.schedule import plan_events
    from psmr.study.file.study import refuse_event

    try:
        plan_events(system, study.events, math.inf if study.t_end is None else study.t_end)
    except EventError as error:
        refuse_event(study, system, error)


def _read(file: CaseFile) -> tuple[Case, int]:
    """Return a case, and how many warnings its reading gave, which are shown."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            case = file.read()
        return case, len(caught)
    finally:
        for warning in caught:
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)


def convert(
    source: Annotated[
        str,
        input_file,
        "case file: .raw, .rawx, .epc, .m or .toml, or a name that `psmr cases` lists; - reads standard"
        " input",
        "SOURCE",
    ],
    target: Annotated[str, "file to write: .toml, .raw (with .dyr beside it) or .m", "TARGET"],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, READ],
    add_dynamics: Annotated[bool, ADD] = False,
    drawn: Annotated[Given, DRAWN],
) -> None:
    """Convert a case between TOML, PSS/E and MATPOWER.

    example: psmr convert grid.raw grid.toml --dynamics grid.dyr
    """
    from psmr.files.case_file import write_case

    beside = [os.path.splitext(target)[0] + ".dyr"] if target.lower().endswith(".raw") else []
    for written in (target, *beside):
        for read in filter(None, (source, reading.get("dynamics"))):
            if os.path.exists(written) and os.path.exists(read) and os.path.samefile(read, written):
                raise InputError(f"{written}: is the source itself; give another target")
    if drawn and not add_dynamics:
        raise InputError(f"--{next(iter(drawn))} says what --add-dynamics draws; give that, too")
    case = case_file(source, reading).read()
    if add_dynamics:
        from psmr.network.typical_plants import add_dynamics as with_dynamics

        case = with_dynamics(case, **drawn)
    names = [str(path) for path in write_case(case, target)]
    words = [str(case)]
    if not json and case.stored and os.path.splitext(target)[1].lower() in (".raw", ".m"):
        from psmr.network.powerflow.powerflow import power_flow

        words.append(f"Power flow: {power_flow(case).stored}")
    tables = ("buses", "lines", "transformers", "shunts", "loads", "generators")
    counts = {table: len(getattr(case, table)) for table in tables}
    devices = sum(len(generator.devices) for generator in case.generators)
    record = {"case": case.name, "target": target, **counts, "devices": devices, "files": names}
    print_result(json, record, *words, written=names)


def new(
    what: Literal["component", "study"],
    name: Annotated[str, path, "of the module, or of the study: my_avr, fault", "NAME"],
    case: Annotated[str | None, "its case, file or name (default: a copy of wscc9.toml)", "CASE"] = None,
    *,
    sampled: Annotated[bool, "a component that computes at samples, as a digital controller does"] = False,
    reading: Annotated[Given, NEW_CASE],
) -> None:
    """Write a commented start of a component of your own, or of a study.

    example: psmr new component my_avr
    """
    if what == "component":
        if case or "dynamics" in reading or "sequence" in reading:
            raise InputError("psmr new component NAME: has a case of its own; leave out the other")
        texts, study = _component(name, "sampled" if sampled else "component")
    else:
        if sampled:
            raise InputError("psmr new study NAME: --sampled goes with a component; leave it out")
        texts, study = _study(name, case, reading)
    for place in texts:
        if os.path.lexists(place):
            raise InputError(f"{place}: is there already; give another name, or move it away")
    write_texts(texts)
    tell_written(*map(str, texts))
    code = " --allow-code" if what == "component" or reading.get("allow_code") else ""
    show(f"\nRun it: psmr run {in_line(str(study))}{code}")


def _component(name: str, kind: str) -> tuple[dict[Path, str], Path]:
    """Return the files of a new component, made of the template of a kind, and its study."""
    place = Path(name)
    module = place.name.removesuffix(".py")
    if not module.isidentifier() or keyword.iskeyword(module) or module in sys.stdlib_module_names:
        raise InputError(
            f"NAME = {name!r}: must be a name for a Python module that Python has not itself, such as my_avr"
        )
    component = "".join(part[:1].upper() + part[1:] for part in module.split("_")) or "Own"
    more = "t_i = 2.0" if kind == "sampled" else "t = 0.05"
    words = {"module": module, "component": component, "record": component.upper(), "more": more}
    folder = place.parent
    case, study = folder / f"{module}-case.toml", folder / f"{module}-study.toml"
    return {
        folder / f"{module}.py": _filled(f"{kind}.py.txt", words),
        case: _filled("component-case.toml", words),
        study: _filled("component-study.toml", words),
    }, study


def _study(name: str, case: str | None, reading: Given) -> tuple[dict[Path, str], Path]:
    """Return the files of a new study: itself, and a case where none was given."""
    from psmr.files.case_file import read_case
    from psmr.files.shipped import case_path, located, shipped_cases
    from psmr.files.toml.write import toml_pairs

    study = Path(name if name.endswith(".toml") else f"{name}.toml")
    texts: dict[Path, str] = {}
    if case is None:
        source = case_path(USUAL_CASE)
        place = study.parent / source.name
        if not place.exists():
            texts[place] = source.read_text(encoding="utf-8")
    else:
        source = place = Path(located(case))
    read = read_case(source, **reading)
    bus = read.loads[0].bus if read.loads else read.buses[0].number
    ships = case is not None and source in shipped_cases().values()
    beside = source.stem if ships else _beside(place, study)
    head = {"name": f"{read.name}, fault at bus {bus}", "case": beside}
    for key in ("dynamics", "sequence"):
        if key in reading:
            head[key] = _beside(Path(reading[key]), study)
    words = {"file": str(study), "head": toml_pairs(head), "bus": str(bus), "stem": study.stem}
    texts[study] = _filled("study.toml", words)
    return texts, study


def _beside(place: Path, study: Path) -> str:
    """Return a path as the study names it: relative to its folder."""
    return Path(os.path.relpath(place, study.parent)).as_posix()


def _filled(template: str, words: Mapping[str, str]) -> str:
    text = files("psmr.cli").joinpath("templates", template).read_text(encoding="utf-8")
    return Template(text).substitute(words)


def reproduce(
    paper: Annotated[
        str,
        "huang-tzounas, shi-rojas, gil-sanfelice-nikravesh, kuznetsov-krasnikov or bouterakos-tzounas",
        "NAME",
    ],
    *,
    json: Annotated[bool, JSON] = False,
    output: Annotated[
        str | None,
        path,
        "write tables (CSV), figures and a page with every claim beside ours",
        "FOLDER",
        Option(name="o,output"),
    ] = None,
) -> None:
    """Reproduce a paper's tables and figures.

    example: psmr reproduce gil-sanfelice-nikravesh -o out
    """
    import tempfile

    from psmr.papers.catalogue import parts, reproduce
    from psmr.study.output import check_writable

    named = parts(paper)
    if output:
        check_writable(output)
    with tempfile.TemporaryDirectory() as scratch, Progress(len(named), unit=" parts") as progress:

        def say(words: str) -> None:
            progress(named.index(words))
            if progress.bar is not None:
                progress.bar.set_description(words)

        result = reproduce(paper, scratch, say)
        written = result.write(output) if output else ()
    record = result.record() | {"figures": {}, "files": [str(path) for path in written]}
    print_result(json, record, result, listed=written)


def warmup() -> None:
    """Compile everything in advance.

    example: psmr warmup
    """
    from psmr.cli.warmup import warmup

    show(warmup())
