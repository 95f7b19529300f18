"""Wind turbines of types 1 and 2: WT1G1, WT2G1, WT2E1, WT12A1.

Induction generators of wind turbines that are connected without a converter (types 1 and 2).

Per unit on the generator's base `s_n`, with the current i into the machine, in a frame that turns at nominal
frequency::

    v = (r_a + j x_l) i + j psi_m,    psi_m ((1 + sat)/x_m + sum 1/x_k) = i + sum psi_k/x_k
    dpsi_k/dt = 2 pi f_n (r_k (psi_m - psi_k)/x_k - j slip psi_k),    slip = 1 - omega_g

over the one or two circuits k of the rotor, side by side. The saturation sat is that of the PSS/E models, of
the flux psi_m in the air gap. The stator has no transients, as the network has none. The reactive power that
the power flow gives the plant beyond that of the generator is a susceptance at its bus, `b_shunt`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import (
    Component,
    NumericMath,
    Parameter,
    Terms,
    nonnegative,
    positive,
    whole,
)
from psmr.devices.blocks import quadratic_saturation, saturation_conflict, through_points
from psmr.devices.diagram import BlockDiagram
from psmr.devices.loads.cages import slip_at
from psmr.devices.machines.textbook import F_N, S_BASE, S_N
from psmr.devices.renewables.converters import PU

LEAST_FLUX = 1e-3
"""Flux of the air gap in pu below which its saturation, which is none there, is not divided by it."""


class InductionGenerator(Component):
    """What both kinds of generator have: a rotor circuit, saturation, and the susceptance at the bus."""

    grid = "follows"
    states = ("a_re", "a_im")
    algebraic = ("sat", "p_e")
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "omega_g", "b_shunt")
    outputs = ("i_re", "i_im")
    together = (("a_re", "a_im"),)
    units = {"sat": "1"}

    s_n, s_base, f_n = S_N, S_BASE, F_N
    r_a = Parameter(PU, "stator resistance", nonnegative, 0.0)
    e_1 = Parameter("pu", "flux of the first point of the saturation", nonnegative, 1.0)
    se_1 = Parameter("1", "saturation there", nonnegative, 0.0)
    e_2 = Parameter("pu", "flux of the second point of the saturation", nonnegative, 1.2)
    se_2 = Parameter("1", "saturation there", nonnegative, 0.0)


class WT1G1(InductionGenerator):
    """Induction generator of type 1 wind turbines, with one cage or two.

    ::

        x_m = x - x_l
        first cage:   1/x_a = 1/(x_p - x_l) - 1/x_m               r = (x_a + x_m)/(2 pi f_n t_p)
        second cage:  1/x_b = 1/(x_pp - x_l) - 1/x_m - 1/x_a      r = (x_b + x_p - x_l)/(2 pi f_n t_pp)

    with the circuit of the module. The speed is the drive train's (WT12T1), or stays as it is. A record
    without T'' or X'' is of one cage. Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT1G;
    PSS/E, Model Library, WT1G1; for the order of the values and the circuit InterPSS.
    """

    role = "converter"
    records = ("WT1G1 t_p t_pp x x_p x_pp x_l e_1 se_1 e_2 se_2",)
    structural = ("cages",)

    cages = Parameter("number", "number of cages, 1 or 2", whole(1, 2), 1.0)
    t_p = Parameter("s", "transient time constant of the open stator", positive)
    t_pp = Parameter("s", "subtransient time constant of the open stator", nonnegative, 0.0)
    x = Parameter(PU, "synchronous reactance", positive)
    x_p = Parameter(PU, "transient reactance", positive)
    x_pp = Parameter(PU, "subtransient reactance", nonnegative, 0.0)
    x_l = Parameter(PU, "leakage reactance of the stator", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to reactances that are no circuit."""
        names = ("x", "x_p", "x_pp", "x_l") if p["cages"] == 2 else ("x", "x_p", "x_l")
        if p["cages"] == 2 and p["t_pp"] == 0:
            return "t_pp = 0: must be > 0 with two cages"
        for upper, lower in pairwise(names):
            if p[lower] >= p[upper]:
                return f"{lower} = {p[lower]:g}: must be below {upper} = {p[upper]:g}"
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def from_record(values: Mapping[str, float]) -> Mapping[str, float]:
        """Return how many cages a record means."""
        return {"cages": 2.0 if values["t_pp"] and values["x_pp"] else 1.0}

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the states of one cage or two."""
        if choice == (1,):
            return {}
        both = ("a_re", "a_im", "b_re", "b_im")
        return {"states": both, "together": (both[:2], both[2:])}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of the fluxes, the residuals of saturation and power, and the current."""
        return generating(m, v, p, _cages(p, hasattr(v, "b_re")))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state on the running branch."""
        return running(terminal, p, lambda one: _cages(one, bool(np.all(np.asarray(one.cages) == 2))))


def _cages(p: Any, double: bool) -> tuple[Any, Any, Sequence[tuple[Any, Any]]]:
    """Return leakage and magnetising reactance, and resistance and reactance of each cage."""
    turn, x_m = 2 * np.pi * p.f_n, p.x - p.x_l
    x_a = 1 / (1 / (p.x_p - p.x_l) - 1 / x_m)
    cages = [((x_a + x_m) / (turn * p.t_p), x_a)]
    if double:
        x_b = 1 / (1 / (p.x_pp - p.x_l) - 1 / x_m - 1 / x_a)
        cages.append(((x_b + p.x_p - p.x_l) / (turn * p.t_pp), x_b))
    return p.x_l, x_m, cages


def generating(
    m: Any, v: Any, p: Any, circuit: tuple[Any, Any, Sequence[tuple[Any, Any]]]
) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a generator with a circuit: x_l, x_m, and (r, x) of each rotor circuit."""
    x_l, x_m, cages = circuit
    fluxes = [(v.a_re, v.a_im), (v.b_re, v.b_im)] if len(cages) == 2 else [(v.a_re, v.a_im)]
    y = (1 + v.sat) / x_m + sum(1 / x for _, x in cages)
    own_re, own_im = (
        sum(flux[k] / x for flux, (_, x) in zip(fluxes, cages, strict=True)) / y for k in (0, 1)
    )
    # v = (r_a + j x'') i + j psi, psi what the rotor links with the stator.
    x_2 = x_l + 1 / y
    square = p.r_a**2 + x_2**2
    d_re, d_im = v.v_re + own_im, v.v_im - own_re
    i_re, i_im = (p.r_a * d_re + x_2 * d_im) / square, (p.r_a * d_im - x_2 * d_re) / square
    air_re, air_im = own_re + i_re / y, own_im + i_im / y
    turn, slip = 2 * np.pi * p.f_n, 1 - v.omega_g
    derivatives: list[Any] = []
    for (re, im), (r, x) in zip(fluxes, cages, strict=True):
        derivatives += [
            turn * (r * (air_re - re) / x + slip * im),
            turn * (r * (air_im - im) / x - slip * re),
        ]
    air = m.sqrt(air_re**2 + air_im**2)
    saturated = quadratic_saturation(m, air, p.e_1, p.se_1, p.e_2, p.se_2) / m.max(air, LEAST_FLUX)
    power = -(v.v_re * i_re + v.v_im * i_im)
    base = p.s_n / p.s_base
    injection = (-base * i_re + v.b_shunt * v.v_im, -base * i_im - v.b_shunt * v.v_re)
    return tuple(derivatives), (saturated - v.sat, power - v.p_e), injection


def running(terminal: Any, p: Any, circuit_of: Any) -> Mapping[str, Any]:
    """Return the steady state, without saturation, of a generator that gives the power of its terminal."""
    power = terminal.voltage * np.conj(terminal.current)
    count = np.broadcast(*(np.asarray(x) for x in (terminal.voltage, *vars(p).values()))).size
    asked, size = (np.broadcast_to(x, count) for x in (power.real * p.s_base / p.s_n, abs(terminal.voltage)))
    slips = np.zeros(count)
    for i in range(count):
        one = SimpleNamespace(**{k: np.broadcast_to(x, count)[i] for k, x in vars(p).items()})
        given = -np.sign(asked[i]) if asked[i] else 1.0

        def taken(slip: Any, one: Any = one, given: float = given, v: float = size[i]) -> Any:
            return v**2 * given * (1 / impedance(one, circuit_of(one), given * slip)).real

        slips[i] = given * np.nan_to_num(slip_at(taken, abs(asked[i])))
    slip = slips if np.ndim(terminal.voltage) else slips[0]
    x_l, _, cages = circuit_of(p)
    current = terminal.voltage / impedance(p, circuit_of(p), slip)
    air = (terminal.voltage - (p.r_a + 1j * x_l) * current) / 1j
    start: dict[str, Any] = {"sat": 0.0, "omega_g": 1 - slip, "p_e": power.real * p.s_base / p.s_n}
    for name, (r, x) in zip("ab", cages, strict=False):
        flux = air * r / (r + 1j * slip * x)
        start |= {f"{name}_re": flux.real, f"{name}_im": flux.imag}
    taken_q = (terminal.voltage * np.conj(current)).imag * p.s_n / p.s_base
    return start | {"b_shunt": (taken_q + power.imag) / np.abs(terminal.voltage) ** 2}


def impedance(p: Any, circuit: tuple[Any, Any, Sequence[tuple[Any, Any]]], slip: Any) -> Any:
    """Return the complex impedance of the circuit without saturation at a slip, pu."""
    x_l, x_m, cages = circuit
    rotor = sum(slip / (r + 1j * slip * x) for r, x in cages)
    return p.r_a + 1j * x_l + 1 / (1 / (1j * x_m) + rotor)


POINTS = 5
"""Points of the polygon of power against speed."""


def polygon() -> dict[str, Parameter]:
    """Return the parameters of the polygon of power against the speed above the synchronous one."""
    return {f"p_{k}": Parameter(PU, f"power at point {k}") for k in range(1, POINTS + 1)} | {
        f"slip_{k}": Parameter("pu", f"speed above the synchronous one there, point {k}")
        for k in range(1, POINTS + 1)
    }


class WT2G1(InductionGenerator):
    """Induction generator of type 2 wind turbines, with a controlled resistance in its rotor.

    ::

        r_2 = r_rot + (r_max - r_rot) r_control

    in the circuit of `wt1g1` with one circuit in the rotor, r_2 + j x_r. r_control is a part
    of the resistance that can be added; without WT2E1 none is. The polygon p_1, slip_1 ... is that of WT2E1.
    Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT2G; PSS/E, Model Library, WT2G1; for the
    order of the values, the circuit and the meaning of WT2E1's output InterPSS.
    """

    role = "converter"
    records = (
        "WT2G1 x_l x_m x_r r_rot r_max e_1 se_1 e_2 se_2 p_1 p_2 p_3 p_4 p_5 slip_1 slip_2 slip_3 slip_4 "
        "slip_5",
    )
    inputs = (*InductionGenerator.inputs, "r_control")
    optional = {"r_control": 0.0}

    x_l = Parameter(PU, "leakage reactance of the stator", nonnegative)
    x_m = Parameter(PU, "magnetising reactance", positive)
    x_r = Parameter(PU, "leakage reactance of the rotor", positive)
    r_rot = Parameter(PU, "resistance of the rotor", positive)
    r_max = Parameter(PU, "largest resistance of the rotor with what is added", positive)
    locals().update(polygon())

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a resistance that leaves nothing to control, and to a polygon that does not rise."""
        if p["r_max"] <= p["r_rot"]:
            return f"r_max = {p['r_max']:g}: must be above r_rot = {p['r_rot']:g}"
        for k in range(2, POINTS + 1):
            for name in ("p", "slip"):
                if p[f"{name}_{k}"] <= p[f"{name}_{k - 1}"]:
                    before = p[f"{name}_{k - 1}"]
                    return f"{name}_{k} = {p[f'{name}_{k}']:g}: must be above {name}_{k - 1} = {before:g}"
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of the flux, the residuals of saturation and power, and the current."""
        r_2 = p.r_rot + v.r_control * (p.r_max - p.r_rot)
        return generating(m, v, p, (p.x_l, p.x_m, ((r_2, p.x_r),)))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the steady state at the speed of the polygon; the slip grows as the resistance does."""
        found = dict(running(terminal, p, lambda one: (one.x_l, one.x_m, ((one.r_rot, one.x_r),))))
        slip = -through_points(NumericMath, found["p_e"], speeds(p))
        share = (slip / np.where(found["omega_g"] == 1, 1.0, 1 - found["omega_g"]) - 1) * p.r_rot
        return found | {"r_control": np.clip(share / (p.r_max - p.r_rot), 0.0, 1.0), "omega_g": 1 - slip}


def powers(p: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the points of the polygon: speed above the synchronous one, power."""
    return tuple((getattr(p, f"slip_{k}"), getattr(p, f"p_{k}")) for k in range(1, POINTS + 1))


def speeds(p: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the points of the polygon the other way round."""
    return tuple((power, slip) for slip, power in powers(p))


class WT2E1(BlockDiagram):
    """Control of the rotor resistance of type 2 wind turbines: of the power, which is to follow the speed.

    The limits hold for the integral part, without windup, and for the output. The polygon is the generator's.
    Source: WECC, Wind Power Plant Dynamic Modeling Guide (2010), WT2E; PSS/E, Model Library, WT2E1; for the
    order of the values InterPSS.
    """

    role = "electrical_control"
    records = ("WT2E1 t_sp t_pe t_i k_p out_max out_min",)
    shared = tuple(f"{name}_{k}" for name in ("p", "slip") for k in range(1, POINTS + 1))
    inputs = ("omega_g", "p_e")

    t_sp = Parameter("s", "time constant of the speed", nonnegative)
    t_pe = Parameter("s", "time constant of the power", nonnegative)
    t_i = Parameter("s", "time constant of the integral part", positive)
    k_p = Parameter("1", "proportional gain", nonnegative)
    out_max = Parameter("1", "upper limit, as a part of the resistance that can be added")
    out_min = Parameter("1", "lower limit")
    locals().update(polygon())

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect speed, power and control."""
        speed = b.lag("omega_m", v.omega_g, "t_sp")
        error = b.named("error", b.lag("p_m", v.p_e, "t_pe") - b.polygon(speed - 1, powers(p)))
        x = b.integrator("x", error, t="t_i", limits=("out_min", "out_max"))
        b.output("r_control", b.limit(x + p.k_p * error, "out_min", "out_max"))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium at the generator's speed and power."""
        known = terminal.signals
        control = known.get("r_control", 0.0)
        measured = {"omega_m": known.get("omega_g", 1.0), "p_m": known.get("p_e", 0.0)}
        return {**measured, "x": control, "r_control": control}


class WT12A1(BlockDiagram):
    """Mechanical power of type 1 and 2 wind turbines, as of a governor of speed and power.

    The set-point `ref` is the speed reference plus `droop` times that of the power. The limits hold for the
    integral part, without windup, and for the output. Source: WECC, Wind Power Plant Dynamic Modeling Guide
    (2010), WT1P; PSS/E, Model Library, WT12A1; for the order of the values InterPSS.
    """

    role = "aerodynamics"
    records = ("WT12A1 droop k_p t_i t_1 t_2 t_p y_max y_min",)
    inputs = ("p_e", "omega_t", "ref")

    droop = Parameter("pu", "droop of the speed with the power", nonnegative)
    k_p = Parameter("pu", "proportional gain", nonnegative)
    t_i = Parameter("s", "time constant of the integral part", positive)
    t_1 = Parameter("s", "first time constant of the power", nonnegative)
    t_2 = Parameter("s", "second time constant of the power", nonnegative)
    t_p = Parameter("s", "time constant of the measured power", nonnegative)
    y_max = Parameter("pu", "upper limit of the power")
    y_min = Parameter("pu", "lower limit of the power")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect governor and lags."""
        error = b.named("error", v.ref - v.omega_t - p.droop * b.lag("p_m", v.p_e, "t_p"))
        x = b.integrator("x", error, t="t_i", limits=("y_min", "y_max"))
        y = b.limit(x + p.k_p * error, "y_min", "y_max")
        b.lag("p_mech", b.lag("y_1", y, "t_1"), "t_2")

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium at the generator's power and speed."""
        power, speed = terminal.signals.get("p_e", 0.0), terminal.signals.get("omega_g", 1.0)
        return {"ref": speed + p.droop * power, **dict.fromkeys(WT12A1.states, power)}
