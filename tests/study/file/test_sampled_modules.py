"""Digital controllers of a user's own in case, study and DYR files, from the template of the command line."""

import sys

import numpy as np
import pytest

import psmr
from psmr.cli import main
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.files.test_psse_dyr import GOOD
from tests.internals import sample_changes

SEXS = "1 'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0 /"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of ``psmr new component digital --sampled``."""
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert main(["new", "component", "digital", "--sampled"]) == 0
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("digital", None)


def changed(path, *pairs):
    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def test_the_template_starts_at_rest_with_its_plant(folder):
    """The integral carries v_f / k at rest, and the set-point is the voltage of the bus."""
    case = psmr.read_case("digital-case.toml", allow_code=True)
    system = psmr.build(case)
    start = dict(zip(system.names_u, system.u0, strict=True))
    assert start["AVR1.v_ref"] == pytest.approx(1.02, abs=1e-10)
    assert start["AVR1.integral"] == pytest.approx(start["AVR1.v_f"] / 50.0, abs=1e-12)
    assert np.abs(sample_changes(system, system.w0)[1]).max() < 1e-12
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    report = psmr.check(case)
    sampled = report.variables[report.variables.kind == "sampled"]
    assert list(sampled.variable) == ["integral", "v_f"]
    assert np.abs(sampled.residual).max() < 1e-12
    assert "  samples" in report.text()
    assert "AVR1 every 0.005 s" in report.text()


def test_modes_say_what_they_hold(folder, capsys):
    """With its field voltage held the machine of the template has a mode of its field winding alone."""
    linear = psmr.build(psmr.read_case("digital-case.toml", allow_code=True)).linearise()
    assert linear.held == ("AVR1.integral", "AVR1.v_f")
    assert repr(linear).endswith("2 sampled variables held)")
    assert main(["modes", "digital-case.toml", "--allow-code"]) == 0
    assert "what AVR1 samples is held fixed" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("more", ["T_d = 0.002", "T_d = 0.005", "e_max = 1.0"])
def test_with_a_delay_or_at_a_limit_it_starts_at_rest(folder, more):
    """A limit that is exceeded moves to the start, as one of a continuous device does."""
    changed(folder / "digital-case.toml", ("t_i = 2.0", f"t_i = 2.0\n{more}"))
    case = psmr.read_case("digital-case.toml", allow_code=True)
    if more.startswith("e_max"):
        with pytest.warns(PsmrWarning, match="AVR1: input of a limiter = .* above e_max = 1"):
            system = psmr.build(case)
    else:
        system = psmr.build(case)
        assert [s.offset for s in system.samplers] == [0.0, float(more[-5:])]
    assert np.abs(sample_changes(system, system.w0)[1]).max() < 1e-11


def test_a_record_of_a_dyr_file(folder):
    (folder / "case.raw").write_text(raw_text())
    (folder / "case.dyr").write_text(GOOD.replace(SEXS, "1 'DIGITAL' 1 50 2 0.01 0.002 5 0 /"))
    case = psmr.read_case("case.raw", "case.dyr", modules=["digital"])
    device = next(device for device in case.generators[0].devices if device.role == "exciter")
    assert device.parameters == {"k": 50.0, "t_i": 2.0, "T": 0.01, "T_d": 0.002, "e_max": 5.0, "e_min": 0.0}
    assert [s.offset for s in psmr.build(case).samplers] == [0.0, 0.002]


WRONG = {
    "times": ("t_i = 2.0", "t_i = 2.0\nT_d = 0.006", r"T_d = 0\.006: the computing delay must be between"),
    "period": ("t_i = 2.0", "t_i = 2.0\nT = 0.0", r"T = 0\.0: must be > 0 \(time between samples, s\)"),
}


@pytest.mark.parametrize(("old", "new", "words"), WRONG.values(), ids=WRONG)
def test_wrong_times_in_a_case_get_a_sentence_with_file_and_line(folder, old, new, words):
    changed(folder / "digital-case.toml", (old, new))
    with pytest.raises(CaseError, match=rf"digital-case\.toml:\d+ \[generator\.exciter\] \(AVR1\): {words}"):
        psmr.read_case("digital-case.toml", allow_code=True)


WRITTEN = {
    "parameter": (
        "p.T / p.t_i",
        "p.T / p.ti",
        r"digital\.py:\d+: Digital\.sample: .*'ti'; did you mean 't_i'",
    ),
    "output": (
        "return (integral,), (v_f,)",
        "return (integral,), ()",
        r"digital\.py: Digital\.sample returned",
    ),
    "samples": (
        "    samples = Samples",
        "    times = Samples",
        r"digital\.py: Digital: sampled_states without",
    ),
    "name": ('period="T"', 'period="Ts"', r"digital\.py: Digital: samples: period = 'Ts' is none of its"),
}


@pytest.mark.parametrize(("old", "new", "words"), WRITTEN.values(), ids=WRITTEN)
def test_mistakes_in_the_class_get_a_sentence_with_the_file(folder, old, new, words):
    changed(folder / "digital.py", (old, new))
    with pytest.raises(CaseError, match=words):
        psmr.read_case("digital-case.toml", allow_code=True)


def test_a_sample_that_cannot_rest_is_named(folder):
    """A counter changes at each sample: there is no equilibrium."""
    changed(
        folder / "digital.py",
        ('sampled_states = ("integral",)', 'sampled_states = ("integral", "count")'),
        ("return (integral,), (v_f,)", "return (integral, v.count + 1), (v_f,)"),
    )
    case = psmr.read_case("digital-case.toml", allow_code=True)
    with pytest.raises(psmr.PsmrError, match=r"AVR1\.count: residual 1 at the start, no equilibrium found"):
        psmr.build(case)


def test_sampled_goes_with_a_component(folder, capsys):
    assert main(["new", "study", "other", "--sampled"]) == 2
    assert "--sampled goes with a component" in capsys.readouterr().err


def test_what_a_sample_leaves_as_it_is_keeps_the_value_of_the_guess(folder):
    """A flag that is set below 0.5 pu may be anything at rest; it begins at 0."""
    changed(
        folder / "digital.py",
        ('sampled_states = ("integral",)', 'sampled_states = ("integral", "dip")'),
        ("return (integral,), (v_f,)", "return (integral, m.where(m.ge(0.5, v.v_re), 1, v.dip)), (v_f,)"),
    )
    system = psmr.build(psmr.read_case("digital-case.toml", allow_code=True))
    assert system.w0[system.index("AVR1.dip")] == 0.0
    assert system.w0[system.index("AVR1.v_ref")] == pytest.approx(1.02, abs=1e-10)


RELAY = """
[[relay]]
name = "R2"
bus = 2
acts_on = "load2"

[relay.device]
type = "LowVoltage"
"""
LOW_VOLTAGE = '''

class LowVoltage(Component):
    """It trips after four samples in a row, of the mean of this and the last one, below a threshold."""

    role = "relay"
    acts_on = "load"
    inputs = ("v_re", "v_im")
    sampled_states = ("last", "count")
    sampled_outputs = ("low",)
    samples = Samples(period="T")
    T = Parameter("s", "time between samples", positive, default=0.005)
    v_min = Parameter("pu", "threshold", positive, default=0.8)
    actions = (Action("undervoltage", lambda m, v, p: v.low - 0.5, trips=True, protects=True),)

    @staticmethod
    def sample(m, v, p):
        now = m.sqrt(v.v_re**2 + v.v_im**2)
        count = m.where(m.ge(p.v_min, 0.5 * (now + v.last)), v.count + 1, 0)
        return (now, count), (m.where(m.ge(count, 4), 1, 0),)
'''


def with_a_relay(folder):
    changed(
        folder / "digital.py",
        ("from psmr import", "from psmr.dae.declare.component import Action\nfrom psmr import"),
    )
    with open(folder / "digital.py", "a") as file:
        file.write(LOW_VOLTAGE)
    with open(folder / "digital-case.toml", "a") as file:
        file.write(RELAY)
    return psmr.build(psmr.read_case("digital-case.toml", allow_code=True))


def test_a_relay_that_samples_is_at_rest_after_its_samples_at_the_start(folder):
    system = with_a_relay(folder)
    start = {n: system.w0[system.index(f"R2.{n}")] for n in ("last", "count", "low")}
    assert start == pytest.approx({"last": 1.02, "count": 0.0, "low": 0.0})


def test_the_template_runs_as_it_is(folder, capsys):
    assert main(["run", "digital-study.toml", "--allow-code", "-o", "out", "--save"]) == 0
    assert "one machine with Digital: OK" in capsys.readouterr().out
    run = psmr.load_run(folder / "out" / "run.psmr", modules=["digital"])
    assert np.ptp(run["AVR1.v_f"]) > 0.5


def test_a_relay_that_samples_acts(folder):
    """Bus 2 is at 0 from 1 s on: of the samples behind that the fourth is 20 ms later."""
    system = with_a_relay(folder)
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.005), 1.2, [psmr.Fault(2, 1.0, 1.1)], certify=False)
    ((t, words),) = run.outcome.acted
    assert "R2" in words
    assert t == pytest.approx(1.02, abs=1e-6)


def test_a_plant_returns_with_its_samples_at_rest_without_power(folder):
    """At 3 s its field voltage is that without load at the voltage there; then it takes its power."""
    system = psmr.build(psmr.read_case("digital-case.toml", allow_code=True))
    trip = psmr.GeneratorTrip("G1", 1.0, reconnect=3.0, ramp=2.0)
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 20.0, [trip], certify=False)
    found = run.at([2.0, 3.01, 20.0], ["G1.p", "AVR1.v_f", "bus2.v"]).to_numpy()
    assert found[:, 0] == pytest.approx([0.0, 0.0, 70.0], abs=0.01)
    assert found[1, 1] == pytest.approx(found[1, 2], abs=0.005)
    assert found[2, 1] == pytest.approx(system.w0[system.index("AVR1.v_f")], abs=1e-3)


def test_a_sweep_of_the_period(folder):
    """Half the period makes half the difference to the field voltage at 1.5 s, or so."""
    changed(folder / "digital-study.toml", ("t_end = 10.0", "t_end = 1.5"))
    axis = psmr.ParameterAxis("AVR1", "T", (0.02, 0.01, 0.005, 0.0025))
    swept = psmr.sweep(
        psmr.read_study("digital-study.toml", allow_code=True),
        [axis],
        folder="out",
        signals=["AVR1.v_f"],
        workers=1,
        report=False,
    )
    last = [swept.signals(k)["AVR1.v_f"].iloc[-1] for k in range(4)]
    first, second, third = np.abs(np.diff(last))
    assert first > 1.5 * second > 1.5**2 * third > 0.0


def test_the_equilibrium_behind_events_has_samples_at_rest(folder):
    """Sought at 1 s, where the run swings, it is where the run comes to rest in a minute."""
    system = psmr.build(psmr.read_case("digital-case.toml", allow_code=True))
    v_ref = float(system.w0[system.index("AVR1.v_ref")])
    events = [psmr.SetPoint("AVR1", "v_ref", v_ref + 0.02, 0.5), psmr.LineTrip("line1-2-2", 0.6)]
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 60.0, events, certify=False)
    after = run.linearise(1.0, at="equilibrium")
    end = run.linearise(60.0)
    assert np.abs(after.state_matrix() - end.state_matrix()).max() < 1e-8
    assert np.abs(run.linearise(1.0).state_matrix() - end.state_matrix()).max() > 1e-3


def test_two_rates_are_the_usual_scheme_where_something_samples(folder, capsys):
    """A study without a scheme, or with a tolerance alone, takes them, and the report says what they gain."""
    study = psmr.read_study("digital-study.toml", allow_code=True)
    case = psmr.read_case("digital-case.toml", allow_code=True)
    linear = psmr.build(case).linearise()
    assert isinstance(study.recipe.scheme(linear), psmr.SampledMultirate)
    text = (folder / "digital-study.toml").read_text()
    for table, kind in (
        ("[scheme]\ntolerance = 1e-3\n", psmr.SampledMultirate),
        ('[scheme]\ntype = "sampled"\ntolerance = 1e-3\nh_fast = 0.001\n', psmr.SampledMultirate),
        ('[scheme]\ntype = "variable"\ntolerance = 1e-3\n', psmr.VariableStep),
        ('[scheme]\nmethod = "BDF"\n', psmr.VariableStep),
    ):
        (folder / "digital-study.toml").write_text(text + "\n" + table)
        scheme = psmr.read_study("digital-study.toml", allow_code=True).recipe.scheme(linear)
        assert type(scheme) is kind
    (folder / "digital-study.toml").write_text(text)
    assert main(["run", "digital-study.toml", "--allow-code"]) in (0, 1)
    said = capsys.readouterr().out.replace("\n", " ")
    assert "two rates by samples" in said
