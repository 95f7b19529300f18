"""Steam turbines and their governors: TGOV1 to TGOV3, IEEEG1, IEESGO, WSIEG1, and cross-compound pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

from psmr.dae.declare.component import NumericMath, Parameter, fraction, nonnegative, positive, whole
from psmr.devices.blocks import through_points
from psmr.devices.governors import Governor


class GovernorLeadLag(Governor):
    """Droop, a gate with limits, and one lead-lag for servo, steam chest and reheater together.

    The limits stand before the lead-lag: nothing winds up, and with t_1 <= t_2 the torque stays within them
    too. Per unit on the machine base. Source: F. Milano, Power System Modelling and Scripting (2010),
    turbine governors, type II.
    """

    droop = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "lead time constant (transient gain)", nonnegative)
    t_2 = Parameter("s", "lag time constant", positive)
    p_min = Parameter("pu on machine base", "lower limit of the gate")
    p_max = Parameter("pu on machine base", "upper limit of the gate")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect gate and lead-lag."""
        gate = b.clip(v.p_ref - (v.omega - 1) / p.droop, p.p_min, p.p_max)
        b.output("t_m", b.lead_lag("x_g", gate, "t_1", "t_2"))


class TGOV1(Governor):
    """Steam turbine: droop, a valve with non-windup limits, one lead-lag for the reheater.

    Source: PSS/E, Model Library, TGOV1; PES-TR1, Dynamic Models for Turbine-Governors in Power
    System Studies (2013).
    """

    records = ("TGOV1 r t_1 v_max v_min t_2 t_3 d_t",)

    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "time constant of the valve", nonnegative)
    v_max = Parameter("pu on machine base", "upper limit of the valve")
    v_min = Parameter("pu on machine base", "lower limit of the valve")
    t_2 = Parameter("s", "lead time constant (high-pressure fraction times t_3)", nonnegative)
    t_3 = Parameter("s", "time constant of the reheater", nonnegative)
    d_t = Parameter("pu on machine base", "damping of the turbine", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect valve and reheater."""
        slip = v.omega - 1
        valve = b.lag("valve", v.p_ref - slip / p.r, "t_1", ("v_min", "v_max"))
        b.output("t_m", b.lead_lag("x_t", valve, "t_2", "t_3") - p.d_t * slip)


class TGOV2(Governor):
    """Steam turbine: droop, a valve with limits, a part of the power behind reheater and intercept valves.

    x_3 is the pressure of the reheater, x_t the power of the stages behind the intercept valves, which are
    open. They close in fast valving, which a command of the study starts in PSS/E: there is none here, and
    its times TA, TB and TC change nothing. Source: PSS/E, Model Library, TGOV2; IEC 61970-302, GovSteamFV2,
    for the parameters; PowerWorld, TGOV2, for their order.
    """

    records = ("TGOV2 r t_1 v_max v_min k t_3 d_t t_t -t_a -t_b -t_c",)

    r = Parameter("pu speed per pu power on machine base", "droop", positive)
    t_1 = Parameter("s", "time constant of the valve", nonnegative)
    v_max = Parameter("pu on machine base", "upper limit of the valve")
    v_min = Parameter("pu on machine base", "lower limit of the valve")
    k = Parameter("1", "part of the power that the intercept valves do not pass")
    t_3 = Parameter("s", "time constant of the reheater", nonnegative)
    d_t = Parameter("pu on machine base", "damping of the turbine", nonnegative)
    t_t = Parameter("s", "time constant of the stages behind the intercept valves", nonnegative)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect valve, reheater and stages."""
        slip = v.omega - 1
        valve = b.lag("valve", v.p_ref - slip / p.r, "t_1", ("v_min", "v_max"))
        x_t = b.lag("x_t", b.lag("x_3", (1 - p.k) * valve, "t_3"), "t_t")
        b.ordered("v_min", "v_max")
        b.output("t_m", p.k * valve + x_t - p.d_t * slip)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        behind = (1 - p.k) * t_m
        return {"valve": t_m, "x_3": behind, "x_t": behind, "t_m": t_m, "p_ref": t_m}


class IEEEG1(Governor):
    """Steam turbine with up to four stages, of which each gives a fraction of the torque.

    The fractions k_2, k_4, k_6 and k_8 of a second shaft are left out: one machine is driven. Source: IEEE
    Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973); PSS/E, Model
    Library, IEEEG1.
    """

    records = (
        "IEEEG1 bus2=0 -id2 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2=0 t_5 k_3 k_4=0 t_6 k_5 "
        "k_6=0 t_7 k_7 k_8=0",
    )

    reheater_limits: ClassVar[tuple[str | None, str | None] | None] = None

    k = Parameter("pu power on machine base per pu speed", "gain, the inverse of the droop", nonnegative)
    t_1 = Parameter("s", "lag time constant of the governor", nonnegative)
    t_2 = Parameter("s", "lead time constant of the governor", nonnegative)
    t_3 = Parameter("s", "time constant of the valve", positive)
    u_o = Parameter("pu/s", "largest rate at which the valve opens", positive)
    u_c = Parameter("pu/s", "largest rate at which the valve closes, below zero")
    p_max = Parameter("pu on machine base", "upper limit of the valve")
    p_min = Parameter("pu on machine base", "lower limit of the valve")
    t_4 = Parameter("s", "time constant of the steam chest", nonnegative)
    k_1 = Parameter("1", "fraction of the torque after t_4", nonnegative)
    t_5 = Parameter("s", "time constant of the second stage", nonnegative)
    k_3 = Parameter("1", "fraction of the torque after t_5", nonnegative)
    t_6 = Parameter("s", "time constant of the third stage", nonnegative)
    k_5 = Parameter("1", "fraction of the torque after t_6", nonnegative)
    t_7 = Parameter("s", "time constant of the fourth stage", nonnegative)
    k_7 = Parameter("1", "fraction of the torque after t_7", nonnegative)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a valve that cannot close, and to a turbine without torque."""
        if p["u_c"] >= 0:
            return f"u_c = {p['u_c']:g}: must be < 0, the valve closes at this rate"
        if p["k_1"] + p["k_3"] + p["k_5"] + p["k_7"] == 0:
            return "k_1, k_3, k_5 and k_7 are 0: one of them must be > 0, otherwise there is no torque"
        return None

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect governor, valve and stages."""
        c = b.named("c", b.lead_lag("x_s", p.k * cls.slip(b, v, p), "t_2", "t_1"))
        rate = b.clip((v.p_ref - c - v.valve) / p.t_3, p.u_c, p.u_o)
        valve = b.integrator("valve", rate, limits=("p_min", "p_max"))
        x_4 = b.lag("x_4", cls.steam(b, p, valve), "t_4")
        x_5 = b.lag("x_5", x_4, "t_5", cls.reheater_limits)
        x_6 = b.lag("x_6", x_5, "t_6")
        x_7 = b.lag("x_7", x_6, "t_7")
        b.output("t_m", p.k_1 * x_4 + p.k_3 * x_5 + p.k_5 * x_6 + p.k_7 * x_7)

    @classmethod
    def slip(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the deviation of the speed that the governor is given."""
        return v.omega - 1

    @classmethod
    def steam(cls, b: Any, p: Any, valve: Any) -> Any:
        """Return the flow that the valve lets pass."""
        return valve

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        valve = t_m / (p.k_1 + p.k_3 + p.k_5 + p.k_7)
        return {"t_m": t_m} | dict.fromkeys(("valve", "x_4", "x_5", "x_6", "x_7", "p_ref"), valve)


class TGOV3(IEEEG1):
    """Steam turbine of three stages, IEEEG1 with a limit of the reheater's pressure, intercept valves open.

    x_5 is the pressure of the reheater, which is the flow through open intercept valves. They close in fast
    valving, which a command of the study starts in PSS/E: there is none here, and its times TA, TB and TC
    change nothing. The record's K2 and K3 are k_3 and k_5. Source: IEEE Committee Report, Dynamic Models for
    Steam and Hydro Turbines in Power System Studies (1973); PSS/E, Model Library, TGOV3; for the order of its
    values and the curve of the valves PowerWorld and InterPSS, TGOV3D.
    """

    records = ("TGOV3 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 t_5 k_3 t_6 k_5 -t_a -t_b -t_c pr_max",)

    reheater_limits = (None, "pr_max")

    t_5 = Parameter("s", "time constant of the reheater", positive)
    pr_max = Parameter("pu", "upper limit of the reheater's pressure", positive)
    t_7 = Parameter("s", "time constant of a fourth stage, 0 for none", nonnegative, 0.0)
    k_7 = Parameter("1", "fraction of the torque after t_7", nonnegative, 0.0)


class IEESGO(Governor):
    """General-purpose turbine: a governor with two lags and a lead, three stages.

    Source: IEEE Committee Report, Dynamic Models for Steam and Hydro Turbines in Power System Studies (1973);
    PSS/E, Model Library, IEESGO.
    """

    records = ("IEESGO t_1 t_2 t_3 t_4 t_5 t_6 k_1 k_2 k_3 p_max p_min",)

    t_1 = Parameter("s", "first lag of the governor", nonnegative)
    t_2 = Parameter("s", "lead of the governor", nonnegative)
    t_3 = Parameter("s", "second lag of the governor", nonnegative)
    t_4 = Parameter("s", "time constant of the steam chest", nonnegative)
    t_5 = Parameter("s", "time constant of the reheater", nonnegative)
    t_6 = Parameter("s", "time constant of the crossover", nonnegative)
    k_1 = Parameter("pu power on machine base per pu speed", "gain, the inverse of the droop", nonnegative)
    k_2 = Parameter("1", "fraction of the power behind the reheater")
    k_3 = Parameter("1", "fraction of the reheater's power behind the crossover")
    p_max = Parameter("pu on machine base", "upper limit of the valve")
    p_min = Parameter("pu on machine base", "lower limit of the valve")

    @staticmethod
    def unlikely(p: Mapping[str, float]) -> Iterator[str]:
        """Yield what is no fraction; the stages have the gain 1 together, whatever k_2 and k_3 are."""
        for name in ("k_2", "k_3"):
            if wrong := fraction(p[name]):
                yield f"{name} = {p[name]:g}: a fraction {wrong}; the torque overshoots by it"

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect governor and stages."""
        led = b.lead_lag("x_1", p.k_1 * (v.omega - 1), "t_2", "t_1")
        gate = b.clip(v.p_ref - b.lag("x_3", led, "t_3"), p.p_min, p.p_max)
        x_4 = b.lag("x_4", gate, "t_4")
        x_5 = b.lag("x_5", p.k_2 * x_4, "t_5")
        x_6 = b.lag("x_6", p.k_3 * x_5, "t_6")
        b.output("t_m", (1 - p.k_2) * x_4 + (1 - p.k_3) * x_5 + x_6)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        return {"x_4": t_m, "x_5": p.k_2 * t_m, "x_6": p.k_3 * p.k_2 * t_m, "t_m": t_m, "p_ref": t_m}


NUMBERS = (1, 2, 3, 4, 5)


def _point(which: str, k: int) -> Parameter:
    return Parameter("pu on machine base", f"{which} of point {k} of the valve", nonnegative, 0.0)


def _points(p: Any) -> list[tuple[Any, Any]]:
    return [(getattr(p, f"gv{k}"), getattr(p, f"pgv{k}")) for k in NUMBERS]


class WSIEG1(IEEEG1):
    """Steam turbine of up to four stages, IEEEG1 as modified in the western interconnection.

    The dead band has no step at its ends. The polygon is constant beyond its ends, points at the end that are
    (0, 0) are left out, and without any point steam is the valve. The fractions of a second shaft, the steps
    of the dead band (err), the valve's backlash (db2) and the blocked limits (iblock) are left out: their
    values must be zero, as they are in every public record. p_ref is the valve's position at rest.

    Source: WECC, modified IEEE type 1 speed-governing model; PSS/E, Model Library, WSIEG1, whose values
    GridPACK and OpenIPSL have in the same order. They differ on db1: pu of speed in OpenIPSL, Hz in other
    programs; here it is pu.
    """

    records = (
        "WSIEG1 bus2=0 -id2 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2=0 t_5 k_3 k_4=0 t_6 k_5 "
        "k_6=0 t_7 k_7 k_8=0 db1 err=0 db2=0 gv1 pgv1 gv2 pgv2 gv3 pgv3 gv4 pgv4 gv5 pgv5 iblock=0",
    )

    db1 = Parameter("pu", "half the width of the speed's dead band", nonnegative, 0.0)
    gv1, gv2, gv3, gv4, gv5 = (_point("position", k) for k in NUMBERS)
    pgv1, pgv2, pgv3, pgv4, pgv5 = (_point("steam flow", k) for k in NUMBERS)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object, as IEEEG1 does, and to a valve's characteristic that does not rise."""
        points = [(p[f"gv{k}"], p[f"pgv{k}"]) for k in NUMBERS]
        while len(points) > 1 and points[-1] == (0.0, 0.0):
            points.pop()
        for k, (before, after) in enumerate(pairwise(points), start=2):
            for name, low, high in zip(("gv", "pgv"), before, after, strict=True):
                if high <= low:
                    return (
                        f"{name}{k} = {high:g}: must be above {name}{k - 1} = {low:g}; points that are not"
                        " needed stand at the end as zeros"
                    )
        if len(points) == 1 and points[0] != (0.0, 0.0):
            return f"gv1 = {p['gv1']:g} and pgv1 = {p['pgv1']:g}: one point is not a curve; add another"
        return IEEEG1.objection(p)

    @classmethod
    def slip(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the deviation of the speed beyond the dead band."""
        return b.dead_band(v.omega - 1, -p.db1, p.db1)

    @classmethod
    def steam(cls, b: Any, p: Any, valve: Any) -> Any:
        """Return the flow at the valve's position."""
        flow = b.where(b.le(p.gv2, 0), valve, b.polygon(valve, _points(p)))
        return b.named("steam", flow, "polygon (gv1, pgv1) to (gv5, pgv5) of the valve")

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        m = NumericMath
        found = dict(IEEEG1.guess(terminal, p))
        turned = [(flow, position) for position, flow in _points(p)]
        position = m.where(m.le(p.gv2, 0), found["x_4"], through_points(m, found["x_4"], turned))
        return found | {"valve": position, "p_ref": position}


class IEEEG1CC(IEEEG1):
    """Cross-compound steam turbine: that of IEEEG1, whose other fractions drive a second machine.

    The governor has the speed of the first machine. The second one, machine `unit2` among those of bus
    `bus2`, takes t_m2 for its torque. `base` is the first machine's base over the second one's, for all
    fractions are on that of the first. One valve cannot give two powers of the power flow exactly: t_rest is
    what the fractions leave open at the start, and stays. The two machines are one plant; they trip together.
    Source: PSS/E, Model Library, IEEEG1 with a second machine; IEEE Committee Report (1973), cross-compound
    steam turbines.
    """

    records = (
        "IEEEG1CC bus2 unit2 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2 t_5 k_3 k_4 t_6 k_5 k_6 "
        "t_7 k_7 k_8",
    )
    memory = ("base", "t_rest")

    bus2 = Parameter("number", "bus of the second machine", whole(1, 999999))
    unit2 = Parameter("number", "place of the second machine among those of its bus", whole(1, 99), 1.0)
    k_2 = Parameter("1", "fraction of the second torque after t_4", nonnegative)
    k_4 = Parameter("1", "fraction of the second torque after t_5", nonnegative)
    k_6 = Parameter("1", "fraction of the second torque after t_6", nonnegative)
    k_8 = Parameter("1", "fraction of the second torque after t_7", nonnegative)
    base = Parameter("1", "base of the first machine over that of the second", positive, 1.0)
    t_rest = Parameter("pu on machine base", "second torque that the fractions leave open", default=0.0)

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object as IEEEG1 does, and to a second shaft without torque."""
        if p["k_2"] + p["k_4"] + p["k_6"] + p["k_8"] == 0:
            return "k_2, k_4, k_6 and k_8 are 0: one of them must be > 0 where there is a second machine"
        return IEEEG1.objection(p)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect what IEEEG1 does, and the second machine."""
        super().diagram(b, v, p)
        second = p.k_2 * v.x_4 + p.k_4 * v.x_5 + p.k_6 * v.x_6 + p.k_8 * v.x_7
        b.output("t_m2", p.base * second + p.t_rest)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the first machine needs."""
        found = IEEEG1.guess(terminal, p)
        return {**found, "t_m2": (p.k_2 + p.k_4 + p.k_6 + p.k_8) * found["valve"]}
