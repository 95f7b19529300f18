"""The generator and converter of the first generic models of doubly fed wind turbines (type 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import lag, rotate
from psmr.devices.machines import F_N, S_BASE, S_N
from psmr.devices.renewables.regca1 import PU, V_FLOOR

T_CONVERTER = 0.02
"""Time constant in s of both commands, which the model fixes."""


class WT3G1(Component):
    """Generator and converter of type 3 wind turbines of the first generation.

    ::

        ip_cmd -> 1/(1 + 0.02 s) -> i_p      eq_cmd -> 1/(1 + 0.02 s) -> e_q
        v_y = Im(v exp(-j theta_pll))
        k_pll v_y/(2 pi f_n) -> 1 + k_ipll/s, limits [-p_llmax, p_llmax] -> 2 pi f_n/s -> theta_pll
        i_re + j i_im = (i_p - j e_q/x_eq) exp(j theta_pll) - v/(j x_eq)

    e_q is the voltage behind x_eq: a higher one gives more reactive power. The limits of the phase-locked
    loop hold for its integral part, without windup, and for its output; with k_pll = 0 there is none, and
    theta_pll is the phase of v. The number of turbines and their rating in MW are the base of the electrical
    control. Source: WECC, Wind Power Plant Dynamic Modeling Guide
    (2010), WT3G; PSS/E, Model Library, WT3G1; OpenIPSL and InterPSS, WT3G1.
    """

    role = "converter"
    records = ("WT3G1 turbines x_eq k_pll k_ipll p_llmax p_rated",)
    grid = "follows"
    states = ("i_p", "e_q", "x_pll", "theta_pll")
    algebraic = ("p_e", "q_e", "p_llmin")
    inputs = ("v_re", "v_im", "ip_cmd", "eq_cmd")
    outputs = ("i_re", "i_im")
    limits = {"x_pll": ("p_llmin", "p_llmax")}
    integrals = {"x_pll": "k_ipll"}
    switched = ("k_pll",)
    together = (("i_p", "e_q"),)
    units = {"theta_pll": "rad"}

    s_n, s_base, f_n = S_N, S_BASE, F_N
    turbines = Parameter("number", "number of turbines", positive)
    x_eq = Parameter(PU, "equivalent reactance of the generator", positive)
    k_pll = Parameter("rad/s per pu", "gain of the phase-locked loop, 0 for none", nonnegative)
    k_ipll = Parameter("1/s", "integral gain of the phase-locked loop by its gain", nonnegative)
    p_llmax = Parameter("pu", "limit of the phase-locked loop, a deviation of speed", positive)
    p_rated = Parameter("MW", "rating of a turbine, 0 for the converter's base", nonnegative)

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the variables without the phase-locked loop where k_pll is 0."""
        return without_loop(WT3G1, *choice)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of powers and limit, and the current into the bus."""
        commands = lag(v.ip_cmd, v.i_p, T_CONVERTER), lag(v.eq_cmd, v.e_q, T_CONVERTER)
        loop, residuals, injection = doubly_fed(m, v, p, v.i_p, v.e_q / p.x_eq, p.x_eq)
        return (*commands, *loop), residuals, injection

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium."""
        voltage = np.abs(terminal.voltage)
        i = terminal.current * p.s_base / p.s_n * voltage / terminal.voltage
        e_q = voltage - p.x_eq * i.imag
        return {
            "i_p": i.real,
            "ip_cmd": i.real,
            "e_q": e_q,
            "eq_cmd": e_q,
            "theta_pll": np.angle(terminal.voltage),
            "p_e": voltage * i.real,
            "q_e": -voltage * i.imag,
            "p_llmin": -p.p_llmax,
        }


LOOP = ("x_pll", "theta_pll")
"""States of the phase-locked loop."""


def without_loop(kind: type[Component], on: int) -> Mapping[str, Any]:
    """Return the variables of a converter without phase-locked loop."""
    if on:
        return {}
    kept = {
        name: {state: value for state, value in getattr(kind, name).items() if state not in LOOP}
        for name in ("limits", "integrals")
    }
    return {
        "states": tuple(state for state in kind.states if state not in LOOP),
        "algebraic": tuple(name for name in kind.algebraic if name != "p_llmin"),
        **kept,
    }


def doubly_fed(
    m: Any, v: Any, p: Any, active: Any, reactive: Any, x_eq: Any
) -> tuple[Terms, Terms, tuple[Any, Any]]:
    """Return the equations of a source active - j reactive in the frame of the loop, beside 1/(j x_eq).

    These are the derivatives of the loop, the residuals of the powers and of its limit, and the current.
    """
    loop: Terms = ()
    limit: Terms = ()
    if hasattr(v, "theta_pll"):
        base_speed = 2 * np.pi * p.f_n
        _, v_y = rotate(m, v.v_re, v.v_im, v.theta_pll)
        slip = p.k_pll * v_y / base_speed
        loop = p.k_ipll * slip, base_speed * m.clip(slip + v.x_pll, -p.p_llmax, p.p_llmax)
        limit = (-p.p_llmax - v.p_llmin,)
        c, s = m.cos(v.theta_pll), m.sin(v.theta_pll)
    else:
        size = m.max(m.sqrt(v.v_re**2 + v.v_im**2), V_FLOOR)
        c, s = v.v_re / size, v.v_im / size
    i_re = active * c + reactive * s - v.v_im / x_eq
    i_im = active * s - reactive * c + v.v_re / x_eq
    power, susceptive = v.v_re * i_re + v.v_im * i_im, v.v_im * i_re - v.v_re * i_im
    base = p.s_n / p.s_base
    return loop, (power - v.p_e, susceptive - v.q_e, *limit), (base * i_re, base * i_im)
