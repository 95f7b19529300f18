"""The drive train of wind turbines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive, whole


class WTDTA1(Component):
    """Drive train of wind turbines: turbine and generator on a shaft, or one mass.

    ::

        masses = 2:   2 h_t omega_t' = p_mech/omega_t - shaft
                      2 h_g omega_g' = shaft - p_e/omega_g - damp (omega_g - 1)
                      twist' = omega_t - omega_g,  shaft = stiffness twist + d_shaft (omega_t - omega_g)
                      h_t = h ht_frac, h_g = h - h_t, stiffness = 2 (2 pi freq_1)^2 h_t h_g/h
        masses = 1:   2 h omega_g' = (p_mech - p_e)/omega_g - damp (omega_g - 1),  omega_t = omega_g

    A record with ht_frac = 0 or freq_1 = 0 is one of one mass. It starts at the speed reference of the torque
    control, or at the speed of an induction generator (WT12T1). Source: WECC, Second Generation of Wind
    Turbine Models (2014), WTGT_A, and Wind Power Plant Dynamic Modeling Guide (2010), WT1T; PSS/E Model
    Library, WTDTA1, WT12T1; for the damping, which is of the generator's speed, GridPACK and InterPSS.
    """

    role = "drive_train"
    records: ClassVar[tuple[str, ...]] = (
        "WTDTA1 h damp ht_frac freq_1 d_shaft",
        "WT12T1 h damp ht_frac freq_1 d_shaft",
    )
    structural = ("masses",)
    states = ("omega_t", "omega_g", "twist")
    inputs: ClassVar[tuple[str, ...]] = ("p_mech", "p_e")
    units = {"twist": "pu s"}

    masses = Parameter("1", "masses on the shaft, 1 or 2", whole(1, 2), 2.0)
    h = Parameter("s", "inertia constant of turbine and generator", positive)
    damp = Parameter("pu", "damping of the generator's speed", nonnegative, 0.0)
    ht_frac = Parameter("1", "part of the turbine in it", nonnegative, 0.0)
    freq_1 = Parameter("Hz", "frequency of the first torsional mode", nonnegative, 0.0)
    d_shaft = Parameter("pu", "damping of the shaft", nonnegative, 0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to two masses of which one has no inertia, or without a shaft."""
        if p["masses"] == 2 and not 0 < p["ht_frac"] < 1:
            return f"ht_frac = {p['ht_frac']:g}: must be between 0 and 1, both excluded, for two masses"
        if p["masses"] == 2 and p["freq_1"] == 0:
            return "freq_1 = 0: must be > 0 for two masses; or masses = 1"
        return None

    @staticmethod
    def from_record(values: Mapping[str, float]) -> Mapping[str, float]:
        """Return how many masses a record means."""
        return {"masses": 2.0 if values["ht_frac"] and values["freq_1"] else 1.0}

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of one mass; two are the class's own."""
        if choice == (2,):
            return {}
        return {"states": ("omega_g",), "algebraic": ("omega_t",), "equations": staticmethod(one_mass)}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of both speeds and of the twist."""
        h_t = p.h * p.ht_frac
        h_g = p.h - h_t
        stiffness = 2 * (2 * math.pi * p.freq_1) ** 2 * h_t * h_g / p.h
        slip = v.omega_t - v.omega_g
        shaft = stiffness * v.twist + p.d_shaft * slip
        turbine = (v.p_mech / v.omega_t - shaft) / (2 * h_t)
        generator = (shaft - v.p_e / v.omega_g - p.damp * (v.omega_g - 1)) / (2 * h_g)
        return (turbine, generator, slip), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the speed of the other devices, or rated speed; the solution moves it to the reference."""
        return dict.fromkeys(("omega_t", "omega_g"), terminal.signals.get("omega_g", 1.0))


def one_mass(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
    """Return the derivative of the speed, and that of the turbine, which is the same."""
    torque = (v.p_mech - v.p_e) / v.omega_g - p.damp * (v.omega_g - 1)
    return (torque / (2 * p.h),), (v.omega_g - v.omega_t,), ()
