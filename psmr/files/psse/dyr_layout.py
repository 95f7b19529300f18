"""The records of a PSS/E DYR file: which values a model's record has, and which parameters they are.

Source: Siemens PTI, PSS/E Model Library, the data sheets of the models. A name in the list is a parameter of
the component that `psmr.devices.catalogue` has under the model's name. ``name=value`` is a value that
must be as given, for the component has no such option; ``-name`` one that changes nothing in psmr.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from psmr.dae.declare.component import Component
from psmr.devices.catalogue import ROLES, role_parameters

_SATURATION = "-switch e_1 se_1 e_2 se_2"
_ELECTRICAL = "v_dip v_up t_rv dbd1 dbd2 k_qv iqh1 iql1 v_ref0"
_LOOPS = "t_p q_max q_min v_max v_min k_qp k_qi k_vp k_vi"
_ORDER = "t_iq dp_max dp_min p_max p_min i_max t_pord"
_STAGES = "k t_1 t_2 t_3 u_o u_c p_max p_min t_4 k_1 k_2=0 t_5 k_3 k_4=0 t_6 k_5 k_6=0 t_7 k_7 k_8=0"
_VALVE = " ".join(f"gv{k} pgv{k}" for k in (1, 2, 3, 4, 5))
_DIESEL = "t_1 t_2 t_3 k t_4 t_5 t_6 t_d t_max t_min"
_POINTS = " ".join(f"v{axis}{k} i{axis}{k}" for axis in "qp" for k in (1, 2, 3, 4))
_TEN_POINTS = " ".join(f"v{axis}{k} i{axis}{k}" for axis in "qp" for k in range(1, 11))
_FORMING = (
    "t_pf t_qf t_vf i_max e_max e_min p_max p_min q_max q_min m_p m_q k_ppmax k_ipmax k_pqmax k_iqmax"
    " k_pv k_iv"
)
_SATURATED = "e_1 se_1 e_2 se_2"
_DC = f"t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f {_SATURATION}"

MODELS: Mapping[str, str] = {
    "GENROU": "t_d01 t_d02 t_q01 t_q02 h d x_d x_q x_d1 x_q1 x_2 x_l s_10 s_12",
    "GENSAL": "t_d01 t_d02 t_q02 h d x_d x_q x_d1 x_2 x_l s_10 s_12",
    "GENROE": "t_d01 t_d02 t_q01 t_q02 h d x_d x_q x_d1 x_q1 x_2 x_l s_10 s_12",
    "GENSAE": "t_d01 t_d02 t_q02 h d x_d x_q x_d1 x_2 x_l s_10 s_12",
    "GENCLS": "h d",
    "COMP": "x_comp",
    "IEEEVC": "r_c x_c",
    "SEXS": "ta_tb t_b k t_e e_min e_max",
    "IEEET1": f"t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f {_SATURATION}",
    "IEEEX1": _DC,
    "EXDC2": _DC,
    "ESDC2A": _DC,
    "EXDC1": _DC,
    "ESDC1A": _DC,
    "IEEET2": f"t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 {_SATURATED}",
    "DC4B": f"-oel -uel t_r k_pr k_ir k_dr t_dr v_r_max v_r_min k_a t_a k_e t_e k_f t_f v_f_min {_SATURATED}",
    "EXST1": "t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f",
    "ESST1A": "-uel vos t_r v_i_max v_i_min t_c t_b t_c1 t_b1 k_a t_a v_a_max v_a_min v_r_max v_r_min k_c"
    " k_f t_f k_lr i_lr",
    "SCRX": "ta_tb t_b k t_e e_min e_max c_switch rc_rfd",
    "EXPIC1": "t_r k_a t_a1 v_r1 v_r2 t_a2 t_a3 t_a4 v_r_max v_r_min k_f t_f1 t_f2 efd_max efd_min k_e t_e"
    f" {_SATURATED} k_p k_i k_c",
    "ESST3A": "t_r v_i_max v_i_min k_m t_c t_b k_a t_a v_r_max v_r_min k_g k_p k_i v_b_max k_c x_l v_g_max"
    " theta_p_deg t_m v_m_max v_m_min",
    "ESST4B": "t_r k_pr k_ir v_r_max v_r_min t_a k_pm k_im v_m_max v_m_min k_g k_p k_i v_b_max k_c x_l"
    " theta_p_deg",
    "EXAC1": "t_r t_b t_c k_a t_a v_r_max v_r_min t_e k_f t_f k_c k_d k_e e_1 se_1 e_2 se_2",
    "ESAC1A": f"t_r t_b t_c k_a t_a v_a_max v_a_min t_e k_f t_f k_c k_d k_e {_SATURATED} v_r_max v_r_min",
    "EXAC2": "t_r t_b t_c k_a t_a v_a_max v_a_min k_b v_r_max v_r_min t_e k_l k_h k_f t_f k_c k_d k_e v_lr"
    f" {_SATURATED}",
    "ESAC6A": "t_r k_a t_a t_k t_b t_c v_a_max v_a_min v_r_max v_r_min t_e v_fe_lim k_h v_h_max t_h t_j k_c"
    f" k_d k_e {_SATURATED}",
    "AC8B": "t_r k_pr k_ir k_dr t_dr v_pid_max v_pid_min v_r_max v_r_min v_fe_max v_e_min t_a k_a t_e k_c k_d"
    " k_e e_1 se_1 e_2 se_2",
    "TGOV1": "r t_1 v_max v_min t_2 t_3 d_t",
    "IEEEG1": f"bus2=0 -id2 {_STAGES}",
    "IEEEG1CC": f"bus2 unit2 {_STAGES}".replace("=0", ""),
    "WSIEG1": f"bus2=0 -id2 {_STAGES} db1 err=0 db2=0 {_VALVE} iblock=0",
    "IEEEG3": "t_g t_p u_o u_c p_max p_min sigma delta t_r t_w a_11 a_13 a_21 a_23",
    "GGOV1": "rselect flag r t_pelec max_err min_err k_pgov k_igov k_dgov t_dgov v_max v_min t_act k_turb"
    " w_fnl t_b t_c t_eng t_fload k_pload k_iload l_dref d_m r_open r_close k_imw a_set k_a t_a t_rate db"
    " t_sa t_sb -r_up -r_down",
    "DEGOV": _DIESEL,
    "DEGOV1": f"droop_flag {_DIESEL} r t_e",
    "HYGOV": "r_perm r_temp t_r t_f t_g velm g_max g_min t_w a_t d_turb q_nl",
    "GAST": "r t_1 t_2 t_3 a_t k_t v_max v_min d_turb",
    "IEESGO": "t_1 t_2 t_3 t_4 t_5 t_6 k_1 k_2 k_3 p_max p_min",
    "IEEEST": "input bus a_1 a_2 a_3 a_4 a_5 a_6 t_1 t_2 t_3 t_4 t_5 t_6 k_s l_s_max l_s_min v_cu v_cl",
    "IEE2ST": "input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10"
    " l_s_max l_s_min v_cu v_cl",
    "ST2CUT": "input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10"
    " l_s_max l_s_min v_cu v_cl",
    "PSS2A": "input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1"
    " t_1 t_2 t_3 t_4 v_st_max v_st_min",
    "PSS2B": "input_1 bus_1 input_2 bus_2 m n t_w1 t_w2 t_6 t_w3 t_w4 t_7 k_s2 k_s3 t_8 t_9 k_s1"
    " t_1 t_2 t_3 t_4 t_10 t_11 v_s1_max v_s1_min v_s2_max v_s2_min v_st_max v_st_min",
    "STAB1": "k_t t t1_t3 t_3 t2_t4 t_4 h_lim",
    "STAB2A": "k_2 t_2 k_3 t_3 k_4 k_5 t_5 h_lim",
    "CSVGN1": "k t_1 t_2 t_3 t_4 t_5 r_min v_max v_min c_base",
    "REGCA1": "lvplsw t_g rrpwr brkpt zerox lvpl1 v_olim lvpnt1 lvpnt0 i_olim t_fltr k_hv"
    " iqrmax iqrmin -accel",
    "DERA1": "pf_flag freq_flag pq_flag type_flag vtrip_flag ftrip_flag t_rv t_rf dbd1 dbd2 k_qv v_ref0"
    " t_p t_iq d_dn d_up fdbd1 fdbd2 fe_max fe_min p_max p_min dp_max dp_min t_pord k_pg k_ig i_max"
    " vl0 vl1 vh0 vh1 tvl0 tvl1 tvh0 tvh1 vrfrac fl fh tfl tfh t_g rrpwr t_v v_pr iqh1 iql1",
    "REECA1": f"bus_v pf_flag v_flag q_flag p_flag pq_flag {_ELECTRICAL} iq_frz t_hld t_hld2"
    f" {_LOOPS} v_ref1 {_ORDER} {_POINTS}",
    "REECD1": f"pf_flag v_flag q_flag p_flag pq_flag vcmp_flag {_ELECTRICAL} iq_frz t_hld t_hld2"
    f" {_LOOPS} v_ref1 {_ORDER} {_TEN_POINTS} r_c x_c t_r1 k_c k_e v_blkl v_blkh t_blk",
    "REGCB1": "rate_flag pq_flag t_g t_fltr iqrmax iqrmin rrpwr t_e i_max",
    "REGFMA1": f"v_flag qv_flag {_FORMING}",
    "REECB1": f"bus_v pf_flag v_flag q_flag pq_flag {_ELECTRICAL} {_LOOPS} {_ORDER}",
    "REPCA1": "bus from_bus to_bus circuit vc_flag ref_flag f_flag t_fltr k_p k_i t_ft t_fv v_frz r_c"
    " x_c k_c e_max e_min dbd1 dbd2 q_max q_min k_pg k_ig t_p fdbd1 fdbd2 fe_max fe_min p_max p_min"
    " t_g d_dn d_up",
}
"""Model to the names of its values, in their order, after bus, name and machine identifier."""

SHORTER: Mapping[str, str] = {"REGFMA1": f"v_flag {_FORMING}"}
"""Other records of a model, distinguished from those of `MODELS` by their number of values."""


def names_of(model: str, count: int) -> list[str]:
    """Return the names of the `count` values of a model's record, those of `MODELS` where none fits."""
    usual = MODELS[model].split()
    shorter = SHORTER[model].split() if model in SHORTER else usual
    return shorter if count == len(shorter) else usual


ALIASES = {"IEEEG1CC": "IEEEG1"}
"""Names that psmr gives to what a record with other values is; files have the name after it."""

_COMPONENTS = {"GENCLS": ("GENCLS", "ClassicalMachine"), "COMP": ("IEEEVC",)}


def component_for(model: str) -> tuple[str, type[Component]] | None:
    """Return (role, component) of a model, or None where the catalogue has none or its record is unknown."""
    if model not in MODELS:
        return None
    for name in _COMPONENTS.get(model, (model,)):
        for role, kinds in ROLES.items():
            for kind in kinds:
                if kind.__name__ == name:
                    return role, kind
    return None


def parameters(
    component: type[Component], values: Mapping[str, float], mbase: float, zr: float, zx: float
) -> dict[str, float]:
    """Return the component's parameters: those of the record, and the machine's base and impedance.

    The impedance that the network file gives a generator is, per unit on its base, the stator resistance and,
    for the classical machine, the transient reactance.
    """
    found = dict(values)
    if "ta_tb" in found:
        found["t_a"] = found.pop("ta_tb") * found["t_b"]
    if "x_comp" in found:
        found |= {"r_c": 0.0, "x_c": -found.pop("x_comp")}
    for name in [name for name in found if name.endswith("_deg")]:
        found[name.removesuffix("_deg")] = math.radians(found.pop(name))
    declared = role_parameters(component)
    outside = {"s_n": mbase, "r_a": zr, "x_d1": zx, "r_e": zr, "x_e": zx}
    return {name: value for name, value in outside.items() if name in declared} | found
