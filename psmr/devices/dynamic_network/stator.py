"""Machines with the fluxes of their stators as states, made of those that have an algebraic stator."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, flag, parameters_of
from psmr.devices.blocks import machine_frame, machine_to_network
from psmr.devices.dynamic_network.bus import STORAGE, rate_of

SPEED = Parameter(
    "1", "1 where the speed voltages of the stator are flux times speed, 0 where they are the flux", flag,
    default=1.0,
)  # fmt: skip


def has_algebraic_stator(component: type[Component]) -> bool:
    """Return whether a machine's stator is two algebraic equations that `with_stator_fluxes` can open."""
    return (
        component.role == "machine"
        and {"i_d", "i_q"} <= set(component.algebraic)
        and {"delta", "omega"} <= set(component.states)
        and "r_a" in parameters_of(component)
    )


@functools.cache
def with_stator_fluxes(component: type[Component]) -> type[Component]:
    """Return a machine with its stator fluxes as states.

    psi_d' = w0 (r_a i_d + w psi_q + v_d),   psi_q' = w0 (r_a i_q - w psi_d + v_q)

    with w = omega, or 1 where `stator_speed` is 0. The machine's own two stator equations then say what the
    fluxes are of the currents: at rest the voltage behind r_a is v_d + r_a i_d = -psi_q, v_q + r_a i_q =
    psi_d. Source: Sauer and Pai (1998), chapter 3, signs of a generator.
    """
    inner = component.equations

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the machine's equations and the derivatives of the stator fluxes."""
        v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
        u_re, u_im = machine_to_network(m, -v.psi_q - p.r_a * v.i_d, v.psi_d - p.r_a * v.i_q, v.delta)
        behind = SimpleNamespace(**(vars(v) | {"v_re": u_re, "v_im": u_im}))
        at_rest = SimpleNamespace(**(vars(p) | {"speed_voltage": 0}))
        derivatives, residuals, injections = inner(m, behind, at_rest)
        w, w_n = 1 + p.stator_speed * (v.omega - 1), rate_of(p)
        fluxes = (
            w_n * (p.r_a * v.i_d + w * v.psi_q + v_d),
            w_n * (p.r_a * v.i_q - w * v.psi_d + v_q),
        )
        return (*derivatives, *fluxes), residuals, injections

    return type(
        f"{component.__name__}_stator",
        (component,),
        {
            "__doc__": f"{component.__name__} with stator fluxes as states. {component.__doc__}",
            "__module__": component.__module__,
            "made_by": (with_stator_fluxes, component),
            "states": (*component.states, "psi_d", "psi_q"),
            "together": (*component.together, ("psi_d", "psi_q")),
            "equations": staticmethod(equations),
            "stator_speed": SPEED,
            "storage": STORAGE,
        },
    )
