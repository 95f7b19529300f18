"""REPCGFM_C1: its diagram, its fast frequency response, and a plant with REGFMC1."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.components import REPCGFMC1
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.converters.test_hybrid_converter import HYBRID
from tests.devices.diagram import TIMES, clip, step
from tests.internals import Change, Terminal

CONTROL = {
    **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "v_0": 1.0, "from_bus": 0.0, "v_flag": 1.0},
    **{"v_ref_flag": 1.0, "ffr_flag": 0.0, "t_frq": 0.1, "v_fth": 0.5, "t_fref": 0.2, "t_vmeas": 0.03},
    **{"t_vlag": 0.05, "r_loss": 0.02, "x_loss": 0.1, "t_vref": 0.15, "dbf_l": -0.0005, "dbf_h": 0.0007},
    **{"d_dn": 20.0, "d_up": 15.0, "f_ffr_high": 1.004, "f_ffr_low": 0.997, "p_ffr_high": -0.1},
    **{"p_ffr_low": 0.15, "t_ffr": 0.5, "d_ffr": 0.4, "t_pmeas": 0.05, "k_ip": 2.0, "t_plag": 0.04},
    **{"t_qmeas": 0.06, "k_iq": 3.0, "t_qlag": 0.05, "dbv_l": -0.005, "dbv_h": 0.004, "k_pvc": 1.5},
    **{"k_ivc": 5.0, "t_vc": 0.08, "fr_max": 0.06, "fr_min": -0.05, "f_ref_max": 1.006, "f_ref_min": 0.995},
    **{"v_ref_max": 1.06, "v_ref_min": 0.97, "p_f_max": 0.12, "p_f_min": -0.1, "p_star_max": 0.7},
    **{"p_star_min": -0.5, "p_in_max": 0.08, "p_in_min": -0.07, "p_i_max": 0.1, "p_i_min": -0.03},
    **{"q_star_max": 0.35, "q_star_min": -0.3, "q_in_max": 0.09, "q_in_min": -0.08, "q_i_max": 0.12},
    **{"q_i_min": -0.1, "v_err_max": 0.05, "v_err_min": -0.04, "q_vc_max": 0.3, "q_vc_min": -0.25},
}
PARAMETERS = {
    REPCGFMC1: CONTROL
    | {"fr_max": 0.5, "fr_min": -0.5, "p_star_min": 0.1, "q_vc_max": 1.0, "q_vc_min": -0.5, "ffr_flag": 1.0}
}
VARIANTS = {
    REPCGFMC1: (
        *({"v_flag": 0.0}, {"v_ref_flag": 0.0}, {"from_bus": 7.0}),
        {"busy": 1.0, "ending": 1.0, "ffr_min": 0.0, "ffr_max": 0.15},
    )
}
ZERO = {
    REPCGFMC1: (
        *("t_fref", "t_vmeas", "t_vlag", "t_vref", "t_pmeas", "t_plag", "t_vc", "t_qmeas", "t_qlag"),
        *("v_flag", "k_ivc", "ffr_flag"),
    )
}
STATES = (
    *("x_theta", "w_f", "w_r", "v_m", "v_t", "v_tl", "v_l", "p_m", "x_p", "p_l"),
    *("x_vc", "q_v", "q_m", "x_q", "q_l"),
)


def behind(p, v, power, q):
    """The voltage that sends a power through the impedance of the loss to a voltage."""
    return abs(v + (p["r_loss"] + 1j * p["x_loss"]) * (power - 1j * q) / v)


def beyond(x, low, high):
    return max(x - high, 0.0) + min(x - low, 0.0)


def repcgfmc1(p, u, x):
    v = dict(zip(STATES, x, strict=True))
    site = u.v_re_r + 1j * u.v_im_r
    ahead = np.angle(site * np.exp(-1j * v["x_theta"]))
    deviation = ahead / (2 * np.pi * p["f_n"] * p["t_frq"])
    w = v["w_f"] if v["v_m"] > p["v_fth"] else 0.0
    slow = beyond(u.f_ref - 1 - w, p["dbf_l"], p["dbf_h"])
    droop = clip((p["d_up"] if slow > 0 else p["d_dn"]) * slow, p["p_f_min"], p["p_f_max"])
    p_star = clip(u.p_plant + droop, p["p_star_min"], p["p_star_max"])
    error = clip(beyond(u.ref - v["v_m"], p["dbv_l"], p["dbv_h"]), p["v_err_min"], p["v_err_max"])
    asked = clip(p["k_pvc"] * error + v["x_vc"], p["q_vc_min"], p["q_vc_max"])
    q_star = clip(v["q_v"] if p["v_flag"] else u.ref, p["q_star_min"], p["q_star_max"])
    square = p_star**2 + q_star**2
    wanted = behind(p, v["v_m"], p_star, q_star) + p["v_off"] if p["v_ref_flag"] else v["v_tl"]
    rates = {
        "x_theta": ahead / p["t_frq"],
        "w_f": clip((deviation - v["w_f"]) / p["t_frq"], p["fr_min"], p["fr_max"]),
        "w_r": (clip(1 + w, p["f_ref_min"], p["f_ref_max"]) - 1 - v["w_r"]) / p["t_fref"],
        "v_m": (abs(site) - v["v_m"]) / p["t_vmeas"],
        "v_t": (np.hypot(u.v_re, u.v_im) - v["v_t"]) / p["t_vmeas"],
        "v_tl": (v["v_t"] - v["v_tl"]) / p["t_vlag"],
        "v_l": (clip(wanted, p["v_ref_min"], p["v_ref_max"]) - v["v_l"]) / p["t_vref"],
        "p_m": (u.p_e - v["p_m"]) / p["t_pmeas"],
        "x_p": p["k_ip"] * clip(p_star - v["p_m"], p["p_in_min"], p["p_in_max"]),
        "p_l": (p_star + v["x_p"] + p["r_loss"] * square - v["p_l"]) / p["t_plag"],
        "x_vc": p["k_ivc"] * error if p["v_flag"] else 0.0,
        "q_v": (asked - v["q_v"]) / p["t_vc"] if p["v_flag"] else 0.0,
        "q_m": (u.q_e - v["q_m"]) / p["t_qmeas"],
        "x_q": p["k_iq"] * clip(q_star - v["q_m"], p["q_in_min"], p["q_in_max"]),
        "q_l": (q_star + v["x_q"] + p["x_loss"] * square - v["q_l"]) / p["t_qlag"],
    }
    bounds = {"x_p": "p_i", "x_q": "q_i", "x_vc": "q_vc"}
    limits = {STATES.index(k): (p[f"{name}_min"], p[f"{name}_max"]) for k, name in bounds.items()}
    out = (v["p_l"], v["q_l"], v["v_l"] - p["v_0"], v["w_r"])
    return tuple(rates[name] for name in STATES), limits, out


def at_rest(p, **inputs):
    """A guess that is at rest, with the offset of its voltage, and the inputs."""
    terminal = Terminal(0.6 + 0.8j, 0j, {"p_e": 0.4, "q_e": 0.1})
    p = p | {"v_off": p["v_0"] - behind(p, 1.0, 0.4, 0.1)}
    guess = guess_of(REPCGFMC1, p, terminal)
    lost = 0.4**2 + 0.1**2
    guess |= {"p_l": 0.4 + p["r_loss"] * lost, "q_l": 0.1 + p["x_loss"] * lost, "x_p": 0.0, "x_q": 0.0}
    guess |= {"p_ref": guess["p_l"], "q_ext": guess["q_l"]}
    fixed = {"v_re": step(0.6), "v_im": step(0.8), "v_re_r": step(0.6), "v_im_r": step(0.8)}
    fixed |= {name: step(float(guess[name])) for name in ("ref", "p_plant")}
    fixed |= {"p_e": step(0.4), "q_e": step(0.1), "f_ref": step(1.0)}
    fixed |= {"i_re_b": step(0.0), "i_im_b": step(0.0), "v_re_b": step(1.0), "v_im_b": step(0.0)}
    return p, guess, fixed | inputs


@pytest.mark.parametrize("change", [{}, {"v_flag": 0.0, "v_ref_flag": 0.0}], ids=str)
def test_it_is_its_block_diagram(change):
    """A dip, a swell, jumps of the angle, of powers and references: every limit is met on a side at least."""
    sizes, turns = (
        step(1.0, (0.2013, 0.92), (0.9013, 0.4), (1.2013, 1.05)),
        step(0.0, (2.0013, 0.5), (3.0017, 0.1)),
    )
    times = sorted((*sizes.jumps, *turns.jumps))

    def phasor(t):
        return sizes(t) * (0.6 + 0.8j) * np.exp(1j * turns(t))

    p, guess, inputs = at_rest(
        CONTROL | change,
        v_re_r=step(0.6, *((t, phasor(t).real) for t in times)),
        v_im_r=step(0.8, *((t, phasor(t).imag) for t in times)),
        v_re=step(0.6, (1.7013, 0.65)),
        p_e=step(0.4, (0.5013, 0.2), (1.5013, 0.6)),
        q_e=step(0.1, (0.7013, 0.3), (1.8013, -0.1)),
        p_plant=step(0.4, (2.5013, 0.9)),
    )
    found = run_alone(REPCGFMC1, p, guess, inputs)
    rest = tuple(float(guess.get(name, 0.0)) for name in STATES)
    expected = respond(repcgfmc1, p, rest, inputs).T
    for mine, theirs in zip((found.p_ref, found.q_ext, found.v_gfm, found.w_gfm), expected, strict=True):
        assert np.abs(mine - theirs).max() < 10 * TOLERANCE
    assert (found.x_p.min(), found.x_p.max()) == pytest.approx((-0.03, 0.1), abs=1e-6)


def test_fast_frequency_response():
    """A jump of the angle: the power of a low frequency for 0.5 s, its way back at 0.4 pu/s, ready again."""
    back = np.exp(-1j * 0.6) * (0.6 + 0.8j)
    p, guess, inputs = at_rest(
        CONTROL | {"ffr_flag": 1.0, "fr_min": -1.0, "fr_max": 1.0, "d_up": 0.0, "d_dn": 0.0},
        v_re_r=step(0.6, (0.2013, back.real)),
        v_im_r=step(0.8, (0.2013, back.imag)),
    )
    found = run_alone(REPCGFMC1, p, guess, inputs, 1e-3)
    active = TIMES[found.p_ffr > 1e-6]
    whole = TIMES[found.p_ffr > 0.149]
    assert found.p_ffr.max() == pytest.approx(0.15)
    assert whole[-1] - whole[0] == pytest.approx(0.5, abs=0.03)
    assert active[-1] - whole[-1] == pytest.approx(0.15 / 0.4, abs=0.03)
    assert np.abs(found.p_ffr[TIMES > 2.0]).max() < 1e-8


def toml(values):
    return "\n".join(f"{k} = {v!r}" for k, v in values.items() if k not in ("s_base", "f_n", "v_0"))


@pytest.fixture
def plant(tmp_path):
    """A hybrid plant behind a line at bus 1, measured at bus 2, beside an infinite bus."""

    def made(**changes):
        free = {"k_f": 1.0, "i_max": 1.3, "v_ref0": 0.0}
        control = CONTROL | {"bus": 2, "from_bus": 2, "to_bus": 3, "circuit": 1} | changes
        (tmp_path / "plant.toml").write_text(
            'format = "psmr-case"\nversion = 1\nname = "plant"\nbase_mva = 100.0\nfrequency_hz = 60.0\n'
            "[[bus]]\nnumber = 1\n[[bus]]\nnumber = 2\n[[bus]]\nnumber = 3\n"
            "[[line]]\nfrom = 1\nto = 2\nr = 0.02\nx = 0.1\n[[line]]\nfrom = 2\nto = 3\nr = 0.01\nx = 0.15\n"
            '[[generator]]\nname = "C"\nbus = 1\ncontrol = "pv"\np_mw = 30.0\nv = 1.01\n'
            f'[generator.converter]\ntype = "REGFMC1"\n{toml(HYBRID | free)}\n'
            f'[generator.plant_control]\ntype = "REPCGFMC1"\n{toml(control)}\n'
            '[[generator]]\nname = "grid"\nbus = 3\ncontrol = "slack"\nv = 1.0\n'
            '[generator.machine]\ntype = "InfiniteBus"\ns_n = 1000.0\nx_d1 = 0.2\n'
        )
        return psmr.read_case(tmp_path / "plant.toml")

    return made


@pytest.mark.parametrize(
    "change", [{}, {"v_flag": 0.0}, {"v_ref_flag": 0.0}, {"r_loss": 0.0, "x_loss": 0.0}], ids=str
)
def test_a_plant_starts_at_rest(plant, change):
    """Its machine gives nothing, and without a given loss the integrators are at zero."""
    system = psmr.build(plant(**change))
    at = dict(zip(system.names_x, system.x0, strict=True)) | dict(zip(system.names_y, system.y0, strict=True))
    assert at["PPC-C.v_gfm"] == pytest.approx(0.0, abs=1e-9)
    assert at["C.p_m"] == pytest.approx(0.0, abs=1e-9)
    assert at["PPC-C.p_m"] == pytest.approx(0.3 / 0.64, rel=0.02)
    if "r_loss" in change:
        assert abs(at["PPC-C.x_p"]) < 1e-9
        assert abs(at["PPC-C.x_q"]) < 1e-9


def test_a_run_is_that_of_ida(plant):
    """A dip at the grid's side and a step of the plant's power, within all limits."""
    # It takes the parameters of this file, so that it cannot be imported before them.
    from tests.peers.test_ida_models import reference

    wide = dict.fromkeys(("p_in_max", "q_in_max", "p_i_max", "q_i_max", "q_vc_max", "v_err_max"), 2.0)
    wide |= dict.fromkeys(("p_in_min", "q_in_min", "p_i_min", "q_i_min", "q_vc_min", "v_err_min"), -2.0)
    system = psmr.build(plant(**wide, dbf_l=0.0, dbf_h=0.0, dbv_l=0.0, dbv_h=0.0, fr_max=99.0, fr_min=-99.0))
    dip = psmr.Fault(bus=2, start=0.2, clear=0.3, x=2.0)
    raised = 1.02 * float(system.w0[system.index("PPC-C.p_plant")])
    times = np.linspace(0.0, 2.0, 401)
    changes = (*dip.changes(system), Change(1.0, inputs=(("PPC-C.p_plant", raised),), label="step"))
    expected = reference(system, changes, times)
    events = [dip, psmr.SetPoint("PPC-C", "p_plant", raised, 1.0)]
    run = psmr.simulate(system, psmr.SingleRate("TM", 2.5e-4), 2.0, events)
    kept = [t for t in times if t > 0.2 and not np.isclose(t, [0.2, 0.3, 1.0, 2.0]).any()]
    for name in ("PPC-C.p_l", "PPC-C.q_l", "PPC-C.v_l", "C.e"):
        place = system.names_x.index(name)
        mine = np.interp(kept, run.t, run[name])
        assert np.abs(mine - expected[:, place]).max() < 2e-5, name


def test_what_cannot_be_is_refused(plant):
    with pytest.raises(CaseError, match=r"p_i_min = 0\.2: must be below p_i_max = 0\.1"):
        plant(p_i_min=0.2)
    with pytest.raises(CaseError, match="k_pvc = k_ivc = 0"):
        plant(k_pvc=0.0, k_ivc=0.0)
    with pytest.raises(CaseError, match="d_ffr = 0: must be > 0 where ffr_flag is 1"):
        plant(ffr_flag=1.0, d_ffr=0.0)
