"""Tap changers in a run: positions and instants against the closed form of a circuit."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, InputError, PsmrWarning

SOURCE, LINE, LEAKAGE = 1e-4j, 0.5j, 0.1j
"""Impedances of the source, of each of two parallel lines, and of the transformer, in pu."""

LOAD = complex(0.5, 0.1)
"""Power of the load at the start in pu; it is a constant impedance."""

HEAD = """
format = "psmr-case"
version = 1
name = "behind a tap changer"
base_mva = 100.0
frequency_hz = 50.0

[[bus]]
number = 1

[[bus]]
number = 2

[[bus]]
number = 3

[[line]]
from = 1
to = 2
x = 0.5

[[line]]
from = 1
to = 2
x = 0.5
circuit = 2

[[load]]
bus = 3
p_mw = 50.0
q_mvar = 10.0
model = "impedance"

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 1.05

[generator.machine]
type = "InfiniteBus"
s_n = 100.0
x_d1 = 0.0001
"""

ROW = {"from": 2, "to": 3, "x": 0.1, "tap": 1.0}
CHANGER = {
    **{"v_set": 1.0, "half_band": 0.01, "tap_min": 0.84, "tap_max": 1.16, "positions": 33},
    **{"t_first": 30.0, "t_next": 10.0},
}
TRIP = psmr.LineTrip("line1-2-2", start=1.0)


def case(tmp_path, kind="TapChanger", row=ROW, without=(), beside="", **given):
    """The case with one transformer, T1, and its tap changer."""
    tables = [("[[transformer]]", {"name": '"T1"', **row})]
    settings = {key: value for key, value in CHANGER.items() if key not in without} | given
    tables += [("[transformer.tap_changer]", {"type": f'"{kind}"', **settings})]
    lines = [f"{head}\n" + "\n".join(f"{k} = {v}" for k, v in values.items()) for head, values in tables]
    file = tmp_path / "case.toml"
    file.write_text("\n\n".join([HEAD, *lines, beside, ""]), encoding="utf-8")
    return psmr.read_case(file)


def voltage(lines, tap, emf, load):
    """Return the voltage at bus 3, of an impedance `load` behind a ratio at bus 2 and a number of lines."""
    return abs(emf / tap * load / (load + LEAKAGE + (LINE / lines + SOURCE) / tap**2))


@pytest.fixture(scope="module")
def circuit():
    """The load's impedance and the source's voltage, from the power flow's solution at the start."""
    v3 = 1.0
    for _ in range(200):
        # Bus 1 is held at 1.05 pu: the voltage at bus 3 that belongs to a constant power.
        load = v3**2 / LOAD.conjugate()
        v3 = abs(1.05 * load / (load + LEAKAGE + LINE / 2))
    load = v3**2 / LOAD.conjugate()
    current = 1.05 / (load + LEAKAGE + LINE / 2)
    return abs(1.05 + SOURCE * current), load


def moves(run):
    """(time, position) of each move of a run."""
    return [(c.t, act.value) for c in run.changes for act in c.acts if act.kind == "tap"]


def expected(circuit, low, first, further, begin=1.0, position=17.0, towards=-1):
    """(time, position) of the moves that bring the voltage above `low`, each 0.01 of the ratio."""
    emf, load = circuit
    found, t = [], begin
    while voltage(1, 1.0 + 0.01 * (position - 17), emf, load) < low:
        t += first if not found else further
        position += towards
        found.append((t, position))
    return found


@pytest.mark.parametrize("scheme", [psmr.VariableStep(1e-6), psmr.SingleRate("TM", h=0.01)], ids=["v", "tm"])
def test_moves_are_at_their_instants_until_the_voltage_is_in_the_band(tmp_path, circuit, scheme):
    """By hand: the first move 30 s after the trip, the others 10 s apart, as many as the circuit needs."""
    run = psmr.simulate(psmr.build(case(tmp_path)), scheme, 120.0, [TRIP], certify=False)
    wanted = expected(circuit, 0.99, 30.0, 10.0)
    assert len(wanted) >= 3
    np.testing.assert_allclose(moves(run), wanted, atol=1e-9)
    ratio = 1.0 + 0.01 * (wanted[-1][1] - 17)
    assert run["LTC1.v"].iloc[-1] == pytest.approx(voltage(1, ratio, *circuit), abs=1e-9)
    assert run["LTC1.position"].iloc[-1] == wanted[-1][1]


def run_of(tmp_path, events=(TRIP,), t_end=120.0, **given):
    system = psmr.build(case(tmp_path, **given))
    return psmr.simulate(system, psmr.VariableStep(1e-6), t_end, list(events), certify=False)


def test_a_tap_at_the_controlled_bus_moves_the_other_way(tmp_path):
    """With its tap at bus 3 the ratio has to rise, of as many positions as at bus 2 by far."""
    row = {"from": 3, "to": 2, "x": 0.1, "tap": 1.0}
    run = run_of(tmp_path, row=row, bus=3)
    positions = [position for _, position in moves(run)]
    assert positions == list(range(18, 18 + len(positions)))
    assert len(positions) >= 3
    assert 0.99 <= run["LTC1.v"].iloc[-1] <= 1.01


def test_the_mechanism_takes_its_time_and_nothing_stops_it(tmp_path, circuit):
    """Each move 2 s after its command; the next delay begins with the move. The line's return stops none."""
    again = psmr.LineTrip("line1-2-2", start=1.0, reclose=43.0)
    run = run_of(tmp_path, [again], t_mechanical=2.0)
    np.testing.assert_allclose(moves(run)[:2], [(33.0, 16.0), (45.0, 15.0)], atol=1e-9)


@pytest.mark.parametrize("at", [20.0, 32.0, 45.0])
def test_a_run_goes_on_with_the_timers_of_another_one(tmp_path, at):
    """Within a delay, within the mechanism, and at the instant of a move: the others are where they were."""
    whole = run_of(tmp_path, t_mechanical=2.0)
    on = psmr.simulate(whole.system_at(at), psmr.VariableStep(1e-6), 120.0, certify=False)
    twice = psmr.simulate(on.system_at(at + 1.0), psmr.VariableStep(1e-6), 120.0, certify=False)
    for run, since in ((on, at), (twice, at + 1.0)):
        wanted = [move for move in moves(whole) if move[0] > since]
        assert wanted
        np.testing.assert_allclose(moves(run), wanted, atol=1e-9)


def test_a_mechanism_whose_bus_dies_has_the_rest_of_its_time_left(tmp_path):
    """Commanded at 31 s, for 2 s; dead from 32 to 40 s, it moves at 41 s."""
    run = run_of(tmp_path, [TRIP, psmr.LineTrip("T1", start=32.0, reclose=40.0)], t_mechanical=2.0)
    assert moves(run)[0] == (pytest.approx(41.0, abs=1e-9), 16.0)


@pytest.mark.parametrize("inverse", [1, 2, 3])
def test_inverse_delays_are_those_of_the_errors(tmp_path, circuit, inverse):
    """T = t half_band / error: of a constant impedance each voltage is constant until the next move."""
    emf, load = circuit
    t, position, wanted = 1.0, 17, []
    while (v := voltage(1, 1 + 0.01 * (position - 17), emf, load)) < 0.99:
        share = 0.01 / (1.0 - v)
        t += 30.0 * share if not wanted else 10.0 * (1.0 if inverse == 1 else share)
        position -= 1
        wanted.append((t, position))
    np.testing.assert_allclose(moves(run_of(tmp_path, inverse=inverse)), wanted, atol=1e-5)


def test_a_compared_delay_is_that_of_the_error_at_its_end(tmp_path, circuit):
    """The set value goes up at 2 s: what went by before counts as if it had been there from the trip on."""
    error = 1.02 - voltage(1, 1.0, *circuit)
    run = run_of(tmp_path, [TRIP, *set_values((1.02, 2.0))], inverse=3)
    assert moves(run)[0] == pytest.approx((1.0 + 30.0 * 0.01 / error, 16.0), abs=1e-5)


def test_a_timer_that_resets_slowly_keeps_what_it_has_counted(tmp_path):
    """20 s out of the band, 4 s within, then out again: 20 exp(-4/8) of the 30 s are behind it."""
    events = [psmr.LineTrip("line1-2-2", 1.0, reclose=21.0), psmr.LineTrip("line1-2-2", 25.0)]
    run = run_of(tmp_path, events, t_reset=8.0)
    assert moves(run)[0][0] == pytest.approx(25.0 + 30.0 - 20.0 * np.exp(-0.5), abs=1e-5)
    assert moves(run_of(tmp_path, events))[0][0] == pytest.approx(55.0, abs=1e-9)


def test_it_is_blocked_by_command_and_below_a_voltage(tmp_path):
    """A command from 20 to 50 s: the timer begins anew. Bus 2 is below 0.98 pu after the trip."""
    command = [psmr.ParameterStep("LTC1", "blocked", value, t) for value, t in ((1.0, 20.0), (0.0, 50.0))]
    assert moves(run_of(tmp_path, [TRIP, *command]))[0] == (80.0, 16.0)
    run = run_of(tmp_path, v_block=0.98, block_bus=2)
    assert not moves(run)
    assert [(c.t, act.kind) for c in run.changes for act in c.acts] == [(1.0, "block")]


def test_a_transformer_out_of_service_stands_still(tmp_path):
    """T1 trips at 10 s: alone, the bus behind is dead and nothing moves; beside T2, that one moves alone."""
    events = [TRIP, psmr.LineTrip("T1", start=10.0)]
    assert not moves(run_of(tmp_path, events))
    run = run_of(tmp_path, events, beside=second_transformer())
    assert {act.device for c in run.changes for act in c.acts} == {"LTC2"}


def test_the_compensated_voltage_is_that_behind_the_line(tmp_path):
    """The voltage behind r_c + j x_c, with the current that the load draws, from the run's own phasors."""
    run = run_of(tmp_path, r_c=0.01, x_c=0.05, v_set=0.99)
    v = (run["bus3.v_re"] + 1j * run["bus3.v_im"]).to_numpy()
    current = np.conj(LOAD / abs(v[0]) ** 2) * v
    np.testing.assert_allclose(run["LTC1.v"], np.abs(v - (0.01 + 0.05j) * current), atol=1e-9)
    assert len(moves(run)) > len(moves(run_of(tmp_path, v_set=0.99)))


@pytest.mark.parametrize(
    ("kind", "signal", "value"), [("ReactiveTapChanger", "q", 20.0), ("PhaseShifter", "p", 10.0)]
)
def test_flows_are_brought_into_their_bands(tmp_path, kind, signal, value):
    """Beside a line from bus 1 to bus 3: the flow into T1 at its from bus, in Mvar and MW, and its moves."""
    ends = {"tap_min": 0.84, "tap_max": 1.16} if signal == "q" else {"shift_min": -16.0, "shift_max": 16.0}
    given = {f"{signal}_set": value, "half_band": 2.0, **ends}
    beside = "[[line]]\nfrom = 1\nto = 3\nx = 0.3\n"
    without = ("v_set", "half_band", "tap_min", "tap_max")
    run = run_of(tmp_path, t_end=300.0, kind=kind, without=without, beside=beside, **given)
    np.testing.assert_allclose(run[f"LTC1.{signal}"], run[f"T1.{signal}_from"], atol=1e-7)
    assert len(moves(run)) >= 2
    assert abs(run[f"LTC1.{signal}"].iloc[-1] - value) <= 2.0


def test_the_impedance_follows_the_position(tmp_path):
    """The factor of the impedance is 1 at the start and 1.5 at a ratio of 0.9: straight in between."""
    run = run_of(tmp_path, row=ROW | {"correction": "[0.9, 1.5, 0.0, 1.0, 1.0, 0.0, 1.1, 0.5, 0.0]"})
    end = run.system_at(run.t[-1]).device("T1").parameters
    assert end["x"] == pytest.approx(0.1 * (1 + 5 * (1 - end["tap"])), abs=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"tap_min": 1.05},
            r"case.toml:\d+ .transformer.tap_changer. .LTC1.: tap_min = 1.05.*contain the start",
        ),
        ({"positions": 1}, "positions = 1.*must be a whole number from 2"),
        ({"t_next": 0.0}, "t_next = 0: must be > 0"),
        ({"half_band": 1.0}, "half_band = 1: must be below v_set = 1 pu"),
        ({"tap_min": 1.2, "tap_max": 1.1}, "tap_min = 1.2: must be below tap_max = 1.1"),
        ({"bus": 7}, "bus = 7: there is no bus with this number"),
        ({"v_set": 101.0}, "v_set = 101.*must be a voltage in pu, above 0 and below 2; 1.01 is 101 %"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, given, words):
    with pytest.raises(CaseError, match=words):
        case(tmp_path, **given)


def test_two_that_fight_are_refused(tmp_path):
    other = (
        '[[transformer]]\nfrom = 2\nto = 3\nx = 0.1\ncircuit = 2\nname = "T2"\n[transformer.tap_changer]\n'
        'type = "TapChanger"\nv_set = 1.05\n'
    )
    other += "".join(f"{k} = {v}\n" for k, v in CHANGER.items() if k != "v_set")
    words = r"LTC2.*LTC1, 0.99 to 1.01 and 1.04 to 1.06 pu, have no voltage of bus 3 in common.*blocked = 1"
    with pytest.raises(CaseError, match=words):
        case(tmp_path, beside=other)
    bank = (
        '[[shunt]]\nbus = 3\nname = "bank"\n[shunt.switching]\ntype = "SwitchedShunt"\nv_low = 0.9\n'
        "v_high = 0.95\nt_low = 5.0\nt_high = 5.0\nn_1 = 1\nb_1 = 10.0\n"
    )
    words = r"SH-bank.*LTC1, 0.9 to 0.95 and 0.99 to 1.01 pu, have no voltage of bus 3 in common"
    with pytest.raises(CaseError, match=words):
        case(tmp_path, beside=bank)


def test_a_narrow_band_and_a_start_between_positions_are_said(tmp_path):
    """A position changes the voltage by 0.0104 pu, by the closed form too: half of that ends the hunting."""
    with pytest.warns(PsmrWarning, match=r"half_band = 0.002: .* by 0.0104 pu.*half_band > 0.005199 ends"):
        psmr.build(case(tmp_path, half_band=0.002))
    with pytest.warns(PsmrWarning, match=r"tap = 1.003 is 0.3 steps off position 17, 1, and stays there"):
        system = psmr.build(case(tmp_path, row=ROW | {"tap": 1.003}))
    assert system.device("LTC1").parameters["at"] == 17


def slope(circuit, ratio=1.0, lines=2):
    """Return the derivative of the voltage at bus 3 by the ratio, by a difference that loses no digits."""
    emf, load = circuit
    h = 1e-4
    v = [voltage(lines, ratio + k * h, emf, load) for k in (-2, -1, 1, 2)]
    return (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)


def test_the_mode_of_the_continuous_form_is_that_of_the_circuit(tmp_path, circuit):
    """lambda = (dv/dratio) / t_c, with t_c = t_next half_band / step by default: 10 s at the band's edge."""
    for t_c, given in ((10.0, {}), (40.0, {"t_c": 40.0})):
        settings = case(tmp_path, "ContinuousTapChanger", **given)
        (found,) = psmr.modes(psmr.build(settings).linearise())["real"]
        assert found == pytest.approx(slope(circuit) / t_c, rel=1e-9)
    (found,) = psmr.modes(psmr.build(psmr.continuous_taps(case(tmp_path))).linearise())["real"]
    assert found == pytest.approx(slope(circuit) / 10.0, rel=1e-9)


def test_the_continuous_form_moves_as_its_equation_says(tmp_path, circuit):
    """After the trip the ratio of the circuit, by a Runge-Kutta method of order 8 to 1e-11."""
    from scipy.integrate import solve_ivp

    emf, load = circuit
    system = psmr.build(psmr.continuous_taps(case(tmp_path)))
    run = psmr.simulate(system, psmr.VariableStep(1e-8), 60.0, [TRIP], certify=False)
    rest = voltage(2, 1.0, emf, load)
    late = run.t > 1.0
    exact = solve_ivp(
        lambda t, r: [-(rest - voltage(1, r[0], emf, load)) / 10.0],
        (1.0, 60.0), [1.0], "DOP853", t_eval=run.t[late], rtol=1e-11, atol=1e-13,
    ).y[0]  # fmt: skip
    np.testing.assert_allclose(run["LTC1.ratio"].to_numpy()[late], exact, atol=1e-6)
    np.testing.assert_allclose(run["LTC1.position"].to_numpy()[late], 17 + (exact - 1) / 0.01, atol=1e-4)
    flow = run["T1.p_from"].iloc[-1]
    assert flow == pytest.approx(100 * (run["bus3.v"].iloc[-1] ** 2 / load.conjugate()).real, abs=1e-6)


def test_a_region_has_no_continuous_taps(tmp_path):
    with pytest.raises(InputError, match="T1 is a RatioTransformer, which has no dynamic form"):
        psmr.build(psmr.continuous_taps(case(tmp_path)), dynamic=psmr.Region("all"))


def second_transformer():
    """Return the table of a transformer beside T1, with the same tap changer."""
    settings = "\n".join(f"{key} = {value}" for key, value in CHANGER.items())
    row = 'from = 2\nto = 3\nx = 0.1\ncircuit = 2\nname = "T2"\n[transformer.tap_changer]\n'
    return f'[[transformer]]\n{row}type = "TapChanger"\n{settings}\n'


def test_moves_of_one_instant_are_one_change(tmp_path):
    """Two equal transformers side by side: both at once, and the network is solved once for them."""
    run = run_of(tmp_path, beside=second_transformer())
    together = [[act.device for act in c.acts] for c in run.changes if c.acts]
    assert together == [["LTC1", "LTC2"]] * len(together)
    assert len(together) >= 2


@pytest.mark.parametrize("inverse", [0, 1])
def test_a_start_outside_the_band_starts_the_timer(tmp_path, circuit, inverse):
    """At t = 0 the voltage is below 1.03 pu; the first move by the delay that belongs to that error."""
    settings = case(tmp_path, v_set=1.03, inverse=inverse)
    run = psmr.simulate(psmr.build(settings), psmr.VariableStep(1e-6), 60.0, certify=False)
    error = 1.03 - voltage(2, 1.0, *circuit)
    assert moves(run)[0] == pytest.approx((30.0 * (0.01 / error if inverse else 1.0), 16.0), abs=1e-5)


def set_values(*given):
    """Return steps of the set value: (value, instant) each."""
    return [psmr.ParameterStep("LTC1", "v_set", value, t) for value, t in given]


def test_what_leaves_the_band_at_the_other_side_begins_anew(tmp_path, circuit):
    """Across the band in a jump, 4 s into an inverse delay or after a move: first delays from there on."""
    above = voltage(1, 1.0, *circuit) - 0.9
    run = run_of(tmp_path, [TRIP, *set_values((0.9, 5.0))], inverse=1)
    assert moves(run)[0] == pytest.approx((5.0 + 30.0 * 0.01 / above, 18.0), abs=1e-5)
    run = run_of(tmp_path, [TRIP, *set_values((0.9, 35.0), (1.0, 36.0))])
    assert moves(run)[:2] == [(31.0, 16.0), (66.0, 15.0)]


def test_at_the_end_of_its_range_it_does_not_count(tmp_path):
    """200 s below its band at position 1, and then above it: 30 s later the first move."""
    run = run_of(tmp_path, [TRIP, *set_values((0.9, 200.0))], 240.0, tap_min=1.0, positions=17, t_reset=8.0)
    assert moves(run)[0] == pytest.approx((230.0, 2.0), abs=1e-5)


def test_its_clock_stands_still_in_a_dead_part(tmp_path, circuit):
    """T1 out from 5 to 40 s: what it had counted by then it has again."""
    delay = 30.0 * 0.01 / (1.0 - voltage(1, 1.0, *circuit))
    run = run_of(tmp_path, [TRIP, psmr.LineTrip("T1", start=5.0, reclose=40.0)], inverse=1)
    assert moves(run)[0] == pytest.approx((1.0 + delay + 35.0, 16.0), abs=1e-5)


def test_a_start_below_the_voltage_that_blocks(tmp_path):
    run = run_of(tmp_path, v_block=1.2, inverse=1)
    assert [(c.t, act.kind) for c in run.changes for act in c.acts] == [(0.0, "block")]


def test_what_an_event_gives_it_during_the_run_it_has(tmp_path):
    """At 10 s a mechanism of 2 s (the delay begins anew), a voltage that blocks, other further delays."""

    def run(name, value, *events, **given):
        return run_of(tmp_path, [TRIP, psmr.ParameterStep("LTC1", name, value, 10.0), *events], **given)

    assert moves(run("t_mechanical", 2.0))[:2] == [(42.0, 16.0), (54.0, 15.0)]
    assert not moves(run("v_block", 1.1))
    back = set_values((0.95, 42.0), (1.0, 43.0))
    assert moves(run("t_next", 20.0, *back, t_next=30.0))[:2] == [(31.0, 16.0), (73.0, 15.0)]
