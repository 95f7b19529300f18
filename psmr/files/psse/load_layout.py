"""The load records of a PSS/E DYR file: which values they have, and how their names say whom they are for.

A load model's name says whom it is for: ``BL`` one load of a bus, ``OW``, ``ZN`` and ``AR`` the loads of an
owner, a zone, an area, ``AL`` all loads. Source: Siemens PTI, PSS/E Model Library, load models; for the
order of CMLDBLU2 the tools that write its records, TDcoSim (Argonne National Laboratory,
composite_load_model_rating.json) and the export of the WECC's load model workbook, which agree, and records
of InterPSS' test cases.
"""

from __future__ import annotations

from collections.abc import Mapping

SCOPES = ("BL", "OW", "ZN", "AR", "AL")
"""Parts of the names, in the order in which they go before each other."""

_PARTS = "a_1 a_2 a_3 a_4 a_5 a_6 a_7 a_8 n_1 n_2 n_3 n_4 n_5 n_6"

_CAGES = "circuit r_s x_s x_m r_1 x_1 r_2 x_2 E1 SE1 E2 SE2 MBASE PMULT h VI TI TB"

_MOTOR = "mtyp lf ra ls lp lpp tpo tppo h etrq vtr1 ttr1 ftr1 vrc1 trc1 vtr2 ttr2 ftr2 vrc2 trc2"

_COMPOSITE = (
    "mva b_ss r_fdr x_fdr f_b x_xf tfixhs tfixls ltc t_min t_max step v_min v_max t_d t_c r_cmp x_cmp"
    " fm_a fm_b fm_c fm_d f_el pf_el v_d1 v_d2 pf_s p1e p1c p2e p2c p_frq q1e q1c q2e q2c q_frq "
    + " ".join(f"{name}_{k}" for k in "abc" for name in _MOTOR.split())
    + " t_stall t_rst t_v t_f lf_d pf_d v_stall r_stall x_stall lf_adj kp1 np1 kq1 nq1 kp2 np2 kq2 nq2 v_brk"
    " f_rst v_rst kpf kqf vc1off vc2off vc1on vc2on t_th th1t th2t f_uvr uvtr1 ttr1_d uvtr2 ttr2_d frcel"
)

RECORDS: Mapping[str, str] = {
    "IEEL*": _PARTS,
    "CIM5*": f"{_CAGES} d -Tnom",
    "CIM6*": f"{_CAGES} a b d e c_0 -Tnom",
    "CIMW*": f"{_CAGES} a b d e",
    "CMLD*U2": _COMPOSITE,
}
"""Model with a star for whom it is for, to the names of its values after number, name and identifier."""

COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "IEEL*": ("LoadCharacteristic", "FrequencyCharacteristic"),
    "CIM5*": ("CIM5",),
    "CIM6*": ("CIM6",),
    "CIMW*": ("CIMW",),
    "CMLD*U2": ("CMLD",),
}
"""Model with a star to the component that it becomes; IEEL to the second one where it reads the frequency."""

KINDS: Mapping[str, tuple[str, str]] = {
    model.replace("*", scope): (model, scope) for model in RECORDS for scope in SCOPES
}
"""Name of a model to its name with a star, and whom it is for."""

USER_WRITTEN = "USRLOD"
"""Name under which PSS/E has a load model as a user-written one: its own comes after the identifier."""
