"""Relay records of branches in a DYR file, DISTR1 and TIOCR1: what they become, and when they act."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.components import TimeCurrentRelay
from tests.files.psse.traces import HERE
from tests.internals import NumericMath

RAW, MACHINES = HERE / "LOAD" / "ThreeBusMulti.raw", HERE / "LOAD" / "ThreeBus_GENROU.dyr"

# Two zones of 80 and 160 % of |0.01 + j 0.12| pu at 85 degrees, at once and after 18 cycles; the third is the
# second to fewer digits, as a public file has it. Breaker 3 cycles; no reclosing; blinders that are far away.
ZONES = "0 0.0963 85 0.04815 18 0.192666667 85 0.096333333 18 0.1926667 85 0.096333"
BLINDERS = "2 99999 75 2 99999 75"
OPENING = ("open-line101-103", "open-line101-103-2")
CURVE = "0.5 4.0 1.2 2.0 1.5 1.0 2.0 0.5 3.0 0.2 3.0 0.2"


def distr1(bus=101, other=103, form=1, monitor=1, transfer="", zones=ZONES, blinders=BLINDERS, reclose=0):
    transfers = (f"{transfer} " if transfer else f"{bus} {other} 1 ") + "0 0 '' 0 0 ''"
    trips = f"0 0.1 3 {reclose} 6 0"
    return f"{bus} 'DISTR1' {other} '1' 1 {form} {monitor} {transfers} {zones} {trips} {blinders} /\n"


def tiocr1(bus=101, other=103, load="103 '2'", transfer="0 0 ''", curve=CURVE, monitor=1, shed=0.5):
    return f"{bus} 'TIOCR1' {other} '1' 1 {monitor} {load} {transfer} 0 0 '' 0 0 '' {curve} 0.05 {shed} /\n"


@pytest.fixture
def read(tmp_path):
    def read(records):
        path = tmp_path / "case.dyr"
        path.write_text(MACHINES.read_text() + records)
        return psmr.read_case(RAW, path)

    return read


def parameters(row, *names):
    return tuple(row.device.parameters[name] for name in names)


def acted(case, *events, t_end=1.0):
    scheme = psmr.VariableStep(tolerance=1e-5)
    run = psmr.simulate(psmr.build(case), scheme, t_end, events=events, certify=False)
    # An overcurrent relay is as late as the tolerance of the run allows.
    return run, [(pytest.approx(c.t, abs=1e-5), c.label) for c in run.changes if c.protects]


def test_the_zones_of_a_distance_relay(read):
    (row,) = read(distr1()).relays
    assert (row.name, row.bus, row.acts_on, row.measures) == ("open-line101-103", 101, "line101-103", "")
    assert row.device.type == "DistanceRelay"
    assert parameters(row, "angle", "i_min", "both", "dead_time") == (85.0, 0.1, 1.0, 0.0)
    assert parameters(row, "reach_1", "reach_2", "reach_3") == (0.0963, 0.192666667, 0.0)
    assert parameters(row, "offset_1", "delay_2", "breaker") == pytest.approx(
        (0.0, 18 / 60, 3 / 60), abs=1e-9
    )


def test_it_opens_its_branch_at_both_ends_in_the_zone_of_the_fault(read):
    near = psmr.Fault(line="101-103", at=0.5, start=0.1, clear=0.5)
    run, found = acted(read(distr1()), near)
    assert found == [(0.15, "open-line101-103: line101-103 opened in zone 1")]
    assert run["line101-103.i_from"].iloc[-1] == run["line101-103.i_to"].iloc[-1] == 0.0
    far = psmr.Fault(line="101-103", at=0.95, start=0.1, clear=0.6)
    _, found = acted(read(distr1()), far)
    assert found == [(0.45, "open-line101-103: line101-103 opened in zone 2")]


def test_it_recloses_at_both_ends(read):
    fault = psmr.Fault(line="101-103", at=0.5, start=0.1, clear=0.2)
    run, found = acted(read(distr1(reclose=12)), fault)
    assert [t for t, _ in found] == [0.15, 0.35]
    assert run["line101-103.i_from"].iloc[-1] > 0.1


def test_two_relays_of_a_branch_reclose_it_once(read):
    """One at each end, both in zone 1: opened by both, reclosed by one; off after a lasting fault."""
    records = distr1(reclose=12) + distr1(bus=103, other=101, reclose=12)
    passing = psmr.Fault(line="101-103", at=0.5, start=0.1, clear=0.2)
    run, found = acted(read(records), passing)
    first, second = (f"{name}: line101-103 opened in zone 1" for name in OPENING)
    assert found == [(0.15, f"{first}; {second}"), (0.35, f"{OPENING[0]}: line101-103 recloses")]
    assert run["line101-103.i_from"].iloc[-1] > 0.1
    lasting = psmr.Fault(line="101-103", at=0.5, start=0.1, clear=0.9)
    run, found = acted(read(records), lasting)
    assert [t for t, _ in found] == [0.15, 0.35, 0.4]
    assert run["line101-103.i_from"].iloc[-1] == run["line101-103.i_to"].iloc[-1] == 0.0


def test_transfer_trips_open_other_branches_after_their_own_time(read):
    one, two = read(distr1(transfer="102 103 '1'")).relays
    assert (one.acts_on, two.acts_on) == ("line101-103", "line102-103")
    assert (two.bus, two.measures, two.branch) == (101, "line101-103", "line101-103")
    fault = psmr.Fault(line="101-103", at=0.5, start=0.1, clear=0.14)
    _, found = acted(read(distr1(transfer="102 103 '1'")), fault, t_end=0.19)
    assert found == [(0.15, "open-line101-103: line101-103 opened in zone 1")]
    fault = psmr.Fault(line="101-103", at=0.5, start=0.1, clear=0.5)
    run, found = acted(read(distr1(transfer="101 102 '1'")), fault)
    assert [t for t, _ in found] == [0.15, 0.2]
    assert run["line101-102.i_to"].iloc[-1] == 0.0


def test_a_circle_need_not_begin_at_the_relay(read):
    # Centre 0.1 pu, diameter 0.1 pu: between 0.05 and 0.15 pu along the line.
    zones = "0 0.1 85.236 0.1 0 0 0 0 0 0 0 0"
    for at, inside in ((0.3, False), (0.6, True)):
        fault = psmr.Fault(line="101-103", at=at, start=0.1, clear=0.3)
        _, found = acted(read(distr1(zones=zones)), fault, t_end=0.4)
        assert bool(found) == inside


def test_the_points_of_an_overcurrent_relay(read):
    opens, sheds = read(tiocr1()).relays
    assert (opens.name, opens.device.type) == ("open-line101-103", "TimeCurrentRelay")
    assert (sheds.name, sheds.device.type) == ("shed-load103-2", "TimeCurrentShedding")
    assert (sheds.bus, sheds.acts_on, sheds.measures) == (101, "load103-2", "line101-103")
    assert parameters(opens, "i_set", "t_reset", "multiple_1", "time_5", "breaker") == (
        0.5,
        4.0,
        1.2,
        0.2,
        0.05,
    )
    assert parameters(sheds, "part") == (0.5,)


@pytest.mark.parametrize(
    ("multiple", "rate"),
    # Half way between the points 1.5 and 2.0 it takes half of 1.0 and 0.5 s; without current 4 s to reset.
    [
        (1.2, 1 / 2.0),
        (1.75, 1 / 0.75),
        (3.0, 1 / 0.2),
        (9.0, 1 / 0.2),
        (1.1, 0.0),
        (0.5, -0.75 / 4),
        (0, -0.25),
    ],
)
def test_how_far_it_runs_in_a_second(read, multiple, rate):
    given = read(tiocr1()).relays[0].device.parameters
    v = SimpleNamespace(theta=0.5, m_re=0.0, m_im=0.5 * multiple)
    (found,), _, _ = TimeCurrentRelay.equations(NumericMath, v, SimpleNamespace(**given))
    assert float(found) == pytest.approx(rate, abs=1e-12)


@pytest.mark.parametrize(("reset", "acts"), [(0, False), (9999, True)])
def test_a_reset_without_time_is_at_once(read, reset, acts):
    """Two faults of 0.12 s, each more than half of the 0.2 s that it takes: the first counts or not."""
    curve = f"1.5 {reset} 1.2 2.0 1.5 1.0 2.0 0.5 3.0 0.2 3.0 0.2"
    faults = [psmr.Fault(bus=103, start=t, clear=t + 0.12) for t in (0.1, 0.5)]
    run, found = acted(read(tiocr1(curve=curve)), *faults, t_end=0.8)
    assert bool(found) == acts
    assert run["open-line101-103.theta"].max() > 0.5
    between = run["open-line101-103.theta"][(run.t > 0.23) & (run.t < 0.49)]
    assert (between.max() == 0.0) == (reset == 0)


def test_what_psmr_writes_of_them_is_read_again(read, tmp_path):
    """Each with its transfer trips, a second one in its other slot, and the load that is shed."""
    transfers = "102 103 '1' 101 102 '1'"
    text = distr1(transfer="102 103 '1'", reclose=12).replace("0 0 '' 0 0 ''", "101 102 '1' 0 0 ''", 1)
    case = read(text + distr1(bus=103, other=101) + tiocr1(transfer=transfers.partition(" 101")[0]))
    assert len(case.relays) == 7
    psmr.write_case(case, tmp_path / "again.raw")
    again = psmr.read_case(tmp_path / "again.raw", tmp_path / "again.dyr")
    assert [(r.name, r.bus, r.acts_on, r.branch) for r in again.relays] == [
        (r.name, r.bus, r.acts_on, r.branch) for r in case.relays
    ]
    for mine, theirs in zip(case.relays, again.relays, strict=True):
        assert theirs.device.type == mine.device.type
        assert theirs.device.parameters == pytest.approx(mine.device.parameters, abs=1e-12)


def test_relays_that_no_record_keeps_are_said(read, tmp_path):
    (row,) = read(distr1()).relays
    one_end = replace(row, device=replace(row.device, parameters={**row.device.parameters, "both": 0.0}))
    case = replace(read(distr1()), relays=(one_end,))
    with pytest.warns(PsmrWarning, match="open-line101-103, a relay"):
        psmr.write_case(case, tmp_path / "again.raw")
    assert psmr.read_case(tmp_path / "again.raw", tmp_path / "again.dyr").relays == ()


def test_an_overcurrent_relay_opens_its_branch_and_sheds_its_load(read):
    fault = psmr.Fault(bus=103, start=0.1, clear=0.5)
    curve = "1.5 4.0 1.2 2.0 1.5 1.0 2.0 0.5 3.0 0.2 3.0 0.2"
    run, found = acted(read(tiocr1(curve=curve)), fault)
    during = run["line101-103.i_from"][(run.t > 0.1) & (run.t < 0.3)]
    # Three times the threshold and more, 0.2 s and the breaker's 0.05 s; at rest before the fault.
    assert during.min() > 4.5
    assert run["line101-103.i_from"].iloc[0] < 1.5
    shed = "shed-load103-2: 50 % of load103-2 shed by overcurrent"
    assert found == [(0.35, f"open-line101-103: line101-103 opened by overcurrent; {shed}")]
    acts = [(act.device, act.kind, act.value) for change in run.changes for act in change.acts]
    assert acts == [("shed-load103-2", "shedding", 0.5)]
    assert run["load103-2.p"].iloc[-1] == pytest.approx(0.5 * run["load103-2.p"].iloc[0], rel=0.02)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (distr1(monitor=0), r"case.dyr:\d+: DISTR1: only monitors .*; left out"),
        (tiocr1(monitor=0), r"case.dyr:\d+: TIOCR1: only monitors"),
        (distr1(other=104), r"DISTR1: there is no branch 101-104, circuit '1', in the RAW file; left out"),
        (distr1(zones="0 0 85 0 0 0 85 0 0 0 85 0"), r"DISTR1: has no zone \(every reach is 0\); left out"),
    ],
)
def test_what_is_left_out(read, records, message):
    with pytest.warns(PsmrWarning, match=message):
        assert read(records).relays == ()


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (distr1(transfer="102 105 '1'"), r"transfer trip 1: there is no branch 102-105.*; left out"),
        (tiocr1(load="103 '3'"), r"load that it sheds: there is no load '3' at bus 103 .*bus: '1', '2'\)"),
    ],
)
def test_of_what_acts_on_nothing_the_rest_stays(read, records, message):
    with pytest.warns(PsmrWarning, match=message):
        rows = read(records).relays
    assert [row.acts_on for row in rows] == ["line101-103"]


def test_a_branch_that_is_overloaded_in_the_power_flow_opens(read):
    case = read(tiocr1(shed=0))
    with pytest.warns(PsmrWarning, match="open-line101-103.theta moves at the start, by 2.9 per second"):
        system = psmr.build(case)
    run = psmr.simulate(system, psmr.VariableStep(tolerance=1e-5), 1.0, [], certify=False)
    multiple = run["line101-103.i_from"].iloc[0] / 0.5
    ((at, label),) = [(c.t, c.label) for c in run.changes if c.protects]
    assert label == "open-line101-103: line101-103 opened by overcurrent"
    # Between the points at 2 and 3 times its threshold, then the breaker's 0.05 s.
    assert at == pytest.approx(0.5 - 0.3 * (multiple - 2) + 0.05, abs=1e-4)


def test_a_relay_goes_with_its_branch(tmp_path):
    raw = RAW.read_text()
    own = next(line for line in raw.splitlines() if line.startswith("   101,   103,'1 '"))
    beside = own.replace("'1 '", "'2 '").replace("1.00000E-2, 1.20000E-1", "0, 0")
    (tmp_path / "case.raw").write_text(raw.replace(own, f"{own}\n{beside}"))
    (tmp_path / "case.dyr").write_text(MACHINES.read_text() + distr1())
    with pytest.warns(PsmrWarning, match="open-line101-103.*line101-103 is left out, and the relay with it"):
        case = psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    assert case.relays == ()


def test_currents_that_look_like_values_per_unit_are_told(read):
    with pytest.warns(PsmrWarning, match="CUR1 = 10.6 is a multiple of THR = 10.05 pu"):
        read(tiocr1(curve="10.05 9999 10.6 120 11.88 60 14.08 30 20.66 10 20.66 10"))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (distr1(form=2), r"case.dyr:\d+.*TYPE = '2'.*type 1 \(mho\) only"),
        (distr1(blinders="1 0.05 90 0 0 0"), r"BLINT1 = '0.05'.*psmr has no blinders"),
        (tiocr1(curve="0.5 4 1.2 2 1.5 3 2 3 3 3 4 3"), "time_2 = 3: must be at most time_1 = 2"),
        (tiocr1(curve="0.5 4 0.9 2 1.5 1 2 1 3 1 4 1"), "multiple_1 = 0.9: must be >= 1"),
        ("101 'TIOCR1' 103 '1' 1 1 /\n", "TIOCR1: has 4 values; must have 29: JBUS ID RS MON"),
    ],
)
def test_what_is_refused(read, records, message):
    with pytest.raises(CaseError, match=message):
        read(records)
