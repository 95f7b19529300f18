"""The records of a PSS/E DYR file: words up to a slash, over lines; which model each is, and for whom.

Components declare their records (`psmr.devices.placement.Placement.records`): the model's name, then the
names of the parameters in the order of the values. ``name=value`` is a value that must be as given, for the
component has no such option; ``-name`` one that changes nothing in psmr. Source: Siemens PTI, PSS/E Model
Library, the data sheets of the models.

A load model's name says whom it is for: ``BL`` one load of a bus, ``OW``, ``ZN`` and ``AR`` the loads of an
owner, a zone, an area, ``AL`` all loads. Source: Siemens PTI, PSS/E Model Library, load models; for the
order of CMLDBLU2 the tools that write its records, TDcoSim (Argonne National Laboratory,
composite_load_model_rating.json) and the export of the WECC's load model workbook, which agree, and records
of InterPSS' test cases.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from psmr.base.errors import CaseError, nearest, warn
from psmr.dae.declare.component import Component
from psmr.devices.catalogue import ROLES, components, role_parameters
from psmr.devices.placement import placement
from psmr.files.psse.record import PsseRecord, fields_of
from psmr.network.case.tables import GeneratorRow

SCOPES = ("BL", "OW", "ZN", "AR", "AL")
"""Parts of the names, in the order in which they go before each other."""

_PARTS = "a_1 a_2 a_3 a_4 a_5 a_6 a_7 a_8 n_1 n_2 n_3 n_4 n_5 n_6"

_CAGES = "circuit r_s x_s x_m r_1 x_1 r_2 x_2 E1 SE1 E2 SE2 MBASE PMULT h VI TI TB"

_MOTOR = "mtyp lf ra ls lp lpp tpo tppo h etrq vtr1 ttr1 ftr1 vrc1 trc1 vtr2 ttr2 ftr2 vrc2 trc2"

_COMPOSITE = (
    "mva b_ss r_fdr x_fdr f_b x_xf tfixhs tfixls ltc t_min t_max step v_min v_max t_d t_c r_cmp x_cmp"
    " fm_a fm_b fm_c fm_d f_el pf_el v_d1 v_d2 pf_s p1e p1c p2e p2c p_frq q1e q1c q2e q2c q_frq "
    + " ".join(f"{name}_{k}" for k in "abc" for name in _MOTOR.split())
    + " t_stall t_rst t_v t_f lf_d pf_d v_stall r_stall x_stall lf_adj kp1 np1 kq1 nq1 kp2 np2 kq2 nq2 v_brk"
    " f_rst v_rst kpf kqf vc1off vc2off vc1on vc2on t_th th1t th2t f_uvr uvtr1 ttr1_d uvtr2 ttr2_d frcel"
)

LOAD_RECORDS: Mapping[str, str] = {
    "IEEL*": _PARTS,
    "CIM5*": f"{_CAGES} d -Tnom",
    "CIM6*": f"{_CAGES} a b d e c_0 -Tnom",
    "CIMW*": f"{_CAGES} a b d e",
    "CMLD*U2": _COMPOSITE,
}
"""Model with a star for whom it is for, to the names of its values after number, name and identifier."""

LOAD_COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "IEEL*": ("LoadCharacteristic", "FrequencyCharacteristic"),
    "CIM5*": ("CIM5",),
    "CIM6*": ("CIM6",),
    "CIMW*": ("CIMW",),
    "CMLD*U2": ("CMLD",),
}
"""Model with a star to the component that it becomes; IEEL to the second one where it reads the frequency."""

LOAD_KINDS: Mapping[str, tuple[str, str]] = {
    model.replace("*", scope): (model, scope) for model in LOAD_RECORDS for scope in SCOPES
}
"""Name of a model to its name with a star, and whom it is for."""

USER_WRITTEN = "USRLOD"
"""Name under which PSS/E has a load model as a user-written one: its own comes after the identifier."""


class DyrModels:
    """The records of some components: which component a model is, and which parameters its values are."""

    def __init__(self, kinds: Iterable[type[Component]], own: Iterable[type[Component]] = ()) -> None:
        self.kinds: dict[str, type[Component]] = {}
        self.layouts: dict[str, list[list[str]]] = {}
        self.own: frozenset[str] = frozenset()
        for kind in kinds:
            self._add(kind, placement(kind).records)
        self.own = frozenset(model for kind in own for model in self._add(kind, _own_records(kind)))

    def _add(self, kind: type[Component], records: tuple[str, ...]) -> set[str]:
        split = [record.split() for record in records]
        for model, *_ in split:
            self.kinds[model], self.layouts[model] = kind, []
        for model, *names in split:
            self.layouts[model].append(names)
        return {model for model, *_ in split}

    def with_own(self, own: Iterable[type[Component]]) -> DyrModels:
        """Return these and those of the user's own components, which come first."""
        plants = [kind for kind in own if placement(kind).role in ROLES]
        return DyrModels(components(), plants) if plants else self

    def names_of(self, model: str, count: int) -> list[str]:
        """Return the names of the `count` values of a model's record, the first layout where none fits."""
        layouts = self.layouts[model]
        return next((names for names in layouts if len(names) == count), layouts[0])

    def component_for(self, model: str) -> tuple[str, type[Component]] | None:
        """Return (role, component) of a model, or None where there is none."""
        kind = self.kinds.get(model)
        return None if kind is None else (placement(kind).role, kind)


def _own_records(kind: type[Component]) -> tuple[str, ...]:
    """Return the records of a component of the user's own: its name, its parameters, unless it says else."""
    names = [name for name in role_parameters(kind) if name != "s_n"]
    return placement(kind).records or (" ".join([kind.__name__.upper(), *names]),)


LIBRARY = DyrModels(components())
names_of, component_for = LIBRARY.names_of, LIBRARY.component_for

MODELS: Mapping[str, str] = {model: " ".join(layouts[0]) for model, layouts in LIBRARY.layouts.items()}
"""Model to the names of its values, in their order, after bus, name and machine identifier."""

ALIASES = {"IEEEG1CC": "IEEEG1"}
"""Names that psmr gives to what a record with other values is; files have the name after it."""


def parameters(
    component: type[Component], values: Mapping[str, float], mbase: float, zr: float, zx: float
) -> dict[str, float]:
    """Return the component's parameters: those of the record, and the machine's base and impedance.

    The impedance that the network file gives a generator is, per unit on its base, the stator resistance and,
    for the classical machine, the transient reactance.
    """
    found = dict(values)
    if "ta_tb" in found:
        found["t_a"] = found.pop("ta_tb") * found["t_b"]
    if "x_comp" in found:
        found |= {"r_c": 0.0, "x_c": -found.pop("x_comp")}
    for name in [name for name in found if name.endswith("_deg")]:
        found[name.removesuffix("_deg")] = math.radians(found.pop(name))
    declared = role_parameters(component)
    found |= placement(component).from_record(found)
    outside = {"s_n": mbase, "r_a": zr, "x_d1": zx, "r_e": zr, "x_e": zx}
    return {name: value for name, value in outside.items() if name in declared} | found


OF_PLANT = "USRMDL"
"""Name under which PSS/E has a model of a plant as a user-written one: its own comes after the identifier."""

COUNTS: Mapping[str, int] = {OF_PLANT: 6, USER_WRITTEN: 7}
"""How many counts there are after the name: the third is that of whole numbers, the fourth that of values."""

UNDER_OTHER_NAMES: Mapping[str, str] = {
    **{
        f"{name}U1": f"{name}1"
        for name in ("REGCA", "REECA", "REECB", "REPCA", "WTDTA", "WTTQA", "WTPTA", "WTARA", "GENTPJ")
    },
    **{f"REGFMA1_{version}": "REGFMA1" for version in (33, 34, 35)},
    "OEL2CU1": "OEL2C",
    "UEL2CU1": "UEL2C",
}
"""Models of the library by the names that they have as user-written ones, with the same values.

PSS/E up to version 33 has them so. Sources: PowerWorld, What's New in version 20, USRMDL from DYR; InterPSS'
parser of GENTPJ1, its tests of OEL2C and UEL2C; for REGFMA1 its public user-written model for PSS/E 33 to 35.
"""

_OF_A_BUS = "disconnects a bus with all that is on it; FRQTPAT and VTGTPAT trip one generator"
BESIDE = {
    **dict.fromkeys(("FRQDCAT", "FRQDCA", "VTGDCAT", "VTGDCA"), _OF_A_BUS),
    "WT4E2": "has eleven values more than WT4E1, and no public text says what they are",
    "WT4G2": "has the nine values of WT4G1, and no public text says in what it differs",
    "COMPCC": "compensates for a second machine as well; COMP and IEEEVC for one",
}
"""What a model that psmr has not does, and which others are near: more than a name that is spelled alike."""

UNORDERED = {
    "HYGOV4": "HYGOV4",
    "REPCGFMC1": "REPCGFMC1",
    **dict.fromkeys(("SVSMO3", "SVSMO3T2", "SVSMO3U2"), "SVSMO3"),
}
"""Models of which no public text has the order of the values in a record, and the component that each is."""

_KIND = 4
"""Place of the kind of a model in a record of USRMDL, after the names of both."""

_ROLES = {
    "1": "machine",
    "2": "compensator",
    "3": "stabiliser",
    "4": "exciter",
    "5": "governor",
    "9": "underexcitation limiter",
    "10": "overexcitation limiter",
    "101": "machine",
    "102": "electrical control",
    "103": "drive train",
    "104": "pitch control",
    "105": "aerodynamics",
    "106": "wind",
    "107": "plant control",
}
"""Kinds of user-written models of plants.

Source: PSS/E, Program Application Guide. Public records (InterPSS' test cases, PNNL's GENQEC) have models of
the kinds 1, 4, 5, 9, 10, 101, 103, 105 and 106, whose names say the same; none of the others.
"""

_AFTER_NAMES = 5
"""Words of a record among which a name may be its own: bus, model, identifier, the name of a user-written
model, and a bus of its own before the next record's name."""

_LOADS = ("USRLOD", "USRBUS")


Key = tuple[int, str]
"""Number of a bus and identifier of a device there."""


@dataclass(frozen=True)
class GeneratorUnit:
    """What dynamic data need of a generator: its row, its base in MVA, and its impedance per unit on it.

    `row` is None for a generator out of service, `zx` NaN where the network's file gives no impedance.
    """

    row: GeneratorRow | None
    mbase: float
    zr: float
    zx: float
    stepped: bool
    where: str


@dataclass(frozen=True)
class LoadUnit:
    """What load records need of a load of the RAW file: to whom it belongs, and the names of its rows."""

    bus: int
    ident: str
    area: int
    zone: int
    owner: int
    rows: tuple[str, ...]

    def belongs(self, scope: str, number: int) -> bool:
        """Return whether a record with this ending and number is for it."""
        mine = {"BL": self.bus, "OW": self.owner, "ZN": self.zone, "AR": self.area}
        return scope == "AL" or mine[scope] == number


@dataclass(frozen=True)
class DyrRecord:
    """A record: where it begins, and its words with the line of each."""

    path: str
    line: int
    words: tuple[tuple[int, str], ...]

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"

    @property
    def model(self) -> str:
        """Name of the model in capitals."""
        return self.head().text("model").upper()

    @property
    def name(self) -> str:
        """Name of the model, with that of a user-written one behind it, as messages quote it."""
        if not self.model.startswith("USR"):
            return repr(self.model)
        place = 3 if self.model in COUNTS else 2
        inner = self.words[place][1] if place < len(self.words) else ""
        return f"{self.model!r} {inner!r}" if inner else repr(self.model)

    @property
    def consequence(self) -> str:
        """What a run lacks without this record, as messages say it."""
        head, kind = self.head(), self.words[4][1] if len(self.words) > _KIND else ""
        what = f"at bus {head.text('bus')}"
        if self.model in _LOADS:
            return f"the load {what} keeps its static characteristic"
        what = f"generator {head.text('id', '1')!r} {what}"
        if self.model != OF_PLANT:
            return f"{what} runs without it"
        role = _ROLES.get(kind.split(".")[0], "")
        lost = "has no machine by it, and keeps no controllers" if role == "machine" else "runs without it"
        return f"{what} {lost}{f' ({role})' if role else ''}"

    def refuse(self, also: str) -> None:
        """Raise CaseError for a model that psmr does not have."""
        if kind := UNORDERED.get(self.model):
            raise CaseError(
                f"{self.where}: {self.name}{also}: no public text has the order of its values; give it in a"
                f' TOML file (type = "{kind}"), or skip it with a warning (--skip-unknown-models)'
            )
        near = BESIDE.get(self.model)
        hint = f": it {near}" if near else nearest(self.model, (*filter(component_for, MODELS), *LOAD_KINDS))
        raise CaseError(
            f"{self.where}: psmr has no model {self.name}{also}{hint}; take it out, or skip unknown models"
            " with a warning (--skip-unknown-models)"
        )

    def check_count(self, count: int, names: Sequence[str], model: str = "") -> None:
        """Raise CaseError for another number of values than there are names."""
        if count != len(names):
            plain = " ".join(name.lstrip("-").partition("=")[0] for name in names)
            raise CaseError(
                f"{self.where}: {model or self.model}: has {count} values; must have {len(names)}: {plain};"
                " does the record end with a slash?"
            )

    def record(self, *names: str) -> PsseRecord:
        """Return number and values, without the model, by name."""
        words = [self.words[0], *self.words[2:]]
        self.check_count(len(words) - 1, names[1:])
        return PsseRecord(self.path, words[0][0], self.model, names, [word for _, word in words])

    def head(self) -> PsseRecord:
        """Return number, model and identifier."""
        return PsseRecord(
            self.path, self.line, "dyr", ("bus", "model", "id"), [word for _, word in self.words]
        )


def unwrapped(entry: DyrRecord) -> DyrRecord:
    """Return the record of a model of the library that PSS/E has as a user-written one as one of that model.

    The model's name comes after the identifier, then counts, of which the third and fourth say how many
    whole numbers and values follow. Other records stay as they are, and those of user-written models that
    bear a name of the library and have other values.

    Raises CaseError where there are more or fewer of them.
    """
    counts = COUNTS.get(entry.model, 0)
    first = 4 + counts
    if not counts or len(entry.words) < first:
        return entry
    given = entry.words[3][1].upper()
    name = UNDER_OTHER_NAMES.get(given, given)
    of_load = entry.model == USER_WRITTEN
    if not (name in LOAD_KINDS if of_load else component_for(name)):
        return entry
    words = [word for _, word in entry.words[4:first]]
    names = [f"count {k}" for k in range(1, counts + 1)]
    record = PsseRecord(entry.path, entry.line, given, names, words)
    whole, values = record.whole("count 3"), record.whole("count 4")
    there = len(entry.words) - first
    if there != whole + values:
        raise CaseError(
            f"{entry.where}: {given}: its third and fourth counts say {whole} whole numbers and {values}"
            f" values, and there are {there} of both; does the record end with a slash?"
        )
    if not of_load and name == given and there not in map(len, LIBRARY.layouts[name]):
        return entry
    passed = first + whole if of_load else first
    head = (entry.words[0], (entry.words[3][0], name), entry.words[2])
    return replace(entry, words=(*head, *entry.words[passed:]))


def _begins_another(words: list[tuple[int, str]], others: Container[str]) -> bool:
    """Say whether the last two words of a record are the bus and the model of another one."""
    if len(words) <= _AFTER_NAMES or not words[-2][1].isdecimal():
        return False
    name = words[-1][1].upper()
    return name in others or name in LOAD_KINDS or name in COUNTS or component_for(name) is not None


def entries(path: str, lines: list[str], others: Container[str] = ()) -> Iterator[DyrRecord]:
    """Yield the records of a file; a line that begins with ``@!`` is a comment, as in RAW files.

    `others` are names of models that begin a record, beside those of plants and loads.
    """
    held: list[tuple[int, str]] = []
    separated = True
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("@!"):
            continue
        if not held and line.lstrip().startswith("#"):
            what = "begins with #, which is no mark of a comment in PSS/E; passed over as one"
            warn(f"{path}:{number}: {what}")
            continue
        values, ended, separated = fields_of(line, f"{path}:{number}", separated or not held)
        for value in values:
            held.append((number, (value or "").strip()))
            if _begins_another(held, others):
                *held, bus, model = held
                what = f"its record has no slash before {bus[1]} {model[1]!r}, where the next begins"
                warn(f"{path}:{held[0][0]}: {what}")
                yield DyrRecord(path, held[0][0], tuple(held))
                held = [bus, model]
        if ended and held:
            yield DyrRecord(path, held[0][0], tuple(held))
        if ended:
            held = []
    if held:
        what = "the last record does not end with a slash; is the file whole? It is taken as it stands"
        warn(f"{path}:{held[0][0]}: {what}")
        yield DyrRecord(path, held[0][0], tuple(held))
