"""What PSS/E's records mean where their values taken one by one would mean something else."""

import numpy as np
import pytest

import psmr
from psmr import build, read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.psse.traces import HERE
from tests.files.raw import raw_text
from tests.internals import MODELS, proper_filter

ROUND = "8.0 0.03 0.4 0.05 6.5 0.0 1.8 1.7 0.3 0.55 0.25 0.06"
TAIL = "2 'GENCLS' 'G1' 4.0 0.0 /\n"


@pytest.fixture
def read(tmp_path):
    def read(dyr, **options):
        (tmp_path / "case.raw").write_text(raw_text())
        (tmp_path / "case.dyr").write_text(dyr + TAIL)
        return read_case(tmp_path / "case.raw", tmp_path / "case.dyr", **options)

    return read


def derivative(case, **moved):
    """Rates of the states where some states are moved from the start."""
    system = build(case)
    x = system.x0.copy()
    for name, value in moved.items():
        x[system.index(name.replace("_at_", "."))] = value
    return dict(zip(system.names_x, system.f(x, system.y0), strict=True)), system


def test_a_power_drives(read):
    """At a speed of 1.1 the torque of a power is 1/1.1 of it; GENCLS is driven by a torque all the same."""
    dyr = f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n"
    power, torque = read(dyr), read(dyr, mechanical="torque")
    assert (power.mechanical, torque.mechanical) == ("power", "torque")
    moved = {"G1_at_omega": 1.1, "G2-G1_at_omega": 1.1}
    (by_power, system), (by_torque, _) = derivative(power, **moved), derivative(torque, **moved)
    t_m = system.w0[system.index("G1.t_m")]
    off = by_power["G1.omega"] - by_torque["G1.omega"]
    assert off == pytest.approx(t_m * (1 / 1.1 - 1) / (2 * 6.5), rel=1e-9)
    assert by_power["G2-G1.omega"] == pytest.approx(by_torque["G2-G1.omega"], abs=1e-12)


def test_toml_says_what_drives(read, tmp_path):
    """A RAW and DYR case written as TOML keeps its convention; a TOML case may be told another one."""
    from psmr import write_case

    case = read(f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n")
    write_case(case, tmp_path / "case.toml")
    assert read_case(tmp_path / "case.toml").mechanical == "power"
    assert read_case(tmp_path / "case.toml", mechanical="torque").mechanical == "torque"
    text = (tmp_path / "case.toml").read_text()
    (tmp_path / "case.toml").write_text(text.replace('mechanical = "power"', 'mechanical = "force"'))
    with pytest.raises(CaseError, match="mechanical = 'force': must be 'torque' or 'power'"):
        read_case(tmp_path / "case.toml")


def test_infinite_bus(read):
    """GENCLS with H = 0 keeps its voltage; a controller beside it is left out with a warning."""
    with pytest.warns(PsmrWarning, match=r"case\.dyr:2: TGOV1: acts on an infinite bus .*; left out"):
        case = read("1 'GENCLS' 1 0 0 /\n1 'TGOV1' 1 0.05 0.49 33.0 0.0 2.1 7.0 0.0/\n")
    assert [device.type for device in case.generators[0].devices] == ["InfiniteBus"]
    system = build(case)
    assert system.names_x == ("G2-G1.delta", "G2-G1.omega")
    run = psmr.simulate(
        system,
        psmr.SingleRate("TM", h=0.005),
        t_end=2.0,
        events=[psmr.LineTrip("line1-2", 0.5)],
        certify=False,
    )
    assert np.ptp(run.values("G2-G1.omega")) > 1e-5


def test_infinite_bus_alone(tmp_path):
    """An infinite bus as the only machine holds its island; damping that does nothing is said."""
    text = raw_text().replace(",1.0,1,100.0,90.0,0.0\n2,'G2'", ",1.0,0,100.0,90.0,0.0\n2,'G2'")
    (tmp_path / "case.raw").write_text(text)
    (tmp_path / "case.dyr").write_text("1 'GENCLS' 1 0 2 /\n2 'GENCLS' 'G1' 4 0 /\n")
    with pytest.warns(PsmrWarning, match="D = 2 without effect: H = 0 makes it an infinite bus"):
        system = build(read_case(tmp_path / "case.raw", tmp_path / "case.dyr"))
    assert system.n == 0


def test_infinite_bus_is_written(read, tmp_path):
    from psmr import write_case

    case = read("1 'GENCLS' 1 0 0 /\n")
    raw, dyr = write_case(case, tmp_path / "again.raw")
    assert read_case(raw, dyr).generators[0].devices == case.generators[0].devices


@pytest.mark.parametrize("model", ["GENROU", "GENROE"])
def test_no_saturation_at_one_switches_it_off(read, model):
    message = rf"case\.dyr:1: {model}: S\(1\.0\) = 0 switches saturation off; S\(1\.2\) = 0\.4 is without"
    with pytest.warns(PsmrWarning, match=message):
        case = read(f"1 '{model}' 1 {ROUND} 0.0 0.4 /\n")
    assert case.generators[0].devices[0].parameters["s_12"] == 0.0


def speed_after_a_trip(read, reactances, times="8.0 0.03 0.4 0.05"):
    """The speed of a machine with x'd, x'q, x'' and x_l and T'd0, T''d0, T'q0, T''q0 as given."""
    system = build(read(f"1 'GENROU' 1 {times} 6.5 0.0 1.8 1.7 {reactances} 0.1 0.4 /\n"))
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    trip = [psmr.LineTrip("line1-2", 0.2)]
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), t_end=2.0, events=trip, certify=False)
    return run.values("G1.omega").ravel()


def test_equal_reactances_take_the_subtransient_windings_out(read):
    """With x' = x'' in both axes no damper flux reaches the terminals: its time constants do nothing."""
    slow = speed_after_a_trip(read, "0.3 0.3 0.3 0.2", "8.0 0.06 0.4 0.1")
    fast = speed_after_a_trip(read, "0.3 0.3 0.3 0.2")
    assert np.ptp(fast) > 1e-5
    np.testing.assert_allclose(slow, fast, atol=1e-9)
    unlike = speed_after_a_trip(read, "0.3 0.55 0.25 0.2", "8.0 0.06 0.4 0.1")
    assert np.abs(unlike - speed_after_a_trip(read, "0.3 0.55 0.25 0.2")).max() > 1e-7


@pytest.mark.parametrize(
    ("equal", "near"),
    [("0.3 0.3 0.3 0.2", "0.3 0.3 0.2999999 0.2"), ("0.3 0.55 0.25 0.25", "0.3 0.55 0.25 0.2499999")],
)
def test_equal_reactances_are_the_limit_of_unequal_ones(read, equal, near):
    """x' = x'', and x'' = x_l, where quotients of differences of reactances lose their denominator."""
    speed = speed_after_a_trip(read, equal)
    assert np.ptp(speed) > 1e-5
    np.testing.assert_allclose(speed, speed_after_a_trip(read, near), atol=1e-7)


def test_toggle_is_left_out(read):
    with pytest.warns(
        PsmrWarning, match=r"case\.dyr:2: TOGGLE: is an event of the program ANDES, not a model.*left out"
    ):
        read(f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n1 'TOGGLE' 1 'Line' 3 1.0 /\n")


FILTERS = [
    "a_1 a_2 a_5",  # nearly all public records
    "a_1 a_5",
    "a_1 a_2 a_5 a_6",
    "a_1 a_3 a_5 a_6",
    "a_1 a_2 a_3 a_5 a_6",
    "a_1 a_2 a_3 a_4 a_5 a_6",
]
VALUES = {"a_1": 1.013, "a_2": 0.013, "a_3": 0.2, "a_4": 0.05, "a_5": 0.7, "a_6": 0.113}


@pytest.mark.parametrize("given", FILTERS)
def test_filter_keeps_its_transfer_function(read, given):
    """Every proper one is read, and what is read has the record's transfer function."""
    p = {k: VALUES[k] if k in given.split() else 0.0 for k in VALUES}
    leads = {"t_1": 0.3, "t_2": 0.0, "t_3": 0.0, "t_4": 0.02}
    p |= leads
    numbers = " ".join(str(p[f"a_{k}"]) for k in range(1, 7))
    exciter = "1 'SEXS' 1 0.1 10.0 100.0 0.1 0.0 5.0 /\n"
    record = f"1 'IEEEST' 1 1 0 {numbers} 0.3 0 0 0.02 1.65 1.65 3 0.1 -0.1 0 0 /\n"
    case = read(f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n{exciter}{record}")
    found = case.generators[0].devices[-1].parameters
    assert found == pytest.approx({**found, **p, **proper_filter(p)})
    for s in (0.3j, 7.0j, 40.0j - 2.0):

        def transfer(q, s=s):
            first, second = 1 + q["a_1"] * s + q["a_2"] * s**2, 1 + q["a_3"] * s + q["a_4"] * s**2
            leads = (1 + q["t_1"] * s) * (1 + q["t_3"] * s) / (1 + q["t_2"] * s) / (1 + q["t_4"] * s)
            return (1 + q["a_5"] * s + q["a_6"] * s**2) / first / second * leads

        assert transfer(found) == pytest.approx(transfer(p), rel=1e-12)
    build(case)


@pytest.mark.parametrize(("numbers", "word"), [("0 0 0 0 1 0", "a_5"), ("1 0 0 0 0 1", "a_6")])
def test_improper_filter(read, numbers, word):
    record = f"1 'IEEEST' 1 1 0 {numbers} 0 0 0 0.02 1.65 1.65 3 0.1 -0.1 0 0 /\n"
    with pytest.raises(CaseError, match=rf"case\.dyr:3.*{word} = 1"):
        read(f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n1 'SEXS' 1 0.1 10.0 100.0 0.1 0.0 5.0 /\n{record}")


NO_FEEDBACK = {
    "EXST1": "0 .1 -.1 0 0 200 .02 5 -5 0 0 0",
    "ESST1A": "1 1 0 .1 -.1 0 0 0 0 200 .02 5 -5 5 -5 0 0 0 0 0",
    "IEEET1": "0 50 .02 5 -5 1 .5 0 0 0 2.8 .04 3.7 .3",
    "ESAC1A": "0 0 0 400 .02 9 -9 .8 0 0 .1 .3 1 2.8 .04 3.7 .3 9 -9",
}


@pytest.mark.parametrize("model", NO_FEEDBACK)
def test_no_rate_feedback(read, model):
    """KF = TF = 0 is an exciter without feedback: TF has no effect where KF is 0, and is needed elsewhere."""
    words = NO_FEEDBACK[model].split()
    names = MODELS[model].split()
    machine = f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n"

    def record(**changed):
        given = [changed.get(name, word) for name, word in zip(names, words, strict=True)]
        return f"{machine}1 '{model}' 1 {' '.join(given)} /\n"

    with pytest.warns(PsmrWarning, match=rf"case\.dyr:2: {model}: k_f = t_f = 0 leave the rate feedback out"):
        case = read(record())
    one, other = (build(c) for c in (case, read(record(t_f="0.3"))))
    values = [psmr.modes(s.linearise()).real.to_numpy() for s in (one, other)]
    # Only the mode of the feedback itself differs, and that is seen by nothing.
    rest = [np.delete(v, np.argmin(abs(v + 1 / t))) for v, t in zip(values, (1.0, 0.3), strict=True)]
    np.testing.assert_allclose(*rest, rtol=1e-9, atol=1e-9)
    with pytest.raises(CaseError, match=r"t_f = 0\.0: must be > 0"):
        read(record(k_f="0.03"))


@pytest.mark.parametrize("values", ["0.5 0.4", "0.5 0.0"])
def test_power_of_the_flux_needs_a_rising_curve(read, values):
    with pytest.raises(
        CaseError, match=r"case\.dyr:1 .*s_10 = 0\.5 and s_12 = 0(\.4)?: s_12 must be at least"
    ):
        read(f"1 'GENROE' 1 {ROUND} {values} /\n")


def test_a_torque_written_as_psse_is_said(read, tmp_path):
    from psmr import write_case

    case = read(f"1 'GENROU' 1 {ROUND} 0.0 0.0 /\n", mechanical="torque")
    with pytest.warns(
        PsmrWarning,
        match='psmr uses the mechanical torque of GENROU, PSS/E takes it for mechanical power; .*"torque"',
    ):
        write_case(case, tmp_path / "again.raw")


def test_out_of_step_with_an_infinite_bus():
    """A machine falls out of step with an infinite bus after a long fault; the monitor names both."""
    case = read_case(HERE / "Test01/OMIB.raw", HERE / "Test01/OMIB.dyr", loads="impedance")
    run = psmr.simulate(
        build(case),
        psmr.SingleRate("TM", h=0.002),
        t_end=5.0,
        events=[psmr.Fault(bus=102, start=1.0, clear=2.0)],
        monitors=[psmr.AngleSpread(180.0)],
        certify=False,
    )
    assert run.stopped.what == "G102 - G101"
    assert run.stopped.value == pytest.approx(180.0, abs=5.0)
