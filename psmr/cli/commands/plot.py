"""``psmr plot``: draw signals of a run, or of two over one another."""

from __future__ import annotations

import argparse
from typing import Any

from psmr.base.files import PICTURES
from psmr.cli.console import print_json, show, tell_written
from psmr.cli.options import add_command, code_option, output_option, require_targets


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    plot = add_command(
        subparsers,
        "plot",
        command,
        "draw signals of a run, or two runs over one another with their difference",
        "psmr plot results/fault/run.psmr --signals 'G*.p' 'bus*.v' -o power.svg",
    )
    words = "a run saved by `psmr run --save`, or a study file, which is run first"
    plot.add_argument("run", metavar="RUN", help=words)
    plot.add_argument("other", metavar="RUN2", nargs="?", help="another one, drawn over the first, dashed")
    plot.add_argument(
        "--signals", nargs="+", metavar="NAME", help="names or patterns; speeds and voltages where left out"
    )
    plot.add_argument(
        "--modules",
        nargs="+",
        metavar="MODULE",
        default=(),
        help="modules of your own, by name, whose components, events or schemes a saved run has; imported",
    )
    code_option(plot)
    output_option(plot, "FILE", "the picture: .svg (default: plot.svg), .png or .pdf")


def command(arguments: argparse.Namespace) -> None:
    """Draw signals of a run, or of two over one another."""
    target = arguments.output or "plot.svg"
    require_targets({"-o": target}, PICTURES)
    from psmr.cli.run_study import saved_or_run

    allowed = arguments.modules, arguments.allow_code
    run = saved_or_run(arguments.run, *allowed)
    other = None if arguments.other is None else saved_or_run(arguments.other, *allowed)

    from psmr.figures.canvas import save
    from psmr.figures.run.plots import comparison, trajectories

    if other is None:
        save(trajectories(run, arguments.signals), target)
    else:
        code = arguments.allow_code
        labels = _label(arguments.run, run, code), _label(arguments.other, other, code)
        save(comparison(run, other, arguments.signals, labels=labels), target)
    found = None if other is None else run.compare(other, arguments.signals)
    table = None if found is None else found.table
    if arguments.json:
        print_json({"file": target, "differences": None if table is None else table.to_dict("records")})
        return
    if found is not None and found.note:
        show(f"Note: {found.note}")
    if table is not None:
        show(table.head(20).to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    tell_written(target)


def _label(path: str, run: Any, allow_code: bool) -> str:
    """Return what a run is called in a picture: the title of its study, else its file; and its scheme."""
    from psmr.study.file.read_study import is_study, read_study

    name = read_study(path, allow_code).name if is_study(path) else path
    return f"{name} ({run.scheme})"
