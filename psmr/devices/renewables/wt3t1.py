"""The turbine of the first generic models of doubly fed wind turbines (type 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.renewables.wtara1 import aerodynamic_power
from psmr.devices.renewables.wtdta1 import WTDTA1, one_mass


class WT3T1(WTDTA1):
    """Turbine of type 3 wind turbines of the first generation: aerodynamics and drive train in one.

    ::

        p_mech = p_wind - k_a theta (theta - theta_0)
        theta_0 = theta_2/0.75 (1 - 1/v_w^2) where v_w > 1, 0 otherwise
        masses = 2:   2 h_t omega_t' = p_mech/omega_t - shaft
                      2 h_g omega_g' = shaft - p_e/omega_g - damp (omega_g - 1)
                      twist' = omega_t - omega_g,  shaft = stiffness twist + d_shaft (omega_t - omega_g)
                      h_t = h ht_frac, h_g = h - h_t, stiffness = 2 (2 pi freq_1)^2 h_t h_g/h
        masses = 1:   2 h omega_g' = (p_mech - p_e)/omega_g - damp (omega_g - 1),  omega_t = omega_g

    v_w is the wind at the start by rated wind, theta_2 the pitch at twice that. The power p_wind of the wind
    at theta_0, where the pitch control starts, is a set-point. Source: WECC, Wind Power Plant Dynamic
    Modeling Guide (2010), WT3T; PSS/E, Model Library, WT3T1; for the order of the values and the damping,
    which is of the generator's speed, InterPSS.
    """

    role = "drive_train"
    records = ("WT3T1 v_w h damp k_a theta_2 ht_frac freq_1 d_shaft",)
    algebraic = ("p_mech", "theta_0")
    inputs = ("theta", "p_e", "p_wind")
    optional = {"theta": 0.0}
    units = {**WTDTA1.units, "theta_0": "deg"}

    v_w = Parameter("1", "wind at the start by rated wind", positive)
    k_a = Parameter("pu/deg^2", "aerodynamic gain", nonnegative)
    theta_2 = Parameter("deg", "pitch at twice rated wind", nonnegative)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables of one mass; two are the class's own."""
        found = WTDTA1.shape(*choice)
        if not found:
            return {}
        return {
            **found,
            "algebraic": ("omega_t", *WT3T1.algebraic),
            "equations": staticmethod(_with_one_mass),
        }

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of speeds and twist, and the residuals of power and first pitch."""
        return _with_wind(m, v, p, WTDTA1.equations(m, v, p))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return rated speed, which the solution moves to the reference."""
        power, pitch = terminal.signals.get("p_e", 0.0), _first_pitch(NumericMath, p)
        return {**WTDTA1.guess(terminal, p), "p_mech": power, "p_wind": power, "theta_0": pitch}


def _with_one_mass(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
    return _with_wind(m, v, p, one_mass(m, v, p))


def _with_wind(m: Any, v: Any, p: Any, train: tuple[Terms, Terms, Terms]) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a drive train with those of the wind's power and of the first pitch."""
    derivatives, residuals, _ = train
    power = aerodynamic_power(v.p_wind, p.k_a, v.theta, v.theta_0)
    return derivatives, (*residuals, power - v.p_mech, _first_pitch(m, p) - v.theta_0), ()


def _first_pitch(m: Any, p: Any) -> Any:
    """Return the pitch at which wind above the rated one gives rated power."""
    return m.where(m.le(p.v_w, 1), 0, p.theta_2 / 0.75 * (1 - 1 / p.v_w**2))
