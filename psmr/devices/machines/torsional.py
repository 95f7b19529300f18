"""The shaft of a turbine generator as masses between springs, for torsional oscillations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, flag, fraction, nonnegative, whole
from psmr.devices.machines.textbook import F_N

PU = "pu on machine base"
MOST_SECTIONS = 5
WITHOUT = 1e-6
"""How far the fractions of the torque may be from 1 together."""


def _inertia(of: str) -> Parameter:
    return Parameter("s", f"inertia constant of {of}, on the machine base", nonnegative, 0.0)


def _stiffness(between: str) -> Parameter:
    return Parameter("pu torque/rad", f"stiffness of the shaft from {between}", nonnegative, 0.0)


def _fraction(k: int) -> Parameter:
    return Parameter("1", f"part of section {k} in the torque of the turbine", fraction, 0.0)


def _damping(of: str) -> Parameter:
    return Parameter(PU, f"damping torque of {of} per unit of its speed", nonnegative, 0.0)


def _shaft_damping(between: str) -> Parameter:
    return Parameter(PU, f"damping torque per unit of the difference of speed, {between}", nonnegative, 0.0)


class TorsionalShaft(Component):
    """Shaft of a turbine generator: sections of the turbine in a row, the generator, an exciter behind it.

    ::

        delta_k' = 2 pi f_n (omega_k - 1)
        2 h_k omega_k' = f_k t_turbine + torque_(k-1) - torque_k - d_k (omega_k - 1)
        torque_k = k_k (delta_k - delta_(k+1)) + c_k (omega_k - omega_(k+1))
        2 h_x omega_x' = torque_x - d_x (omega_x - 1)
        torque_x = k_x (delta - delta_x) + c_x (omega - omega_x)
        t_m = torque_n - torque_x

    Section 1 is the one farthest from the generator, section n = `sections` the one beside it, whose
    neighbour is the rotor: delta_(n+1) = delta, omega_(n+1) = omega. The rotor is the machine's own swing
    equation, and the machine's h and d are those of its rotor alone. torque_k is the torque in the shaft
    behind section k, torque_x that between generator and exciter. Angles are electrical, as delta is, and
    stiffnesses per electrical radian. A governor's t_m becomes t_turbine; a power drives each section at its
    own speed. Source: Kundur (1994), section 15.1; IEEE Committee Report, First benchmark model for computer
    simulation of subsynchronous resonance, IEEE Transactions on Power Apparatus and Systems 96, 1977.
    """

    role = "shaft"
    structural = ("sections", "exciter")
    states = ("delta_1", "omega_1")
    algebraic = ("torque_1", "t_m")
    inputs = ("delta", "omega", "t_turbine")
    passes = {"t_m": "t_turbine"}

    f_n = F_N
    mechanical_power = Parameter("1", "1 where t_turbine is a power, 0 where it is a torque", flag, 0.0)
    sections = Parameter("1", "number of sections of the turbine", whole(1, MOST_SECTIONS))
    exciter = Parameter("1", "1 where an exciter turns on the shaft, 0 where none does", flag, 0.0)
    h_1 = _inertia("section 1")
    h_2 = _inertia("section 2")
    h_3 = _inertia("section 3")
    h_4 = _inertia("section 4")
    h_5 = _inertia("section 5")
    h_x = _inertia("the exciter")
    k_1 = _stiffness("section 1 to the next mass")
    k_2 = _stiffness("section 2 to the next mass")
    k_3 = _stiffness("section 3 to the next mass")
    k_4 = _stiffness("section 4 to the next mass")
    k_5 = _stiffness("section 5 to the next mass")
    k_x = _stiffness("the generator to the exciter")
    f_1 = _fraction(1)
    f_2 = _fraction(2)
    f_3 = _fraction(3)
    f_4 = _fraction(4)
    f_5 = _fraction(5)
    d_1 = _damping("section 1")
    d_2 = _damping("section 2")
    d_3 = _damping("section 3")
    d_4 = _damping("section 4")
    d_5 = _damping("section 5")
    d_x = _damping("the exciter")
    c_1 = _shaft_damping("section 1 to the next mass")
    c_2 = _shaft_damping("section 2 to the next mass")
    c_3 = _shaft_damping("section 3 to the next mass")
    c_4 = _shaft_damping("section 4 to the next mass")
    c_5 = _shaft_damping("section 5 to the next mass")
    c_x = _shaft_damping("the generator to the exciter")

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a mass that is missing or too many, and to fractions that are not the whole."""
        n = int(p["sections"])
        there = [*map(str, range(1, n + 1)), *(["x"] if p["exciter"] else [])]
        for mass in there:
            for name in (f"h_{mass}", f"k_{mass}"):
                if not p[name]:
                    return f"{name} = 0: must be > 0 with sections = {n} and exciter = {p['exciter']:g}"
        beyond = {*map(str, range(1, MOST_SECTIONS + 1)), "x"} - {*there}
        for name in (f"{letter}_{mass}" for letter in "hkfdc" for mass in sorted(beyond)):
            if p.get(name):
                return (
                    f"{name} = {p[name]:g}: there is no such mass with sections = {n} and exciter ="
                    f" {p['exciter']:g}; leave it out, or correct those"
                )
        total = math.fsum(p[f"f_{k}"] for k in range(1, n + 1))
        if abs(total - 1) > WITHOUT:
            return f"f_1 to f_{n} are {total:g} together: must be 1, the whole torque of the turbine"
        return None

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of a number of sections, with or without an exciter."""
        n, exciter = choice
        masses = [*map(str, range(1, n + 1)), *(["x"] if exciter else [])]

        def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
            """Return the derivatives of all masses, the torques between them, and that on the rotor."""
            return _equations(v, p, n, exciter)

        def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
            """Return nominal speed."""
            return {f"omega_{k}": 1.0 for k in masses}

        return {
            "states": tuple(f"{name}_{k}" for k in masses for name in ("delta", "omega")),
            "algebraic": (*(f"torque_{k}" for k in masses), "t_m"),
            "units": {f"delta_{k}": "rad" for k in masses},
            "equations": staticmethod(equations),
            "guess": staticmethod(guess),
        }

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations of one section without an exciter."""
        return _equations(v, p, 1, 0)


def _equations(v: Any, p: Any, n: int, exciter: int) -> tuple[Terms, Terms, Terms]:
    delta = [getattr(v, f"delta_{k}") for k in range(1, n + 1)] + [v.delta]
    omega = [getattr(v, f"omega_{k}") for k in range(1, n + 1)] + [v.omega]
    derivatives: list[Any] = []
    residuals: list[Any] = []
    behind: Any = 0
    for k in range(1, n + 1):
        slip, torque = omega[k - 1] - 1, getattr(v, f"torque_{k}")
        drive = getattr(p, f"f_{k}") * v.t_turbine / (1 + p.mechanical_power * slip)
        net = drive + behind - torque - getattr(p, f"d_{k}") * slip
        derivatives += [2 * math.pi * p.f_n * slip, net / (2 * getattr(p, f"h_{k}"))]
        twist, rate = delta[k - 1] - delta[k], omega[k - 1] - omega[k]
        residuals.append(getattr(p, f"k_{k}") * twist + getattr(p, f"c_{k}") * rate - torque)
        behind = torque
    if exciter:
        slip = v.omega_x - 1
        derivatives += [2 * math.pi * p.f_n * slip, (v.torque_x - p.d_x * slip) / (2 * p.h_x)]
        residuals.append(p.k_x * (v.delta - v.delta_x) + p.c_x * (v.omega - v.omega_x) - v.torque_x)
        behind = behind - v.torque_x
    # The machine divides by its speed what it takes for a power.
    residuals.append(behind * (1 + p.mechanical_power * (v.omega - 1)) - v.t_m)
    return tuple(derivatives), tuple(residuals), ()
