"""``psmr scan``: the impedances of the grid and of a plant, seen from a bus."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from psmr.cli.commands.response import (
    file_options,
    frequencies,
    range_options,
    system_and_scheme,
    without_simulation,
)
from psmr.cli.console import print_json, show, tell_written, write_csv
from psmr.cli.options import add_command, case_options

if TYPE_CHECKING:
    import pandas as pd


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    scan = add_command(
        subparsers,
        "scan",
        command,
        "scan the impedances of the grid and of a plant at a bus, and judge them by Nyquist and passivity",
        "psmr scan cases/wscc9/wscc9-emt.toml --bus 3 --figure scan.svg",
    )
    case_options(scan, "CASE|STUDY", "case file, or study file, whose scheme is looked at as well")
    scan.add_argument("--bus", required=True, metavar="BUS", help="bus between grid and plant: 5 or bus5")
    scan.add_argument(
        "--plant",
        nargs="+",
        metavar="NAME",
        help="devices of the plant, buses and branches behind the bus included; by default the sources there",
    )
    scan.add_argument(
        "--modified-sequence",
        action="store_true",
        help="modified sequence domain (p, n) in place of d and q",
    )
    range_options(scan, 1.0, 1000.0)
    file_options(scan)


def command(arguments: argparse.Namespace) -> None:
    """Scan the impedances at a bus."""
    hertz = frequencies(arguments)
    system, scheme = system_and_scheme(arguments)
    from psmr.figures.canvas import save
    from psmr.figures.frequency import scan_figure
    from psmr.network.impedance import impedance_scan
    from psmr.pencil.operator.simulated_response import response_sentences, simulated_response

    found = impedance_scan(system, arguments.bus, arguments.plant, hertz)
    sentences = found.sentences()
    if why := without_simulation(scheme, hertz):
        sentences.append(why)
    elif scheme is not None:
        own = found.matrices
        simulated = simulated_response(own, scheme, hertz[hertz <= 0.5 / scheme.step], "linear")
        sentences.append(f"As {scheme} has the voltage over a current into {found.bus}:")
        sentences += response_sentences(own.response(hertz), simulated)
    if arguments.modified_sequence:
        found = found.sequence
    if arguments.figure:
        save(scan_figure(found), arguments.figure)
    table: pd.DataFrame = found.frame()
    write_csv(arguments.table, table)
    if arguments.json:
        print_json(
            {
                "system": system.name,
                "bus": found.bus,
                "plant": list(found.plant),
                "stable": found.stable,
                "unstable_modes": found.unstable,
                "sentences": sentences,
                "scan": table.to_dict("records"),
            }
        )
        return
    plant = f"plant {', '.join(found.plant)}, " if found.plant else ""
    show(f"{system.name}, {found.bus}: {plant}{hertz[0]:g} to {hertz[-1]:g} Hz", *sentences)
    tell_written(arguments.figure, arguments.table)
