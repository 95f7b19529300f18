"""The composite load of the WECC as one device, and its start."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, fraction
from psmr.devices.blocks import lag, phasor_frequency
from psmr.devices.loads.composite import air_conditioner, feeder, static_parts, three_phase
from psmr.devices.loads.composite.start import guess, positions, start
from psmr.devices.loads.motors import STANDSTILL
from psmr.devices.machines.textbook import F_N, S_BASE

SYSTEM = "pu on the system base"


def _voltage(m: Any, v: Any, p: Any) -> Any:
    return m.sqrt(v.u_re**2 + v.u_im**2)


def _frequency(m: Any, v: Any, p: Any) -> tuple[Any, Any]:
    return phasor_frequency(m, v.u_re, v.u_im, v.angle, p.t_f, p.f_n)


def _regulated(m: Any, v: Any, p: Any) -> Any:
    way = feeder.towards_bus(m, p, p.s_base, (v.u_re, v.u_im), _used(m, v, p)[1], v.b_f)
    return feeder.regulated(m, p, p.s_base, way)


def _rises(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return the voltage less v_m and the rates of the two temperatures."""
    voltage = _voltage(m, v, p)
    return voltage - v.v_m, *air_conditioner.heating(m, v, p, voltage, _frequency(m, v, p)[0])


def _used(m: Any, v: Any, p: Any) -> tuple[list, tuple]:
    """Return the derivatives of the motors' states, and the current (re, im) of all end uses."""
    u, voltage, (df, _) = (v.u_re, v.u_im), _voltage(m, v, p), _frequency(m, v, p)
    one = m.max(p.fm_a + p.fm_b + p.fm_c + p.fm_d + p.f_el, 1)
    derivatives: list = []
    parts = []
    for k in three_phase.LETTERS:
        own, current = three_phase.motor(m, v, p, k, u)
        derivatives += own
        base = getattr(p, f"fm_{k}") / one * p.p_load / getattr(p, f"lf_{k}")
        parts.append((base * three_phase.on_line(m, p, k), current))
    parts += [
        (p.fm_d / one * p.p_load / p.lf_d, air_conditioner.motors(m, v, p, u, df)),
        (p.f_el / one * p.p_load, static_parts.electronics(m, v, p, u, 1)),
        (
            1,
            static_parts.static(m, p, u, voltage, df, v.p_s, v.p_s * static_parts.tangent(p.pf_s)),
        ),
    ]
    return derivatives, tuple(sum(base * current[i] for base, current in parts) for i in (0, 1))


class CMLD(Component):
    """Composite load: feeder, three-phase motors A to C, air conditioners D, electronics, static load.

    ::

        bus -- transformer with tap changer -- low bus -- feeder -- load bus: A B C D, electronics, static

        v_m = |u|/(1 + s t_v),  v_y = |u|/(1 + s t_y)
        df = s/(1 + s t_f) of the phase of u, in pu of the nominal frequency
        u is the voltage of the load bus: there the feeder brings what the end uses take

    The parts fm_a to fm_d and f_el are of the power p_load that reaches the load bus at the start; the static
    load has what is left. Where they add up to more than 1 they are divided by their sum. The start sets the
    tap nearest to the middle of [v_min, v_max], shortens the feeder where the load bus would be below 0.95
    pu, and chooses the feeder's susceptance b_f with which the bus has the power flow's reactive power; p_s
    and b_f are set-points. Parameters of transformer and feeder are those of `feeder`, of the motors A to C
    `three_phase`, of D `air_conditioner`, of the others `static_parts`, in these modules' texts. Equivalent
    shunts stay as they are when end uses trip. Source: WECC Dynamic Composite Load Model (CMPLDW)
    Specifications (2015; MVS 2021); Q. Huang et al., A Reference Implementation of WECC Composite Load Model
    in Matlab and GridPACK, arXiv:1708.00939; PowerWorld, CMPLDW and MOTORW; PSS/E, CMLDBLU2.
    """

    role = "composite"
    states = (
        *(name for k in three_phase.LETTERS for name in three_phase.states(k)),
        "v_m",
        "v_y",
        "angle",
        *air_conditioner.STATES,
    )
    algebraic = ("u_re", "u_im")
    inputs = ("v_re", "v_im", "p_s", "b_f")
    outputs = ("i_re", "i_im")
    limits = {f"slip_{k}": (None, "standstill") for k in three_phase.LETTERS}
    together = tuple((f"e{n}_re_{k}", f"e{n}_im_{k}") for k in three_phase.LETTERS for n in (1, 2))
    units = {"angle": "rad", "theta_1": "1", "theta_2": "1", "p_s": SYSTEM, "b_f": SYSTEM}

    s_base = S_BASE
    f_n = F_N
    v_0 = Parameter("pu", "voltage of the power flow")
    p_0 = Parameter(SYSTEM, "power of the power flow", default=0.0)
    q_0 = Parameter(SYSTEM, "reactive power of the power flow", default=0.0)
    fm_a = Parameter("1", "part of motor A", fraction, 0.0)
    fm_b = Parameter("1", "part of motor B", fraction, 0.0)
    fm_c = Parameter("1", "part of motor C", fraction, 0.0)
    fm_d = Parameter("1", "part of motor D", fraction, 0.0)
    f_el = Parameter("1", "part of the electronics", fraction, 0.0)
    shed = Parameter("1", "part of the load that relays have shed", fraction, default=0.0)
    p_load = Parameter(SYSTEM, "power that reaches the load bus at the start", default=0.0)
    locals().update(feeder.PARAMETERS)
    for _k in three_phase.LETTERS:
        locals().update(three_phase.parameters(_k))
    locals().update(air_conditioner.PARAMETERS | static_parts.PARAMETERS)
    standstill = STANDSTILL
    for _k in three_phase.LETTERS:
        locals().update(three_phase.decided(_k))
    locals().update(feeder.DECIDED | air_conditioner.DECIDED | static_parts.DECIDED)

    actions = (
        *feeder.tap_actions(_regulated),
        *(action for k in three_phase.LETTERS for action in three_phase.actions(k, _voltage)),
        *air_conditioner.actions(_voltage, _rises),
        *static_parts.actions(_rises),
    )
    memory = (
        "p_load",
        *(name for k in three_phase.LETTERS for name in three_phase.decided(k)),
        *feeder.DECIDED,
        *air_conditioner.DECIDED,
        *static_parts.DECIDED,
    )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to crossed limits and to reactances that are not in order."""
        for low, high in (("t_min", "t_max"), ("v_min", "v_max")):
            if p[low] > p[high]:
                return f"{low} = {p[low]:g}: must be at most {high} = {p[high]:g}"
        if p["x_xf"] and not positions(SimpleNamespace(**p)).size:
            return (
                f"t_min = {p['t_min']:g}, t_max = {p['t_max']:g}: no tap 1 + k step with step = {p['step']:g}"
                " is between them; widen the range, or take another step"
            )
        wrong = (three_phase.conflict(p, k) for k in three_phase.LETTERS)
        return next(filter(None, (*wrong, air_conditioner.conflict(p), static_parts.conflict(p))), None)

    @staticmethod
    def prepared(p: Mapping[str, float]) -> Mapping[str, float]:
        """Return the parameters that the power flow decides: p_load, the tap, torques, characteristics."""
        return start(p)[0]

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, what the way from the bus lacks, and the current into the bus."""
        of_motors, current = _used(m, v, p)
        way = feeder.towards_bus(m, p, p.s_base, (v.u_re, v.u_im), current, v.b_f)
        voltage, (df, d_angle) = _voltage(m, v, p), _frequency(m, v, p)
        derivatives = (
            *of_motors,
            lag(voltage, v.v_m, p.t_v),
            lag(voltage, v.v_y, p.t_y),
            d_angle,
            *air_conditioner.heating(m, v, p, voltage, df),
        )
        left = -(1 - p.shed)
        return (
            derivatives,
            (v.v_re - way.bus[0], v.v_im - way.bus[1]),
            (left * way.current[0], left * way.current[1]),
        )

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium, one device after the other."""
        return guess(terminal, p)
