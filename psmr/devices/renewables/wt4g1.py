"""The converter of the first generic models of wind turbines with a full converter (type 4)."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Parameter, Terms, flag, nonnegative, positive
from psmr.devices.renewables.regca1 import NONE, PU, REGCA1, current_source


class WT4G1(REGCA1):
    """Converter of type 4 wind turbines of the first generation: REGCA1 with a lag for each current.

    ::

        |v| -> 1/(1 + s t_fltr) -> v_lv -> polygon (zerox, 0), (brkpt, lvpl1) -> lvpl
        ip_cmd -> 1/(1 + s t_g), limit lvpl, |i_p| grows by at most rrpwr -> i_p
        iq_cmd -> 1/(1 + s t_iq) -> i_q

        active   = i_p polygon(|v|; (0.4, 0), (0.8, 1))
        reactive = i_q - max(k_hv (|v| - v_olim), 0)
        i_re + j i_im = (active - j reactive) (v_re + j v_im)/|v|

    t_g, zerox, brkpt, lvpl1, v_olim, k_hv, rrpwr and t_fltr are the record's TIPCMD, VLVPL1, VLVPL2, GLVPL,
    VHVRCR, CURHVRCR, RIP_LVPL and T_LVPL. Public texts differ on CURHVRCR: a gain here, as in InterPSS, which
    was compared with PSS/E; the reactive current above VHVRCR in OpenIPSL. Source: PSS/E, Model Library,
    WT4G1; OpenIPSL, InterPSS and PowerWorld, WT4G1; for the order of the values OpenIPSL's verification
    script.
    """

    role = "converter"
    records = ("WT4G1 t_iq t_g zerox brkpt lvpl1 v_olim k_hv rrpwr t_fltr",)
    lags = {**REGCA1.lags, "i_q": ("t_iq",)}

    t_iq = Parameter("s", "time constant of the reactive current", nonnegative)
    lvplsw = Parameter("1", "1 with low-voltage power logic, 0 without", flag, 1.0)
    lvpnt1 = Parameter("pu", "voltage above which the whole active current flows", None, 0.8)
    lvpnt0 = Parameter("pu", "voltage below which no active current flows", None, 0.4)
    i_olim = Parameter(PU, "lower limit of the reactive current at high voltage", None, -NONE)
    iqrmax = Parameter(f"{PU}/s", "largest rate at which reactive current rises", positive, NONE)
    iqrmin = Parameter(f"{PU}/s", "largest rate at which it falls, below zero", None, -NONE)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives, the residuals of limit and powers, and the current into the bus."""
        return current_source(m, v, p, p.t_iq)
