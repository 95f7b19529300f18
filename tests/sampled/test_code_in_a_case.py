"""Controllers in files as the code of a plant: permission, wiring, start, run, and the same law otherwise."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, InitialisationError, InputError, SimulationError

CASE = """
format = "psmr-case"
version = 1
name = "one machine"
base_mva = 100.0
frequency_hz = 60.0
bus = [{ number = 1, base_kv = 20.0 }, { number = 2, base_kv = 20.0 }]
line = [{ from = 1, to = 2, x = 0.2 }]

[[generator]]
name = "grid"
bus = 1
control = "slack"
v = 1.0
machine = { type = "InfiniteBus", s_n = 1000.0, x_d1 = 0.1 }

[[generator]]
name = "G1"
bus = 2
control = "pv"
v = 1.02
p_mw = 80.0

[generator.machine]
type = "GENROU"
s_n = 100.0
h = 4.0
d = 0.0
r_a = 0.003
x_d = 1.8
x_q = 1.7
x_d1 = 0.3
x_q1 = 0.5
x_2 = 0.25
x_l = 0.15
t_d01 = 6.0
t_d02 = 0.05
t_q01 = 0.5
t_q02 = 0.05
s_10 = 0.05
s_12 = 0.3

"""
LAW = {"k": 50.0, "t_b": 1.0, "t_e": 0.05, "e_min": -5.0, "e_max": 5.0}
CODE = """
[generator.code]
library = "LIBRARY"

[generator.code.parameters]
k = 50.0
t_b = 1.0

[generator.code.inputs]
v_ref = "v_ref pu"
v_s = 0
v_c = "v kV"
v_t = "v pu"
i_f = "i_f pu"
blocked = 0
trim = [0, 0, 0]

[generator.code.outputs]
v_f = "v_f pu"
""".replace('"v kV"', '"v 0.05 kV"')  # 20 kV are 1 pu

FAULT = psmr.Fault(bus=2, x=0.1, start=0.2, clear=0.3)


@pytest.fixture
def case_with(built, tmp_path):
    def read(*choices, code=CODE, allow_code=True):
        library = built(*choices)
        (tmp_path / "case.toml").write_text(CASE + code.replace("LIBRARY", library.as_posix()))
        return psmr.read_case(tmp_path / "case.toml", allow_code=allow_code)

    return read


def fixed(h=1e-3):
    return psmr.SingleRate("TM", h)


def test_nothing_is_opened_without_permission(case_with, tmp_path):
    words = r"case.toml:\d+ \[generator.code\]: library = .* would run .*scrxCRASH.so;.*--allow-code"
    with pytest.raises(CaseError, match=words):
        case_with("CRASH", allow_code=False)
    text = (
        (tmp_path / "case.toml").read_text().replace("version = 1\n", "version = 1\nallow_code = true\n", 1)
    )
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(CaseError, match="no field or table 'allow_code'"):
        psmr.read_case(tmp_path / "case.toml")


def test_what_is_unpickled_is_closed(case_with):
    case = pickle.loads(pickle.dumps(case_with()))
    with pytest.raises(InputError, match="would run; where you trust that code, give --allow-code"):
        psmr.build(case)
    system = pickle.loads(pickle.dumps(psmr.build(case_with())))
    with pytest.raises(InputError, match="would run; where you trust that code"):
        psmr.simulate(system, fixed(), 0.01, certify=False)


def test_it_starts_at_rest_and_stays_there(case_with):
    run = psmr.simulate(psmr.build(case_with()), fixed(), 0.5, certify=False)
    assert np.ptp(run.x, axis=0).max() < 1e-12
    assert np.ptp(run["CODE1.v_f"]) < 1e-12
    assert run["CODE1.samples_out"].iloc[-1] == 750  # a quarter of a second of the start among them


def test_what_the_library_says_is_said_with_time_and_device(case_with):
    with pytest.warns(psmr.errors.PsmrWarning, match=r"t = 0 s: CODE1 says: at nowhere \(at its start\)"):
        system = psmr.build(case_with())
    with pytest.warns(psmr.errors.PsmrWarning, match=r"t = 0\.2 s: CODE1 says: nobody asked for this"):
        psmr.simulate(psmr.build(case_with("TALKS", "AT=0.45")), fixed(), 0.3, certify=False)
    assert [words for _, words in system.devices[-1].code.messages] == ["at nowhere"]


def test_the_start_is_said(case_with):
    report = psmr.check(case_with())
    (said,) = [finding.message for finding in report.findings if finding.name == "CODE1"]
    assert said.startswith("CODE1: ran for 0.25 s to be at rest within ")
    assert "v_ref = 1.02" in str(report)


def test_a_start_goes_on_from_stored_values(case_with, tmp_path):
    code = CODE.replace('library = "LIBRARY"', 'library = "LIBRARY"\nstart = "rest.csv"')
    first = psmr.build(case_with(code=code))
    rest = (tmp_path / "rest.csv").read_text()
    assert rest.startswith("variable,value\ntime in s,0.25\n")
    second = psmr.build(case_with(code=code))
    count, v_ref = ([s.w0[s.index(f"CODE1.{n}")] for s in (first, second)] for n in ("samples_out", "v_ref"))
    assert count[1] == 2 * count[0]  # it counts on
    assert v_ref[1] == v_ref[0]
    assert (tmp_path / "rest.csv").read_text() == rest
    (tmp_path / "rest.csv").write_text(rest.replace("v_ref,", "v_set,"))
    words = r"CODE1: .*rest.csv: has not the values of this controller: v_ref, v_set; delete it"
    with pytest.raises(psmr.errors.InitialisationError, match=words):
        psmr.build(case_with(code=code))


def test_case_is_written_and_read_again(case_with, tmp_path):
    case = case_with()
    psmr.write_case(case, tmp_path / "again.toml")
    assert psmr.read_case(tmp_path / "again.toml", allow_code=True) == case


GOVERNOR = """
[[generator.code]]
name = "GOV"
library = "LIBRARY"
parameters = { k = 1.0 }
outputs = { v_f = "t_m pu" }
[generator.code.inputs]
v_ref = "p_ref pu"
v_s = 0
v_c = "omega pu"
v_t = "v pu"
i_f = 0
blocked = 0
trim = [0, 0, 0]
"""


def test_a_plant_has_several_controllers(case_with, tmp_path):
    case = case_with(code=CODE.replace("[generator.code]", "[[generator.code]]") + GOVERNOR)
    psmr.write_case(case, tmp_path / "again.toml")
    assert psmr.read_case(tmp_path / "again.toml", allow_code=True) == case
    run = psmr.simulate(psmr.build(case), fixed(), 0.5, [FAULT], certify=False)
    assert np.ptp(run["CODE1.v_f"]) > 0.5
    assert 0.0 < np.ptp(run["GOV.t_m"]) < 0.1


def test_file_beside_the_case_is_the_same_from_every_folder(built, tmp_path, monkeypatch):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder, choice in ((home, ()), (elsewhere, ("REFUSES=3",))):
        folder.mkdir()
        shutil.copy(built(*choice), folder / "plant.so")
    (home / "case.toml").write_text(CASE + CODE.replace("LIBRARY", "plant.so"))
    monkeypatch.chdir(home)
    case = psmr.read_case("case.toml", allow_code=True)
    psmr.write_case(case, elsewhere / "again.toml")
    psmr.simulate(psmr.build(case), fixed(), 0.1, certify=False).save("run.psmr")
    monkeypatch.chdir(elsewhere)
    assert psmr.read_case("again.toml", allow_code=True) == case
    run = psmr.load_run(home / "run.psmr", allow_code=True)
    (code,) = [device.code for device in run.system.devices if device.code is not None]
    assert code.file.path == str(home / "plant.so")
    psmr.simulate(run.system_at(0.05), fixed(), 0.1, certify=False)


class PythonScrx(psmr.Component):
    """The law of scrx.c, in Python."""

    samples = psmr.Samples(period="T")
    inputs = ("v_re", "v_im", "v_ref")
    sampled_states = ("led", "lag", "bias")
    sampled_outputs = ("v_f",)

    T = psmr.Parameter("s", "time between samples", default=1e-3)
    k, t_b, t_e, e_min, e_max = (psmr.Parameter("1", name) for name in LAW)

    @staticmethod
    def sample(m, v, p):
        error = v.v_ref - m.sqrt(v.v_re**2 + v.v_im**2) + v.bias
        led = v.led + 0.1 * (error - v.led)
        lag = v.lag + p.T / p.t_e * (p.k * led - v.lag)
        return (v.led + p.T / p.t_b * (error - v.led), m.clip(lag, p.e_min, p.e_max), v.bias), (v.lag,)


def test_component_in_python_of_the_same_law_is_equal(case_with):
    system = psmr.build(case_with())
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, system.w0[:-1], strict=True))
    for own, name in (("double_0", "led"), ("double_1", "lag"), ("double_2", "bias")):
        start[f"CODE1.{name}"] = start[f"CODE1.{own}"]
    (code,) = [device for device in system.devices if device.code is not None]
    wires = {port: code.connections[port] for port in ("v_re", "v_im")}
    python = psmr.Device("CODE1", PythonScrx, LAW, wires)
    devices = [python if device is code else device for device in system.devices]
    known = {f"CODE1.{name}" for name in (*PythonScrx.sampled_states, "v_f", "v_ref")}
    known |= {name for name in start if not name.startswith("CODE1.")}
    twin = psmr.assemble(devices, {name: start[name] for name in start if name in known})
    one, other = (psmr.simulate(s, fixed(), 1.0, [FAULT], certify=False) for s in (system, twin))
    assert np.abs(one.x - other.x).max() < 1e-12
    assert np.abs(one["CODE1.v_f"] - other["CODE1.v_f"]).max() < 1e-12
    assert np.ptp(one["CODE1.v_f"]) > 1.0


def test_difference_from_the_continuous_exciter_falls_with_the_sample(case_with, built, tmp_path):
    exciter = """
[generator.exciter]
type = "SCRX"
t_a = 0.1
c_switch = 1
rc_rfd = 0.0
"""
    exciter += "".join(f"{name} = {value}\n" for name, value in LAW.items())
    (tmp_path / "continuous.toml").write_text(CASE + exciter)
    continuous = psmr.build(psmr.read_case(tmp_path / "continuous.toml"))
    reference = psmr.simulate(continuous, fixed(2.5e-4), 1.0, [FAULT], certify=False)
    errors = []
    for period in (4e-3, 2e-3, 1e-3):
        run = psmr.simulate(
            psmr.build(case_with(f"PERIOD={period}")), fixed(2.5e-4), 1.0, [FAULT], certify=False
        )
        at = np.linspace(0.005, 0.995, 100)
        found = np.interp(at, run.t, run["G1.omega"])
        errors.append(np.abs(found - np.interp(at, reference.t, reference["G1.omega"])).max())
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.abs(slopes - 1).max() < 0.2, errors


@pytest.mark.parametrize(
    ("choice", "isolate", "words"),
    [
        ("BROKEN", False, "Model_Outputs ended with an error: the watchdog has expired"),
        ("BROKEN", True, "Model_Outputs ended with an error: the watchdog has expired"),
        ("OVERRUN", False, r"Model_Outputs wrote behind its states, .* 1 whole, 1 single, 3 double"),
        ("NOT_A_NUMBER", False, r"its output is no number: v_f = nan"),
        ("CRASH", True, r"its process ended \(SIG\w+\)"),
        ("STATUS=3", True, "Model_Outputs ended with the status 3, which .*: at nowhere"),
    ],
)
def test_failure_says_when_and_keeps_the_run(case_with, choice, isolate, words):
    code = CODE.replace("[generator.code]", "[generator.code]\nisolate = true") if isolate else CODE
    system = psmr.build(case_with(choice, "AT=0.4", code=code))  # of which the start takes 0.25 s
    with pytest.raises(
        SimulationError, match=rf"CODE1: .*t = 0\.15 s: {words}\. Its inputs .*v_ref = 1"
    ) as caught:
        psmr.simulate(system, fixed(), 1.0, certify=False, partial=True)
    kept = caught.value.partial
    assert kept.t[-1] == pytest.approx(0.15)
    assert np.ptp(kept.x, axis=0).max() < 1e-12


@pytest.mark.skipif(sys.platform == "win32", reason="no process of its own there")
def test_isolated_controller_that_crashes_while_it_is_read_is_an_error(case_with):
    code = CODE.replace("[generator.code]", "[generator.code]\nisolate = true")
    with pytest.raises(CaseError, match=r"its process ended \(SIG\w+\) while it said what it is or checked"):
        case_with("CRASH_EARLY", code=code)


@pytest.mark.skipif(sys.platform == "win32", reason="no process of its own there")
def test_isolated_controller_that_does_not_come_back_is_interrupted_and_ended(case_with):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    system = psmr.build(
        case_with(
            "LOOPS", "AT=0.4", code=CODE.replace("[generator.code]", "[generator.code]\nisolate = true")
        )
    )
    psmr.simulate(system, fixed(), 0.1, certify=False)
    (live,) = [device.code.live for device in system.devices if device.code is not None]
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            psmr.simulate(system, fixed(), 1.0, certify=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    ended = live.process
    run = psmr.simulate(system, fixed(), 0.1, certify=False)  # in another process
    assert np.ptp(run.x, axis=0).max() < 1e-12
    assert ended.returncode == -signal.SIGKILL
    live.close()


def test_isolated_controller_ends_with_the_process_that_it_works_for(case_with, tmp_path):
    code = CODE.replace("[generator.code]", "[generator.code]\nisolate = true")
    case_with("LOOPS", "AT=0.4", code=code)
    program = (
        "import psmr\n"
        f"system = psmr.build(psmr.read_case({os.fspath(tmp_path / 'case.toml')!r}, allow_code=True))\n"
        "(code,) = [device.code for device in system.devices if device.code is not None]\n"
        "print(code.live.process.pid, flush=True)\n"
        "psmr.simulate(system, psmr.SingleRate('TM', 1e-3), 1.0, certify=False)\n"
    )
    run = subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE)
    own = int(run.stdout.readline())
    time.sleep(1.0)
    run.kill()
    run.wait()
    run.stdout.close()
    for _ in range(100):
        try:
            os.kill(own, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(own, signal.SIGKILL)
    pytest.fail("the process of the controller is left behind")


def test_isolated_controller_gives_the_same_run(case_with):
    runs = [
        psmr.simulate(psmr.build(case_with(code=code)), fixed(), 0.5, [FAULT], certify=False)
        for code in (CODE, CODE.replace("[generator.code]", "[generator.code]\nisolate = true"))
    ]
    assert (runs[0].x == runs[1].x).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('i_f = "i_f pu"\n', ""), r"inputs: SCRX at samples also reads i_f \(Field current, pu\)"),
        (('i_f = "i_f pu"', 'i_f = "i_g pu"'), "inputs: nothing in G1 gives i_g; name a variable"),
        (('i_f = "i_f pu"', 'i_f = "i_f kA"'), "i_f has no unit 'kA'; known: pu"),
        (('i_f = "i_f pu"', "i_f = true"), 'i_f: must be a number, or a signal and its unit, as in "v_a kV"'),
        (('"i_f pu"', '"i_f . pu"'), "'i_f . pu': must be a number, or a signal and its unit"),
        (('"v_f pu"', '"v_f 0 pu"'), "'v_f 0 pu': the factor must be finite and not zero"),
        (('"v_f pu"', '"v_f 1e999 pu"'), "'v_f 1e999 pu': the factor must be finite and not zero"),
        (("v_s = 0", "v_s = nan"), "nan: must be a finite number"),
        (("v_s = 0", 'v_s = "bus9.v_re"'), "CODE1 reads bus9.v_re, of which nothing is known at the start"),
        (("v_s = 0", 'v_s = "gird.e"'), "CODE1 reads gird.e, .* at the start; did you mean 'grid.e'"),
        (("i_f = ", "i_field = "), "inputs: SCRX at samples has no input 'i_field'; did you mean 'i_f'"),
        (("trim = [0, 0, 0]", "trim = [0, 0]"), "inputs: trim has 3 values, not 2"),
        (
            ('v_f = "v_f pu"', 'v_ff = "v_f pu"'),
            "outputs: SCRX at samples has no output 'v_ff'; did you mean 'v_f'",
        ),
        (('v_f = "v_f pu"', 'v_f = "v_g pu"'), "no device of G1 reads the output of Controller"),
        (("k = 50.0", "k = 5e4"), "k = 50000.0: must be from 0 to 1000 pu, the bounds of the library"),
        (("k = 50.0", "kk = 50.0"), "has no parameter 'kk'; did you mean 'k'"),
        (('library = "', 'mode = "instantaneous"\nlibrary = "'), "SCRX at samples works on phasors"),
        (('library = "', 'fmu = "'), "is no|FMPy|unit"),
        (
            ('library = "', 'delay = 0.1\nlibrary = "'),
            "T_d = 0.1: the computing delay must be between 0 s and",
        ),
        (("kV", "kW"), "'v 0.05 kW': v has no unit 'kW'; did you mean 'kV'"),
    ],
)
def test_what_does_not_fit_is_said(case_with, change, words):
    assert change[0] in CODE
    with pytest.raises(psmr.errors.PsmrError, match=words):
        psmr.build(case_with(code=CODE.replace(*change)))


def test_bus_without_base_voltage(case_with, monkeypatch):
    monkeypatch.setattr(
        sys.modules[__name__], "CASE", CASE.replace("number = 2, base_kv = 20.0", "number = 2")
    )
    with pytest.raises(CaseError, match="its ports are in kV or kA: give bus2 its base_kv"):
        psmr.build(case_with())


def test_controller_that_never_rests(case_with, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InitialisationError, match=r"CODE1 of G1: .*; see G1-start\.svg"):
        psmr.build(
            case_with(
                code=CODE.replace('v_ref = "v_ref pu"', "v_ref = 1.0\n").replace('"v 0.05 kV"', '"t s"')
            )
        )
    assert "<svg" in (tmp_path / "G1-start.svg").read_text()


def test_saved_run_is_read_without_its_controller_and_goes_on_with_permission(case_with, tmp_path):
    system = psmr.build(case_with())
    whole = psmr.simulate(system, fixed(), 0.4, [FAULT], certify=False)
    psmr.simulate(system, fixed(), 0.2, certify=False).save(tmp_path / "run.psmr")
    first = psmr.load_run(tmp_path / "run.psmr")
    assert np.ptp(first["CODE1.v_f"]) < 1e-12
    with pytest.raises(InputError, match="would run; where you trust that code, give --allow-code"):
        psmr.simulate(first.system_at(0.2), fixed(), 0.4, [FAULT], certify=False)
    allowed = psmr.load_run(tmp_path / "run.psmr", allow_code=True)
    second = psmr.simulate(allowed.system_at(0.2), fixed(), 0.4, [FAULT], certify=False)
    assert np.abs(second.x[-1] - whole.x[-1]).max() < 1e-9


def test_permission_goes_on_to_the_workers_of_a_sweep(case_with, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case_with()
    (tmp_path / "study.toml").write_text(
        'format = "psmr-study"\nversion = 1\ncase = "case.toml"\n\n[simulation]\nt_end = 0.2\n'
    )
    study = psmr.read_study("study.toml", allow_code=True)
    sweep = psmr.Sweep(study, (psmr.CaseAxis(("case.toml",)),))
    assert list(psmr.sweep(sweep, workers=2, report=False, folder="out").table["status"]) == ["done"]
    with pytest.raises(CaseError, match=r"would run .*--allow-code"):
        psmr.read_study("study.toml").case.read()
