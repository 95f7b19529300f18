"""Which rows of a sweep are the worst."""

from __future__ import annotations

import pandas as pd

from psmr.sweep.measures import Measure

# By measure: the columns that order the rows, and whether small is bad.
ORDER: dict[str, tuple[tuple[str, bool], ...]] = {
    "outcomes": (("lost_at", True), ("angle_spread", False), ("lowest_voltage", True), ("nadir", True)),
    "clearing-time": (("critical_clearing_time", True),),
    "damping": (("damping_ratio", True),),
    "stability": (("spectral_radius", False), ("deformation", False)),
}


def ranked(table: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Return the rows, the worst first, those that failed before all.

    Runs are ordered by the time at which synchronism was lost, then by angle spread, lowest voltage and
    nadir; clearing times and damping ratios from the smallest, spectral radii from the largest.
    """
    order = ORDER[measure.kind]
    keys = ["_failed", *(name for name, _ in order), "run"]
    given = table.assign(_failed=table["status"] == "failed")
    rising = [False, *(small for _, small in order), True]
    return given.sort_values(keys, ascending=rising, na_position="last", kind="stable").drop(
        columns="_failed"
    )
