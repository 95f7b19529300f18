"""Units of FMI 2 and 3: read, checked, started, run, brought back, and what is said of those that fail."""

import sys
import zipfile

import numpy as np
import pytest

from psmr.errors import InputError, PsmrError, SimulationError
from tests.internals import Fmu, labels
from tests.sampled.fmi.build import MISSING, STATE, VARIABLES, WRITTEN, build, described

pytest.importorskip("fmpy", reason="FMPy reads units of FMI: pip install 'psmr[fmi]'")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

AT_REST = np.array([1.0, 0.0, 1.0, 1.0, 1.5, 0.0])
STEP = np.array([1.01, 0.0, 1.0, 1.0, 1.5, 0.0])

WAYS = [((), WRITTEN), (("LONG_STATE",), WRITTEN), ((), STATE), (("NO_STATE",), "")]
"""Units that write their state, that have too much of it, that give it only, that do not."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


def started(path, name="AVR1", inputs=AT_REST, **parameters):
    unit = Fmu(path).instance(name, **({"v_f_0": 1.8} | parameters))
    unit.initialize(0.0, inputs)
    unit.sample(0.0, inputs)
    return unit


def expected(samples, k=100.0, t_b=10.0):
    """The law at a step of its reference by 0.01, written anew in deviations."""
    led = lag = 0.0
    found = []
    for _ in range(samples):
        found.append(1.8 + lag)
        lag += 1e-3 / 0.05 * (k * (led + 0.1 * (0.01 - led)) - lag)
        led += 1e-3 / t_b * (0.01 - led)
    return np.array(found)


def samples(unit, count, inputs=STEP, first=1):
    return np.array([unit.sample((first + k) * 1e-3, inputs) for k in range(count)])


@pytest.mark.parametrize("fmi", [2, 3])
def test_description(folder, fmi):
    info = Fmu(build(folder, fmi)).info
    assert (info.name, info.api, info.period) == ("SCRX at samples", (fmi, 0), 1e-3)
    assert labels(info.inputs) == ("v_ref", "v_s", "v_c", "v_t", "i_f", "blocked")
    assert labels(info.outputs) == ("v_f", "samples")
    k, t_b, e_max, c_switch, _ = info.parameters
    assert (k.name, k.unit, k.default, k.lower, k.upper, k.fixed) == ("k", "pu", 100.0, 0.0, 1000.0, True)
    assert (t_b.unit, e_max.fixed, c_switch.default) == ("s", False, 1.0)


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("pu", "pu"), ("volt", "V"), ("kilovolt", "kV"), ("degree", "deg"), ("radians per second", "rad/s"),
        ("second", "s"),
    ],
)  # fmt: skip
def test_units_are_found_by_their_base_units(folder, unit, found):
    variables = [*VARIABLES, ("u", 16, "Float64", "input", "continuous", "0", f'unit="{unit}"')]
    assert Fmu(build(folder, 3, variables=variables)).info.inputs[-1].unit == found


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize(("choices", "face"), WAYS)
def test_step_of_reference_follows_the_law(folder, fmi, choices, face):
    unit = started(build(folder, fmi, *choices, face=face), k=50.0, t_b=1.0)
    found = samples(unit, 400)
    assert np.abs(found[:, 0] - expected(400, 50.0, 1.0)).max() < 1e-12
    assert found[:, 1].tolist() == list(range(2, 402))
    assert unit.repeatable == bool(face)


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize(("choices", "face"), WAYS[:3])
def test_samples_are_done_over_from_an_earlier_state(folder, fmi, choices, face):
    unit = started(build(folder, fmi, *choices, face=face))
    samples(unit, 30)
    before = unit.values.copy()
    first = samples(unit, 50, first=31)
    samples(unit, 20, AT_REST, first=81)
    unit.values[:] = before
    assert samples(unit, 50, first=31).tolist() == first.tolist()
    assert np.abs(first[:, 0] - expected(80)[30:]).max() < 1e-12


@pytest.mark.parametrize(("choices", "face"), WAYS)
def test_states_all_zero_start_it_with_the_inputs_of_that_sample(folder, choices, face):
    unit = started(build(folder, 3, *choices, face=face))
    moved = np.array([1.0, 0.05, 1.0, 1.0, 1.5, 0.0])
    for _ in range(2):
        unit.values[:] = 0.0
        found = samples(unit, 20, moved, first=500)
        assert np.abs(found[:, 0] - 1.8).max() < 1e-14
        assert unit.values[:2].tolist() == [20.0, 0.5]


@pytest.mark.parametrize(("choices", "face"), WAYS)
def test_it_goes_back_to_its_start(folder, choices, face):
    unit = started(build(folder, 2, *choices, face=face))
    start = unit.initialize(0.0, AT_REST)
    first = samples(unit, 1, AT_REST, 0), samples(unit, 40)
    unit.values[:] = start
    again = samples(unit, 1, AT_REST, 0), samples(unit, 40)
    assert [x.tolist() for x in again] == [x.tolist() for x in first]


def test_unit_without_state_says_that_it_cannot_go_back(folder):
    unit = started(build(folder, 3, "NO_STATE", face=""))
    samples(unit, 3)
    before = unit.values.copy()
    samples(unit, 2, first=4)
    unit.values[:] = before
    with pytest.raises(
        SimulationError, match=r"t = 0\.003 s: it is asked to go back .* does not give its state"
    ):
        unit.sample(3e-3, STEP)


def test_state_that_is_no_longer_kept(folder):
    unit = started(build(folder, 3, face=STATE))
    samples(unit, 1)
    before = unit.values.copy()
    samples(unit, 4097, first=2)
    unit.values[:] = before
    with pytest.raises(SimulationError, match=r"does not write its states \(canSerializeFMUState\)"):
        unit.sample(1e-3, STEP)


def test_written_state_goes_on_in_another_unit(folder):
    whole, first, second = (started(build(folder, 3)) for _ in range(3))
    samples(whole, 50)
    samples(first, 50)
    second.values[:] = first.values
    assert samples(second, 50, first=51).tolist() == samples(whole, 50, first=51).tolist()


@pytest.mark.parametrize(("choices", "face"), WAYS)
def test_a_start_is_one_in_another_process_too(folder, choices, face):
    first, second = (started(build(folder, 3, *choices, face=face)) for _ in range(2))
    second.values[:] = first.initialize(0.0, AT_REST)
    assert samples(second, 40, AT_REST, 0).tolist() == samples(first, 40, AT_REST, 0).tolist()
    if choices or face == STATE:
        first.values[:] = second.values
        with pytest.raises(SimulationError, match=r"is asked to go back to a state that is not kept"):
            first.sample(0.04, AT_REST)


@pytest.mark.parametrize("fmi", [2, 3])
def test_instances_do_not_share_what_they_say_and_keep(folder, fmi):
    path = build(folder, fmi, "BROKEN")
    one, two = started(path, "north"), started(path, "south", k=200.0)
    samples(one, 20)
    assert np.abs(samples(two, 20, AT_REST)[:, 0] - 1.8).max() < 1e-14
    for unit in (one, two):
        with pytest.raises(SimulationError, match=f"^{unit.name}: "):
            samples(unit, 100, first=21)
    for unit in (one, two):
        prefix = f"{unit.name}: " if fmi == 2 else ""
        assert unit.messages == [(0.1, f"{prefix}the watchdog has expired")]


def test_values_of_other_kinds_arrive(folder):
    kinds = [
        ("trim", 16, "Float32", "input", "continuous", "0", ""),
        ("gain", 7, "Int64", "input", "discrete", "1", ""),
        ("slow", 15, "Int64", "output", "discrete", None, ""),
    ]
    unit = Fmu(build(folder, 3, variables=[*VARIABLES, *kinds])).instance("AVR1", v_f_0=1.8)
    inputs = np.array([*AT_REST, 0.0, 1.0])
    unit.initialize(0.0, inputs)
    assert samples(unit, 2, inputs)[-1].tolist() == [1.8, 2.0, 0.0]
    inputs[6:] = 0.25, -3.0
    moved = unit.sample(2e-3, inputs)[0], unit.sample(3e-3, inputs)[0]
    assert moved[0] == -3.0 * 1.8
    assert moved[1] < -3.0 * 1.8
    inputs[5] = 1.0
    held = samples(unit, 3, inputs, first=5)[:, 0]
    assert held[0] == held[2]


def test_texts_are_no_ports(folder):
    site = '<String name="site" valueReference="16" causality="input"><Start value=""/></String>'
    assert labels(Fmu(build(folder, 3, more=site)).info.inputs)[-1] == "blocked"


def test_outputs_are_scaled(folder):
    unit = started(build(folder, 2))
    unit.scale([2.0, 1.0])
    assert unit.sample(0.0, AT_REST).tolist() == [3.6, 2.0]


def clock(name, at, more):
    return f'<Clock name="{name}" valueReference="{at}" causality="input" {more}/>'


FAST = clock("fast", 100, 'intervalVariability="constant" intervalDecimal="0.001" priority="0"')
SLOW = clock(
    "slow",
    101,
    'intervalVariability="fixed" intervalCounter="4" shiftCounter="2" resolution="1000" priority="1"',
)
COUNT = ("count", 15, "Int64", "output", "discrete", None, "")


def scheduled(folder, *clocks, **about):
    more = "".join(clocks)
    return build(folder, 3, kind="ScheduledExecution", variables=[*VARIABLES, COUNT], more=more, **about)


def test_scheduled_execution_activates_its_clocks(folder):
    fmu = Fmu(scheduled(folder, SLOW, FAST))
    assert (fmu.info.period, fmu.schedule) == (1e-3, ((100, 1, 0), (101, 4, 2)))
    unit = fmu.instance("AVR1", v_f_0=1.8)
    unit.initialize(0.0, AT_REST)
    found = samples(unit, 100)
    assert np.abs(found[:, 0] - expected(100)).max() < 1e-12
    # The slow clock ticks at 2, 6, 10 ms, after the fast one: 3, 7, 11 samples so far.
    assert found[[1, 2, 5, 6, 9, 10], 2].tolist() == [0, 3, 3, 10, 10, 21]


def test_only_named_clocks_are_activated(folder):
    called = clock("called", 101, 'intervalVariability="triggered"')
    path = scheduled(folder, FAST, called)
    with pytest.raises(
        InputError, match=r"the clock called has no interval that stays, .* name them \(clocks\)"
    ):
        Fmu(path)
    assert Fmu(path, clocks=["fast"]).schedule == ((100, 1, 0),)
    with pytest.raises(InputError, match=r"has no input clock 'fats'; did you mean 'fast'\?"):
        Fmu(path, clocks=["fats"])
    with pytest.raises(InputError, match=r"period = 0\.002 s: its clocks ask for 0\.001 s"):
        Fmu(path, 0.002, ["fast"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kk": 1.0}, r"has no parameter 'kk'; did you mean 'k'\?"),
        ({"v_t": 1.0}, "has no parameter 'v_t'"),
        ({"k": 1e4}, "k = 10000.0: must be from 0 to 1000 pu"),
        ({"e_max": 11.0}, "e_max = 11.0: must be from -inf to 10 pu"),
        ({"c_switch": 0.5}, "c_switch = 0.5: must be a whole number"),
        ({"k": "high"}, "k = 'high': must be a number"),
        (
            {"e_max": 0.0},
            "AVR1: .*, t = 0 s: it does not start: .*ExitInitializationMode failed .*; it says: .*E_MAX",
        ),
    ],
)
def test_parameters_are_checked(folder, given, words):
    with pytest.raises(InputError, match=words):
        Fmu(build(folder, 3)).instance("AVR1", **given)


@pytest.mark.parametrize(
    ("choice", "fmi", "words"),
    [
        (
            "BROKEN",
            2,
            r"does not do its step of 0\.001 s \(discard\); it says: AVR1: the watchdog has expired",
        ),
        ("BROKEN", 3, r"does not do its step of 0\.001 s \(discard\); it says: the watchdog has expired"),
        ("EARLY", 3, r"it ended its step of 0\.001 s early; give a period"),
        ("ENDS", 3, "it asks to end the simulation"),
        ("NOT_A_NUMBER", 2, "its output is no number: v_f = nan"),
    ],
)
def test_unit_that_fails(folder, choice, fmi, words):
    unit = started(build(folder, fmi, choice))
    head, inputs = (
        r"AVR1: .*: SCRX at samples, t = 0\.1 s",
        "Its inputs at that sample: v_ref = 1.01, v_s = 0",
    )
    with pytest.raises(SimulationError, match=rf"{head}: .*{words}.*\. {inputs}"):
        samples(unit, 200)


def test_input_that_is_no_number(folder):
    with pytest.raises(SimulationError, match=r"its input is no number\. Its inputs .*: v_ref = nan, "):
        started(build(folder, 3)).sample(0.0, np.array([np.nan, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    ("about", "period", "words"),
    [
        ({"face": 'fixedInternalStepSize="0.0004"'}, None, "must be a whole multiple of its own step"),
        ({}, 0.0, "period = 0 s: must be the time between two steps"),
        ({"place": "x86_64-windows"}, None, "has no binaries/.*: it is for x86_64-windows; ask its maker"),
        ({"version": "1.0"}, None, r"is of FMI 1\.0; psmr has 2\.0 and 3"),
        ({"kind": "ModelExchange"}, None, "is for model exchange only: .* export it for co-simulation"),
        ({"more": '<Float64 name="x"/>'}, None, r"modelDescription\.xml: .*valueReference"),
    ],
)  # fmt: skip
def test_unit_that_psmr_does_not_run(folder, about, period, words):
    with pytest.raises(InputError, match=words):
        Fmu(build(folder, 3, **about), period)


def test_step_of_the_description_is_what_it_takes(folder):
    path = build(folder, 3, face='fixedInternalStepSize="0.0005"')
    assert Fmu(path, 0.0015).info.period == 0.0015


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "cannot be read"),
        (lambda path: path.write_text("hello"), "is no unit of FMI, which is a zip archive"),
        (lambda path: zipfile.ZipFile(path, "w").close(), "it has no modelDescription.xml"),
        (lambda path: written(path, "<a>"), r"modelDescription\.xml: no element found"),
        (lambda path: written(path, described(3)), "has no binaries/.*: it is for none"),
    ],
)
def test_file_that_is_no_unit(tmp_path, make, words):
    path = tmp_path / "plant.fmu"
    make(path)
    with pytest.raises(InputError, match=words):
        Fmu(path)


def written(path, text):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)


def test_fmpy_is_said_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "fmpy", None)
    with pytest.raises(PsmrError, match=r'a unit of FMI needs fmpy, which .* pip install "psmr\[fmi\]"'):
        Fmu(build(folder, 3))


def test_library_that_is_none(folder, tmp_path):
    path = tmp_path / "plant.fmu"
    with zipfile.ZipFile(build(folder, 3)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[:800] if name.endswith(".so") else data)
    with pytest.raises(InputError, match="is cut short: it has 800 of at least"):
        Fmu(path).instance()


def test_unit_of_another_interface_than_it_says(folder, tmp_path):
    path = tmp_path / "plant.fmu"
    with zipfile.ZipFile(build(folder, 2)) as old, zipfile.ZipFile(path, "w") as new:
        new.writestr("modelDescription.xml", described(3))
        new.writestr("binaries/x86_64-linux/scrx.so", old.read("binaries/linux64/scrx.so"))
    with pytest.raises(InputError, match=r"is no library of FMI 3: .*fmi3"):
        Fmu(path).instance()
