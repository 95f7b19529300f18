"""A plant of any component of the library on a strong bus, with every limit far away."""

from __future__ import annotations

from psmr import Case, Component, build
from tests.devices.library import PARAMETERS
from tests.internals import (
    PREFIXES,
    ROLES,
    BusRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    System,
    role_parameters,
)

BASE = 100.0
FAR = {"_max": 99.0, "_min": -99.0}
"""Limits by the ends of their names."""
ALSO = {name: {"u_o": 99.0, "u_c": -99.0} for name in ("IEEEG1", "IEEEG1CC")}
ALSO |= {"HYGOV": {"velm": 99.0, "g_min": 0.0}, "GAST": {"a_t": 99.0}}
ALSO |= {name: {"v_cu": 0.0, "v_cl": 0.0} for name in ("IEEEST", "ST2CUT")}
ALSO |= {"EXPIC1": {"v_r1": 99.0, "v_r2": -99.0}, "EXAC2": {"v_lr": 99.0, "k_l": 20.0}}
ALSO |= {
    "GGOV1": {
        **{
            "max_err": 99.0,
            "min_err": -99.0,
            "r_open": 99.0,
            "r_close": -99.0,
            "a_set": 99.0,
            "l_dref": 99.0,
        },
        "db": 0.0,
    },
    "WSIEG1": {"u_o": 99.0, "u_c": -99.0, "db1": 0.0},
    "IEEEG3": {"u_o": 99.0, "u_c": -99.0},
}
ALSO |= {"CSVGN1": {"r_min": -999.0, "v_max": 9.0, "v_min": -9.0}}
ALSO |= {"DERA1": {"iqh1": 99.0, "iql1": -99.0, "rrpwr": 99.0, "dbd1": 0.0, "dbd2": 0.0, "p_min": 0.0}}
NO_TABLE = {f"{what}{axis}{k}": 0.0 for what in "vi" for axis in "qp" for k in range(1, 11)}
ALSO |= {"REGCB1": {"rrpwr": 99.0, "iqrmax": 99.0, "iqrmin": -99.0}}
ALSO |= {
    "REECD1": {
        **{"v_dip": -9.0, "v_up": 9.0, "dbd1": 0.0, "dbd2": 0.0, "iqh1": 99.0, "iql1": -99.0, "v_ref0": 0.0},
        **{"v_blkl": 0.0, "v_blkh": 0.0},
        **NO_TABLE,
    }
}
ALSO |= {"STAB1": {"h_lim": 99.0}}
ALSO |= {"ESAC6A": {"v_fe_lim": 99.0}, "ESST1A": {"i_lr": 99.0}, "ST6B": {"i_lr": 99.0}}
"""Limits with other names."""
ALSO |= {
    "WT4G1": {"brkpt": 0.5, "lvpl1": 9.0, "rrpwr": 99.0, "v_olim": 9.0, "t_g": 0.02, "iqrmin": -99.0},
    "WT4E1": {"i_td": 99.0, "ip_hl": 9.0, "iq_hl": 9.0, "i_p_max": 9.0, "q_max": 9.0},
    "WT3G1": {"p_llmax": 9.0},
    "WT3G2": {"p_llmax": 9.0, "brkpt": 0.5, "lvpl1": 9.0, "rrpwr": 99.0, "v_olim": 9.0, "t_g": 0.02},
    "WEHGOV": {"band": 0.0, "gtmxop": 99.0, "gtmxcl": -99.0, "g_max": 99.0, "g_min": 0.0},
    "REGFMC1": {"v_min": 0.5, "db_l": -9.0, "db_h": 9.0, "v_ref0": 0.0},
    "REGFMB1": {"i_ss": 3.0, "i_fault": 9.0, "v_frz": 0.0},
    "WT3E1": {"rp_max": 9.0, "rp_min": -9.0, "i_p_max": 9.0, "p_min": 0.1, "p_full": 0.74},
    "WT3P1": {"rate_max": 99.0, "theta_max": 99.0, "k_pp": 1.5, "p_set": 99.0},
    "WT2G1": {"r_max": 0.11},
    "WT2E1": {"out_max": 9.0, "out_min": -9.0},
    "WT12A1": {"y_max": 9.0, "y_min": -9.0},
    "HYGOV4": {"p_min": 0.0, "u_o": 99.0, "u_c": -99.0},
    "REPCGFMC1": {
        **{"ffr_flag": 0.0, "v_fth": 0.0, "dbf_l": 0.0, "dbf_h": 0.0, "dbv_l": 0.0, "dbv_h": 0.0},
    },
    "OEX12T": {"v_i_max": 9.0, "v_i_min": -9.0},
}
TURBINE = ("WTTQA1", "WTPTA1", "WTARA1", "WTDTA1")
BESIDE = {
    "machine": (),
    "converter": (),
    "exciter": ("GENROU",),
    "shaft": ("GENROU",),
    "compensator": ("GENROU", "SEXS"),
    "governor": ("GENROU",),
    "stabiliser": ("GENROU", "SEXS"),
    "electrical_control": ("REGCA1",),
    "plant_control": ("REGCA1", "REECA1"),
    "torque_control": ("REGCA1", "REECA1"),
    **{
        role: ("REGCA1", "REECA1", *(other for other in TURBINE if other != name))
        for role, name in zip(("pitch_control", "aerodynamics", "drive_train"), TURBINE[1:], strict=True)
    },
}
OTHERS = {
    "WT4G1": ("WT4E1",),
    "WT4E1": ("WT4G1",),
    "WT3G1": ("WT3E1",),
    "WT3G2": ("WT3E1",),
    "WT3E1": ("WT3G1",),
    "WT3T1": ("WT3G1", "WT3E1", "WT3P1"),
    "WT3P1": ("WT3G1", "WT3E1", "WT3T1"),
    "WT2E1": ("WT2G1", "WTDTA1"),
    "WT2G1": ("WT2E1", "WTDTA1", "WT12A1"),
    "WT12A1": ("WT1G1", "WTDTA1"),
    "REPCGFMC1": ("REGFMC1",),
}
"""What a component needs in its plant by its role, and where its name says more by that."""


def role_of(name: str) -> tuple[str, type[Component]]:
    """Return the role and the component of a name in the catalogue."""
    return next((role, kind) for role, kinds in ROLES.items() for kind in kinds if kind.__name__ == name)


def device(name: str) -> DeviceRow:
    """Return a component's row: the parameters of the library, with limits that nothing reaches."""
    role, component = role_of(name)
    values = {k: v for k, v in PARAMETERS[component].items() if k in role_parameters(component)}
    far = {p: x for p in role_parameters(component) for end, x in FAR.items() if p.endswith(end)}
    return DeviceRow(PREFIXES.get(role, "G"), role, name, values | far | ALSO.get(name, {}))


def plant(name: str) -> System:
    """Return the component in a plant of 60 MW with an impedance load, behind a line from a strong bus."""
    role, _ = role_of(name)
    rows = tuple(device(part) for part in (*OTHERS.get(name, BESIDE[role]), name))
    strong = {"s_n": 1e5, "h": 10.0, "d": 2.0, "x_d1": 0.2}
    source = DeviceRow("strong", "machine", "ClassicalMachine", strong)
    case = Case(
        name=name,
        base_mva=BASE,
        frequency_hz=60.0,
        buses=(BusRow(1), BusRow(2)),
        lines=(LineRow(1, 2, x=0.15, r=0.01),),
        loads=(LoadRow(2, 20.0, 5.0, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),),
        generators=(
            GeneratorRow("S", 1, "slack", v=1.0, devices=(source,)),
            GeneratorRow("P", 2, "pv", p_mw=40.0, v=1.01, devices=rows),
        ),
    )
    return build(case)
