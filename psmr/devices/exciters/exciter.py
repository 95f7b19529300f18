"""What all exciters share: their inputs, the voltage that they regulate, and the voltage compensator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative
from psmr.dae.declare.derived import derived
from psmr.devices.blocks import machine_to_network
from psmr.devices.diagram import BlockDiagram


class Exciter(BlockDiagram, part=True):
    """Inputs of an exciter; its output is the field voltage v_f."""

    role = "exciter"
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    set_point = "v_ref"

    @staticmethod
    def known(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the field voltage that the machine needs."""
        return {"v_f": terminal.signals.get("v_f", 1.0)}


class Regulator(Exciter, part=True):
    """An exciter that measures the voltage with a lag."""

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)


WITH_FIELD_CURRENT = ("v_re", "v_im", "v_s", "i_f", "v_ref")
"""Inputs of an exciter that reads the field current of the machine."""


def regulated_voltage(b: Any, v: Any) -> Any:
    """Return the voltage that an exciter regulates: of its terminals, or the compensated one if it has it."""
    return b.magnitude(*((v.u_re, v.u_im) if "u_re" in vars(v) else (v.v_re, v.v_im)))


def measured(b: Any, v: Any) -> Any:
    """Return the regulated voltage behind its transducer."""
    return b.lag("v_m", regulated_voltage(b, v), "t_r")


class IEEEVC(Component):
    """Voltage compensator: the exciter regulates the voltage behind, or before, an impedance of the machine.

    ::

        u = v + (r_c + j x_c) i,    and the exciter reads |u| in place of |v|

    i is the current that the machine sends out, per unit on its base. With x_c > 0 the machine shares
    reactive power with others at its bus, with x_c < 0 it regulates a point in the network, as beyond a part
    of its transformer. Where the terminal voltage also feeds the exciter, the supply stays |v|. The record
    COMP is |v - j x_e i|: r_c = 0, x_c = -x_e. Source: IEEE Std 421.5-2005, section 4, load compensator;
    PSS/E, Model Library, IEEEVC and COMP; for the signs OpenIPSL, STEPS and PowerWorld.
    """

    role = "compensator"
    records = ("COMP x_comp", "IEEEVC r_c x_c")
    algebraic = ("u_re", "u_im")
    inputs = ("v_re", "v_im", "delta", "i_d", "i_q")
    together = (("u_re", "u_im"),)

    r_c = Parameter("pu on machine base", "resistance of the compensation")
    x_c = Parameter("pu on machine base", "reactance of the compensation")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the compensated voltage."""
        i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
        u_re = v.v_re + p.r_c * i_re - p.x_c * i_im
        u_im = v.v_im + p.r_c * i_im + p.x_c * i_re
        return (), (u_re - v.u_re, u_im - v.u_im), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the terminal voltage, from which the compensated one is not far."""
        voltage = np.asarray(terminal.voltage)
        return {"u_re": voltage.real, "u_im": voltage.imag}


@derived
def compensated(exciter: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return an exciter beside a compensator: it regulates |u|, and what feeds it stays |v|."""
    return "compensated", {"inputs": (*exciter.inputs, "u_re", "u_im")}
