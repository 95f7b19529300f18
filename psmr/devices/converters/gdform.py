"""The droop-controlled grid-forming converter from which the generic one grew."""

from __future__ import annotations

from psmr.dae.declare.component import Parameter, flag
from psmr.devices.converters.regfma1 import REGFMA1


class GDFORM(REGFMA1):
    """Grid-forming converter: a voltage behind a reactance with droops of frequency and voltage.

    The equations are those of REGFMA1 with a voltage as set-point (qv_flag = 1); the record has its values in
    another order. Source: W. Du, Z. Chen, K. Schneider, R. Lasseter et al., A Comparative Study of Two Widely
    Used Grid-Forming Droop Controls on Microgrid Small-Signal Stability (2020); the record as GridPACK
    reads it.
    """

    role = "converter"
    records = (
        "GDFORM m_q k_pv k_iv m_p k_ppmax k_ipmax p_max p_min e_max e_min t_pf i_max q_max q_min k_pqmax "
        "k_iqmax t_qf t_vf v_flag",
    )

    qv_flag = Parameter("1", "set-point of the voltage control: 1 a voltage v_ref", flag, 1.0)
