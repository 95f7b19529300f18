"""``psmr check``: check whether a case starts in equilibrium; return 1 where it cannot start."""

from __future__ import annotations

import argparse
import math
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from psmr.base.errors import EventError
from psmr.base.files import TABLES
from psmr.cli.console import print_json, show, tell_written, write_csv
from psmr.cli.options import (
    add_command,
    case_file,
    case_options,
    check_study_options,
    names_study,
    output_option,
    require_targets,
)

if TYPE_CHECKING:
    from psmr.dae.system.system import System
    from psmr.files.case_file import CaseFile
    from psmr.network.case.case import Case
    from psmr.study.file.study import Study


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    check = add_command(
        subparsers,
        "check",
        command,
        "check whether a case starts in equilibrium: power flow, set-points, limits, residuals",
        "psmr check cases/wscc9/wscc9.toml",
    )
    case_options(check, "CASE|STUDY", "case file, or study file for its case and events")
    check.add_argument("--all", action="store_true", help="show every bus, device and variable")
    check.add_argument(
        "--modes", action="store_true", help="look for growing oscillations in a large system, too"
    )
    output_option(check, "FILE", "write the table of variables as CSV")


def command(arguments: argparse.Namespace) -> int:
    """Check whether a case starts in equilibrium; return 1 where it cannot start."""
    require_targets({"-o": arguments.output}, TABLES)
    from psmr.cli.run_study import check_output, default_folder
    from psmr.dae.system.assemble import with_delays
    from psmr.study.check import check
    from psmr.study.file.read_study import read_study
    from psmr.study.file.study import Output, with_phases

    study = None
    if names_study(arguments):
        check_study_options(arguments, {})
        study = read_study(arguments.case, arguments.allow_code)
    file = study.case if study else case_file(arguments)
    case, warned = _read(file)
    looked = partial(
        check,
        reactive_limits=file.reactive_limits,
        modes=arguments.modes or None,
        start_at_limits=file.start_at_limits,
        power_flow_start=file.power_flow_start,
    )
    report = looked(case)
    if study is not None and report.system is not None:
        phases = with_phases(case, report.system, study.events)
        if phases is not case:
            report = looked(phases)
    if study is not None and report.system is not None:
        _check_events(study, with_delays(report.system, dict(file.delays)))
        check_output(study, study.output or Output(str(default_folder(study))), report.system, study.record)
    write_csv(arguments.output, report.variables)
    if arguments.json:
        print_json(report.record())
    else:
        show(report.text(arguments.all, warned))
        tell_written(arguments.output)
    return 0 if report.good else 1


def _check_events(study: Study, system: System) -> None:
    """Refuse the events of a study that a run of it would refuse."""
    from psmr.study.file.study import refuse_event
    from psmr.study.run.planned import planned

    try:
        planned(system, study.events, math.inf if study.t_end is None else study.t_end)
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
