"""The IEEE steam turbine with a dead band and a valve characteristic of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import dead_band, lag, lead_lag, through_points
from psmr.devices.governors.ieeeg1 import IEEEG1

NUMBERS = (1, 2, 3, 4, 5)


def _point(which: str, k: int) -> Parameter:
    return Parameter("pu on machine base", f"{which} of point {k} of the valve", nonnegative, 0.0)


class WSIEG1(IEEEG1):
    """Steam turbine of up to four stages, IEEEG1 as modified in the western interconnection.

    ::

        omega - 1 -> dead band [-db1, db1] -> k (1 + s t_2)/(1 + s t_1) -> c
        p_ref - c - valve -> 1/t_3 -> limits [u_c, u_o] -> 1/s, limits [p_min, p_max] -> valve
        valve -> polygon (gv1, pgv1) to (gv5, pgv5) -> steam
        steam -> 1/(1 + s t_4) -> x_4 -> 1/(1 + s t_5) -> x_5 -> 1/(1 + s t_6) -> x_6 -> 1/(1 + s t_7) -> x_7
        t_m = k_1 x_4 + k_3 x_5 + k_5 x_6 + k_7 x_7

    The dead band has no step at its ends. The polygon is constant beyond its ends, points at the end that are
    (0, 0) are left out, and without any point steam is the valve. The fractions of a second shaft, the steps
    of the dead band (err), the valve's backlash (db2) and the blocked limits (iblock) are left out: their
    values must be zero, as they are in every public record. p_ref is the valve's position at rest.

    Source: WECC, modified IEEE type 1 speed-governing model; PSS/E, Model Library, WSIEG1, whose values
    GridPACK and OpenIPSL have in the same order. They differ on db1: pu of speed in OpenIPSL, Hz in other
    programs; here it is pu.
    """

    role = "governor"
    records = (
        "WSIEG1 bus2=0 -id2 k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2=0 t_5 k_3 k_4=0 t_6 k_5 "
        "k_6=0 t_7 k_7 k_8=0 db1 err=0 db2=0 gv1 pgv1 gv2 pgv2 gv3 pgv3 gv4 pgv4 gv5 pgv5 iblock=0",
    )

    db1 = Parameter("pu", "half the width of the speed's dead band", nonnegative, 0.0)
    gv1, gv2, gv3, gv4, gv5 = (_point("position", k) for k in NUMBERS)
    pgv1, pgv2, pgv3, pgv4, pgv5 = (_point("steam flow", k) for k in NUMBERS)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
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
        return IEEEG1.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of governor, valve and stages, and the torque."""
        led, d_s = lead_lag(p.k * dead_band(m, v.omega - 1, -p.db1, p.db1), v.x_s, p.t_2, p.t_1)
        flow = through_points(m, v.valve, _points(p))
        derivatives = (
            d_s,
            m.clip((v.p_ref - led - v.valve) / p.t_3, p.u_c, p.u_o),
            lag(m.where(m.le(p.gv2, 0), v.valve, flow), v.x_4, p.t_4),
            lag(v.x_4, v.x_5, p.t_5),
            lag(v.x_5, v.x_6, p.t_6),
            lag(v.x_6, v.x_7, p.t_7),
        )
        torque = p.k_1 * v.x_4 + p.k_3 * v.x_5 + p.k_5 * v.x_6 + p.k_7 * v.x_7
        return derivatives, (torque - v.t_m,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        m = NumericMath
        found = dict(IEEEG1.guess(terminal, p))
        turned = [(flow, position) for position, flow in _points(p)]
        position = m.where(m.le(p.gv2, 0), found["x_4"], through_points(m, found["x_4"], turned))
        return found | {"valve": position, "p_ref": position}


def _points(p: Any) -> list[tuple[Any, Any]]:
    return [(getattr(p, f"gv{k}"), getattr(p, f"pgv{k}")) for k in NUMBERS]
