"""The hydraulic turbine and governor of the Nordic test system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, nonnegative, positive
from psmr.devices.governors import Governor
from psmr.devices.machines.textbook import S_N
from psmr.devices.stabilisers.signals import POWER, machine_power


class HydroPI(Governor):
    """Hydro turbine: droop of the electrical power, a gate by PI control and a servo with limited rate.

    Powers are per unit on the turbine's base p_nom. The torque is the power over the speed. Source: the
    model of the IEEE Nordic test system (PES-TR19; T. Van Cutsem and L. Papangelis, version 6, 2013, figures
    14 and 15), which is HYDRO_GENERIC1 of RAMSES without a flow at no load.
    """

    inputs = ("omega", "p_ref", *POWER)
    shared = ("s_n",)

    s_n = S_N
    p_nom = Parameter("MW", "rated power of the turbine, the base of its powers", positive)
    sigma = Parameter("pu speed per pu power", "permanent droop", nonnegative)
    t_p = Parameter("s", "time constant of the measured power", nonnegative)
    k_p = Parameter("pu", "proportional gain", nonnegative)
    k_i = Parameter("pu/s", "integral gain", positive)
    t_sm = Parameter("s", "time constant of the servo", positive)
    rate_max = Parameter("pu/s", "largest rate of the gate", positive)
    t_w = Parameter("s", "water starting time", positive)
    gate_min = Parameter("pu", "lower limit of the gate", default=0.0)
    gate_max = Parameter("pu", "upper limit of the gate", default=1.0)

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect droop, control, servo and water."""
        p_m = b.lag("p_m", machine_power(b, v) * p.s_n / p.p_nom, "t_p")
        error = b.named("e", p.sigma * (v.p_ref - p_m) - (v.omega - 1))
        x_i = b.integrator("x_i", error, gain="k_i")
        rate = b.clip((p.k_p * error + x_i - v.gate) / p.t_sm, -p.rate_max, p.rate_max)
        gate = b.integrator("gate", b.named("rate", rate), limits=("gate_min", "gate_max"))
        b.ordered("gate_min", "gate_max")
        head = b.named("head", (v.flow / gate) ** 2)
        flow = b.integrator("flow", 1 - head, t="t_w")
        b.output("t_m", head * flow / v.omega * (p.p_nom / p.s_n))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the torque that the machine needs."""
        t_m = terminal.signals.get("t_m", 0.0)
        power = t_m * p.s_n / p.p_nom
        return dict.fromkeys(("p_m", "x_i", "gate", "flow", "p_ref"), power) | {"t_m": t_m}
