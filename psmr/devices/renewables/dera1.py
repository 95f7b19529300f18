"""Distributed generation as one device: solar plants and storage behind many transformers.

The trips of distributed generation: which part of it works at a voltage, and what it remembers.

Source: EPRI 3002015320, The New Aggregated Distributed Energy Resources (der_a) Model for Transmission
Planning Studies (2019); PowerWorld, DER_A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    fraction,
    nonnegative,
    positive,
)
from psmr.devices.blocks import dead_band, lag, limited_where, phasor_frequency, remaining, returning_part
from psmr.devices.machines.textbook import F_N, S_BASE, S_N
from psmr.devices.renewables.converters import NONE, PU, V_0, V_FLOOR
from psmr.devices.renewables.electrical import V_LEAST

PER_UNIT = 5.0
"""A frequency below this is one per unit, above it one in Hz."""


def working_part(m: Any, v: Any, p: Any) -> Any:
    """Return the part of the units that works at v_m, from what has been recorded (see `DERA1`)."""
    low = _side(m, v.v_m, p.vl0, p.vl1, p.v_low, p.vrfrac, p.part_low)
    high = _side(m, -v.v_m, -p.vh0, -p.vh1, -p.v_high, p.vrfrac, p.part_high)
    watched, lost = m.ge(p.vtrip_flag, 1), m.ge(p.tripped, 1)
    return m.where(lost, 0, m.where(watched, low * high, 1))


def _side(m: Any, x: Any, x_0: Any, x_1: Any, x_most: Any, part: Any, parted: Any) -> Any:
    """Return the part that works at x; until `parted` all comes back, then as `returning_part` says."""
    # Without trips both ends are 0; the part counts for nothing then.
    x_1 = m.where(m.le(x_1, x_0), x_0 + 1, x_1)
    return returning_part(m, x, x_0, x_1, m.where(m.ge(parted, 1), x_most, x_1), part)


def _hertz(m: Any, value: Any, p: Any) -> Any:
    return m.where(m.le(value, PER_UNIT), value * p.f_n, value)


def _frequency(m: Any, v: Any, p: Any) -> Any:
    deviation, _ = phasor_frequency(m, v.v_re, v.v_im, v.x_theta, p.t_rf, p.f_n)
    return p.f_n * (1 + deviation)


def _while_working(m: Any, p: Any, value: Any) -> Any:
    return m.where(m.ge(p.tripped, 1), -1, value)


def _while_held(m: Any, v: Any, p: Any, value: Any) -> Any:
    """Return a condition on the frequency; below v_pr its measurement means nothing."""
    voltage = m.sqrt(v.v_re**2 + v.v_im**2)
    return _while_working(m, p, m.min(value, voltage - p.v_pr))


def _rising(m: Any, v: Any, p: Any) -> Any:
    return m.sqrt(v.v_re**2 + v.v_im**2) - v.v_m


TRIPPED = {"tripped": 1.0}

VOLTAGE_TRIPS = (
    Action(
        "all tripped by low voltage",
        lambda m, v, p: _while_working(m, p, p.vl0 - v.v_m),
        lambda p: p.tvl0,
        lambda v, p: TRIPPED,
        protects=True,
        kind="trip",
    ),
    Action(
        "all tripped by high voltage",
        lambda m, v, p: _while_working(m, p, v.v_m - p.vh0),
        lambda p: p.tvh0,
        lambda v, p: TRIPPED,
        protects=True,
        kind="trip",
    ),
    Action(
        "part tripped by low voltage",
        lambda m, v, p: _while_working(m, p, m.where(m.ge(p.part_low, 1), -1, p.vl1 - v.v_m)),
        lambda p: p.tvl1,
        lambda v, p: {"part_low": 1.0, "v_low": v.v_m},
        protects=True,
        kind="trip",
    ),
    Action(
        "part tripped by high voltage",
        lambda m, v, p: _while_working(m, p, m.where(m.ge(p.part_high, 1), -1, v.v_m - p.vh1)),
        lambda p: p.tvh1,
        lambda v, p: {"part_high": 1.0, "v_high": v.v_m},
        protects=True,
        kind="trip",
    ),
    Action(
        "",
        lambda m, v, p: m.where(m.ge(p.part_low, 1), m.min(p.v_low - v.v_m, _rising(m, v, p)), -1),
        effect=lambda v, p: {"v_low": v.v_m},
    ),
    Action(
        "",
        lambda m, v, p: m.where(m.ge(p.part_high, 1), m.min(v.v_m - p.v_high, -_rising(m, v, p)), -1),
        effect=lambda v, p: {"v_high": v.v_m},
    ),
)
"""What a voltage outside [vl1, vh1] does; the last two record the extreme where the voltage turns."""

FREQUENCY_TRIPS = (
    Action(
        "all tripped by low frequency",
        lambda m, v, p: _while_held(m, v, p, _hertz(m, p.fl, p) - _frequency(m, v, p)),
        lambda p: p.tfl,
        lambda v, p: TRIPPED,
        protects=True,
        kind="trip",
    ),
    Action(
        "all tripped by high frequency",
        lambda m, v, p: _while_held(m, v, p, _frequency(m, v, p) - _hertz(m, p.fh, p)),
        lambda p: p.tfh,
        lambda v, p: TRIPPED,
        protects=True,
        kind="trip",
    ),
)
"""What a frequency outside [fl, fh] does while the voltage is above v_pr."""


class DERA1(Component):
    """Aggregated distributed energy resources: controls, current source and trips in one.

    ::

        |v| -> 1/(1 + s t_rv) -> v_m      p_e -> 1/(1 + s t_p) -> p_m
        asked = q_ref, with pf_flag q_ref p_m      asked/v_m -> 1/(1 + s t_iq) -> i_qv
        v_ref0 - v_m -> dead band [dbd1, dbd2] -> k_qv -> limits [iql1, iqh1] -> + i_qv
        -> limits [-iq_max, iq_max] -> iq_cmd -> 1/(1 + s t_g) -> i_q

        freq_flag = 0: p_ref -> order
        freq_flag = 1: f_ref - f -> dead band [fdbd1, fdbd2] -> d_dn where < 0, d_up where > 0 -> droop
                       p_ref + droop - p_m -> limits [fe_min, fe_max] -> k_pg + k_ig/s,
                       limits [p_min, p_max] -> order
        order -> 1/(1 + s t_pord), rate [dp_min, dp_max], limits [p_min, p_max] -> p_ord
        p_ord/v_m -> limits [ip_min, ip_max] -> ip_cmd -> 1/(1 + s t_g), |i_p| grows by at most rrpwr -> i_p
        with trips work ip_cmd and work iq_cmd in the place of ip_cmd and iq_cmd

        pq_flag = 0: iq_max = i_max,                       ip_max = sqrt(i_max^2 - iq_cmd^2)
        pq_flag = 1: iq_max = sqrt(i_max^2 - ip_cmd^2),    ip_max = i_max
        type_flag = 1: ip_min = 0 (generation), type_flag = 0: ip_min = -ip_max (storage)

        working part -> 1/(1 + s t_v) -> work
        working part = low high, 0 once all have tripped
        low  = 0 at vl0, 1 at vl1, in proportion between; after tvl1 below vl1 only vrfrac of what was lost
               down to the least v_m comes back
        high = 0 at vh0, 1 at vh1, in the same way
        vtrip_flag = 1: all trip after tvl0 below vl0 or tvh0 above vh0
        ftrip_flag = 1: all trip after tfl below fl or tfh above fh, while |v| > v_pr

        i_re + j i_im = (i_p - j i_q) (v_re + j v_im)/|v|

    f is the frequency of the bus: s/(1 + s t_rf) on its angle. The set-point q_ref is a reactive power, with
    pf_flag = 1 the tangent of the power factor's angle. v_ref0 = 0 is the voltage at the start. A trip is for
    the rest of the run and is listed among its events. fl and fh below 5 are per unit, otherwise in Hz.
    Source: EPRI 3002015320, The New Aggregated Distributed Energy Resources (der_a) Model for Transmission
    Planning Studies (2019); PSS/E, Model Library, DERA1, in the order of PowerSystems.jl; for the trips
    PowerWorld, DER_A.
    """

    role = "converter"
    records = (
        "DERA1 pf_flag freq_flag pq_flag type_flag vtrip_flag ftrip_flag t_rv t_rf dbd1 dbd2 k_qv "
        "v_ref0 t_p t_iq d_dn d_up fdbd1 fdbd2 fe_max fe_min p_max p_min dp_max dp_min t_pord k_pg "
        "k_ig i_max vl0 vl1 vh0 vh1 tvl0 tvl1 tvh0 tvh1 vrfrac fl fh tfl tfh t_g rrpwr t_v v_pr iqh1 "
        "iql1",
    )
    grid = "follows"
    states = ("v_m", "p_m", "i_qv", "x_theta", "x_p", "p_ord", "i_p", "i_q")
    algebraic = ("ip_cmd", "iq_cmd", "ip_max", "iq_max")
    inputs = ("v_re", "v_im", "p_ref", "q_ref", "f_ref")
    outputs = ("i_re", "i_im")
    optional = {"f_ref": 1.0}
    limits = {"x_p": ("p_min", "p_max"), "p_ord": ("p_min", "p_max")}
    lags = {"v_m": ("t_rv",), "p_m": ("t_p",)}
    integrals = dict.fromkeys(("x_theta", "x_p"), "freq_flag")
    structural = ("vtrip_flag", "ftrip_flag")
    memory = ("tripped", "part_low", "part_high", "v_low", "v_high")
    together = (("i_p", "i_q", "ip_cmd", "iq_cmd", "ip_max", "iq_max"),)
    units = {"x_theta": "rad"}

    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    v_0 = V_0
    pf_flag = Parameter("1", "1: q_ref is the tangent of the power factor's angle", flag)
    freq_flag = Parameter("1", "1 with frequency control, 0 without", flag)
    pq_flag = Parameter("1", "priority of the current limit: 1 active, 0 reactive", flag)
    type_flag = Parameter("1", "1 generation, 0 storage", flag)
    t_rv = Parameter("s", "time constant of the voltage filter", nonnegative)
    t_rf = Parameter("s", "time constant of the frequency measurement", positive)
    dbd1 = Parameter("pu", "lower end of the voltage dead band, at most 0")
    dbd2 = Parameter("pu", "upper end of the voltage dead band", nonnegative)
    k_qv = Parameter(f"{PU} per pu", "gain of the injected reactive current", nonnegative)
    v_ref0 = Parameter("pu", "voltage reference, 0 for the voltage at the start", nonnegative)
    t_p = Parameter("s", "time constant of the power filter", nonnegative)
    t_iq = Parameter("s", "time constant of the reactive current", positive)
    d_dn = Parameter(f"{PU} per pu frequency", "gain at high frequency", nonnegative)
    d_up = Parameter(f"{PU} per pu frequency", "gain at low frequency", nonnegative)
    fdbd1 = Parameter("pu", "lower end of the frequency's dead band, at most 0")
    fdbd2 = Parameter("pu", "upper end of the frequency's dead band", nonnegative)
    fe_max = Parameter(PU, "upper limit of the power error")
    fe_min = Parameter(PU, "lower limit of the power error")
    p_max = Parameter(PU, "upper limit of the power")
    p_min = Parameter(PU, "lower limit of the power")
    dp_max = Parameter(f"{PU}/s", "largest rate at which the power rises", positive)
    dp_min = Parameter(f"{PU}/s", "largest rate at which the power falls, below zero")
    t_pord = Parameter("s", "time constant of the power order", positive)
    k_pg = Parameter("1", "proportional gain of the power control", nonnegative)
    k_ig = Parameter("1/s", "integral gain of the power control", nonnegative)
    i_max = Parameter(PU, "limit of the current's magnitude", positive)
    t_g = Parameter("s", "time constant of the currents", positive)
    rrpwr = Parameter(f"{PU}/s", "largest rate at which the active current grows", positive)
    iqh1 = Parameter(PU, "upper limit of the injected reactive current")
    iql1 = Parameter(PU, "lower limit of the injected reactive current")
    vtrip_flag = Parameter("1", "1 with trips by voltage, 0 without", flag, 0.0)
    ftrip_flag = Parameter("1", "1 with trips by frequency, 0 without", flag, 0.0)
    vl0 = Parameter("pu", "voltage at which none works", default=0.0)
    vl1 = Parameter("pu", "voltage below which a part does not work", default=0.0)
    vh0 = Parameter("pu", "high voltage at which none works", default=0.0)
    vh1 = Parameter("pu", "voltage above which a part does not work", default=0.0)
    tvl0 = Parameter("s", "time below vl0 after which all have tripped", nonnegative, 0.0)
    tvl1 = Parameter("s", "time below vl1 after which a part has tripped", nonnegative, 0.0)
    tvh0 = Parameter("s", "time above vh0 after which all have tripped", nonnegative, 0.0)
    tvh1 = Parameter("s", "time above vh1 after which a part has tripped", nonnegative, 0.0)
    vrfrac = Parameter("1", "part of the units that comes back", fraction, 0.0)
    fl = Parameter("Hz or pu", "low frequency at which all trip", default=0.0)
    fh = Parameter("Hz or pu", "high frequency at which all trip", default=0.0)
    tfl = Parameter("s", "time below fl after which they have", nonnegative, 0.0)
    tfh = Parameter("s", "time above fh after which they have", nonnegative, 0.0)
    t_v = Parameter("s", "time constant of the trips", nonnegative, 0.0)
    v_pr = Parameter("pu", "voltage below which the frequency trips nothing", default=0.0)
    tripped = Parameter("1", "1 once all have tripped", flag, 0.0)
    part_low = Parameter("1", "1 once a part has tripped by low voltage", flag, 0.0)
    part_high = Parameter("1", "1 once a part has tripped by high voltage", flag, 0.0)
    v_low = Parameter("pu", "least voltage since then", default=0.0)
    v_high = Parameter("pu", "largest voltage since then", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits, rates of the wrong sign, a power control without an integrator."""
        for name in ("dbd1", "fdbd1"):
            if p[name] > 0:
                return f"{name} = {p[name]:g}: must be at most 0, the dead band contains the reference"
        if p["dp_min"] >= 0:
            return f"dp_min = {p['dp_min']:g}: must be < 0, the power falls at this rate"
        if p["freq_flag"] and p["k_ig"] == 0:
            return "k_ig = 0: must be > 0 where freq_flag is 1"
        if p["vtrip_flag"]:
            if p["t_rv"] == 0:
                return "t_rv = 0: must be > 0 where vtrip_flag is 1, the trips look at the measured voltage"
            if out := crossed(p, ("vl0", "vl1"), ("vl1", "vh1"), ("vh1", "vh0")):
                return out
        if p["ftrip_flag"] and p["fl"] > PER_UNIT > p["fh"] > 0:
            return f"fl = {p['fl']:g} and fh = {p['fh']:g}: both must be in Hz, or both per unit"
        if p["ftrip_flag"] and (out := crossed(p, ("fl", "fh"))):
            return out
        if p["type_flag"] and p["p_min"] < 0:
            return f"type_flag = 1 and p_min = {p['p_min']:g}: p_min must be >= 0, generation takes no power"
        injecting = (("iql1", "iqh1"),) if p["k_qv"] else ()
        of_power = (("fe_min", "fe_max"),) if p["freq_flag"] else ()
        return crossed(p, ("p_min", "p_max"), *injecting, *of_power)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the states and actions with the trips that the two flags ask for."""
        vtrip_flag, ftrip_flag = choice
        if not (vtrip_flag or ftrip_flag):
            return {}
        kept = ("x_p",) if ftrip_flag else ("x_theta", "x_p")
        return {
            "states": (*DERA1.states, "work"),
            "lags": {**DERA1.lags, "work": ("t_v",)},
            "integrals": dict.fromkeys(kept, "freq_flag"),
            "actions": (*VOLTAGE_TRIPS * vtrip_flag, *FREQUENCY_TRIPS * ftrip_flag),
        }

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of commands and limits, and the current into the bus."""
        voltage = m.sqrt(v.v_re**2 + v.v_im**2)
        floored, least = m.max(voltage, V_FLOOR), m.max(v.v_m, V_LEAST)
        asked = m.where(m.le(p.pf_flag, 0), v.q_ref, v.q_ref * v.p_m)
        reference = m.where(m.le(p.v_ref0, 0), p.v_0, p.v_ref0)
        injecting = m.where(m.le(p.k_qv, 0), 0, 1)
        called = p.k_qv * dead_band(m, reference - v.v_m, p.dbd1, p.dbd2)
        injected = injecting * limited_where(m, m.ge(injecting, 1), called, p.iql1, p.iqh1)

        controlled = m.ge(p.freq_flag, 1)
        deviation, d_theta = phasor_frequency(m, v.v_re, v.v_im, v.x_theta, p.t_rf, p.f_n)
        slow = dead_band(m, v.f_ref - 1 - deviation, p.fdbd1, p.fdbd2)
        droop = p.d_dn * m.min(slow, 0) + p.d_up * m.max(slow, 0)
        error = limited_where(m, controlled, v.p_ref + droop - v.p_m, p.fe_min, p.fe_max)
        regulated = limited_where(m, controlled, p.k_pg * error + v.x_p, p.p_min, p.p_max)
        order = m.where(controlled, regulated, v.p_ref)

        trips = hasattr(v, "work")
        work = v.work if trips else 1
        active_first, generating = m.ge(p.pq_flag, 1), m.ge(v.i_p, 0)
        fastest = m.where(generating, -NONE / p.t_g, -p.rrpwr), m.where(generating, p.rrpwr, NONE / p.t_g)
        derivatives = (
            lag(voltage, v.v_m, p.t_rv),
            lag(voltage**2 / floored * v.i_p, v.p_m, p.t_p),
            lag(asked / least, v.i_qv, p.t_iq),
            d_theta,
            p.k_ig * error,
            m.clip(lag(order, v.p_ord, p.t_pord), p.dp_min, p.dp_max),
            m.clip(lag(work * v.ip_cmd, v.i_p, p.t_g), *fastest),
            lag(work * v.iq_cmd, v.i_q, p.t_g),
            *([lag(working_part(m, v, p), v.work, p.t_v)] if trips else ()),
        )
        lowest = m.where(m.ge(p.type_flag, 1), 0, -v.ip_max)
        residuals = (
            m.clip(v.p_ord / least, lowest, v.ip_max) - v.ip_cmd,
            m.clip(injected + v.i_qv, -v.iq_max, v.iq_max) - v.iq_cmd,
            m.where(active_first, p.i_max, remaining(m, p.i_max, v.iq_cmd)) - v.ip_max,
            m.where(active_first, remaining(m, p.i_max, v.ip_cmd), p.i_max) - v.iq_max,
        )
        c, s, base = v.v_re / floored, v.v_im / floored, p.s_n / p.s_base
        return derivatives, residuals, (base * (v.i_p * c + v.i_q * s), base * (v.i_p * s - v.i_q * c))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium without limits."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        i_p, i_q = i.real, -i.imag
        power, q = voltage * i_p, voltage * i_q
        tangent = q / np.where(power == 0, 1.0, power)
        return {
            "v_m": voltage,
            "p_m": power,
            "i_qv": i_q,
            "x_theta": np.angle(terminal.voltage),
            "x_p": power,
            "p_ord": power,
            "i_p": i_p,
            "i_q": i_q,
            "ip_cmd": i_p,
            "iq_cmd": i_q,
            "p_ref": power,
            "q_ref": np.where(p.pf_flag > 0, tangent, q),
            "ip_max": p.i_max,
            "iq_max": p.i_max,
            "work": 1.0,
        }
