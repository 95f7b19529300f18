"""Step responses of the later exciters against their block diagrams, past both sides of every limit."""

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import DC4B, ESAC1A, ESAC6A, ESDC1A, ESST1A, EXAC2, EXDC1, EXNI, EXPIC1, IEEET2, SCRX
from tests.devices.diagram import Block, clip, step
from tests.devices.exciters.test_responses import (
    REFERENCE,
    SAG,
    V_F,
    compare,
    direct_current,
    lag,
    lead_lag,
    numbers,
    rectifier,
    saturation,
)
from tests.devices.library import PARAMETERS

FED = {"i_f": 0.7, "i_d": 0.4, "i_q": 0.6, "delta": 0.8}


def esdc1a(p):
    blocks, wiring = direct_current(p)
    blocks["exciter"] = Block([1], [p["t_e"], 0], (0.0, np.inf), start=V_F)
    return blocks, wiring


def ieeet2(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_r_min"], p["v_r_max"])),
        "exciter": Block([1], [p["t_e"], 0], start=V_F),
        "feedback": Block([p["k_f"], 0], np.polymul([p["t_f"], 1], [p["t_f2"], 1])),
    }

    def wiring(b, u):
        error = u.v_ref + u.v_s - b.transducer(u.v_re)
        if b.regulator.order:
            v_r = b.regulator.out
            b.regulator(error - b.feedback(v_r))
        else:
            assert p["k_f"] == 0  # otherwise the diagram is an algebraic loop
            v_r = b.regulator(error - b.feedback(0.0))
        v_f = b.exciter.out
        b.exciter(v_r - p["k_e"] * v_f - saturation(p, v_f))
        return v_f

    return blocks, wiring


def dc4b(p):
    limits = (p["v_r_min"] / p["k_a"], p["v_r_max"] / p["k_a"])
    start = p["x_i_start"] / p["k_a"]
    blocks = {
        "transducer": lag(p["t_r"]),
        "integral": Block([p["k_ir"]], [1, 0], limits, start),
        "derivative": Block([p["k_dr"], 0], [p["t_dr"], 1]),
        "regulator": lag(p["t_a"], p["k_a"], (-1.0, 1.0)),
        "exciter": Block([1], [p["t_e"], 0], (p.get("v_f_min", 0.0), np.inf), start=V_F),
        "feedback": Block([p["k_f"], 0], [p["t_f"], 1]),
    }

    def wiring(b, u):
        v_f = b.exciter.out
        error = u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(v_f)
        pid = p["k_pr"] * error + b.integral.out + b.derivative(error)
        b.integral(error)
        b.regulator.limits = (p["v_r_min"] * u.v_re, p["v_r_max"] * u.v_re)
        v_r = b.regulator(u.v_re * clip(pid, *limits))
        b.exciter(v_r - p["k_e"] * v_f - saturation(p, v_f))
        return v_f

    return blocks, wiring


def alternator(p, u, v_e):
    """The exciter's field current."""
    return p["k_e"] * v_e + saturation(p, v_e) + p["k_d"] * u.i_f


def esac1a(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "lead": lead_lag(p["t_c"], p["t_b"]),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_a_min"], p["v_a_max"])),
        "exciter": Block([1], [p["t_e"], 0], (0.0, np.inf), start=p["v_e_start"]),
        "feedback": Block([p["k_f"], 0], [p["t_f"], 1]),
    }

    def wiring(b, u):
        v_e = b.exciter.out
        v_fe = alternator(p, u, v_e)
        v_a = b.regulator(b.lead(u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(v_fe)))
        b.exciter(clip(v_a, p["v_r_min"], p["v_r_max"]) - v_fe)
        return rectifier(v_e, p["k_c"] * u.i_f)

    return blocks, wiring


def exac2(p):
    blocks, _ = esac1a(p)

    def wiring(b, u):
        v_e = b.exciter.out
        v_fe = alternator(p, u, v_e)
        v_a = b.regulator(b.lead(u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(v_fe)))
        gate = min(v_a - p["k_h"] * v_fe, p["k_l"] * (p["v_lr"] - v_fe))
        b.exciter(clip(p["k_b"] * gate, p["v_r_min"], p["v_r_max"]) - v_fe)
        return rectifier(v_e, p["k_c"] * u.i_f)

    return blocks, wiring


def esac6a(p):
    limits = (p["v_a_min"], p["v_a_max"])
    blocks = {
        "transducer": lag(p["t_r"]),
        "regulator": lag(p["t_a"], p["k_a"], limits),
        "lead": lead_lag(p["t_c"], p["t_b"]),
        "limiter": lead_lag(p["t_j"], p["t_h"]),
        "exciter": Block([1], [p["t_e"], 0], (0.0, np.inf), start=p["v_e_start"]),
    }
    ratio = p["t_k"] / p["t_a"] if p["t_a"] else 0.0

    def wiring(b, u):
        v_e = b.exciter.out
        v_fe = alternator(p, u, v_e)
        error = p["k_a"] * (u.v_ref + u.v_s - b.transducer(u.v_re))
        x = b.regulator(error / p["k_a"])
        v_a = clip(x + ratio * (error - x), *limits)
        v_h = b.limiter(clip(p["k_h"] * (v_fe - p["v_fe_lim"]), 0.0, p["v_h_max"]))
        v_r = clip(b.lead(v_a) - v_h, u.v_re * p["v_r_min"], u.v_re * p["v_r_max"])
        b.exciter(v_r - v_fe)
        return rectifier(v_e, p["k_c"] * u.i_f)

    return blocks, wiring


def esst1a(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "first": lead_lag(p["t_c"], p["t_b"]),
        "second": lead_lag(p["t_c1"], p["t_b1"]),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_a_min"], p["v_a_max"])),
        "feedback": Block([p["k_f"], 0], [p["t_f"], 1]),
    }
    behind = p["vos"] == 2

    def wiring(b, u):
        beside = behind * u.v_s - max(p["k_lr"] * (u.i_f - p["i_lr"]), 0.0)
        error = u.v_ref + (not behind) * u.v_s - b.transducer(u.v_re)

        def regulated(fed_back):
            limited = clip(error - fed_back, p["v_i_min"], p["v_i_max"])
            return b.regulator(b.second(b.first(limited)))

        if b.regulator.order:
            v_l = b.regulator.out + beside
            regulated(b.feedback(v_l))
        else:
            assert p["k_f"] == 0  # otherwise the diagram is an algebraic loop
            v_l = regulated(b.feedback(0.0)) + beside
        return clip(v_l, u.v_re * p["v_r_min"], u.v_re * p["v_r_max"] - p["k_c"] * u.i_f)

    return blocks, wiring


def scrx(p):
    blocks = {
        "lead": lead_lag(p["t_a"], p["t_b"]),
        "exciter": lag(p["t_e"], p["k"], (p["e_min"], p["e_max"])),
    }

    def wiring(b, u):
        v_a = b.exciter(b.lead(u.v_ref + u.v_s - u.v_re))
        if u.i_f < 0 < p["rc_rfd"]:
            return -p["rc_rfd"] * u.i_f
        return v_a if p["c_switch"] else u.v_re * v_a

    return blocks, wiring


def exni(p):
    blocks = {
        "transducer": lag(p["t_r"]),
        "regulator": lag(p["t_a"], p["k_a"], (p["v_r_min"], p["v_r_max"])),
        "feedback": Block([p["k_f"], 0], np.polymul([p["t_f1"], 1], [p["t_f2"], 1])),
    }

    def wiring(b, u):
        error = u.v_ref + u.v_s - b.transducer(u.v_re)
        if b.regulator.order:
            v_r = b.regulator.out
            b.regulator(error - b.feedback(v_r))
        else:
            assert p["k_f"] == 0  # otherwise the diagram is an algebraic loop
            v_r = b.regulator(error - b.feedback(0.0))
        if u.i_f < 0 < p["rc_rfd"]:
            return -p["rc_rfd"] * u.i_f
        return v_r if p["c_switch"] else u.v_re * v_r

    return blocks, wiring


def expic1(p):
    k_f = p["k_f"] or 0.0
    blocks = {
        "transducer": lag(p["t_r"]),
        "integral": Block([p["k_a"]], [1, 0], (p["v_r2"], p["v_r1"]), p["x_i_start"]),
        "filter": Block([p["t_a3"], 1], np.polymul([p["t_a2"], 1], [p["t_a4"], 1])),
        "feedback": Block([k_f, 0], np.polymul([p["t_f1"], 1], [p["t_f2"], 1])),
        "exciter": Block([1], [p["t_e"], 0], start=V_F),
    }

    def wiring(b, u):
        i = (u.i_d + 1j * u.i_q) * np.exp(1j * (u.delta - np.pi / 2))
        static = p["k_p"] == 0 == p["k_i"]
        v_b = 1.0 if static else rectifier(abs(p["k_p"] * u.v_re + 1j * p["k_i"] * i), p["k_c"] * u.i_f)
        v_f = b.exciter.out
        error = u.v_ref + u.v_s - b.transducer(u.v_re) - b.feedback(v_f)
        v_a = clip(p["k_a"] * p["t_a1"] * error + b.integral.out, p["v_r2"], p["v_r1"])
        b.integral(error)
        v_r = clip(b.filter(v_a), p["v_r_min"], p["v_r_max"])
        e_0 = clip(v_b * v_r, p["efd_min"], p["efd_max"])
        b.exciter(e_0 - p["k_e"] * v_f - saturation(p, v_f))
        return v_f

    return blocks, wiring


DIAGRAMS = {
    **{EXDC1: direct_current, ESDC1A: esdc1a, IEEET2: ieeet2, DC4B: dc4b, ESAC1A: esac1a, EXAC2: exac2},
    **{ESAC6A: esac6a, ESST1A: esst1a, SCRX: scrx, EXNI: exni, EXPIC1: expic1},
}
# Gains of the feedbacks that are algebraic loops where the time constants are zero.
LOOPS = {ESST1A: "k_f", IEEET2: "k_f", EXNI: "k_f"}
FORMS = [(component, form, {}) for component in DIAGRAMS for form in ("whole", "algebraic")]
FORMS += [
    (ESST1A, "whole", {"vos": 2.0}),
    *((bridge, "whole", {"c_switch": 1.0, "rc_rfd": 0.0}) for bridge in (SCRX, EXNI)),
    (EXPIC1, "whole", {"k_p": 0.0, "k_i": 0.0}),
]


def inputs_of(component, i_f_after=0.35):
    inputs = {"v_re": SAG, "v_im": step(0.0), "v_s": REFERENCE}
    after = {k: 0.5 * x for k, x in FED.items()} | {"i_f": i_f_after}
    return inputs | {k: step(x, (2.5011, after[k])) for k, x in FED.items() if k in component.inputs}


@pytest.mark.parametrize(
    ("component", "form", "change"), FORMS, ids=[f"{c.__name__}-{f}-{'-'.join(x)}" for c, f, x in FORMS]
)
def test_exciter(component, form, change):
    p = numbers(component, form, **change)
    if form == "algebraic" and component in LOOPS:
        p[LOOPS[component]] = 0.0
    after = -0.2 if component in (SCRX, EXNI) else 0.35  # a negative field current meets the crowbar
    found = compare(
        component, DIAGRAMS[component], p, "v_f", inputs_of(component, after), {"v_f": V_F} | FED, "v_ref"
    )
    assert found.max() > 0.6
    assert found.min() < 0.2


def test_a_static_expic1_gives_what_its_source_gives():
    """t_e = 0, as every public record has it: v_f = e_0 at once."""
    static = {"t_e": 0.0, "k_e": 1.0, "se_1": 0.0, "se_2": 0.0, "k_f": 0.0, "t_f1": 0.0}
    p = numbers(EXPIC1, "algebraic", **static)

    def diagram(p):
        blocks, _ = expic1(p | {"t_f1": 1.0, "t_e": 1.0})

        def wiring(b, u):
            i = (u.i_d + 1j * u.i_q) * np.exp(1j * (u.delta - np.pi / 2))
            v_b = rectifier(abs(p["k_p"] * u.v_re + 1j * p["k_i"] * i), p["k_c"] * u.i_f)
            error = u.v_ref + u.v_s - b.transducer(u.v_re)
            v_a = clip(p["k_a"] * p["t_a1"] * error + b.integral.out, p["v_r2"], p["v_r1"])
            b.integral(error)
            return clip(v_b * clip(v_a, p["v_r_min"], p["v_r_max"]), p["efd_min"], p["efd_max"])

        del blocks["filter"], blocks["feedback"], blocks["exciter"]
        return blocks, wiring

    found = compare(EXPIC1, diagram, p, "v_f", inputs_of(EXPIC1), {"v_f": V_F} | FED, "v_ref")
    assert found.max() == pytest.approx(p["efd_max"], abs=1e-9)
    assert found.min() == pytest.approx(p["efd_min"], abs=1e-9)


@pytest.mark.parametrize(
    ("component", "change", "message"),
    [
        (EXPIC1, {"t_e": 0.0}, r"t_e = 0, k_e = 0\.9"),
        (EXPIC1, {"t_f1": 0.0}, r"t_f1 = 0 and k_f = 0\.05"),
        (EXPIC1, {"v_r2": 2.0}, r"v_r2 = 2: must be below v_r1"),
        (ESST1A, {"vos": 3.0}, r"vos = 3\.0: must be a whole number from 1 to 2"),
        (ESST1A, {"t_b1": 0.0}, r"t_b1 = 0 and t_c1 = 0\.1"),
        (ESAC6A, {"t_a": 0.0}, r"t_a = 0 and t_k = 0\.06"),
        (DC4B, {"t_dr": 0.0}, r"t_dr = 0 and k_dr = 0\.1"),
        (DC4B, {"k_pr": 0.0, "k_ir": 0.0}, "k_pr = k_ir = 0"),
        (EXAC2, {"v_r_min": 5.0}, "v_r_min = 5: must be below"),
    ],
)
def test_what_cannot_be_is_refused(component, change, message):
    with pytest.raises(InputError, match=message):
        Device("d", component, PARAMETERS[component] | change)
