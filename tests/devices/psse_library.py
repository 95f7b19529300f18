"""Parameters of the later models of the standard library, as `tests.devices.library` has of the others."""

from tests import components as models

SATURATION = {"e_1": 0.8, "se_1": 0.1, "e_2": 1.2, "se_2": 0.4}
DC1 = {
    **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.06, "v_r_min": -0.5, "v_r_max": 0.6, "k_e": -0.05, "t_e": 0.5},
    **{"k_f": 0.05, "t_f": 0.7, "t_b": 0.5, "t_c": 0.1},
    **SATURATION,
}
ALTERNATOR = {"t_r": 0.02, "t_e": 0.5, "k_c": 0.2, "k_d": 0.4, "k_e": 1.0, **SATURATION}
EXCITERS = {
    models.IEEEVC: {"r_c": 0.02, "x_c": -0.06},
    models.EXDC1: DC1,
    models.ESDC1A: DC1,
    models.IEEET2: {
        **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.06, "v_r_min": -0.5, "v_r_max": 0.6, "k_e": -0.05, "t_e": 0.5},
        **{"k_f": 0.05, "t_f": 0.7, "t_f2": 0.2},
        **SATURATION,
    },
    models.DC4B: {
        **{"t_r": 0.02, "k_pr": 2.0, "k_ir": 1.5, "k_dr": 0.1, "t_dr": 0.1, "v_r_max": 0.9, "v_r_min": -0.6},
        **{"k_a": 1.5, "t_a": 0.06, "k_e": 0.9, "t_e": 0.5, "k_f": 0.05, "t_f": 0.7, "v_f_min": 0.0},
        **SATURATION,
    },
    models.ESAC1A: {
        **ALTERNATOR,
        **{"t_b": 0.5, "t_c": 0.1, "k_a": 20.0, "t_a": 0.06, "v_a_max": 2.5, "v_a_min": -3.0, "k_f": 0.05},
        **{"t_f": 0.7, "v_r_max": 1.3, "v_r_min": -1.1},
    },
    models.EXAC2: {
        **ALTERNATOR,
        **{"t_b": 0.5, "t_c": 0.1, "k_a": 20.0, "t_a": 0.06, "v_a_max": 2.5, "v_a_min": -3.0, "k_f": 0.05},
        **{"t_f": 0.7, "v_r_max": 2.2, "v_r_min": -1.1, "k_b": 1.4, "k_l": 2.0, "k_h": 0.3, "v_lr": 1.9},
    },
    models.ESAC6A: {
        **ALTERNATOR,
        **{"k_a": 20.0, "t_a": 0.3, "t_k": 0.06, "t_b": 0.08, "t_c": 0.03, "v_a_max": 1.3, "v_a_min": -1.0},
        **{"v_r_max": 1.1, "v_r_min": -0.8, "v_fe_lim": 0.9, "k_h": 0.8, "v_h_max": 0.4, "t_h": 0.1},
        **{"t_j": 0.04},
    },
    models.ESST1A: {
        **{"vos": 1.0, "t_r": 0.02, "v_i_max": 0.1, "v_i_min": -0.2, "t_c": 1.0, "t_b": 5.0, "t_c1": 0.1},
        **{"t_b1": 0.3, "k_a": 20.0, "t_a": 0.04, "v_a_max": 1.4, "v_a_min": -0.7, "v_r_max": 1.1},
        **{"v_r_min": -0.5, "k_c": 0.05, "k_f": 0.02, "t_f": 1.2, "k_lr": 0.5, "i_lr": 0.5},
    },
    models.SCRX: {
        **{"t_a": 0.1, "t_b": 1.0, "k": 50.0, "t_e": 0.05, "e_min": -0.5, "e_max": 0.9, "c_switch": 0.0},
        **{"rc_rfd": 2.0},
    },
    models.EXNI: {
        **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.05, "v_r_max": 0.9, "v_r_min": -0.5, "k_f": 0.05, "t_f1": 0.7},
        **{"t_f2": 0.3, "c_switch": 0.0, "rc_rfd": 2.0},
    },
    models.EXPIC1: {
        **{"t_r": 0.02, "k_a": 4.0, "t_a1": 0.8, "v_r1": 1.1, "v_r2": -0.8, "t_a2": 0.05, "t_a3": 0.1},
        **{"t_a4": 0.2, "v_r_max": 0.9, "v_r_min": -0.6, "k_f": 0.05, "t_f1": 0.7, "t_f2": 0.2},
        **{"efd_max": 0.8, "efd_min": -0.3, "k_e": 0.9, "t_e": 0.3, "k_p": 1.1, "k_i": 0.3, "k_c": 0.2},
        **SATURATION,
    },
}
STAGES = {
    **{"k": 20.0, "t_1": 0.1, "t_2": 0.03, "t_3": 0.2, "u_o": 0.5, "u_c": -0.6, "p_max": 0.9, "p_min": 0.1},
    **{"t_4": 0.3, "k_1": 0.3, "t_5": 5.0, "k_3": 0.3, "t_6": 0.4, "k_5": 0.3, "t_7": 0.1, "k_7": 0.1},
}
DIESEL = {
    **{"t_1": 0.2, "t_2": 0.05, "t_3": 0.1, "k": 8.0, "t_4": 0.3, "t_5": 0.1, "t_6": 0.15, "t_d": 0.1},
    **{"t_max": 0.9, "t_min": 0.1, "mechanical_power": 1.0},
}
GOVERNORS = {
    models.GGOV1: {
        **{"s_n": 64.0, "rselect": 1.0, "flag": 1.0, "r": 0.04, "t_pelec": 0.5, "max_err": 0.025},
        **{"min_err": -0.03, "k_pgov": 6.0, "k_igov": 2.0, "k_dgov": 0.5, "t_dgov": 0.3, "v_max": 0.9},
        **{"v_min": 0.2, "t_act": 0.3, "k_turb": 1.5, "w_fnl": 0.15, "t_b": 0.4, "t_c": 0.1, "t_eng": 0.1},
        **{"t_fload": 1.0, "k_pload": 2.0, "k_iload": 0.7, "l_dref": 1.0, "d_m": -0.5, "r_open": 0.4},
        **{
            "r_close": -0.5,
            "k_imw": 0.01,
            "a_set": 0.2,
            "k_a": 10.0,
            "t_a": 0.1,
            "t_rate": 55.0,
            "db": 0.002,
        },
        **{"t_sa": 1.0, "t_sb": 2.0, "t_step": 0.05},
    },
    models.WSIEG1: {
        **STAGES,
        **{"k": 8.0, "t_3": 0.5},
        **{"db1": 0.002, "gv1": 0.05, "pgv1": 0.02, "gv2": 0.3, "pgv2": 0.4, "gv3": 0.6, "pgv3": 0.7},
        **{"gv4": 0.9, "pgv4": 0.85},
    },
    models.IEEEG3: {
        **{"t_g": 0.3, "t_p": 0.05, "u_o": 0.2, "u_c": -0.15, "p_max": 0.6, "p_min": 0.4, "sigma": 0.05},
        **{"delta": 0.4, "t_r": 2.0, "t_w": 1.2, "a_11": 0.5, "a_13": 1.0, "a_21": 1.5, "a_23": 1.1},
    },
    models.DEGOV: DIESEL,
    models.DEGOV1: {**DIESEL, "droop_flag": 1.0, "r": 0.05, "t_e": 0.2},
}
STABILISERS = {
    models.IEE2ST: {
        **{"input_1": 1, "input_2": 3, "k_1": 0.6, "k_2": -0.4, "t_1": 0.03, "t_2": 0.05, "t_3": 4.0},
        **{"t_4": 5.0, "t_5": 0.3, "t_6": 0.04, "t_7": 0.2, "t_8": 0.05, "t_9": 0.1, "t_10": 0.06},
        **{"l_s_max": 0.8, "l_s_min": -0.7, "v_cu": 1.3, "v_cl": 0.5, "f_n": 60.0},
    },
    models.PSS2B: {
        **{"input_1": 1, "input_2": 3, "m": 2, "n": 2, "t_w1": 2.0, "t_w2": 3.0, "t_6": 0.05, "t_w3": 2.5},
        **{"t_w4": 4.0, "t_7": 2.0, "k_s2": 0.3, "k_s3": 0.9, "t_8": 0.5, "t_9": 0.1, "k_s1": 0.5},
        **{"t_1": 0.2, "t_2": 0.06, "t_3": 0.3, "t_4": 0.04, "t_10": 0.1, "t_11": 0.2, "v_st_max": 0.8},
        **{
            "v_st_min": -0.7,
            "v_s1_max": 0.3,
            "v_s1_min": -0.2,
            "v_s2_max": 0.9,
            "v_s2_min": 0.3,
            "f_n": 60.0,
        },
    },
    models.PSS1A: {
        **{"input": 1, "a_1": 0.06, "a_2": 0.002, "t_1": 0.3, "t_2": 0.04, "t_3": 0.2, "t_4": 0.05},
        **{"t_5": 3.0, "t_6": 0.03, "k_s": 0.5, "l_s_max": 0.8, "l_s_min": -0.7, "v_cu": 1.3, "v_cl": 0.5},
        **{"f_n": 60.0},
    },
    models.STAB1: {"k_t": 20.0, "t": 3.0, "t1_t3": 4.0, "t_3": 0.05, "t2_t4": 0.5, "t_4": 0.2, "h_lim": 0.6},
}
STABILISERS[models.PSS2C] = STABILISERS[models.PSS2B] | {"t_12": 0.15, "t_13": 0.1, "on": 1.0}
CHARACTERISTIC = {
    **{"p": 1.25, "q": 0.5, "v_0": 0.98, "v_min": 0.1},
    **{"a_1": 0.5, "a_2": 0.4, "a_3": 0.3, "a_4": 0.6, "a_5": -0.3, "a_6": 0.5},
    **{"n_1": 0.1, "n_2": 1.2, "n_3": 2.0, "n_4": 0.5, "n_5": -1.0, "n_6": 3.5},
}
CAGES = {
    **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "r_s": 0.01, "x_s": 0.1, "x_m": 3.0, "r_1": 0.005},
    **{"x_1": 0.08, "r_2": 0.15, "x_2": 0.175, "h": 0.4},
}
END_USES = {
    **{"lf": 0.75, "ra": 0.04, "ls": 1.8, "lp": 0.12, "lpp": 0.104, "tpo": 0.095, "tppo": 0.02, "h": 0.1},
    **{"etrq": 2.0, "vtr1": 0.6, "ftr1": 0.5, "vtr2": 0.5, "ftr2": 0.7},
}
COMPOSITE = {
    **{"s_base": 100.0, "f_n": 60.0, "v_0": 1.01, "p_0": 0.8, "q_0": 0.2, "mva": -1.25, "b_ss": 0.1},
    **{"r_fdr": 0.04, "x_fdr": 0.05, "f_b": 0.75, "x_xf": 0.08, "tfixhs": 1.02, "tfixls": 0.99, "tap": 1.05},
    **{"s_mva": 80.0, "shrink": 0.9, "p_load": 0.75, "fm_a": 0.2, "fm_b": 0.15, "fm_c": 0.1, "fm_d": 0.2},
    **{"f_el": 0.15, "pf_el": 0.98, "v_d1": 0.8, "v_d2": 0.5, "frcel": 0.4, "pf_s": -0.99, "p1c": 0.5},
    **{
        "p2c": 0.3,
        "p_frq": 1.2,
        "q1c": -0.5,
        "q2c": 1.5,
        "q_frq": -1.0,
        "v_z": 0.4,
        "v_l": 0.98,
        "v_el": 0.6,
    },
    **{f"{name}_{k}": value for k in "abc" for name, value in END_USES.items()},
    **{"t_0_a": 0.7, "t_0_b": 0.6, "t_0_c": 0.5, "etrq_a": 0.0},
    **{"t_stall": 0.03, "t_rst": 0.3, "t_v": 0.02, "t_f": 0.05, "lf_d": 0.9, "pf_d": 0.97, "v_stall": 0.45},
    **{
        "r_stall": 0.1,
        "x_stall": 0.12,
        "lf_adj": 0.2,
        "kp1": 0.1,
        "v_brk": 0.86,
        "f_rst": 0.3,
        "v_rst": 0.95,
    },
    **{"vc1off": 0.5, "vc2off": 0.3, "vc1on": 0.7, "vc2on": 0.4, "t_th": 15.0, "th1t": 0.4, "th2t": 1.1},
    **{"f_uvr": 0.2, "uvtr1": 0.6, "ttr1_d": 0.02, "uvtr2": 0.5, "ttr2_d": 1.0, "p_run": 0.85, "q_run": 0.2},
    **{"v_x": 0.42, "v_con": 0.45, "hot_1": 0.6, "hot_2": 0.5},
}
LOADS = {
    models.CMLD: COMPOSITE,
    models.CIM5: {**CAGES, "cages": 2.0, "circuit": 2.0, "d": 1.4},
    models.CIMW: {
        **CAGES,
        **{"cages": 2.0, "a": 0.6, "b": 0.2, "d": 0.1, "e": 1.7, "v_0": 1.0, "p_0": 0.3, "w_0": 0.98},
    },
    models.CIM6: {**CAGES, "cages": 2.0, "a": 0.6, "b": 0.2, "d": 0.1, "e": 1.7, "c_0": 0.1},
    models.LoadCharacteristic: CHARACTERISTIC,
    models.FrequencyCharacteristic: {**CHARACTERISTIC, "a_7": 1.5, "a_8": -2.0, "t_f": 0.05, "f_n": 60.0},
}
TAP = {
    **{"tap_min": 0.9, "tap_max": 1.1, "positions": 33.0, "t_first": 30.0, "t_next": 10.0},
    **{"inverse": 2.0, "t_reset": 5.0, "last": 1.0, "blocked": 0.0},
}
SHED = {
    f"{name}_{k}": x
    for k in (1, 2)
    for name, x in {"set": 0.9, "pickup": 0.1, "breaker": 0.05, "shed": 0.2}.items()
}
BAND = {"low": 0.8, "high": 1.2, "pickup": 0.1, "breaker": 0.05}
CURVE_BY_POINTS = {
    **{"i_set": 0.5, "t_reset": 2.0, "breaker": 0.05},
    **{f"multiple_{k}": x for k, x in enumerate((1.1, 1.2, 1.5, 2.0, 3.0), 1)},
    **{f"time_{k}": x for k, x in enumerate((8.0, 4.0, 2.0, 1.0, 0.5), 1)},
}
RELAYS = {
    models.UnderFrequencyShedding: {**SHED, "t_f": 0.04, "f_n": 60.0},
    models.UnderVoltageShedding: SHED,
    models.FrequencyTrip: {**BAND, "t_f": 0.04, "f_n": 60.0},
    models.VoltageTrip: BAND,
    models.DistanceRelay: {"reach_1": 0.1, "reach_2": 0.3},
    models.TapChanger: {**TAP, "v_set": 0.7, "half_band": 0.05, "r_c": 0.02, "x_c": 0.1},
    models.ContinuousTapChanger: {
        **{key: value for key, value in TAP.items() if key not in ("inverse", "t_reset")},
        **{"v_set": 0.7, "half_band": 0.05, "r_c": 0.02, "x_c": 0.1, "rest": 0.8, "t_c": 40.0},
    },
    models.ReactiveTapChanger: {**TAP, "s_base": 100.0, "q_set": 10.0, "half_band": 10.0},
    models.PhaseShifter: {
        **{key: value for key, value in TAP.items() if not key.startswith("tap")},
        **{"s_base": 100.0, "p_set": 50.0, "half_band": 50.0, "shift_min": -30.0, "shift_max": 30.0},
    },
    models.OvercurrentRelay: {"i_set": 0.6, "curve": 2.0, "multiplier": 0.3, "t_reset": 0.5},
    models.TimeCurrentRelay: CURVE_BY_POINTS,
    models.TimeCurrentShedding: {**CURVE_BY_POINTS, "part": 0.5},
    models.OutOfStepRelay: {"outer": 0.3, "inner": 0.1, "reach": 1.0},
    models.RideThrough: {"low_1": 0.5, "low_time_1": 0.2},
}
AREAS = {
    models.SecondaryVoltageControl: {"bus": 1.0, "k_p": 2.0, "k_i": 1.0, "least": -1.0, "most": 1.0},
    models.SampledVoltageControl: {"bus": 1.0, "k_p": 2.0, "k_i": 1.0, "least": -1.0, "most": 1.0},
    models.ReactiveParticipation: {
        **{"s_n": 200.0, "s_base": 100.0, "q_0": 0.1, "part": 0.5, "q_max": 50.0, "q_min": -20.0},
    },
    models.SwitchedByStaticVar: {
        **{"s_base": 100.0, "system_bus": 1.0, "over_large": 20.0, "n_1": 1.0, "b_1": 20.0},
    },
    models.ContinuousShunt: {
        **{"s_base": 100.0, "v_low": 1.0, "v_high": 1.0, "t_low": 5.0, "t_high": 5.0, "n_1": 2.0},
        **{"b_1": 20.0, "slope": 0.01},
    },
    models.SwitchedByReactivePower: {
        **{"s_base": 100.0, "q_low": -50.0, "q_high": 50.0, "t_low": 5.0, "t_high": 5.0, "n_1": 2.0},
        **{"b_1": 20.0, "plant_bus": 1.0},
    },
    models.MachineMeter: {"s_n": 200.0},
    models.ConverterMeter: {"s_n": 200.0},
    models.SwitchedShunt: {
        **{"s_base": 100.0, "v_low": 0.95, "v_high": 1.05, "t_low": 5.0, "t_high": 5.0},
        **{"n_1": 2.0, "b_1": 20.0},
    },
    models.TieLine: {"direction": -1.0},
    models.Meter: {"factor": -1.0},
    models.SourceTie: {"direction": -1.0},
    models.GenerationControl: {"s_base": 100.0, "f_n": 60.0, "bias": 18.0, "k_i": 0.02},
    models.Participation: {
        **{"s_base": 100.0, "p_0": 0.3, "part": 0.6, "ramp": 60.0, "p_max": 80.0, "p_min": -20.0},
        **{"gain": 0.2},
    },
}
TEN_VOLTAGES = (-0.8, -0.5, -0.2, 0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3)
TEN_CURRENTS = (0.2, 0.3, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.3, 1.4)
TEN_POINTS = {
    f"{what}{axis}{k}": value
    for axis in "qp"
    for what, values in (("v", TEN_VOLTAGES), ("i", TEN_CURRENTS))
    for k, value in enumerate(values, start=1)
}
CONTROLS = {
    models.REECD1: {
        **{"v_0": 0.9, "pf_flag": 0.0, "v_flag": 1.0, "q_flag": 1.0, "p_flag": 1.0, "pq_flag": 0.0},
        **{
            "vcmp_flag": 1.0,
            "v_dip": 0.5,
            "v_up": 1.2,
            "t_rv": 0.02,
            "dbd1": -0.1,
            "dbd2": 0.05,
            "k_qv": 2.0,
        },
        **{"iqh1": 0.6, "iql1": -0.5, "v_ref0": 0.8, "iq_frz": 0.1, "t_hld": 0.3, "t_hld2": 0.2, "t_p": 0.05},
        **{"q_max": 0.7, "q_min": -0.6, "v_max": 0.9, "v_min": 0.1, "k_qp": 0.5, "k_qi": 0.7, "k_vp": 0.8},
        **{"k_vi": 2.0, "v_ref1": 0.1, "t_iq": 0.02, "dp_max": 6.0, "dp_min": -5.0, "p_max": 0.9},
        **{"p_min": 0.1, "i_max": 1.1, "t_pord": 0.1, "r_c": 0.02, "x_c": 0.1, "t_r1": 0.03, "k_c": 0.05},
        **{"k_e": 0.4, "v_blkl": 0.2, "v_blkh": 1.4, "t_blk": 0.1},
        **TEN_POINTS,
    },
}
CONVERTERS = {
    models.REGCB1: {
        **{
            "s_n": 64.0,
            "s_base": 100.0,
            "q_0": 0.1,
            "r_e": 0.02,
            "x_e": 0.2,
            "rate_flag": 0.0,
            "pq_flag": 0.0,
        },
        **{
            "t_g": 0.3,
            "t_fltr": 0.05,
            "iqrmax": 5.0,
            "iqrmin": -4.0,
            "rrpwr": 3.0,
            "t_e": 0.02,
            "i_max": 0.9,
        },
    },
    models.REGFMA1: {
        **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "v_0": 0.9, "r_e": 0.01, "x_e": 0.15, "v_flag": 1.0},
        **{
            "qv_flag": 0.0,
            "t_pf": 0.02,
            "t_qf": 0.03,
            "t_vf": 0.01,
            "i_max": 1.5,
            "e_max": 1.2,
            "e_min": 0.1,
        },
        **{"p_max": 0.6, "p_min": 0.1, "q_max": 0.5, "q_min": -0.4, "m_p": 0.02, "m_q": 0.05},
        **{"k_ppmax": 0.01, "k_ipmax": 0.1, "k_pqmax": 3.0, "k_iqmax": 20.0, "k_pv": 0.5, "k_iv": 6.0},
    },
    models.DERA1: {
        **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "v_0": 0.9, "pf_flag": 1.0, "freq_flag": 1.0},
        **{"pq_flag": 0.0, "type_flag": 1.0, "t_rv": 0.02, "t_rf": 0.02, "dbd1": -0.1, "dbd2": 0.05},
        **{"k_qv": 2.0, "v_ref0": 0.0, "t_p": 0.05, "t_iq": 0.02, "d_dn": 2.0, "d_up": 1.5, "fdbd1": -0.01},
        **{"fdbd2": 0.015, "fe_max": 0.6, "fe_min": -0.5, "p_max": 0.9, "p_min": 0.1, "dp_max": 6.0},
        **{"dp_min": -5.0, "t_pord": 0.1, "k_pg": 0.5, "k_ig": 4.0, "i_max": 1.1, "t_g": 0.3, "rrpwr": 3.0},
        **{"iqh1": 0.6, "iql1": -0.5},
    },
    models.CSVGN1: {
        **{
            "s_n": 64.0,
            "s_base": 100.0,
            "k": 12.0,
            "t_1": 0.05,
            "t_2": 0.1,
            "t_3": 0.2,
            "t_4": 0.3,
            "t_5": 0.02,
        },
        **{"t_5": 0.02, "r_min": 6.4, "v_max": 0.9, "v_min": 0.05, "c_base": 50.0},
    },
}
CURRENT_CONTROL = {"k_ip": 0.6, "k_ii": 40.0, "k_ppll": 20.0, "k_ipll": 300.0, "w_max": 3.0, "w_min": -2.0}
CONVERTERS |= {
    models.REGCC1: CONVERTERS[models.REGCB1] | CURRENT_CONTROL,
    models.GDFORM: CONVERTERS[models.REGFMA1] | {"qv_flag": 1.0},
}
PARAMETERS = EXCITERS | GOVERNORS | STABILISERS | CONVERTERS | CONTROLS | LOADS | RELAYS | AREAS
TRIPS = {
    **{"vtrip_flag": 1.0, "ftrip_flag": 1.0, "vl0": 0.3, "vl1": 0.6, "vh0": 1.4, "vh1": 1.1, "tvl0": 0.1},
    **{"tvl1": 0.2, "tvh0": 0.1, "tvh1": 0.15, "vrfrac": 0.7, "fl": 59.0, "fh": 61.0, "tfl": 0.2, "tfh": 0.1},
    **{"t_v": 0.02, "v_pr": 0.5, "t_rv": 0.02},
}

# The regulator asks for v_max of the reactor at most: without its lag it does not reach the whole.
# A magnitude is never below zero.
UNREACHED = {models.CSVGN1: {2: "above"}, models.REGFMA1: {3: "below"}, models.GDFORM: {3: "below"}}

ZERO = {
    models.IEE2ST: ("t_1", "k_2", "t_5", "t_6", "t_7", "t_8", "t_9", "t_10"),
    models.EXDC1: ("t_r", "t_a", "t_b", "t_c"),
    models.ESDC1A: ("t_r", "t_a", "t_b", "t_c"),
    models.IEEET2: ("t_r", "t_a", "t_f2"),
    models.DC4B: ("t_r", "t_a", "t_dr", "k_dr", "k_ir"),
    models.ESAC1A: ("t_r", "t_a", "t_b", "t_c"),
    models.EXAC2: ("t_r", "t_a", "t_b", "t_c"),
    models.ESAC6A: ("t_r", "t_a", "t_k", "t_b", "t_c", "t_h", "t_j"),
    models.ESST1A: ("t_r", "t_a", "t_b", "t_c", "t_b1", "t_c1"),
    models.SCRX: ("t_a", "t_b", "t_e"),
    models.EXNI: ("t_r", "t_a", "t_f2"),
    models.DERA1: ("t_rv", "t_p"),
    models.REGCB1: ("t_fltr", "t_e"),
    models.REECD1: ("t_rv", "t_p", "t_r1"),
    models.REGCC1: ("t_fltr", "t_e"),
    **dict.fromkeys((models.REGFMA1, models.GDFORM), ("t_pf", "t_qf", "t_vf")),
    models.CSVGN1: ("t_1", "t_2", "t_3", "t_4", "t_5"),
    models.PSS2B: ("t_w2", "t_6", "t_w4", "t_7", "t_8", "t_9", "t_1", "t_2", "t_3", "t_4", "t_10", "t_11"),
    models.PSS2C: ("t_w2", "t_6", "t_w4", "t_7", "t_8", "t_9", "t_1", "t_2", "t_3", "t_4", "t_12", "t_13"),
    models.PSS1A: ("a_1", "a_2", "t_1", "t_2", "t_3", "t_4", "t_6"),
    models.STAB1: ("t_3", "t_4"),
    models.GGOV1: ("t_pelec", "t_dgov", "k_dgov", "t_b", "t_c", "t_eng", "t_fload", "t_sa", "t_sb", "k_imw"),
    models.WSIEG1: ("t_1", "t_2", "t_4", "t_5", "t_6", "t_7"),
    models.IEEEG3: ("t_p", "t_w"),
    models.DEGOV: ("t_1", "t_2", "t_3", "t_4", "t_5", "t_6", "t_d"),
    models.DEGOV1: ("t_1", "t_2", "t_3", "t_4", "t_5", "t_6", "t_d", "t_e"),
    models.EXPIC1: ("t_r", "t_a2", "t_a3", "t_a4", "t_f2"),
}

ONE_POINT = {f"{name}_{k}": x for k in range(1, 6) for name, x in (("multiple", 1.1), ("time", 8.0))}
VARIANTS = {
    models.TimeCurrentRelay: (ONE_POINT,),
    models.TimeCurrentShedding: (ONE_POINT,),
    models.CMLD: (
        {"fm_a": 0.6, "stalled_1": 1.0, **{f"off{n}_{k}": 1.0 for n in "12" for k in "abc"}, "v_con": 10.0},
        {"th2t": 0.4, "v_con": 0.9, "v_el": 0.1, "tripped": 1.0},
        {"hot_1": 1.2, "hot_2": 1.3, "v_con": 0.1},
    ),
    models.DERA1: (
        {"freq_flag": 0.0, "pf_flag": 0.0, "v_ref0": 0.8},
        {"pq_flag": 1.0, "type_flag": 0.0, "k_qv": 0.0, "p_min": -0.5},
        *(TRIPS, TRIPS | {"part_low": 1.0, "v_low": 0.4, "part_high": 1.0, "v_high": 1.2}),
        TRIPS | {"part_low": 1.0, "v_low": 0.1, "part_high": 1.0, "v_high": 1.6},
        TRIPS | {"tripped": 1.0, "vtrip_flag": 0.0},
    ),
    **dict.fromkeys(
        (models.REGCB1, models.REGCC1),
        ({"rate_flag": 1.0, "q_0": -0.1}, {"pq_flag": 1.0, "q_0": 0.0}),
    ),
    **dict.fromkeys(
        (models.REGFMA1, models.GDFORM),
        ({"qv_flag": 1.0, "v_flag": 0.0}, {"i_max": 0.0, "k_ipmax": 0.0}),
    ),
    models.REECD1: (
        *({"v_flag": 0.0, "vcmp_flag": 0.0}, {"q_flag": 0.0, "pf_flag": 1.0}, {"pq_flag": 1.0}),
        *({"blocked": 1.0}, {"iq_held_on": 1.0, "iq_held": 0.2}, {"limit_held": 1.0, "ip_held": 0.5}),
        {**dict.fromkeys(TEN_POINTS, 0.0), "p_flag": 0.0, "k_qv": 0.0},
    ),
    models.GGOV1: (
        {"d_m": 0.3, "flag": 0.0, "k_a": 0.0, "t_rate": 0.0},
        *({"rselect": code, "k_imw": 0.0} for code in (0.0, -1.0, -2.0)),
    ),
    models.WSIEG1: ({f"{name}{k}": 0.0 for name in ("gv", "pgv") for k in (1, 2, 3, 4)},),
    models.DEGOV1: ({"droop_flag": 0.0},),
    models.ESST1A: ({"vos": 2.0},),
    models.SCRX: ({"c_switch": 1.0, "rc_rfd": 0.0},),
    models.EXNI: ({"c_switch": 1.0, "rc_rfd": 0.0}, {"k_f": 0.0, "t_f1": 0.0}),
    models.EXPIC1: (
        {"k_p": 0.0, "k_i": 0.0},
        {"t_e": 0.0, "k_e": 1.0, "se_1": 0.0, "se_2": 0.0, "k_f": 0.0, "t_f1": 0.0},
    ),
}
