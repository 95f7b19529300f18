"""What a PSS/E record means where its values taken one by one would mean something else."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.files.psse.planning_values import without_none

_HELD = "the control of a DC line, which psmr holds at the powers of the power flow"
NO_MODELS = {
    "TOGGLE": "is an event of the program ANDES, not a model; give events to the run",
    **dict.fromkeys(("CDC4T", "CDC6T", "VSCDCT"), _HELD),
}
"""Records in DYR files that describe no device, or none of one that psmr models."""

MACHINES = ("GENROU", "GENSAL", "GENROE", "GENSAE")

DIRECT_CURRENT = ("IEEET1", "IEEEX1", "EXDC1", "EXDC2", "ESDC1A", "ESDC2A", "IEEET2", "DC4B")
"""Models with a direct-current exciter, whose regulator has to feed the exciter at its second point."""

THRSHZ = 1e-4
"""Reactance in pu up to which PSS/E takes a branch for none, by default."""

UNUSED = 1.0
"""Time constant in s of a rate feedback whose gain is 0: any value above 0 has the same effect, none."""

LONGEST = 9
"""Digits of a circuit that is a number; Python reads none of more than 4,300."""


def circuit_number(ident: str) -> int:
    """Return the circuit of a branch as a number: 1 for an identifier that is not a number above zero."""
    ident = ident.strip()
    return (int(ident) if ident.isascii() and ident.isdecimal() and len(ident) <= LONGEST else 1) or 1


def meant(model: str, given: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """Return the parameters of a record with what its zeros stand for, and a note on each.

    ``v_r_max = 0`` of a direct-current exciter is what the exciter needs at e_2, (k_e + S_E(e_2)) e_2,
    without k_e where that is not positive; ``v_r_min``, if 0 too, is the negative of it. ``t_e = 0`` of
    EXPIC1 is a static exciter, whose k_e and saturation have no part. A saturation curve whose first point is
    e_1 = 0, se_1 = 0 has one point only, through which go curves of any curvature: there is no saturation
    then. ``k_f = t_f = 0`` is an exciter without rate feedback. ``S(1.0) = 0`` switches the saturation of a
    machine off, whatever S(1.2) says. The filter of IEEEST is written so that each numerator has the
    denominators that it needs. Source: PSS/E, Model Library, IEEET1; for the curve of exciters the practice
    of ANDES; for machines and IEEEST traces of PSS/E
    (docs/benchmarks/psse.md).
    """
    found, notes = without_none(model, given)
    if model in MACHINES and found.get("s_10") == 0 < found.get("s_12", 0.0):
        notes.append(f"S(1.0) = 0 switches saturation off; S(1.2) = {found['s_12']:g} is without effect")
        found["s_12"] = 0.0
    for code, bus in SIGNALS.items():
        if found.get(bus) and code in found and found[code] not in OF_BUS:
            notes.append(
                f"{bus} = {found[bus]:g} is without effect: {code} = {found[code]:g} is no bus's signal"
            )
            found[bus] = 0.0
    if model == "IEEEST":
        found |= proper_filter(found)
    if found.get("e_1") == 0 == found.get("se_1") and found["se_2"] * found["e_2"] > 0:
        notes.append(
            f"e_1 = se_1 = 0 and se_2 = {found['se_2']:g} give the saturation curve one point; taken without"
            " saturation (se_2 = 0)"
        )
        found["se_2"] = 0.0
    if found.get("t_f") == 0 == found.get("k_f"):
        notes.append(f"k_f = t_f = 0 leave the rate feedback out; t_f = {UNUSED:g} s is without effect")
        found["t_f"] = UNUSED
    if model == "EXPIC1" and found["t_e"] == 0:
        found |= {"k_e": 1.0, "se_1": 0.0, "se_2": 0.0}
    if model in DIRECT_CURRENT and found["v_r_max"] == 0:
        found["v_r_max"] = (max(found["k_e"], 0.0) + found["se_2"]) * found["e_2"]
        notes.append(f"v_r_max = 0 stands for what the exciter needs at e_2: {found['v_r_max']:g}")
        if found["v_r_min"] == 0:
            found["v_r_min"] = -found["v_r_max"]
            notes.append(f"v_r_min = 0 stands for -v_r_max: {found['v_r_min']:g}")
    return found, notes


SIGNALS = {"input": "bus", "input_1": "bus_1", "input_2": "bus_2"}
"""Codes of the signals of stabilisers, and the bus of those that are a bus's."""

OF_BUS = (2, 5, 6)
"""Codes of signals of a bus."""

OUTPUTS = (("l_s_min", "l_s_max"), ("v_st_min", "v_st_max"), ("h_lim",))
"""Limits of the output of stabilisers."""


def idle(role: str, given: Mapping[str, float]) -> str:
    """Return why a device does nothing, with these parameters of its record; empty where it does something.

    A stabiliser has no signal, or nothing between the limits of its output.
    """
    if role != "stabiliser":
        return ""
    for names in (tuple(name for name in SIGNALS if name in given), *OUTPUTS):
        if names and all(given.get(name) == 0 for name in names):
            return f"{' = '.join(names)} = 0 switch it off"
    return ""


def proper_filter(p: Mapping[str, float]) -> dict[str, float]:
    """Return the values of IEEEST with the same transfer function, written so that each block is proper.

    The model is (1 + a_5 s + a_6 s^2) / ((1 + a_1 s + a_2 s^2) (1 + a_3 s + a_4 s^2)) and two lead-lags. The
    numerator needs the second denominator: that becomes the first, where it is of higher order, or the
    product of both, where they are of first order. Leads change places where the other lag is there.
    """
    found: dict[str, float] = {}
    order = 2 if p["a_6"] else 1 if p["a_5"] else 0
    first, second = ((2 if p[square] else 1 if p[plain] else 0) for plain, square in _DENOMINATORS)
    if second < order <= first:
        found |= {"a_1": p["a_3"], "a_2": p["a_4"], "a_3": p["a_1"], "a_4": p["a_2"]}
    elif second < order <= first + second:
        found |= {"a_1": 0.0, "a_2": 0.0, "a_3": p["a_1"] + p["a_3"], "a_4": p["a_1"] * p["a_3"]}
    for lead, lag, other, free in (("t_1", "t_2", "t_3", "t_4"), ("t_3", "t_4", "t_1", "t_2")):
        if p[lead] and not p[lag] and p[free] and not p[other]:
            found |= {lead: 0.0, other: p[lead]}
    return found


_DENOMINATORS = (("a_1", "a_2"), ("a_3", "a_4"))
