"""The alternator with uncontrolled rectifier of the excitation systems of type AC.

::

    v_r - v_fe -> 1/(s t_e), at least v_e_min -> v_e
    v_fe = (k_e + S_E(v_e)) v_e + k_d i_f      v_f = v_e F_EX(k_c i_f/v_e)

i_f is the field current of the machine, v_fe that of the alternator. Source: IEEE Std 421.5-2005, types AC1A,
AC2A and AC6A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import quadratic_saturation, rectified, saturation_conflict, unrectified


class Alternator(Component):
    """Inputs and parameters of the alternator and its rectifier."""

    algebraic: ClassVar[tuple[str, ...]] = ("v_f",)
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    k_d = Parameter("pu", "demagnetisation by the field current", nonnegative)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)")
    e_1 = Parameter("pu", "first exciter voltage of the saturation curve", nonnegative)
    se_1 = Parameter("1", "saturation at e_1", nonnegative)
    e_2 = Parameter("pu", "second exciter voltage of the saturation curve", nonnegative)
    se_2 = Parameter("1", "saturation at e_2", nonnegative)
    v_e_min = Parameter("pu", "lower limit of the exciter's voltage: the diodes", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to an impossible saturation curve."""
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")


def alternator_current(m: Any, v_e: Any, i_f: Any, p: Any) -> Any:
    """Return v_fe, the field current that the alternator needs for its voltage v_e."""
    return p.k_e * v_e + quadratic_saturation(m, v_e, p.e_1, p.se_1, p.e_2, p.se_2) + p.k_d * i_f


def alternator_output(m: Any, v: Any, p: Any) -> Terms:
    """Return the residuals of the rectified field voltage and of v_e_max, where v_fe is v_fe_max."""
    return (
        rectified(m, v.v_e, p.k_c * v.i_f) - v.v_f,
        alternator_current(m, v.v_e_max, v.i_f, p) - p.v_fe_max,
    )


def alternator_at_start(terminal: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return (v_f, v_e, v_fe) for the field voltage that the machine needs."""
    v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
    v_e = unrectified(v_f, p.k_c * i_f)
    return v_f, v_e, alternator_current(NumericMath, v_e, i_f, p)
