"""Libraries of the IEEE/CIGRE interface: opened, described, checked, run, cut and continued."""

import sys

import numpy as np
import pytest

from psmr.errors import InputError, SimulationError
from tests.internals import RMS, CodeLibrary, labels

AT_REST = np.array([1.0, 0.0, 1.0, 1.0, 1.5, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture
def library(built):
    return CodeLibrary(built())


def started(library, **parameters):
    controller = library.instance(mode=RMS, **parameters)
    controller.initialize(0.0, AT_REST, np.array([1.8, 0.0]))
    return controller


def rest(controller):
    return np.array([controller.sample(k * 1e-3, AT_REST) for k in range(200)])


def test_description(library):
    info = library.info
    assert (info.name, info.api, info.period, info.mode, info.states) == (
        "SCRX at samples", (2, 0, 0, 0), 1e-3, RMS, (1, 1, 3),
    )  # fmt: skip
    assert labels(info.inputs)[5:] == ("blocked", "trim[0]", "trim[1]", "trim[2]")
    k = info.parameters[2]
    assert (k.name, k.group, k.unit, k.default, k.lower, k.upper, k.fixed) == (
        "k", "exciter", "pu", 100.0, 0.0, 1000.0, False,
    )  # fmt: skip
    assert info.parameters[-1].default == "nowhere"


def test_at_rest_it_stays_at_rest(library):
    controller = started(library)
    found = rest(controller)
    assert np.abs(found[:, 0] - 1.8).max() < 1e-14
    assert found[:, 1].tolist() == list(range(1, 201))


def test_step_of_reference_follows_the_law(library):
    controller, step = started(library, k=50.0, t_b=1.0), AT_REST.copy()
    step[0] = 1.01
    found = np.array([controller.sample(k * 1e-3, step)[0] for k in range(400)])
    led = lag = 0.0  # deviations, by the same rule written anew
    expected = []
    for _ in range(400):
        expected.append(1.8 + lag)
        lag += 1e-3 / 0.05 * (50.0 * (led + 0.1 * (0.01 - led)) - lag)
        led += 1e-3 / 1.0 * (0.01 - led)
    assert np.abs(found - expected).max() < 1e-12


def test_values_of_single_precision_and_whole_numbers_arrive(library):
    controller, inputs = started(library), AT_REST.copy()
    inputs[8] = 0.25  # the third trim
    controller.sample(0.0, inputs)
    moved = controller.values[2:5].copy()
    inputs[5] = 1.0
    controller.sample(1e-3, inputs)
    assert moved[1] > 1.8
    assert controller.values[2:5].tolist() == moved.tolist()


def test_states_cut_and_continue_a_run(library):
    step = AT_REST.copy()
    step[0] = 1.02
    whole, first = started(library), started(library)
    for k in range(50):
        whole.sample(k * 1e-3, step)
        first.sample(k * 1e-3, step)
    second = started(library)
    second.values[:] = first.values
    for k in range(50, 100):
        assert whole.sample(k * 1e-3, step).tolist() == second.sample(k * 1e-3, step).tolist()


def test_instances_do_not_share_memory(library):
    one, two = started(library, site="north"), started(library, k=200.0, site="south")
    step = AT_REST.copy()
    step[0] = 1.02
    for k in range(20):
        one.sample(k * 1e-3, step)
    assert two.sample(0.0, AT_REST)[0] == pytest.approx(1.8, abs=1e-14)
    assert (one.messages, two.messages) == ([(0.0, "at north")], [(0.0, "at south")])


def test_what_the_library_changes_is_said(library):
    controller = library.instance(mode=RMS, t_e=1e-3)
    assert (0.0, "t_e = 0.001 was changed to 0.002 by the library") in controller.messages
    assert controller.parameters["t_e"] == 0.002


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kk": 1.0}, r"has no parameter 'kk'; did you mean 'k'\?"),
        ({"k": 1e4}, "k = 10000.0: must be from 0 to 1000 pu, the bounds of the library"),
        ({"k": float("nan")}, "k = nan: must be a number"),
        ({"k": "high"}, "k = 'high': must be a number"),
        ({"c_switch": 0.5}, "c_switch = 0.5: must be a whole number"),
        ({"site": 3.0}, "site = 3.0: must be a text"),
        ({"e_min": 0.0, "e_max": 0.0}, "Model_CheckParameters ended with an error: e_min is not below e_max"),
    ],
)
def test_parameters_are_checked(library, given, words):
    with pytest.raises(InputError, match=words):
        library.instance(mode=RMS, **given)


def test_mode_is_checked(library):
    with pytest.raises(InputError, match=r"mode = 1: SCRX at samples works on phasors"):
        library.instance()


def test_library_that_gives_up(built):
    controller = started(CodeLibrary(built("BROKEN")))
    with pytest.raises(SimulationError, match=r"t = 0\.1 s: Model_Outputs .*: the watchdog has expired"):
        rest(controller)


@pytest.mark.parametrize("status", [3, 4, -1])
def test_status_that_the_interface_does_not_know(built, status):
    controller = started(CodeLibrary(built(f"STATUS={status}")))
    words = (
        rf"t = 0\.1 s: Model_Outputs ended with the status {status}, which the interface does not know: at "
    )
    with pytest.raises(SimulationError, match=words):
        rest(controller)


def test_library_that_refuses_with_a_status_of_its_own(built):
    with pytest.raises(InputError, match=r"Model_CheckParameters ended with the status 3, .*: no licence"):
        CodeLibrary(built("REFUSES=3")).instance(mode=RMS)


def test_whole_number_without_bounds_is_within_those_of_its_kind(built):
    words = "c_switch = 5000000000: must be from -2147483648 to 2147483647, which its kind of number can be"
    with pytest.raises(InputError, match=words):
        CodeLibrary(built("MOST=0")).instance(mode=RMS, c_switch=5_000_000_000)


def test_text_of_one_letter(built):
    controller = CodeLibrary(built("LETTER")).instance(mode=RMS)
    assert controller.parameters["site"] == "N"
    assert controller.messages == [(0.0, "at N")]


def test_output_that_is_no_number(built):
    controller = started(CodeLibrary(built("NOT_A_NUMBER")))
    words = r"t = 0\.1 s: its output is no number: v_f = nan\. Its inputs at that sample: v_ref = 1, "
    with pytest.raises(SimulationError, match=words):
        rest(controller)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("API=0", r"is written to version 1\.0\.0\.0 of the IEEE/CIGRE interface; psmr has 1\.1 and 2\.0"),
        ("NO_PORTS", "describes itself with 7 inputs, and says nowhere which they are"),
        ("NO_SAMPLE", "has no Model_Outputs: it is not written to the IEEE/CIGRE interface"),
    ],
)
def test_library_of_another_interface(built, choice, words):
    with pytest.raises(InputError, match=words):
        CodeLibrary(built(choice))


def other_machine(built, path):
    """The library as one for ARM: byte 18 of ELF is its machine."""
    data = bytearray(built().read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda built, path: None, "cannot be read"),
        (lambda built, path: path.write_text("hello"), "is no library, and this is Linux on"),
        (other_machine, "is a library for Linux on arm64, and this is Linux on x86_64"),
        (
            lambda built, path: path.write_bytes(b"MZ" + bytes(58) + b"\x40\0\0\0PE\0\0\x64\x86" + bytes(20)),
            "is a library for Windows on x86_64, and this is Linux",
        ),
        (
            lambda built, path: path.write_bytes(built().read_bytes()[:800]),
            "is cut short: it has 800 of at least",
        ),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="files of Linux")
def test_file_that_is_no_library_for_this_machine(built, tmp_path, make, words):
    path = tmp_path / "plant.so"
    make(built, path)
    with pytest.raises(InputError, match=words):
        CodeLibrary(path)
