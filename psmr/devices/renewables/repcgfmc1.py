"""The plant control of hybrid plants, whose converters are grid-forming and grid-following at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Action,
    Parameter,
    flag,
    nonnegative,
    nonpositive,
    positive,
    whole,
)
from psmr.devices.blocks import dead_band, error_band, gate, limited_where, phasor_frequency
from psmr.devices.diagram import BlockDiagram
from psmr.devices.machines.textbook import F_N, S_BASE
from psmr.devices.renewables.converters import PU, V_0
from psmr.devices.renewables.repca1 import (
    BRANCH,
    INPUTS,
    MONITORED,
    OPTIONAL,
    PLANT_BASE,
    measured_powers,
)

LIMITED = ("p_f", "p_star", "p_in", "p_i", "q_star", "q_in", "q_i", "v_err", "q_vc", "v_ref", "f_ref", "fr")
"""Names of what has an upper limit, with ``_max`` behind, and a lower one, with ``_min``."""

FAR = 1e6
"""Beyond any power."""


def _response(sign: float) -> tuple[Action, ...]:
    """Return how the fast response to a low (1) or high (-1) frequency begins, and how it ends."""
    name = "low" if sign > 0 else "high"

    def power(p: Any) -> Any:
        return getattr(p, f"p_ffr_{name}")

    def beyond(m: Any, v: Any, p: Any) -> Any:
        return m.min(sign * (getattr(p, f"f_ffr_{name}") - 1 - v.w_f), 0.5 - m.abs(p.busy))

    def used(p: Any) -> Any:
        return p.ffr_flag > 0

    return (
        Action(
            f"fast response to a {name} frequency",
            beyond,
            effect=lambda v, p: {"busy": sign, "ffr_min": power(p), "ffr_max": power(p)},
            used=used,
        ),
        Action(
            "",
            lambda m, v, p: m.min(sign * p.busy - 0.5, 0.5 - p.ending),
            lambda p: p.t_ffr,
            lambda v, p: {"ending": 1.0, "ffr_min": min(power(p), 0.0), "ffr_max": max(power(p), 0.0)},
            used,
        ),
        Action(
            "",
            lambda m, v, p: m.min(m.min(sign * p.busy - 0.5, p.ending - 0.5), 1e-9 - sign * v.p_ffr),
            effect=lambda v, p: {"busy": 0.0, "ending": 0.0, "ffr_min": -FAR, "ffr_max": FAR},
            used=used,
        ),
    )


_NONE = 1e-9
"""Power below which the start asks for no loss."""


class _Given:
    """Parameters by name, as `equations` has them."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.r_loss, self.x_loss = values["r_loss"], values["x_loss"]


def _behind_the_loss(root: Any, voltage: Any, power: Any, reactive: Any, p: Any) -> Any:
    """Return the voltage at the converters that sends a power through the plant's impedance to a voltage."""
    along = voltage + (p.r_loss * power + p.x_loss * reactive) / voltage
    across = (p.x_loss * power - p.r_loss * reactive) / voltage
    return root(along**2 + across**2)


class REPCGFMC1(BlockDiagram):
    """Plant control of hybrid plants: references of both branches of REGFMC1.

    ::

        frequency of the measuring bus -> 1/(1 + s t_frq), rate [fr_min, fr_max] -> w_f, 0 while v_m < v_fth
        |v_r| -> 1/(1 + s t_vmeas) -> v_m

        grid-forming branch
          1 + w_f, limits [f_ref_min, f_ref_max] -> 1/(1 + s t_fref) -> w_gfm (less 1)
          v_ref_flag = 1: |v_m + (r_loss + j x_loss) (p_star - j q_star)/v_m| + v_off
          v_ref_flag = 0: |v| -> 1/(1 + s t_vmeas) -> 1/(1 + s t_vlag)
            -> limits [v_ref_min, v_ref_max] -> 1/(1 + s t_vref) -> v_gfm (less v_0)

        grid-following branch
          f_ref - 1 - w_f -> dead band [dbf_l, dbf_h] -> d_dn where < 0, d_up where > 0
              -> limits [p_f_min, p_f_max] -> droop
          p_plant + droop + p_ffr, limits [p_star_min, p_star_max] -> p_star
          p_star - p_m, limits [p_in_min, p_in_max] -> k_ip/s, limits [p_i_min, p_i_max] -> x_p
          p_star + x_p + r_loss (p_star^2 + q_star^2) -> 1/(1 + s t_plag) -> p_ref
          v_flag = 1: ref - v_m -> dead band [dbv_l, dbv_h] -> limits [v_err_min, v_err_max]
              -> k_pvc + k_ivc/s, limits [q_vc_min, q_vc_max] -> 1/(1 + s t_vc) -> limits -> q_star
          v_flag = 0: ref, limits [q_star_min, q_star_max] -> q_star
          q_star - q_m, limits [q_in_min, q_in_max] -> k_iq/s, limits [q_i_min, q_i_max] -> x_q
          q_star + x_q + x_loss (p_star^2 + q_star^2) -> 1/(1 + s t_qlag) -> q_ext

        p, q of the measuring point -> 1/(1 + s t_pmeas), 1/(1 + s t_qmeas) -> p_m, q_m

    With ffr_flag = 1 p_ffr is p_ffr_low from when w_f falls below f_ffr_low, and p_ffr_high above
    f_ffr_high, for t_ffr; then it returns to zero by d_ffr per second, and may act again. v_off makes v_gfm 0
    at the start, and r_loss = 0 and x_loss = 0 stand for values that make the integrators 0 there. The
    measuring point, its branch and its base are those of REPCA1. Sources: what the parameters are and what
    they limit, PowerWorld, Plant Controller REPCGFM_C1; the blocks, a public implementation for ANDES; the
    model, approved by the WECC, is PNNL's and NREL's (NREL/TP-5D00-97443, 2025). d_dn and d_up act as in
    REPCA1; the order of a PSS/E record is not public.
    """

    role = "plant_control"
    inputs, optional, branch = INPUTS, OPTIONAL, BRANCH
    states = (
        *("x_theta", "w_f", "w_r", "v_m", "v_t", "v_tl", "v_l", "p_m", "x_p", "p_l"),
        *("p_ffr", "x_vc", "q_v", "q_m", "x_q", "q_l"),
    )
    integrals = {"x_vc": ("v_flag", "k_ivc"), "q_v": "v_flag", "p_ffr": "ffr_flag"}
    buses = {"bus": ("v_re_r", "v_im_r")}
    memory = ("v_off", "busy", "ending", "ffr_min", "ffr_max")
    units = {"x_theta": "rad"}

    f_n, s_base, v_0 = F_N, S_BASE, V_0
    s_n = PLANT_BASE
    bus = Parameter("number", "measuring bus, 0 for the plant's own", whole(0, 999999), 0.0)
    from_bus, to_bus, circuit = MONITORED
    v_flag = Parameter("1", "1 control of the plant's voltage, 0 of its reactive power", flag)
    v_ref_flag = Parameter("1", "1 voltage reference from the plant's voltage, 0 from the converter's", flag)
    ffr_flag = Parameter("1", "1 with fast frequency response, 0 without", flag)
    t_frq = Parameter("s", "time constant of the frequency", positive)
    v_fth = Parameter("pu", "voltage below which the frequency counts as nominal", nonnegative, 0.0)
    t_fref = Parameter("s", "time constant of the frequency reference", nonnegative)
    t_vmeas = Parameter("s", "time constant of the voltages", nonnegative)
    t_vlag = Parameter("s", "time constant of the converter's voltage on its way", nonnegative)
    r_loss = Parameter(PU, "resistance for the plant's loss, 0 for the one of the start", nonnegative, 0.0)
    x_loss = Parameter(PU, "reactance for the plant's loss, 0 for the one of the start", nonnegative, 0.0)
    t_vref = Parameter("s", "time constant of the voltage reference", nonnegative)
    dbf_l = Parameter("pu", "lower end of the frequency's dead band", nonpositive)
    dbf_h = Parameter("pu", "upper end of the frequency's dead band", nonnegative)
    d_dn = Parameter(f"{PU} per pu frequency", "gain at high frequency", nonnegative)
    d_up = Parameter(f"{PU} per pu frequency", "gain at low frequency", nonnegative)
    f_ffr_high = Parameter("pu", "frequency above which the fast response acts", default=2.0)
    f_ffr_low = Parameter("pu", "frequency below which the fast response acts", default=0.0)
    p_ffr_high = Parameter(PU, "its power at high frequency", nonpositive, 0.0)
    p_ffr_low = Parameter(PU, "its power at low frequency", nonnegative, 0.0)
    t_ffr = Parameter("s", "time that it lasts", nonnegative, 0.0)
    d_ffr = Parameter(f"{PU}/s", "rate at which it ends", nonnegative, 0.0)
    t_pmeas = Parameter("s", "time constant of the active power", nonnegative)
    k_ip = Parameter("1/s", "integral gain of the active power", positive)
    t_plag = Parameter("s", "time constant of the active power command", nonnegative)
    t_qmeas = Parameter("s", "time constant of the reactive power", nonnegative)
    k_iq = Parameter("1/s", "integral gain of the reactive power", positive)
    t_qlag = Parameter("s", "time constant of the reactive power command", nonnegative)
    dbv_l = Parameter("pu", "lower end of the voltage's dead band", nonpositive)
    dbv_h = Parameter("pu", "upper end of the voltage's dead band", nonnegative)
    k_pvc = Parameter(f"{PU} per pu", "proportional gain of the voltage control", nonnegative)
    k_ivc = Parameter(f"{PU} per pu s", "integral gain of the voltage control", nonnegative)
    t_vc = Parameter("s", "time constant of the voltage control", nonnegative)
    fr_max = Parameter("pu/s", "largest rate of the frequency", positive, 99.0)
    fr_min = Parameter("pu/s", "smallest rate of the frequency, below zero", default=-99.0)
    f_ref_max = Parameter("pu", "upper limit of the frequency reference")
    f_ref_min = Parameter("pu", "lower limit of the frequency reference")
    v_ref_max = Parameter("pu", "upper limit of the voltage reference")
    v_ref_min = Parameter("pu", "lower limit of the voltage reference")
    p_f_max = Parameter(PU, "upper limit of the droop")
    p_f_min = Parameter(PU, "lower limit of the droop")
    p_star_max = Parameter(PU, "upper limit of the active power reference")
    p_star_min = Parameter(PU, "lower limit of the active power reference")
    p_in_max = Parameter(PU, "upper limit of the active power error")
    p_in_min = Parameter(PU, "lower limit of the active power error")
    p_i_max = Parameter(PU, "upper limit of its integral")
    p_i_min = Parameter(PU, "lower limit of its integral")
    q_star_max = Parameter(PU, "upper limit of the reactive power reference")
    q_star_min = Parameter(PU, "lower limit of the reactive power reference")
    q_in_max = Parameter(PU, "upper limit of the reactive power error")
    q_in_min = Parameter(PU, "lower limit of the reactive power error")
    q_i_max = Parameter(PU, "upper limit of its integral")
    q_i_min = Parameter(PU, "lower limit of its integral")
    v_err_max = Parameter("pu", "upper limit of the voltage error")
    v_err_min = Parameter("pu", "lower limit of the voltage error")
    q_vc_max = Parameter(PU, "upper limit of the voltage control")
    q_vc_min = Parameter(PU, "lower limit of the voltage control")
    v_off = Parameter("pu", "what the voltage of the plant's loss is short of at the start", default=0.0)
    busy = Parameter("1", "1 or -1 while the fast response acts", default=0.0)
    ending = Parameter("1", "whether the fast response ends", default=0.0)
    ffr_min = Parameter(PU, "lower limit of the fast response", default=-FAR)
    ffr_max = Parameter(PU, "upper limit of the fast response", default=FAR)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a voltage control without gain, a branch without a base, a response that never ends."""
        if p["from_bus"] and not p["s_n"]:
            return "s_n = 0: must be > 0 where a branch is monitored (from_bus)"
        if p["v_flag"] and p["k_pvc"] == p["k_ivc"] == 0:
            return "k_pvc = k_ivc = 0: one of them must be > 0 where v_flag is 1"
        if p["ffr_flag"] and p["d_ffr"] == 0:
            return "d_ffr = 0: must be > 0 where ffr_flag is 1, or the fast response never ends"
        return None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect what is measured and the two branches."""
        opened = getattr(b, "opened", False)
        for name in LIMITED:
            b.ordered(f"{name}_min", f"{name}_max")
        deviation, d_theta = phasor_frequency(b, v.v_re_r, v.v_im_r, v.x_theta, p.t_frq, p.f_n)
        voltage = b.sqrt(v.v_re_r**2 + v.v_im_r**2)
        power, reactive, _, _ = measured_powers(b, v, p)
        w = v.w_f if opened else v.w_f * gate(b, v.v_m - p.v_fth)

        slow = dead_band(b, v.f_ref - 1 - w, p.dbf_l, p.dbf_h)
        droop = b.clip(p.d_dn * b.min(slow, 0) + p.d_up * b.max(slow, 0), p.p_f_min, p.p_f_max)
        p_star = b.clip(v.p_plant + droop + v.p_ffr, p.p_star_min, p.p_star_max)
        of_voltage = b.ge(p.v_flag, 1)
        error = error_band(b, v.ref - v.v_m, p.dbv_l, p.dbv_h)
        error = limited_where(b, of_voltage, error, p.v_err_min, p.v_err_max)
        asked = limited_where(b, of_voltage, p.k_pvc * error + v.x_vc, p.q_vc_min, p.q_vc_max)
        q_star = b.clip(b.where(of_voltage, v.q_v, v.ref), p.q_star_min, p.q_star_max)
        square = p_star**2 + q_star**2
        lost = _behind_the_loss(b.sqrt, v.v_m, p_star, q_star, p) + p.v_off
        wanted = p.v_0 if opened else b.where(b.ge(p.v_ref_flag, 1), lost, v.v_tl)

        b.state("x_theta", d_theta)
        b.state("w_f", b.clip((deviation - v.w_f) / p.t_frq, p.fr_min, p.fr_max))
        w_r = b.lag("w_r", b.clip(1 + w, p.f_ref_min, p.f_ref_max) - 1, "t_fref")
        b.lag("v_m", voltage, "t_vmeas")
        b.lag("v_tl", b.lag("v_t", b.sqrt(v.v_re**2 + v.v_im**2), "t_vmeas"), "t_vlag")
        v_l = b.lag("v_l", b.clip(wanted, p.v_ref_min, p.v_ref_max), "t_vref")
        p_in = b.clip(p_star - b.lag("p_m", power, "t_pmeas"), p.p_in_min, p.p_in_max)
        x_p = b.state("x_p", p.k_ip * p_in, limits=("p_i_min", "p_i_max"))
        p_l = b.lag("p_l", p_star + x_p + p.r_loss * square, "t_plag")
        ending = b.where(b.ge(b.abs(p.busy), 1), -p.ending * p.busy * p.d_ffr, -v.p_ffr)
        b.state("p_ffr", ending, limits=("ffr_min", "ffr_max"))
        b.state("x_vc", p.k_ivc * error, limits=("q_vc_min", "q_vc_max"))
        b.lag("q_v", asked, "t_vc")
        q_in = b.clip(q_star - b.lag("q_m", reactive, "t_qmeas"), p.q_in_min, p.q_in_max)
        x_q = b.state("x_q", p.k_iq * q_in, limits=("q_i_min", "q_i_max"))
        q_l = b.lag("q_l", q_star + x_q + p.x_loss * square, "t_qlag")
        b.output("p_ref", p_l)
        b.output("q_ext", q_l)
        b.output("v_gfm", v_l - p.v_0)
        b.output("w_gfm", w_r)

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the impedance of the plant's loss, where none is given, and the offset of its voltage."""
        square = v["p_m"] ** 2 + v["q_m"] ** 2
        found = {
            name: v[state] / square
            for name, state in (("r_loss", "x_p"), ("x_loss", "x_q"))
            if not p[name] and v[state] > _NONE
        }
        given = _Given({**p, **found})
        return found | {
            "v_off": p["v_0"] - float(_behind_the_loss(np.sqrt, v["v_m"], v["p_m"], v["q_m"], given))
        }

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits, as if the plant's own bus were measured."""
        known, voltage = terminal.signals, np.abs(terminal.voltage)
        power, q = known.get("p_e", 0.0), known.get("q_e", 0.0)
        order, asked = known.get("p_ref", power), known.get("q_ext", q)
        error = np.where(p.k_ivc > 0, 0.0, q / np.where(p.k_pvc > 0, p.k_pvc, 1.0))
        return {
            "x_theta": np.angle(terminal.voltage),
            "v_m": voltage,
            "v_t": voltage,
            "v_tl": voltage,
            "v_l": p.v_0,
            "p_m": power,
            "p_plant": power,
            "p_l": order,
            "p_ref": order,
            "x_p": order - power - p.r_loss * (power**2 + q**2),
            "q_m": q,
            "q_v": q,
            "q_l": asked,
            "x_q": asked - q - p.x_loss * (power**2 + q**2),
            "q_ext": asked,
            "x_vc": np.where(p.k_ivc > 0, q, 0.0),
            "ref": np.where(p.v_flag > 0, voltage + error, q),
        }

    actions = (*_response(1.0), *_response(-1.0))
