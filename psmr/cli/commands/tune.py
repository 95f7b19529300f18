"""``psmr tune``: search the cheapest scheme that is accurate enough."""

from __future__ import annotations

import argparse
import os
from typing import Any

from psmr.cli.console import Progress, list_written, print_json, show
from psmr.cli.options import add_command, case_file, case_options, fraction, hertz, output_option


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    tune = add_command(
        subparsers,
        "tune",
        command,
        "find the cheapest scheme that deforms the modes of a band by no more than allowed",
        "psmr tune cases/wscc9/wscc9.toml --accuracy 1% --up-to 2Hz -o out",
    )
    case_options(tune)
    tune.add_argument(
        "--up-to",
        type=hertz,
        required=True,
        metavar="F",
        help="modes up to this frequency count, for instance 2Hz",
    )
    tune.add_argument(
        "--accuracy", type=fraction, metavar="P", help="largest relative deformation, for instance 1%%"
    )
    tune.add_argument(
        "--damping-error",
        type=fraction,
        metavar="P",
        help="largest change of a damping ratio, for instance 0.2pp",
    )
    tune.add_argument(
        "--frequency-error",
        type=fraction,
        metavar="P",
        help="largest change of a frequency, for instance 0.5%%",
    )
    tune.add_argument(
        "--margin",
        type=fraction,
        default=0.1,
        metavar="P",
        help="safety margin: must also be stable with steps this much longer (default 10%%)",
    )
    output_option(tune, "FOLDER", "write the winner as a study, the Pareto figure and every candidate (CSV)")


def command(arguments: argparse.Namespace) -> None:
    """Search for the cheapest scheme that is accurate enough."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        # Thousands of small eigenvalue problems: with threads they take ten times as long (measured).
        os.environ.setdefault(name, "1")
    from psmr.study.file.study import load_system
    from psmr.study.output.tables import check_writable
    from psmr.study.tuning.tune import FILES, confirm, tune, tuning_record, write_tuning

    if arguments.output:
        check_writable(arguments.output, FILES)
    file = case_file(arguments)
    system = load_system(file)
    with Progress(1.0, unit="") as progress:
        tuning = tune(
            system,
            up_to=arguments.up_to,
            accuracy=arguments.accuracy,
            damping=arguments.damping_error,
            frequency=arguments.frequency_error,
            margin=arguments.margin,
            progress=progress,
        )
    confirmation = confirm(system, tuning.winner)
    files = write_tuning(arguments.output, tuning, file) if arguments.output else ()
    if arguments.json:
        print_json(tuning_record(tuning, confirmation) | {"files": [str(path) for path in files]})
        return
    show(tuning, "", confirmation)
    if files:
        list_written(files)
