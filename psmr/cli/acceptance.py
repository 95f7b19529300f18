"""The command that puts a plant on the bench."""

from __future__ import annotations

from typing import Annotated

from psmr.base.declared import Option
from psmr.cli.console import Progress, print_result
from psmr.cli.options import CASE, JSON, READ, Fills, Given, input_file, path

ACCEPT = Fills("psmr.acceptance.accept.accept", "plant bus scr x_r standards requirements workers report")


def accept(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, READ],
    how: Annotated[Given, ACCEPT],
    output: Annotated[
        str | None,
        path,
        "where rows, figure and page go (default: results/accept-PLANT)",
        "FOLDER",
        Option(name="o,output"),
    ] = None,
) -> int:
    """Put a plant on a source behind an impedance and try what grid codes ask of it.

    example: psmr accept wscc9/wscc9-gfm --plant C3 --scr 5 2 1 -o out
    """
    from psmr.acceptance.accept import accept as run_battery

    with Progress(None, unit=" strengths") as bar:

        def progress(done: float, count: int) -> None:
            bar.t_end = count
            bar(done)

        found = run_battery(case, folder=output, progress=progress, **how, **reading)
    record = {"plant": found.name, "passed": found.passed, "headline": found.headline}
    record |= {"left_out": list(found.left_out), "trials": found.trials().to_dict("records")}
    print_result(json, record, found, listed=found.files)
    return int(not found.passed)
