"""Static var systems on shunts: their block diagrams, their actions, files, and a run against IDA."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.components import SVSMO1, SVSMO3
from tests.devices.alone import TOLERANCE, H, guess_of, run_alone
from tests.devices.diagram import TIMES, Block, clip, respond, step
from tests.files.back import OTHERS
from tests.files.raw import raw_text
from tests.internals import Change, Terminal, power_flow

SVC = {
    **{"s_base": 100.0, "bus": 0.0, "uvsb_max": 0.18, "uv1": 0.52, "uv2": 0.31, "uvt": 0.48, "ov1": 1.2},
    **{"ov2": 1.3, "uv_tm1": 0.3, "uv_tm2": 0.7, "ov_tm1": 0.9, "ov_tm2": 0.27, "x_c1": 0.023, "x_c2": 0.01},
    **{"x_c3": 0.04, "v_up": 1.05, "v_low": 0.95, "t_c1": 0.01, "t_b1": 0.04, "t_c2": 0.03, "t_b2": 0.1},
    **{"k_pv": 2.0, "k_iv": 15.0, "ve_max": 0.45, "ve_min": -0.35, "t_2": 0.02, "b_shrt": 1.1, "b_max": 0.95},
    **{"b_min": -0.3, "t_shrt": 0.35, "k_ps": 0.0, "k_is": 0.0, "vr_max": 0.1, "vr_min": -0.1},
    **{"vdbd1": 0.0, "vdbd2": 0.0, "t_dbd": 0.0, "pll_delay": 0.13, "eps": 1.0, "b_scs": 60.0},
    **{"b_sis": -18.0, "v_ref_min": 0.8, "v_ref_max": 1.2},
}
SLOW = {"k_ps": 0.02, "k_is": 0.3}
PARAMETERS = {SVSMO1: SVC | {"b_shrt": 0.8, "b_max": 0.6, "vdbd1": 0.2, "free": 1.0}}
VARIANTS = {
    SVSMO1: (
        *({"slope_flag": 1.0}, {"short": 1.0}, {"below": 1.0}, {"deep": 1.0}, {"free": 0.0}),
        *(SLOW | {"side": 1.0}, SLOW | {"side": -1.0, "status": 0.0}),
    )
}
ZERO = {SVSMO1: ("t_c1", "t_b1", "t_c2", "t_b2", "t_2", "k_is", "k_ps")}
STATCOM = {
    **{"s_n": 64.0, "s_base": 100.0, "x_c0": 0.03, "x_c1": 0.02, "x_c2": 0.03, "x_c3": 0.05, "v_1": 1.05},
    **{"v_2": 0.95, "t_c1": 0.01, "t_b1": 0.04, "t_c2": 0.03, "t_b2": 0.1, "k_p": 1.5, "k_i": 12.0},
    **{"ve_max": 0.3, "ve_min": -0.25, "t_o": 0.02, "i_max": 0.8, "i_shrt": 1.25, "t_delay1": 0.35},
    **{"i_dbd": 0.5, "vr_max": 0.1, "vr_min": -0.1, "uv1": 0.6, "uv2": 0.3, "ov1": 1.15, "ov2": 1.35},
    **{"v_trip": 1.25, "t_delay2": 0.4},
}
PARAMETERS[SVSMO3] = STATCOM | {"slow_flag": 1.0, "k_pr": 0.3, "k_ir": 0.5, "vr_max": 0.05, "side": 1.0}
VARIANTS[SVSMO3] = (
    *({"droop_flag": 1.0}, {"short": 1.0, "side": -1.0}, {"dbd": 0.1, "free": 1.0}, {"dbd": 0.1}),
    {"slow_flag": 0.0, "status": 0.0, "i_shrt": 0.0},
)
ZERO[SVSMO3] = ("t_c1", "t_b1", "t_c2", "t_b2", "t_o", "k_ir")
START = Terminal(1.0 + 0.0j, np.conj(0.2j), {})


def svsmo1(p, reference):
    blocks = {
        "measured": Block([p["t_c1"], 1], [p["t_b1"], 1]),
        "led": Block([p["t_c2"], 1], [p["t_b2"], 1]),
        "integral": Block([1], [1, 0], (p["b_min"], p["b_shrt"]), start=0.2),
        "b": Block([1], [p["t_2"], 1]),
    }

    def wiring(b, u):
        measured = b.measured(u.u_re)
        slope = p["x_c1"]
        if p["slope_flag"]:
            # The lag of the measurement decides, which has no lead.
            lagged = b.measured.x[0] * b.measured.c[0] / (1 - p["t_c1"] / p["t_b1"])
            slope = p["x_c1"] if lagged >= p["v_up"] else p["x_c2"] if lagged >= p["v_low"] else p["x_c3"]
        error = reference - measured - slope * b.b.out * u.v_re
        led = b.led(clip(error, p["ve_min"], p["ve_max"]))
        b.integral(p["k_iv"] * led)
        b.b(clip(p["k_pv"] * led + b.integral.out, p["b_min"], p["b_shrt"]))
        return b.b.out

    return blocks, wiring


def svsmo3(p, reference, current):
    blocks = {
        "measured": Block([p["t_c1"], 1], [p["t_b1"], 1]),
        "led": Block([p["t_c2"], 1], [p["t_b2"], 1]),
        "integral": Block([1], [1, 0], (-p["i_max"], p["i_max"]), start=current),
        "i": Block([1], [p["t_o"], 1]),
    }

    def wiring(b, u):
        # The limit follows the voltage, which jumps.
        part = np.interp(u.u_re, (p["uv2"], p["uv1"], p["ov1"], p["ov2"]), (0.0, 1.0, 1.0, 0.0))
        limit = p["i_max"] * max(p["i_shrt"], 1.0) * part
        b.integral.limits = (-limit, limit)
        error = reference - b.measured(u.u_re) - p["x_c0"] * b.i.out
        led = b.led(clip(error, p["ve_min"], p["ve_max"]))
        b.integral(p["k_i"] * led)
        b.i(clip(p["k_p"] * led + b.integral.out, -limit, limit))
        return b.i.out

    return blocks, wiring


def alone(p, voltage, h=1e-3, kind=SVSMO1):
    """The run of a static var system alone, with its own bus at a voltage that jumps."""
    p = ({"slope_flag": 0.0} if kind is SVSMO1 else {}) | p
    guess = guess_of(kind, p, START)
    inputs = dict.fromkeys(("v_re", "u_re"), voltage)
    inputs |= {name: step(0.0) for name in ("v_im", "u_im")}
    inputs |= {name: step(float(guess[name])) for name in ("v_ref", "g")}
    return guess, inputs, run_alone(kind, p, guess, inputs, h)


@pytest.mark.parametrize("change", [{}, {"slope_flag": 1.0, "x_c2": 0.023}], ids=str)
def test_regulator_is_its_block_diagram(change):
    """Voltages past both limits of the error and of the susceptance, and back; no time for an action."""
    p = SVC | {"slope_flag": 0.0, "t_shrt": 9.0, "ov1": 0.0, "ov2": 0.0, "uv1": 0.2, "uv2": 0.1, "uvt": 0.0}
    p |= change
    voltage = step(1.0, (0.1013, 0.99), (0.6013, 0.53), (1.3021, 0.98), (2.0013, 1.45), (3.0013, 1.0))
    guess, inputs, found = alone(p, voltage, H)
    expected = respond(*svsmo1(p, float(guess["v_ref"])), inputs)
    # A step of psmr's ends where the slope changes; the diagram is integrated across it.
    assert np.abs(found.b - expected).max() <= (2e-3 if change else TOLERANCE)
    assert np.abs(found.i_im + found.b * np.array([voltage(t) for t in TIMES])).max() < 1e-2
    assert found.b.max() == pytest.approx(1.1, abs=1e-6)
    assert found.b.min() == pytest.approx(-0.3, abs=1e-6)


def at(found, name, t):
    return float(np.interp(t, TIMES, getattr(found, name)))


def test_undervoltage_strategy():
    """Below uv1 at once uvsb_max, below uv2 b_min; after uv_tm1 the return waits for pll_delay."""
    p = SVC | {"uvt": 0.0, "t_shrt": 9.0}
    voltage = step(
        1.0, (0.2013, 0.5), (0.3013, 1.0), (1.0013, 0.5), (1.2013, 0.3), (1.3013, 0.5), (1.6013, 1.0)
    )
    upper = alone(p, voltage)[2].b_high
    for t, expected in (
        *((0.1, 1.1), (0.25, 0.18), (0.35, 1.1), (1.1, 0.18), (1.25, -0.3), (1.35, 0.18), (1.65, 0.18)),
        *((1.725, 0.18), (1.75, 1.1)),
    ):
        assert np.interp(t, TIMES, upper) == pytest.approx(expected), t


def test_short_term_rating():
    """b above b_max for t_shrt: the limit is b_max until the regulator asks for less."""
    voltage = step(1.0, (0.2013, 0.8), (1.5013, 1.02))
    found = alone(SVC | {"b_max": 0.6, "uvt": 0.0}, voltage)[2]
    first = TIMES[np.flatnonzero(found.b > 0.6)[0]]
    limited = TIMES[np.flatnonzero(found.b_high < 1.0)]
    assert limited[0] - first == pytest.approx(0.35, abs=0.03)
    assert at(found, "b", 1.4) == pytest.approx(0.6)
    assert 1.5 < limited[-1] < 1.71
    assert at(found, "b_high", 2.5) == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("low", "duration", "trips"),
    [(0.47, 0.6, False), (0.47, 0.8, True), (1.25, 0.8, False), (1.25, 1.0, True), (1.35, 0.3, True)],
)
def test_trips(low, duration, trips):
    found = alone(SVC, step(1.0, (0.2013, low), (0.2013 + duration, 1.0)))[2]
    assert (abs(at(found, "i_im", 3.9)) < 1e-9) == trips


def test_dead_band():
    """An error within vdbd1 changes nothing; one beyond it is regulated until below vdbd2 for t_dbd."""
    p = SVC | {"vdbd1": 0.02, "vdbd2": 0.005, "t_dbd": 0.2, "k_iv": 40.0, "x_c1": 0.1}
    found = alone(p, step(1.0, (0.2013, 0.985), (1.0013, 0.97)))[2]
    assert at(found, "b", 0.99) == pytest.approx(0.2)
    assert at(found, "b", 1.5) > 0.4
    resting = TIMES > 3.5
    assert np.ptp(found.b[resting]) < 1e-6
    assert 0 < abs(at(found, "error", 3.9)) < 0.005


def test_slow_regulator_takes_the_susceptance_back():
    """Above b_scs = 60 Mvar the reference falls until b is eps inside; the fast regulator holds b else."""
    p = SVC | {"k_ps": 0.0, "k_is": 0.15, "vr_min": -0.3, "vr_max": 0.3, "x_c1": 0.1, "k_iv": 60.0}
    found = alone(p, step(1.0, (0.2013, 0.955)))[2]
    assert found.b.max() > 0.62
    assert found.x_r[-1] < -0.001
    assert at(found, "b", 3.9) == pytest.approx(0.59, abs=2e-3)


def test_converter_is_its_block_diagram():
    """Voltages past both limits of the error, the rating and where it shrinks; no time for an action."""
    p = STATCOM | {"t_delay1": 9.0, "v_trip": 0.0}
    voltage = step(1.0, (0.1013, 0.99), (0.6013, 0.7), (1.3021, 0.45), (1.9013, 1.2), (3.0013, 1.0))
    guess, inputs, found = alone(p, voltage, H, SVSMO3)
    expected = respond(*svsmo3(p, float(guess["v_ref"]), float(guess["i"])), inputs)
    assert np.abs(found.i - expected).max() <= TOLERANCE
    assert np.abs(found.i_im + 0.64 * found.i).max() < 1e-9
    assert found.i.max() == pytest.approx(1.0, abs=1e-6)
    # Half of the rating is left at 0.45 pu, three quarters of it at 1.2 pu.
    assert at(found, "i", 1.8) == pytest.approx(0.5, abs=1e-6)
    assert at(found, "i", 2.9) == pytest.approx(-0.75, abs=1e-6)


def test_short_term_rating_of_the_converter():
    found = alone(STATCOM, step(1.0, (0.2013, 0.8), (1.5013, 1.02)), kind=SVSMO3)[2]
    first = TIMES[np.flatnonzero(found.i > 0.8)[0]]
    limited = TIMES[np.flatnonzero(found.i_high < 0.9)]
    assert limited[0] - first == pytest.approx(0.35, abs=0.03)
    assert at(found, "i", 1.4) == pytest.approx(0.8)
    assert at(found, "i_high", 2.5) == pytest.approx(1.0)


def test_slow_reset_of_the_converter():
    """Above i_dbd the reference falls until the current is back there."""
    p = STATCOM | {"slow_flag": 1.0, "k_ir": 0.1, "vr_min": -0.3, "x_c0": 0.1, "k_i": 60.0, "k_p": 0.0}
    found = alone(p, step(1.0, (0.2013, 0.965)), kind=SVSMO3)[2]
    assert found.i.max() > 0.6
    assert at(found, "i", 3.9) == pytest.approx(0.5, abs=5e-3)


@pytest.mark.parametrize(("duration", "trips"), [(0.3, False), (0.5, True)])
def test_the_converter_trips(duration, trips):
    found = alone(STATCOM, step(1.0, (0.2013, 1.3), (0.2013 + duration, 1.0)), kind=SVSMO3)[2]
    assert (abs(at(found, "i_im", 3.9)) < 1e-9) == trips


TABLE = "".join(f"{k} = {v!r}\n" for k, v in (SVC | {"k_pv": 5.0, "k_iv": 50.0}).items() if k != "s_base")


@pytest.fixture
def nine_bus(tmp_path):
    """The nine-bus system with a static var system of 30 Mvar at bus 8, which regulates bus 7."""

    def made(more="", table=TABLE):
        text = psmr.case_path("wscc9").read_text(encoding="utf-8")
        shunt = f'\n[[shunt]]\nbus = 8\nb_mvar = 30.0\n{more}\n[shunt.static_var_system]\ntype = "SVSMO1"\n'
        path = tmp_path / "case.toml"
        path.write_text(text + shunt + table.replace("bus = 0.0", "bus = 7"), encoding="utf-8")
        return psmr.read_case(path)

    return made


def test_the_power_flow_is_that_of_the_shunt(nine_bus):
    """The device starts from the shunt's susceptance; set-point and regulated bus follow."""
    case = nine_bus()
    system = psmr.build(case)
    assert system.x0[system.names_x.index("shunt8.b")] == pytest.approx(0.3)
    v = {
        bus: abs(complex(*(system.w0[system.index(f"bus{bus}.v_{k}")] for k in ("re", "im"))))
        for bus in (7, 8)
    }
    v_ref = system.w0[system.index("shunt8.v_ref")]
    assert v_ref == pytest.approx(v[7] + 0.023 * 0.3 * v[8])
    flow, shunts = power_flow(case), replace(case.shunts[-1], static_var_system=None)
    plain = power_flow(replace(case, shunts=(*case.shunts[:-1], shunts)))
    assert np.array_equal(flow.voltage, plain.voltage)


def test_a_run_is_that_of_ida(nine_bus):
    """A dip at bus 8 and a step of the reference within all limits: as IDA integrates the same equations."""
    # It takes the parameters of this file, so that it cannot be imported before them.
    from tests.peers.test_ida_models import reference

    system = psmr.build(nine_bus())
    v_ref = float(system.w0[system.index("shunt8.v_ref")])
    dip = psmr.Fault(bus=8, start=0.2, clear=0.3, x=0.8)
    steps = (*dip.changes(system), Change(1.0, inputs=(("shunt8.v_ref", v_ref + 0.01),), label="step"))
    times = np.linspace(0.0, 2.0, 401)
    expected = reference(system, steps, times)
    run = psmr.simulate(
        system, psmr.SingleRate("TM", 5e-4), 2.0, [dip, psmr.SetPoint("shunt8", "v_ref", v_ref + 0.01, 1.0)]
    )
    kept = [k for k, t in enumerate(times) if not np.isclose(t, [0.0, 0.2, 0.3, 1.0, 2.0]).any() and t > 0.2]
    place = system.names_x.index("shunt8.b")
    b = np.interp(times[kept], run.t, run["shunt8.b"])
    assert b.max() - b.min() > 0.05
    assert np.abs(b - expected[: len(kept), place]).max() < 1e-4


@pytest.mark.parametrize(
    ("more", "table", "message"),
    [
        ("", TABLE.replace("bus = 0.0", "bus = 99"), r"bus = 99: there is no bus with this number"),
        ("", TABLE.replace("uv2 = 0.31", "uv2 = 0.6"), r"uv2 = 0.6: must be at most uv1 = 0.52"),
        ("", TABLE.replace("t_b1 = 0.04", "t_b1 = 0.0"), r"t_b1 = 0 and t_c1 = 0.01"),
        (
            "",
            TABLE.replace("k_pv = 5.0", "k_pv = 0.0").replace("k_iv = 50.0", "k_iv = 0.0"),
            r"k_pv = k_iv = 0",
        ),
        ("", TABLE.replace("eps = 1.0", "epsilon = 1.0"), r"SVSMO1 has no parameter 'epsilon'"),
    ],
)
def test_what_cannot_be_is_refused(nine_bus, more, table, message):
    with pytest.raises(CaseError, match=message):
        nine_bus(more, table)


def test_out_of_service_it_is_a_shunt(nine_bus):
    case = nine_bus("status = 0\n")
    system = psmr.build(case)
    assert "shunt8.b" not in system.names_x
    assert case.shunts[-1].static_var_system is not None


def test_a_start_beyond_the_rating_moves_the_limit(nine_bus):
    table = TABLE.replace("b_shrt = 1.1", "b_shrt = 0.2").replace("b_max = 0.95", "b_max = 0.2")
    case = nine_bus("", table)
    with pytest.warns(PsmrWarning, match=r"b_max = 0.2 set to 0.3"):
        system = psmr.build(case)
    assert system.x0[system.names_x.index("shunt8.b")] == pytest.approx(0.3)


def test_it_is_switched_off_and_on(nine_bus):
    system = psmr.build(nine_bus())
    events = [psmr.ShuntSwitch("shunt8", 0.5, on=False), psmr.ShuntSwitch("shunt8", 1.0)]
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 1.5, events)
    q = run["shunt8.q"]
    assert abs(float(np.interp(0.75, run.t, q))) < 1e-9
    assert float(np.interp(1.5, run.t, q)) > 20.0


def test_toml_there_and_back(nine_bus, tmp_path):
    case = nine_bus()
    psmr.write_case(case, tmp_path / "again.toml")
    again = psmr.read_case(tmp_path / "again.toml")
    assert again.shunts == case.shunts
    assert again.shunts[-1].static_var_system.parameters["bus"] == 7
    assert case.tables["SVSMO1"].loc["shunt8", "k_pv"] == 5.0


# The record of InterPSS' public test data (PSSE_5Bus_svsmo1t2_synthetic.dyr), at another bus.
RECORD = """3 'SVSMO1T2' 3 0 0 0 '1' 0 '2' 0 '3' 0 '4' 0 '5' 0 '6' 0 '7' 0 '8'
 0.18 0.52 0.31 0.48 1.80 2.00 0.93 6.7 0.91 0.27
 0.023 0.0 0.0 1.08 0.92 0.0 0.012 0.0 0.0 42.0 210.0 0.45 -0.45
 0.012 1.10 0.95 -0.30 0.35 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.13
 0.4 37.0 19.0 -38.0 -18.0 0.09 0.47 2.8 280.0 0.80 1.20 /
"""
MACHINE = "1 'GENCLS' 1 4.0 0.0 /\n"


def read(folder, record, version=33):
    (folder / "case.raw").write_text(raw_text(version))
    (folder / "case.dyr").write_text(MACHINE + OTHERS + record)
    return psmr.read_case(folder / "case.raw", folder / "case.dyr")


@pytest.mark.parametrize("version", [33, 35])
def test_record(tmp_path, version):
    """The values in the order of the record; the same with the shunt's identifier."""
    record = RECORD if version == 33 else RECORD.replace("'SVSMO1T2' 3", "'SVSMO1T3' '1' 3")
    case = read(tmp_path, record, version)
    (row,) = (row for row in case.shunts if row.static_var_system)
    p = row.static_var_system.parameters
    assert (row.name, row.b_mvar, p["bus"], p["slope_flag"]) == ("switched3", 7.0, 0.0, 0.0)
    assert (p["uvsb_max"], p["uv_tm2"], p["ov_tm2"], p["k_iv"], p["b_min"]) == (0.18, 6.7, 0.27, 210.0, -0.3)
    assert (p["pll_delay"], p["b_scs"], p["b_sis"], p["v_ref_max"]) == (0.13, 19.0, -18.0, 1.2)
    system = psmr.build(case)
    assert system.x0[system.names_x.index("switched3.b")] == pytest.approx(0.07)
    psmr.write_case(case, tmp_path / "again.raw")
    again = psmr.read_case(tmp_path / "again.raw", tmp_path / "again.dyr")
    (back,) = (row for row in again.shunts if row.static_var_system)
    assert back == row


def test_records_that_say_something(tmp_path):
    with pytest.warns(PsmrWarning, match=r"case.dyr:4: SVSMO1T2: FLAG1 = 1, and it names no shunt to switch"):
        read(tmp_path, RECORD.replace("'SVSMO1T2' 3 0", "'SVSMO1T2' 3 1"))
    with pytest.warns(
        PsmrWarning, match=r"no switched shunt '1' at bus 2 in the RAW file .* none\); left out"
    ):
        read(tmp_path, RECORD.replace("3 'SVSMO1T2'", "2 'SVSMO1T2'"))
    with pytest.raises(CaseError, match=r"case.dyr:4: SVSMO1T2: has 65 values; must have 66: IBUS FLAG1"):
        read(tmp_path, RECORD.replace(" 1.20 /", " /"))
