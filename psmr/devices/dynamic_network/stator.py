"""Sources with the energy of their stators as states, made of those whose stator is algebraic.

Sources: Sauer and Pai (1998), chapter 3, stators of generators; Kundur (1994), chapter 13, a voltage
behind a reactance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, flag, parameters_of
from psmr.dae.declare.device import derived
from psmr.devices.blocks import machine_frame, machine_to_network
from psmr.devices.dynamic_network.bus import STORAGE, rate_of
from psmr.devices.machines.textbook import F_N, ClassicalMachine, InfiniteBus
from psmr.devices.placement import placement

SPEED = Parameter(
    "1", "1 where the speed voltages of the stator are flux times speed, 0 where they are the flux", flag,
    default=1.0,
)  # fmt: skip


def with_stator(component: type[Component]) -> type[Component] | None:
    """Return a source with the energy of its stator as states, None where it has no such form."""
    if issubclass(component, ClassicalMachine | InfiniteBus):
        return with_series_current(component)
    if _has_algebraic_stator(component):
        return with_stator_fluxes(component)
    return None


def _has_algebraic_stator(component: type[Component]) -> bool:
    return (
        placement(component).role == "machine"
        and {"i_d", "i_q"} <= set(component.algebraic)
        and {"delta", "omega"} <= set(component.states)
        and "r_a" in parameters_of(component)
    )


@derived
def with_stator_fluxes(component: type[Component]) -> tuple[str, Mapping[str, Any]]:
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

    return _with_states(component, "stator fluxes as states", ("psi_d", "psi_q"), equations)


@derived
def with_series_current(component: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return a voltage behind an impedance with the current through its reactance as a state.

    (x_d1 / w0) di/dt = w e exp(j delta) - v - (r_a + j x_d1) i

    w is the speed of a machine, or 1 where `stator_speed` is 0 and for an infinite bus; i is per unit on the
    machine base, in the frame of the network.
    """
    turning = "omega" in component.states

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the source's equations, the derivatives of its current and the current into the bus."""
        # The terminal voltage with which the algebraic stator carries this current.
        e_re, e_im = v.e * m.cos(v.delta), v.e * m.sin(v.delta)
        behind = {
            "v_re": e_re - (p.r_a * v.i_l_re - p.x_d1 * v.i_l_im),
            "v_im": e_im - (p.r_a * v.i_l_im + p.x_d1 * v.i_l_re),
        }
        derivatives, _, _ = component.equations(m, SimpleNamespace(**(vars(v) | behind)), p)
        speed = 1 + p.stator_speed * (v.omega - 1) if turning else 1
        k = rate_of(p) / p.x_d1
        current = (
            k * (behind["v_re"] + (speed - 1) * e_re - v.v_re),
            k * (behind["v_im"] + (speed - 1) * e_im - v.v_im),
        )
        base = p.s_n / p.s_base
        return (*derivatives, *current), (), (base * v.i_l_re, base * v.i_l_im)

    what, own = "the current of its stator as a state", ("i_l_re", "i_l_im")
    return _with_states(component, what, own, equations, f_n=F_N)


def _with_states(
    component: type[Component],
    what: str,
    states: tuple[str, str],
    equations: Callable[[Any, Any, Any], tuple[Terms, Terms, Terms]],
    **parameters: Parameter,
) -> tuple[str, Mapping[str, Any]]:
    """Return what the component has with two more states, which a partition keeps together."""
    return "stator", {
        "__doc__": f"{component.__name__} with {what}. {component.__doc__}",
        "states": (*component.states, *states),
        "together": (*component.together, states),
        "equations": staticmethod(equations),
        **parameters,
        "stator_speed": SPEED,
        "storage": STORAGE,
    }
