"""Parameters of the later models of the standard library, as `tests.grid.library` has them of the others."""

from psmr.grid.models.exciters import (
    DC4B,
    ESAC1A,
    ESAC6A,
    ESDC1A,
    ESST1A,
    EXAC2,
    EXDC1,
    EXPIC1,
    IEEET2,
    SCRX,
)

SATURATION = {"e_1": 0.8, "se_1": 0.1, "e_2": 1.2, "se_2": 0.4}
DC1 = {
    **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.06, "v_r_min": -0.5, "v_r_max": 0.6, "k_e": -0.05, "t_e": 0.5},
    **{"k_f": 0.05, "t_f": 0.7, "t_b": 0.5, "t_c": 0.1},
    **SATURATION,
}
ALTERNATOR = {"t_r": 0.02, "t_e": 0.5, "k_c": 0.2, "k_d": 0.4, "k_e": 1.0, **SATURATION}
EXCITERS = {
    EXDC1: DC1,
    ESDC1A: DC1,
    IEEET2: {
        **{"t_r": 0.02, "k_a": 20.0, "t_a": 0.06, "v_r_min": -0.5, "v_r_max": 0.6, "k_e": -0.05, "t_e": 0.5},
        **{"k_f": 0.05, "t_f": 0.7, "t_f2": 0.2},
        **SATURATION,
    },
    DC4B: {
        **{"t_r": 0.02, "k_pr": 2.0, "k_ir": 1.5, "k_dr": 0.1, "t_dr": 0.1, "v_r_max": 0.9, "v_r_min": -0.6},
        **{"k_a": 1.5, "t_a": 0.06, "k_e": 0.9, "t_e": 0.5, "k_f": 0.05, "t_f": 0.7, "v_f_min": 0.0},
        **SATURATION,
    },
    ESAC1A: {
        **ALTERNATOR,
        **{"t_b": 0.5, "t_c": 0.1, "k_a": 20.0, "t_a": 0.06, "v_a_max": 2.5, "v_a_min": -3.0, "k_f": 0.05},
        **{"t_f": 0.7, "v_r_max": 1.3, "v_r_min": -1.1},
    },
    EXAC2: {
        **ALTERNATOR,
        **{"t_b": 0.5, "t_c": 0.1, "k_a": 20.0, "t_a": 0.06, "v_a_max": 2.5, "v_a_min": -3.0, "k_f": 0.05},
        **{"t_f": 0.7, "v_r_max": 2.2, "v_r_min": -1.1, "k_b": 1.4, "k_l": 2.0, "k_h": 0.3, "v_lr": 1.9},
    },
    ESAC6A: {
        **ALTERNATOR,
        **{"k_a": 20.0, "t_a": 0.3, "t_k": 0.06, "t_b": 0.08, "t_c": 0.03, "v_a_max": 1.3, "v_a_min": -1.0},
        **{"v_r_max": 1.1, "v_r_min": -0.8, "v_fe_lim": 0.9, "k_h": 0.8, "v_h_max": 0.4, "t_h": 0.1},
        **{"t_j": 0.04},
    },
    ESST1A: {
        **{"vos": 1.0, "t_r": 0.02, "v_i_max": 0.1, "v_i_min": -0.2, "t_c": 1.0, "t_b": 5.0, "t_c1": 0.1},
        **{"t_b1": 0.3, "k_a": 20.0, "t_a": 0.04, "v_a_max": 1.4, "v_a_min": -0.7, "v_r_max": 1.1},
        **{"v_r_min": -0.5, "k_c": 0.05, "k_f": 0.02, "t_f": 1.2, "k_lr": 0.5, "i_lr": 0.5},
    },
    SCRX: {
        **{"t_a": 0.1, "t_b": 1.0, "k": 50.0, "t_e": 0.05, "e_min": -0.5, "e_max": 0.9, "c_switch": 0.0},
        **{"rc_rfd": 2.0},
    },
    EXPIC1: {
        **{"t_r": 0.02, "k_a": 4.0, "t_a1": 0.8, "v_r1": 1.1, "v_r2": -0.8, "t_a2": 0.05, "t_a3": 0.1},
        **{"t_a4": 0.2, "v_r_max": 0.9, "v_r_min": -0.6, "k_f": 0.05, "t_f1": 0.7, "t_f2": 0.2},
        **{"efd_max": 0.8, "efd_min": -0.3, "k_e": 0.9, "t_e": 0.3, "k_p": 1.1, "k_i": 0.3, "k_c": 0.2},
        **SATURATION,
    },
}
PARAMETERS = {**EXCITERS}

ZERO = {
    EXDC1: ("t_r", "t_a", "t_b", "t_c"),
    ESDC1A: ("t_r", "t_a", "t_b", "t_c"),
    IEEET2: ("t_r", "t_a", "t_f2"),
    DC4B: ("t_r", "t_a", "t_dr", "k_dr", "k_ir"),
    ESAC1A: ("t_r", "t_a", "t_b", "t_c"),
    EXAC2: ("t_r", "t_a", "t_b", "t_c"),
    ESAC6A: ("t_r", "t_a", "t_k", "t_b", "t_c", "t_h", "t_j"),
    ESST1A: ("t_r", "t_a", "t_b", "t_c", "t_b1", "t_c1"),
    SCRX: ("t_a", "t_b", "t_e"),
    EXPIC1: ("t_r", "t_a2", "t_a3", "t_a4", "t_f2"),
}

VARIANTS = {
    ESST1A: ({"vos": 2.0},),
    SCRX: ({"c_switch": 1.0, "rc_rfd": 0.0},),
    EXPIC1: (
        {"k_p": 0.0, "k_i": 0.0},
        {"t_e": 0.0, "k_e": 1.0, "se_1": 0.0, "se_2": 0.0, "k_f": 0.0, "t_f1": 0.0},
    ),
}
