"""Values of planning data that stand for none: zero time constants, rates that are no limit, signs.

Sources: for the lead-lag of IEEEG1 and WSIEG1 GridPACK's model of WSIEG1 and GridKit's of IEEEG1, which pass
over it where T1 is zero; for Tiq and Tpord PowerWorld's pages on REEC_A and REEC_D, which set what is below
half the shortest step to zero, no lag; for rates and dead bands EPRI 3002027129, Model User Guide for
Generic Renewable Energy System Models (2023): Iqrmax limits where it is given, and a dead band contains its
reference.
"""

from __future__ import annotations

from collections.abc import Mapping

SHORTEST = 1e-3
"""Time constant in s of a lag that a record leaves out and that has to hold its value during a dip."""

NO_RATE = 999.0
"""A rate in pu/s that limits nothing, as records write it."""

_LEADS = ("IEEEG1", "IEEEG1CC", "WSIEG1")
_LAGS = ("t_iq", "t_pord")
_RATES = (("iqrmax", NO_RATE), ("iqrmin", -NO_RATE))
_BANDS = ("dbd1", "fdbd1")


def without_none(model: str, given: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """Return parameters in which what stands for none is written out, and a note on each."""
    found, notes = dict(given), []
    if model in _LEADS and found["t_1"] == 0 != found["t_2"]:
        notes.append(f"T1 = 0 leaves its lead-lag out; T2 = {found['t_2']:g} is without effect")
        found["t_2"] = 0.0
    for name in _LAGS:
        if found.get(name) == 0:
            notes.append(f"{name} = 0 is no lag; taken as {SHORTEST:g} s, which holds the value during a dip")
            found[name] = SHORTEST
    for name, none in _RATES:
        if found.get(name) == 0:
            notes.append(f"{name} = 0 is no limit; taken as {none:g}")
            found[name] = none
    if found.get("f_flag") and found.get("k_pg") == 0 == found.get("k_ig"):
        notes.append("k_pg = k_ig = 0 leave the control of the power out; taken as f_flag = 0")
        found["f_flag"] = 0.0
    for name in _BANDS:
        if found.get(name, 0.0) > 0:
            notes.append(
                f"{name} = {found[name]:g} is above the reference, which a dead band contains; taken as"
                f" {-found[name]:g}"
            )
            found[name] = -found[name]
    return found, notes
