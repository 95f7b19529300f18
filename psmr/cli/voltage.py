"""Commands over loads: power-voltage and reactive-power-voltage curves."""

from __future__ import annotations

from typing import Annotated, Any

from psmr.base.declared import Option
from psmr.cli.console import print_result, write_csv
from psmr.cli.options import JSON, PICTURE, START, TABLE, Fills, Given, case_file, input_file

CASE = Option("case file, or a name that `psmr cases` lists; - reads standard input", "CASE")
GROWTH = Fills("psmr.study.voltage_curves.pv_curve", "loads largest")
VOLTAGE = Fills("psmr.study.voltage_curves.qv_curve", "bus highest lowest count")
FIGURE = Option("draw it (.svg, .png, .pdf)", "FILE")
CURVE = Option("write the curve as CSV", "FILE")


def pv(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    growth: Annotated[Given, GROWTH],
    simulate: Annotated[bool, "by a simulation in which the loads grow slowly, up to where it ends"] = False,
    figure: Annotated[str | None, PICTURE, FIGURE] = None,
    table: Annotated[str | None, TABLE, CURVE] = None,
) -> None:
    """Show how much load a case can supply: voltages as its loads grow, past the largest load.

    example: psmr pv wscc9 --grow "*" --figure pv.svg
    """
    from psmr.study.file.study import load_system
    from psmr.study.voltage_curves import pv_curve

    file = case_file(case, reading)
    if simulate:
        curve = pv_curve(load_system(file), **growth)
    else:
        curve = pv_curve(file.read(), reactive_limits=file.reactive_limits is not False, **growth)
    _give(curve, json, figure, table)


def qv(
    case: Annotated[str, input_file, CASE],
    *,
    json: Annotated[bool, JSON] = False,
    reading: Annotated[Given, START],
    voltage: Annotated[Given, VOLTAGE],
    figure: Annotated[str | None, PICTURE, FIGURE] = None,
    table: Annotated[str | None, TABLE, CURVE] = None,
) -> None:
    """Show the reactive power that a source at a bus would give at each voltage, and how much is left.

    example: psmr qv wscc9 --bus 5 --figure qv.svg
    """
    from psmr.study.voltage_curves import qv_curve

    file = case_file(case, reading)
    limits = file.reactive_limits is not False
    _give(qv_curve(file.read(), reactive_limits=limits, **voltage), json, figure, table)


def _give(curve: Any, json: bool, figure: str | None, table: str | None) -> None:
    from psmr.figures.with_matplotlib import save

    if figure:
        save(curve.plot(), figure)
    frame = curve.frame()
    write_csv(table, frame)
    print_result(
        json,
        lambda: {"headline": curve.headline, "margin": curve.margin, "curve": frame.to_dict("records")},
        curve.headline,
        written=(figure, table),
    )
