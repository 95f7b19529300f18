"""Relay records of a DYR file: every form, what is left out, and what is refused."""

import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.files.psse.traces import HERE

RAW, MACHINES = HERE / "LOAD" / "ThreeBusMulti.raw", HERE / "LOAD" / "ThreeBus_GENROU.dyr"


@pytest.fixture
def read(tmp_path):
    def read(records, **options):
        path = tmp_path / "case.dyr"
        path.write_text(MACHINES.read_text() + records + "\n")
        return psmr.read_case(RAW, path, **options)

    return read


def parameters(row, *names):
    return tuple(row.device.parameters.get(name) for name in names)


def stage(row, k):
    return parameters(row, f"set_{k}", f"pickup_{k}", f"breaker_{k}", f"shed_{k}")


def test_three_stages_with_one_breaker(read):
    (row,) = read("103 'LDSHBL' '2' 59.3 0.1 0.05 58.9 0.2 0.10 0 0 0 0.08 /").relays
    assert (row.name, row.bus, row.acts_on) == ("shed-load103-2", 103, "load103-2")
    assert row.device.type == "UnderFrequencyShedding"
    assert stage(row, 1) == (59.3, 0.1, 0.08, 0.05)
    assert stage(row, 2) == (58.9, 0.2, 0.08, 0.1)
    assert parameters(row, "set_3") == (None,)


def test_five_stages_with_their_breakers(read):
    zeros = " ".join(["0"] * 12)
    text = f"103 'LDS3BL' 1 0 '0 ' 0 59.3 15.0 0.133 0.5 58.8 0.1 0.05 0.5 {zeros} 0.02 /"
    (row,) = read(text).relays
    assert stage(row, 1) == (59.3, 15.0, 0.133, 0.5)
    assert stage(row, 2) == (58.8, 0.1, 0.05, 0.5)


def test_five_stages_of_the_voltage_there_and_back(read, tmp_path):
    """LVS3BL as a public file of InterPSS' ODM has it, without its transfer trips."""
    zeros = " ".join(["0"] * 14)
    stages = f"0.913 6 0.066 0.245 0.913 10 0.07 0.545 {zeros}"
    case = read(f"103 'LVS3BL' 1 0 0 '0 ' 0 0 '0 ' 0 {stages} /")
    (row,) = case.relays
    assert (row.bus, row.device.type) == (103, "UnderVoltageShedding")
    assert (stage(row, 1), stage(row, 2)) == ((0.913, 6.0, 0.066, 0.245), (0.913, 10.0, 0.07, 0.545))
    psmr.write_case(case, tmp_path / "out.raw")
    (again,) = psmr.read_case(tmp_path / "out.raw", tmp_path / "out.dyr").relays
    assert again.device.parameters == row.device.parameters
    with pytest.raises(CaseError, match="TBUS1 = 102: psmr has this relay only without a transfer trip"):
        read(f"103 'LVS3BL' 1 0 102 '1' 0 0 '0 ' 0 {stages} /")


def test_voltage_of_another_bus(read):
    (row,) = read("103 'LVSHBL' '1' 102 0.9 0.2 0.3 0.8 0.1 0.3 0 0 0 0.05 /").relays
    assert (row.bus, row.device.type) == (102, "UnderVoltageShedding")
    assert stage(row, 2) == (0.8, 0.1, 0.05, 0.3)
    (row,) = read("103 'LVSHBL' '1' 0 0.9 0.2 0.3 0 0 0 0 0 0 0.05 /").relays
    assert row.bus == 103


STAGE = "59.3 0.1 0.05 0 0 0 0 0 0 0.08"
WIDE = {
    # In the case both loads of bus 103 and that of bus 102 are in area 1 and zone 1, and of owner 1.
    f"1 'LDSHAR' '*' {STAGE} /": {"load102": 102, "load103": 103, "load103-2": 103},
    f"1 'LDSHZN' '2' {STAGE} /": {"load103-2": 103},
    f"1 'LDSHOW' 1 {STAGE} /": {"load102": 102, "load103": 103},
    f"0 'LDSHAL' '*' {STAGE} /": {"load102": 102, "load103": 103, "load103-2": 103},
    "1 'LVSHAR' '*' 0 0.9 0.2 0.3 0 0 0 0 0 0 0.05 /": {"load102": 102, "load103": 103, "load103-2": 103},
}


@pytest.mark.parametrize("record", WIDE)
def test_a_record_for_many_loads_is_a_relay_at_each(read, record):
    assert {row.acts_on: row.bus for row in read(record).relays} == WIDE[record]


def test_of_records_for_one_load_the_nearer_counts(read):
    """One of the bus goes before one of the area, whatever their order; under-voltage is another relay."""
    area, own = f"1 'LDSHAR' '*' {STAGE} /", f"103 'LDSHBL' '2' {STAGE.replace('59.3', '58.5')} /"
    voltage = "1 'LVSHAR' '2' 0 0.9 0.2 0.3 0 0 0 0 0 0 0.05 /"
    for records in ((area, own, voltage), (voltage, own, area)):
        rows = read("\n".join(records)).relays
        sets = sorted((row.acts_on, row.device.parameters["set_1"]) for row in rows)
        assert sets == [("load102", 59.3), ("load103", 59.3), ("load103-2", 0.9), ("load103-2", 58.5)]


def test_a_record_for_an_area_without_loads_is_left_out(read):
    words = r"LDSHAR: there is no load '\*' in area 7 in the RAW file \(there: none\); left out"
    with pytest.warns(PsmrWarning, match=words):
        assert read(f"7 'LDSHAR' '*' {STAGE} /").relays == ()


def test_any_number_of_stages(read):
    (row,) = read(
        "103 'UFLSBL' '1' 0.04 0.06 49.2 0.1 0.05 49.0 0.2 0.06 48.8 0.3 0.07 48.6 0.4 0.1 /"
    ).relays
    assert parameters(row, "t_f") == (0.04,)
    assert stage(row, 4) == (48.6, 0.4, 0.06, 0.1)


@pytest.mark.parametrize(
    ("model", "kind"), [("FRQTPAT", "FrequencyTrip"), ("VTGTPA", "VoltageTrip"), ("VTGTPAT", "VoltageTrip")]
)
def test_generator_relays(read, model, kind):
    one, two = read(f"9 '{model}' 103 102 '1 ' 0.75 1.2 2.0 0.05 /\n10 '{model}' 0 102 1 0.6 5 1 0 /").relays
    assert (one.name, one.bus, one.acts_on, one.device.type) == ("trip-G102", 103, "G102", kind)
    assert (two.name, two.bus) == ("trip-G102-2", 102)
    assert parameters(one, "low", "high", "pickup", "breaker") == (0.75, 1.2, 2.0, 0.05)


def test_they_act_in_a_run(read):
    """The fault of a line's end lasts longer than the relay's time."""
    case = read("1 'VTGTPAT' 102 102 1 0.7 1.3 0.1 0.05 /\n103 'LVSHBL' 1 0 0.8 0.05 0.5 0 0 0 0 0 0 0.0 /")
    system = psmr.build(case)
    fault = psmr.Fault(bus=103, start=0.1, clear=0.3)
    scheme = psmr.SingleRate("TM", h=0.005)
    run = psmr.simulate(system, scheme, t_end=0.6, events=[fault], certify=False)
    assert [(pytest.approx(t), words.split(",")[0]) for t, words in run.outcome.acted] == [
        (0.15, "shed-load103: 50 % of load103 shed"),
        (0.25, "trip-G102: G102 tripped"),
    ]


def test_a_netted_generator_has_no_relay(tmp_path):
    lines = MACHINES.read_text().split("/")
    only = next(part for part in lines if "GENCLS" in part)
    (tmp_path / "case.dyr").write_text(f"{only}/\n1 'VTGTPAT' 102 102 1 0.7 1.3 0.1 0.05 /\n")
    with pytest.warns(PsmrWarning, match="trip-G102.*acts on G102, which is netted; left out"):
        case = psmr.read_case(RAW, tmp_path / "case.dyr", net_unmodelled=True)
    assert case.relays == ()


def test_no_stage_at_all_is_left_out(read):
    with pytest.warns(PsmrWarning, match=r"case.dyr:\d+: LDSHBL: has no stage"):
        assert read("103 'LDSHBL' '2' 0 0 0 0 0 0 0 0 0 0.08 /").relays == ()


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("103 'LDSHBL' '2' 59.3 0.1 /", r"case.dyr:\d+: LDSHBL: has 2 values; must have 10: f1 t1 frac1"),
        ("103 'LDSHBL' '2' 59 -1 .1 0 0 0 0 0 0 0 /", r"case.dyr:\d+ .*pickup_1 = -1.0: must be >= 0"),
        ("103 'LDSHBL' '2' 59 0 .7 58 0 .7 0 0 0 0 /", "must not shed more than the load"),
        (
            f"103 'LDS3BL' 1 102 '1' 0 {' '.join(['0'] * 21)} /",
            r"GBUS = 102: psmr has this relay only without a transfer trip",
        ),
        ("1 'VTGTPAT' 102 102 1 1.7 1.3 0.1 0.05 /", "low = 1.7: must be below high = 1.3"),
        ("1 'FRQTPAT' 102 102 1 0.7 /", r"case.dyr:\d+: FRQTPAT: has 4 values; must have 7: BUS GENBUS"),
        ("103 'UFLSBL' '1' 0.04 0.06 49.2 0.1 /", "UFLSBL: has 4 values; must have 2: TF TB"),
    ],
)
def test_what_is_wrong_is_refused(read, records, message):
    with pytest.raises(CaseError, match=message):
        read(records)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("1 'VTGDCAT' 102 102 '1' 0.5 1.2 1 0.05 /", "psmr has no model 'VTGDCAT': it disconnects a bus"),
        ("102 'WT4E2' 1 1 2 3 4 /", "no model 'WT4E2': it has eleven values more than WT4E1, and no public"),
        ("102 'COMPCC' 1 1 2 3 4 /", "no model 'COMPCC': it compensates for a second machine as well"),
    ],
)
def test_what_is_not_there_is_named(read, record, message):
    with pytest.raises(CaseError, match=rf"dyr:\d+: .*{message}"):
        read(record)
    with pytest.warns(PsmrWarning, match="psmr has no model .*; left out"):
        read(record, skip_unknown_models=True)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("1 'VTGTPAT' 102 104 1 0.7 1.3 0.1 0.05 /", "there is no generator '1' at bus 104"),
        ("1 'VTGTPAT' 105 102 1 0.7 1.3 0.1 0.05 /", "there is no bus 105 in service in the RAW file"),
        ("103 'LDSHBL' '3' 59 0 .1 0 0 0 0 0 0 0 /", "there is no load '3' at bus 103 .*this bus: '1', '2'"),
        ("104 'LVSHBL' '1' 0 .9 0 .1 0 0 0 0 0 0 0 /", "there is no load '1' at bus 104 .*this bus: none"),
        ("103 'LVSHBL' '1' 105 .9 0 .1 0 0 0 0 0 0 0 /", "there is no bus 105 in service in the RAW file"),
        ("102 'USRMDL' 1 'MYGOV' 5 0 0 2 1 1 0.5 0.1 /", "no model 'USRMDL' 'MYGOV'; generator '1' at bus"),
        ("0 'USRMSC' 'MYREL' 512 0 1 1 0 0 7 0.1 /", "no model 'USRMSC' 'MYREL'"),
    ],
)
def test_what_is_of_nothing_or_user_written_is_left_out(read, record, said):
    with pytest.warns(PsmrWarning, match=f"{said}.*; left out"):
        read(record)
