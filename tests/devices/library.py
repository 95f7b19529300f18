"""Parameters of every component, chosen so that each limiter is reached by points of order one."""

import re
from importlib import import_module
from pathlib import Path

from tests import components as models
from tests.devices import psse_library

BASE = {"s_n": 64.0, "s_base": 100.0, "f_n": 60.0}
BRANCH = {"r": 0.01, "x": 0.085, "b": 0.176, "g": 0.02}
EXCITER = {
    **{"k_a": 20.0, "t_a": 0.2, "k_e": 1.0, "t_e": 0.314, "k_f": 0.063, "t_f": 0.35},
    **{"a_x": 0.0039, "b_x": 1.555, "v_r_min": -0.5, "v_r_max": 0.6},
}
CONVERTER = {
    **BASE,
    **{"kp_pll": 0.25, "ki_pll": 6.6, "dw_min": -0.1, "dw_max": 0.1, "t_p": 0.005, "kp_p": 0.2, "ki_p": 20.0},
    **{"t_i": 0.0005, "i_max": 0.8, "k_aw": 100.0},
}
DIRECT_CURRENT = {
    **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.06, "v_r_min": -0.5, "v_r_max": 0.6, "k_e": -0.05, "t_e": 0.5},
    **{"k_f": 0.05, "t_f": 0.7, "e_1": 0.8, "se_1": 0.1, "e_2": 1.2, "se_2": 0.4},
}
COMPOUND = {
    **{"k_p": 1.2, "theta_p": 0.1, "k_i": 0.3, "x_l": 0.1, "k_c": 0.2, "v_b_max": 1.6, "t_r": 0.02},
    **{"t_a": 0.05, "v_r_max": 0.9, "v_r_min": -0.6, "v_m_max": 0.8, "v_m_min": -0.1},
}
SUBTRANSIENT = {
    **BASE,
    **{"h": 6.175, "d": 0.5, "r_a": 0.0025, "x_d": 1.8, "x_q": 1.7, "x_d1": 0.3, "x_2": 0.25, "x_l": 0.2},
    **{"t_d01": 8.0, "t_d02": 0.03, "t_q02": 0.05, "s_10": 0.1, "s_12": 0.4},
}
ELECTRICAL = {
    **{"v_0": 0.9, "pf_flag": 0.0, "v_flag": 1.0, "q_flag": 1.0, "pq_flag": 0.0, "v_dip": 0.5, "v_up": 1.6},
    **{"t_rv": 0.02, "dbd1": -0.1, "dbd2": 0.05, "k_qv": 2.0, "iqh1": 0.6, "iql1": -0.5, "v_ref0": 0.0},
    **{"t_p": 0.05, "q_max": 0.5, "q_min": -0.4, "v_max": 0.7, "v_min": -0.6, "k_qp": 0.3, "k_qi": 4.0},
    **{"k_vp": 0.8, "k_vi": 6.0, "t_iq": 0.02, "dp_max": 6.0, "dp_min": -5.0, "p_max": 0.9, "p_min": -0.2},
    **{"i_max": 1.1, "t_pord": 0.1},
}
GATE = {"k": 20.0, "t_1": 0.1, "t_2": 0.03, "t_3": 0.2, "u_o": 0.5, "u_c": -0.6, "p_max": 0.9, "p_min": 0.1}
PARAMETERS = {
    models.Bus: {"g_fault": 3.0, "b_fault": -2.0},
    models.Line: BRANCH,
    models.Transformer: {**BRANCH, "tap": 0.95, "shift": 0.3},
    models.RatioTransformer: {**BRANCH, "shift": 0.3},
    models.Shunt: {"g": 0.1, "b": 0.5},
    models.DynamicBus: {"f_n": 60.0, "g_fault": 3.0, "b_fault": -2.0},
    models.JunctionBus: {"g_fault": 3.0, "b_fault": -2.0},
    models.DynamicLine: {**BRANCH, "f_n": 60.0, "end_i": 1.0, "end_j": 1.0},
    models.DynamicSeriesCapacitor: {
        **{"f_n": 60.0, "r": 0.01, "x": -0.085, "b": 0.176, "g": 0.02, "end_i": 0.0, "end_j": 0.0}
    },
    models.DynamicTransformer: {
        **{"f_n": 60.0, "r": 0.01, "x": 0.085, "g": 0.02, "b": -0.1, "tap": 0.95, "shift": 0.3},
        **{"end_i": 0.0, "end_j": 0.0},
    },
    models.ThreePhaseBus: {
        **{"f_n": 60.0, "g_fault": 3.0, "b_fault": -2.0, "g_ab": 2.0, "g_bc": 0.7, "g_ca": 1.3},
        **{"g_a": 1.5, "g_b": 0.4, "g_c": 0.9},
    },
    models.FaultInductor: {"f_n": 60.0, "r": 0.01, "x": 0.05, "status": 1.0},
    models.ZeroSequenceBus: {"f_n": 60.0},
    models.ZeroSequenceBranch: {**BRANCH, "f_n": 60.0, "tap": 0.95, "end_i": 1.0, "end_j": 1.0},
    models.ZeroSequenceAdmittance: {"g": 0.1, "b": 0.5},
    models.ZeroSequenceWave: {"z_c": 0.4, "tau": 1e-3, "r": 0.05, "g": 0.01},
    models.TravellingWaveLine: {"f_n": 60.0, "z_c": 0.7, "tau": 1e-3, "r": 0.03, "g": 0.01},
    models.DynamicCapacitor: {"g": 0.1, "b": 0.5},
    models.DynamicReactor: {"f_n": 60.0, "g": 0.1, "b": -0.5},
    models.FaultInductor: {"f_n": 60.0, "r": 0.02, "x": 0.05, "status": 1.0},
    models.DynamicLoad: {
        **{"f_n": 60.0, "p": 1.25, "q": 0.5, "v_0": 0.98, "p_0": 1.3, "q_0": 0.4},
    },
    models.ZipLoad: {
        **{"p": 1.25, "q": 0.5, "v_0": 0.98, "p_z": 0.2, "p_i": 0.3, "p_p": 0.5},
        **{"q_z": 0.5, "q_i": 0.1, "q_p": 0.4},
    },
    models.ExponentialLoad: {
        **{"p": 1.25, "q": 0.5, "v_0": 0.98, "exponent_p": 1.3, "exponent_q": 2.6},
    },
    models.InductionMotor: {
        **BASE,
        **{"r_s": 0.013, "x_s": 0.067, "x_m": 3.8, "r_r": 0.009, "x_r": 0.17, "h": 0.8},
        **{"torque_a": 0.5, "torque_b": 0.2},
    },
    models.ClassicalMachine: {**BASE, "h": 5.0, "d": 1.0, "r_a": 0.01, "x_d1": 0.2},
    models.TwoAxisMachine: {
        **BASE,
        **{"h": 6.4, "d": 0.5, "r_a": 0.003, "x_d": 0.8958, "x_q": 0.8645, "x_d1": 0.1198, "x_q1": 0.1969},
        **{"t_d01": 6.0, "t_q01": 0.535},
    },
    models.ExciterType1: {**EXCITER, "t_r": 0.001},
    models.ExciterType1Direct: EXCITER,
    models.GovernorLeadLag: {"droop": 0.1, "t_1": 0.1, "t_2": 0.5, "p_min": 0.0, "p_max": 1.0},
    models.PssSpeed: {"k": 5.0, "t_w": 10.0, "t_1": 0.12, "t_2": 0.05, "v_s_min": -0.5, "v_s_max": 0.5},
    models.GridFollowingConverter: {**CONVERTER, "t_q": 0.005, "kp_q": 0.2, "ki_q": 20.0},
    models.GridFollowingConverterV: {**CONVERTER, "t_v": 0.005, "kp_v": 2.0, "ki_v": 5.0},
    models.GridFormingConverter: {
        **BASE,
        **{
            "m_p": 0.02,
            "n_q": 0.05,
            "t_p": 0.03,
            "r_v": 0.02,
            "x_v": 0.1,
            "kp_v": 0.5,
            "ki_v": 100.0,
            "f_i": 0.75,
        },
        **{
            "kp_i": 0.7,
            "ki_i": 20.0,
            "f_v": 0.9,
            "r_f": 0.005,
            "x_f": 0.15,
            "b_f": 0.05,
            "r_c": 0.003,
            "x_c": 0.15,
        },
        **{"i_max": 1.2, "k_aw": 50.0},
    },
    models.FilteredConverter: {
        **BASE,
        **{"t_m": 2e-4, "kp_pll": 0.25, "ki_pll": 6.6, "dw_min": -0.1, "dw_max": 0.1, "t_p": 0.005},
        **{"kp_p": 0.2, "ki_p": 20.0, "kp_q": 0.2, "ki_q": 20.0, "i_max": 1.2, "k_aw": 100.0},
        **{"kp_i": 0.5, "ki_i": 15.0, "f_v": 0.9, "k_ad": 0.5, "t_d": 5e-5},
        **{"r_f": 0.003, "x_f": 0.08, "b_f": 0.074, "r_g": 0.01, "x_g": 0.2},
    },
    models.AveragedBridge: {
        **BASE,
        **{"f_n": 60.0, "r_f": 0.003, "x_f": 0.08, "b_f": 0.074, "r_g": 0.01, "x_g": 0.2},
    },
    models.GENROU: {**SUBTRANSIENT, "x_q1": 0.55, "t_q01": 0.4},
    models.RoundRotorMachine: {**SUBTRANSIENT, "x_q1": 0.55, "t_q01": 0.4, "x_q2": 0.28},
    models.GENSAL: {**SUBTRANSIENT, "x_q": 0.7},
    models.GENROE: {**SUBTRANSIENT, "x_q1": 0.55, "t_q01": 0.4, "mechanical_power": 1.0},
    models.GENSAE: {**SUBTRANSIENT, "x_q": 0.7, "mechanical_power": 1.0},
    models.GENTPJ1: {**SUBTRANSIENT, "x_q1": 0.55, "t_q01": 0.4, "x_q2": 0.28, "k_is": 0.1},
    models.InfiniteBus: {"s_n": 64.0, "s_base": 100.0, "r_a": 0.01, "x_d1": 0.2},
    models.TorsionalShaft: {
        **{"f_n": 60.0, "sections": 2.0, "exciter": 1.0, "mechanical_power": 1.0, "f_1": 0.6, "f_2": 0.4},
        **{"h_1": 0.2, "h_2": 0.9, "h_x": 0.03, "k_1": 19.0, "k_2": 52.0, "k_x": 3.0},
        **{"d_1": 0.1, "d_2": 0.2, "d_x": 0.05, "c_1": 0.3, "c_2": 0.4, "c_x": 0.02},
    },
    models.TGOV1: {"r": 0.05, "t_1": 0.4, "v_max": 0.9, "v_min": 0.1, "t_2": 2.1, "t_3": 7.0, "d_t": 0.2},
    models.IEEEG1CC: {
        **GATE,
        **{"t_4": 0.3, "k_1": 0.3, "t_5": 5.0, "k_3": 0.3, "t_6": 0.4, "k_5": 0.1, "t_7": 0.1, "k_7": 0.1},
        **{"bus2": 1.0, "unit2": 1.0, "k_2": 0.1, "k_4": 0.05, "k_6": 0.04, "k_8": 0.03, "base": 1.2},
        "t_rest": 0.1,
    },
    models.IEEEG1: {
        **GATE,
        **{"t_4": 0.3, "k_1": 0.3, "t_5": 5.0, "k_3": 0.3, "t_6": 0.4, "k_5": 0.3, "t_7": 0.1, "k_7": 0.1},
    },
    models.HYGOV: {
        **{"r_perm": 0.05, "r_temp": 0.9, "t_r": 5.0, "t_f": 0.8, "t_g": 0.5, "velm": 0.9},
        **{"g_max": 0.95, "g_min": 0.05, "t_w": 1.2, "a_t": 1.2, "d_turb": 0.5, "q_nl": 0.08},
    },
    models.GAST: {
        **{"r": 0.05, "t_1": 0.4, "t_2": 0.1, "t_3": 3.0, "a_t": 0.9, "k_t": 2.0},
        **{"v_max": 0.95, "v_min": 0.05, "d_turb": 0.1},
    },
    models.IEESGO: {
        **{"t_1": 0.2, "t_2": 0.1, "t_3": 0.05, "t_4": 0.3, "t_5": 5.0, "t_6": 0.5},
        **{"k_1": 20.0, "k_2": 0.7, "k_3": 0.4, "p_max": 0.9, "p_min": 0.1},
    },
    models.SEXS: {"t_a": 0.1, "t_b": 1.0, "k": 50.0, "t_e": 0.05, "e_min": -0.5, "e_max": 0.9},
    models.IEEET1: DIRECT_CURRENT,
    models.IEEEX1: {**DIRECT_CURRENT, "t_b": 0.5, "t_c": 0.1},
    models.EXDC2: {**DIRECT_CURRENT, "t_b": 0.5, "t_c": 0.1},
    models.ESDC2A: {**DIRECT_CURRENT, "t_b": 0.4, "t_c": 0.2},
    models.AC8B: {
        **{
            "t_r": 0.02,
            "k_pr": 2.0,
            "k_ir": 1.5,
            "k_dr": 0.1,
            "t_dr": 0.1,
            "v_pid_max": 1.2,
            "v_pid_min": -0.6,
        },
        **{"v_r_max": 2.5, "v_r_min": -1.0, "v_fe_max": 1.4, "v_e_min": 0.1, "t_a": 0.06, "k_a": 3.0},
        **{"t_e": 0.5, "k_c": 0.2, "k_d": 0.4, "k_e": 1.0, "e_1": 0.8, "se_1": 0.1, "e_2": 1.2, "se_2": 0.4},
    },
    models.EXST1: {
        **{"t_r": 0.02, "v_i_max": 0.1, "v_i_min": -0.2, "t_c": 1.0, "t_b": 5.0, "k_a": 20.0, "t_a": 0.02},
        **{"v_r_max": 1.1, "v_r_min": -0.8, "k_c": 0.05, "k_f": 0.02, "t_f": 1.2},
    },
    models.StaticExciter: {
        **{"t_r": 0.02, "v_i_max": 0.1, "v_i_min": -0.2, "t_c": 1.0, "t_b": 5.0, "k_a": 20.0, "t_a": 0.02},
        **{"v_r_max": 1.1, "v_r_min": -0.8, "k_f": 0.02, "t_f": 1.2},
    },
    models.EXAC1: {
        **DIRECT_CURRENT,
        **{"t_b": 0.5, "t_c": 0.1, "k_e": 1.0, "k_c": 0.2, "k_d": 0.4, "v_r_min": -3.0, "v_r_max": 2.5},
    },
    models.ESST3A: {
        **COMPOUND,
        **{"v_i_max": 0.2, "v_i_min": -0.2, "k_m": 8.0, "t_c": 1.0, "t_b": 5.0, "k_a": 20.0},
        **{"k_g": 0.8, "v_g_max": 0.7, "t_m": 0.3},
    },
    models.ESST4B: {**COMPOUND, "k_pr": 4.0, "k_ir": 3.0, "k_pm": 2.0, "k_im": 5.0, "k_g": 0.7},
    models.IEEEST: {
        **{
            "a_1": 0.06,
            "a_2": 0.002,
            "a_3": 0.1,
            "a_4": 0.003,
            "a_5": 0.05,
            "a_6": 0.001,
            "t_1": 0.3,
            "t_2": 0.04,
        },
        **{"t_3": 0.2, "t_4": 0.05, "t_5": 5.0, "t_6": 5.0, "k_s": 0.5, "l_s_max": 0.8, "l_s_min": -0.7},
        **{"v_cu": 1.4, "v_cl": 0.5, "f_n": 60.0},
    },
    models.PSS2A: {
        **{"input_1": 1, "input_2": 3, "m": 2, "n": 2, "t_w1": 2.0, "t_w2": 3.0, "t_6": 0.05, "t_w3": 2.5},
        **{
            "t_w4": 4.0,
            "t_7": 2.0,
            "k_s2": 0.3,
            "k_s3": 0.9,
            "t_8": 0.5,
            "t_9": 0.1,
            "k_s1": 0.5,
            "t_1": 0.2,
        },
        **{"t_2": 0.06, "t_3": 0.3, "t_4": 0.04, "v_st_max": 0.8, "v_st_min": -0.7, "f_n": 60.0},
    },
    models.STAB2A: {
        "k_2": 1.1,
        "t_2": 2.0,
        "k_3": 0.5,
        "t_3": 1.5,
        "k_4": 0.6,
        "k_5": 0.9,
        "t_5": 0.05,
        "h_lim": 0.8,
    },
    models.ST2CUT: {
        **{
            "input_1": 1,
            "input_2": 3,
            "k_1": 0.6,
            "k_2": -0.4,
            "t_1": 0.03,
            "t_2": 0.05,
            "t_3": 4.0,
            "t_4": 5.0,
        },
        **{"t_5": 0.3, "t_6": 0.04, "t_7": 0.2, "t_8": 0.05, "t_9": 0.1, "t_10": 0.06, "l_s_max": 0.8},
        **{"l_s_min": -0.7, "v_cu": 0.4, "v_cl": -0.5, "v_0": 1.0, "f_n": 60.0},
    },
    models.REGCA1: {
        **{"s_n": 64.0, "s_base": 100.0, "q_0": 0.1, "lvplsw": 1.0, "t_g": 0.3, "rrpwr": 3.0, "brkpt": 0.9},
        **{"zerox": 0.3, "lvpl1": 0.8, "v_olim": 0.9, "lvpnt1": 0.8, "lvpnt0": 0.4, "i_olim": -0.6},
        **{"t_fltr": 0.05, "k_hv": 0.7, "iqrmax": 5.0, "iqrmin": -4.0},
    },
    models.REECA1: {
        **ELECTRICAL,
        **{"v_ref1": 0.1, "vq1": -0.5, "iq1": 0.2, "vq2": 0.2, "iq2": 0.9, "vq3": 0.6, "iq3": 0.8},
        **{"vq4": 1.1, "iq4": 1.3, "vp1": -0.8, "ip1": 0.3, "vp2": 0.1, "ip2": 0.6, "vp3": 0.5, "ip3": 1.0},
        **{"vp4": 0.9, "ip4": 1.4},
    },
    models.REECB1: {**ELECTRICAL, "v_ref0": 0.8, "pq_flag": 1.0},
    models.REPCA1: {
        **{"s_base": 100.0, "s_n": 64.0},
        **{
            "f_n": 60.0,
            "vc_flag": 1.0,
            "ref_flag": 1.0,
            "f_flag": 1.0,
            "t_fltr": 0.02,
            "k_p": 2.0,
            "k_i": 3.0,
        },
        **{"t_ft": 0.1, "t_fv": 0.3, "v_frz": 0.7, "r_c": 0.02, "x_c": 0.05, "k_c": 0.03, "e_max": 0.4},
        **{"e_min": -0.5, "dbd1": -0.02, "dbd2": 0.01, "q_max": 0.8, "q_min": -0.7, "k_pg": 0.5, "k_ig": 0.9},
        **{"t_p": 0.2, "fdbd1": -0.01, "fdbd2": 0.015, "fe_max": 0.6, "fe_min": -0.9, "p_max": 0.9},
        **{"p_min": 0.1, "t_g": 0.1, "d_dn": 2.0, "d_up": 1.5},
    },
}

# Limiters by their number in the equations, and the side that no input reaches.
UNREACHED = {
    models.ZipLoad: {0: "second"},
    models.GridFormingConverter: {0: "below"},
    **psse_library.UNREACHED,
}

# Time constants that are zero in the algebraic forms, with the leads that belong to them.
ZERO = {
    models.TGOV1: ("t_1", "t_2", "t_3"),
    models.IEEEG1: ("t_1", "t_2", "t_4", "t_5", "t_6", "t_7"),
    models.HYGOV: ("t_g",),
    models.GAST: ("t_1", "t_2", "t_3"),
    models.GENTPJ1: ("t_q01",),
    models.IEESGO: ("t_1", "t_2", "t_3", "t_4", "t_5", "t_6"),
    models.SEXS: ("t_a", "t_b", "t_e"),
    models.IEEET1: ("t_r", "t_a"),
    models.IEEEX1: ("t_r", "t_a", "t_b", "t_c"),
    models.EXDC2: ("t_r", "t_a", "t_b", "t_c"),
    models.ESDC2A: ("t_r", "t_a", "t_b", "t_c"),
    models.AC8B: ("t_r", "t_a", "t_dr", "k_dr", "k_ir"),
    **dict.fromkeys((models.EXST1, models.OEX12T), ("t_r", "t_a", "t_b", "t_c")),
    models.StaticExciter: ("t_r", "t_a", "t_b", "t_c"),
    models.EXAC1: ("t_r", "t_a", "t_b", "t_c"),
    models.ESST3A: ("t_r", "t_a", "t_b", "t_c", "t_m"),
    models.ESST4B: ("t_r", "t_a", "k_im"),
    models.IEEEST: ("a_1", "a_2", "a_3", "a_4", "a_5", "a_6", "t_1", "t_2", "t_3", "t_4"),
    models.PSS2A: ("t_w2", "t_6", "t_w4", "t_7", "t_8", "t_9", "t_1", "t_2", "t_3", "t_4"),
    models.STAB2A: ("t_3", "t_5"),
    models.ST2CUT: ("t_1", "k_2", "t_5", "t_6", "t_7", "t_8", "t_9", "t_10"),
    models.REGCA1: ("t_fltr",),
    models.REECA1: ("t_rv", "t_p"),
    models.REECB1: ("t_rv", "t_p"),
    models.REPCA1: ("t_fltr", "t_ft", "t_fv", "t_p", "t_g"),
}

# Flags and signs that choose other branches of the same equations.
VARIANTS = {
    models.GENROU: ({"speed_voltage": 1.0},),
    models.GENSAL: ({"speed_voltage": 1.0},),
    models.RoundRotorMachine: ({"speed_voltage": 1.0},),
    models.GENTPJ1: ({"speed_voltage": 1.0, "k_is": 0.0},),
    models.REGCA1: (
        *({"q_0": -0.1}, {"lvplsw": 0.0, "q_0": 0.0}),
        {"t_g": 0.0, "rrpwr": 99.0, "iqrmax": 99.0, "iqrmin": -99.0},
    ),
    models.REECA1: (
        *({"v_flag": 0.0}, {"q_flag": 0.0}, {"v_flag": 0.0, "q_flag": 0.0, "pf_flag": 1.0}),
        *({"holding": 1.0, "t_hld": 0.2, "iq_frz": 0.1, "p_flag": 1.0}, {"holding": 1.0, "t_hld": -0.2}),
        {"limit_held": 1.0, "ip_held": 0.5, "t_hld2": 0.2},
        *({"pq_flag": 1.0, "vq3": 0.0, "iq3": 0.0, "vq4": 0.0, "iq4": 0.0}, {"k_qv": 0.0}),
    ),
    models.REECB1: ({"q_flag": 0.0, "pf_flag": 1.0, "pq_flag": 0.0},),
    models.REPCA1: ({"f_flag": 0.0, "vc_flag": 0.0}, {"ref_flag": 0.0}, {"k_p": 0.0, "k_i": 0.0}),
}

PARAMETERS |= {
    models.OEX12T: PARAMETERS[models.EXST1],
    models.MonitoredLine: PARAMETERS[models.Line],
    models.MonitoredTransformer: PARAMETERS[models.Transformer],
    models.MonitoredRatioTransformer: PARAMETERS[models.RatioTransformer],
}
PARAMETERS |= psse_library.PARAMETERS
ZERO |= psse_library.ZERO
VARIANTS |= psse_library.VARIANTS

# Models whose tests stand in a file of their own have their parameters there.
for _path in sorted(Path(__file__).parent.rglob("test_*.py")):
    if re.search("^(PARAMETERS|ZERO|VARIANTS|UNREACHED) ", _path.read_text(encoding="utf-8"), re.MULTILINE):
        _name = ".".join(_path.relative_to(Path(__file__).parent).with_suffix("").parts)
        _module = import_module(f"tests.devices.{_name}")
        PARAMETERS |= getattr(_module, "PARAMETERS", {})
        ZERO |= getattr(_module, "ZERO", {})
        VARIANTS |= getattr(_module, "VARIANTS", {})
        UNREACHED |= getattr(_module, "UNREACHED", {})
