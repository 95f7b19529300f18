"""Parameters of every component, chosen so that each limiter is reached by points of order one."""

from psmr.grid.converters import GridFollowingConverter, GridFollowingConverterV
from psmr.grid.exciters import ExciterType1, ExciterType1Direct
from psmr.grid.governors import GovernorLeadLag
from psmr.grid.loads import ZipLoad
from psmr.grid.machines import ClassicalMachine, TwoAxisMachine
from psmr.grid.network import Bus, Line, Shunt, Transformer
from psmr.grid.stabilisers import PssSpeed

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
PARAMETERS = {
    Bus: {"g_fault": 3.0, "b_fault": -2.0},
    Line: BRANCH,
    Transformer: {**BRANCH, "tap": 0.95, "shift": 0.3},
    Shunt: {"g": 0.1, "b": 0.5},
    ZipLoad: {
        **{"p": 1.25, "q": 0.5, "v_0": 0.98, "p_z": 0.2, "p_i": 0.3, "p_p": 0.5},
        **{"q_z": 0.5, "q_i": 0.1, "q_p": 0.4},
    },
    ClassicalMachine: {**BASE, "h": 5.0, "d": 1.0, "r_a": 0.01, "x_d1": 0.2},
    TwoAxisMachine: {
        **BASE,
        **{"h": 6.4, "d": 0.5, "r_a": 0.003, "x_d": 0.8958, "x_q": 0.8645, "x_d1": 0.1198, "x_q1": 0.1969},
        **{"t_d01": 6.0, "t_q01": 0.535},
    },
    ExciterType1: {**EXCITER, "t_r": 0.001},
    ExciterType1Direct: EXCITER,
    GovernorLeadLag: {"droop": 0.1, "t_1": 0.1, "t_2": 0.5, "p_min": 0.0, "p_max": 1.0},
    PssSpeed: {"k": 5.0, "t_w": 10.0, "t_1": 0.12, "t_2": 0.05, "v_s_min": -0.5, "v_s_max": 0.5},
    GridFollowingConverter: {**CONVERTER, "t_q": 0.005, "kp_q": 0.2, "ki_q": 20.0},
    GridFollowingConverterV: {**CONVERTER, "t_v": 0.005, "kp_v": 2.0, "ki_v": 5.0},
}
