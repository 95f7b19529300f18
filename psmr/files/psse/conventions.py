"""What a PSS/E record means where its values taken one by one would mean something else.

PSS/E updates a device by a record that names it again: the last counts. Source: powsybl-core, issue 3607 and
pull request 3643, where its authors hold their reader against PSS/E. Values of planning data that stand for
none are zero time constants, rates that are no limit, signs. Sources: for the lead-lag of IEEEG1 and WSIEG1
GridPACK's model of WSIEG1 and GridKit's of IEEEG1, which pass over it where T1 is zero; for Tiq and Tpord
PowerWorld's pages on REEC_A and REEC_D, which set what is below half the shortest step to zero, no lag; for
rates and dead bands EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023):
Iqrmax limits where it is given, and a dead band contains its reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psmr.base.errors import warn
from psmr.files.psse.record import PsseRecord, name_part

RecordsBySection = Mapping[str, Sequence[tuple[PsseRecord, ...]]]

_NAMED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "bus": (("I",), ""),
    "load": (("I",), "ID"),
    "fixed shunt": (("I",), "ID"),
    "switched shunt": (("I",), "ID"),
    "generator": (("I",), "ID"),
    "branch": (("I", "J"), "CKT"),
    "switching device": (("I", "J"), "CKT"),
    "transformer": (("I", "J", "K"), "CKT"),
}
"""Sections, the fields of the buses that a record names, in any order, and that of its identifier."""


def last_of_each(records: RecordsBySection) -> dict[str, tuple[tuple[PsseRecord, ...], ...]]:
    """Return the records of a file without those that a later one of the same device replaces.

    Warns for each record that is left out, naming the line of the one that counts.
    """
    found = {section: tuple(there) for section, there in records.items()}
    for section in _NAMED:
        found[section] = _last(section, found.get(section, ()))
    return found


def _last(section: str, records: Sequence[tuple[PsseRecord, ...]]) -> tuple[tuple[PsseRecord, ...], ...]:
    keys = [_key(section, lines[0]) for lines in records]
    last = dict(zip(keys, records, strict=True))
    if len(last) == len(records):
        return tuple(records)
    for key, lines in zip(keys, records, strict=True):
        if last[key] is not lines:
            ident = f" {key[-1]!r}" if _NAMED[section][1] else ""
            warn(
                f"{lines[0].where}: {section} {'-'.join(key[:-1])}{ident} is defined again in line "
                f"{last[key][0].line}; the later record is used, as in PSS/E (give parallel ones identifiers "
                "of their own)"
            )
    return tuple(last.values())


def _key(section: str, record: PsseRecord) -> tuple[str, ...]:
    """Return the buses that a record names and its identifier, as texts."""
    names, ident = _NAMED[section]
    buses = sorted(record.text(name, "0").lstrip("-") for name in names)
    return (*(bus for bus in buses if bus != "0"), name_part(record.text(ident, "1")) if ident else "")


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


NO_MODELS = {
    "TOGGLE": "is an event of the program ANDES, not a model; give events to the run",
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


def with_defaults_for_zeros(model: str, given: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
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


def why_idle(role: str, given: Mapping[str, float]) -> str:
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


def bus_of(
    buses: Mapping[int, PsseRecord], record: PsseRecord, name: str = "I", status: int = 1
) -> PsseRecord | None:
    """Return the record of a bus, of those by number, that is named; None where it is isolated.

    What is out of service, with `status` = 0, may be at a bus that is not there: None, with a warning.
    """
    bus = buses.get(abs(record.whole(name)))
    if bus is not None:
        return None if bus.whole("IDE", 1) == 4 else bus
    if status:
        raise record.error(name, "there is no bus with this number")
    tell_of_absent(record, name)
    return None


def tell_of_absent(record: PsseRecord, name: str, what: str = "") -> None:
    """Warn that something out of service is left out, as its bus is not in the file."""
    number = abs(record.whole(name))
    words = f"{name} = {number}: there is no bus with this number; {what or record.section}, out of service,"
    warn(f"{record.where}: {words} is left out: it cannot be closed")


def suffix(ident: str) -> str:
    """Return what an identifier adds to a name: nothing for 1."""
    return "" if ident == "1" else f"-{ident}"
