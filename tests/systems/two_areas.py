"""Two areas with a static var system between them, and control of both: the AGC example of PST 4.

Data and figures of T. Haines, PST 4 (2020), MIT licence: github.com/thadhaines/MT-Tech-SETO, bc23543e,
PST/0-examples/AGC/d2a_AGC.m and researchDocs/TEX/PST4UserManual/template/examples/agc. Its load flow
has moved the taps at the loads, which are to keep 0.95 pu, to 0.95 and 0.9; its stabiliser has the gain K/Tw.
PST adds k_p g = 0.04 2 times the error in pu on 100 MVA to references in pu on 900 MVA every 15 s.
"""

import dataclasses

import psmr

AREA = dict.fromkeys((1, 2, 3, 4, 10, 20, 101), 1) | dict.fromkeys((11, 12, 13, 14, 110, 120), 2)
LINES = (
    (3, 20, 0.001, 0.01, 0.0175, 1),
    (3, 101, 0.011, 0.11, 0.1925, 1),
    (3, 101, 0.011, 0.11, 0.1925, 2),
    (10, 20, 0.0025, 0.025, 0.0437, 1),
    (13, 101, 0.011, 0.11, 0.1925, 1),
    (13, 101, 0.011, 0.11, 0.1925, 2),
    (13, 120, 0.001, 0.01, 0.0175, 1),
    (110, 120, 0.0025, 0.025, 0.0437, 1),
)
TRANSFORMERS = (
    *((1, 10, 0.0167, 1.0), (2, 20, 0.0167, 1.0), (3, 4, 0.005, 0.95)),
    *((11, 110, 0.0167, 1.0), (12, 120, 0.0167, 1.0), (13, 14, 0.005, 0.9)),
)
MACHINE = {
    **{"type": "GENROU", "s_n": 900.0, "h": 6.5, "r_a": 0.0025, "x_d": 1.8, "x_q": 1.7, "x_d1": 0.3},
    **{"x_q1": 0.55, "x_2": 0.25, "x_l": 0.2, "t_d01": 8.0, "t_d02": 0.03, "t_q01": 0.4, "t_q02": 0.05},
}
EXCITER = {"type": "SEXS", "t_a": 1.0, "t_b": 12.0, "k": 100.0, "t_e": 0.01, "e_min": -6.0, "e_max": 7.5}
GOVERNOR = {
    **{"type": "IEEEG1", "k": 25.0, "t_1": 0.0, "t_2": 0.0, "t_3": 0.1, "u_o": 100.0, "u_c": -100.0},
    **{"p_max": 1.0, "p_min": 0.0, "t_4": 0.5, "k_1": 0.25, "t_5": 5.0, "k_3": 0.75},
    **dict.fromkeys(("t_6", "k_5", "t_7", "k_7"), 0.0),
}
STABILISER = {
    **{"type": "STAB1", "k_t": 15.0, "t": 2.0, "t1_t3": 6.25, "t_3": 0.04, "t2_t4": 0.2 / 0.03},
    **{"t_4": 0.03, "h_lim": 0.1},
}
STATIC_VAR = {
    **{"type": "SVSMO1", "b_max": 6.0, "b_min": 0.0, "b_shrt": 0.0, "uvsb_max": 6.0, "uv1": 0.1, "uv2": 0.05},
    **{"uvt": 0.0, "ov1": 0.0, "ov2": 0.0, "ve_max": 1.0, "ve_min": -1.0, "x_c1": 0.0, "k_pv": 5.0},
    **{"k_iv": 0.0, "t_2": 0.05, "pll_delay": 0.1, "t_c1": 0.0, "t_b1": 0.0, "t_c2": 0.0, "t_b2": 0.0},
    **dict.fromkeys(("uv_tm1", "uv_tm2", "ov_tm1", "ov_tm2", "t_shrt"), 1.0),
}
B_SVS = 453.779
"""Mvar at 1 pu with which bus 101 has 1.05 pu."""

UNITS = ((1, 1, None, 1.03, 0.75), (2, 2, 700.0, 1.01, 0.25), (3, 11, 716.0, 1.03, 0.25))
UNITS += ((4, 12, 700.0, 1.01, 0.75),)
CONTROL = {"type": "GenerationControl", "T": 15.0, "T_0": 25.0, "bias": 18.0, "k_i": 0.08 * 9 / 15}


def two_areas(change=None, **control):
    """Return the case; `control` in place of values of `CONTROL`, ``change(tables)`` may change its rows."""
    tables = {
        "buses": [{"number": number, "area": area} for number, area in AREA.items()],
        "lines": [dict(zip(("from", "to", "r", "x", "b", "circuit"), line, strict=True)) for line in LINES],
        "transformers": [dict(zip(("from", "to", "x", "tap"), row, strict=True)) for row in TRANSFORMERS],
        "loads": [
            {"bus": bus, "p_mw": p, "q_mvar": 100.0, "model": "impedance"}
            for bus, p in ((4, 976.0), (14, 1767.0))
        ],
        "shunts": [
            {"bus": 4, "g_mw": 50.0, "status": 0, "name": "step"},
            {"bus": 101, "b_mvar": B_SVS, "name": "SVS", "static_var_system": STATIC_VAR},
        ],
        "generators": [_plant(*unit) for unit in UNITS],
        "areas": [{"number": area, "control": CONTROL | control} for area in (1, 2)],
    }
    if change is not None:
        change(tables)
    case = psmr.make_case("two areas", base_mva=100.0, frequency_hz=60.0, **tables)
    return dataclasses.replace(case, mechanical="power", stator="speed")


def _plant(number, bus, p, v, part):
    power = {"control": "slack", "angle_deg": 18.5} if p is None else {"control": "pv", "p_mw": p}
    plant = {"name": f"G{number}", "bus": bus, "v": v, **power, "machine": MACHINE, "exciter": EXCITER}
    plant |= {"governor": GOVERNOR, "participation": {"type": "Participation", "part": part}}
    return plant | ({"stabiliser": STABILISER} if number % 2 else {})


LOAD_STEP = psmr.ParameterStep("step", "status", 1.0, 1.0)
"""A conductance of 0.5 pu at bus 4 from 1 s on."""
