"""Values of planning data that stand for none, and records that are left out: read, each with a warning."""

import re
import warnings

import numpy as np
import pytest

from psmr import build, read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text


@pytest.fixture
def read(tmp_path):
    """Read the RAW file of `raw_text` with a plant at bus 1 and dynamic data for its other generator."""

    def read(text, **options):
        (tmp_path / "case.raw").write_text(raw_text())
        machines = "2 'GENROU' G1 6.5 0.06 0.2 0.05 4.0 0.0 1.8 1.75 0.6 0.8 0.3 0.15 0.09 0.38 /\n"
        (tmp_path / "case.dyr").write_text(machines + text)
        return read_case(
            tmp_path / "case.raw", tmp_path / "case.dyr", net_unmodelled=True, loads="impedance", **options
        )

    return read


WIND = (
    "1 'REGCA1' 1 0 0.02 10 0.9 0.5 1.22 1.2 0.8 0.4 -1.3 0.02 0.7 {iqrmax} {iqrmin} 0.8 /\n"
    "1 'REECA1' 1 0 0 0 1 0 0 0.85 1.15 0 {dbd1} 0 5 1.1 -1.1 0 0 0 0.5 0.02 0.436 -0.436 1.1 0.9 0.1 1 18 5"
    " 0 {t_iq} 99 -99 1 0 1.3 {t_pord} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 /\n"
)
USUAL = {"iqrmax": 999, "iqrmin": -999, "dbd1": 0, "t_iq": 0.02, "t_pord": 0.02}


def parameters(case, bus):
    (plant,) = [row for row in case.generators if row.bus == bus and row.devices]
    return {name: value for device in plant.devices for name, value in device.parameters.items()}


@pytest.mark.parametrize(
    ("name", "given", "meant", "said"),
    [
        ("iqrmax", 0, 999.0, "iqrmax = 0 is no limit; taken as 999"),
        ("iqrmin", 0, -999.0, "iqrmin = 0 is no limit; taken as -999"),
        ("t_iq", 0, 1e-3, "t_iq = 0 is no lag; taken as 0.001 s"),
        ("t_pord", 0, 1e-3, "t_pord = 0 is no lag; taken as 0.001 s"),
        (
            "dbd1",
            0.05,
            -0.05,
            "dbd1 = 0.05 is above the reference, which a dead band contains; taken as -0.05",
        ),
    ],
)
def test_what_stands_for_none(read, name, given, meant, said):
    with pytest.warns(PsmrWarning, match=rf"case\.dyr:\d: REG?E?CA1: {re.escape(said)}"):
        case = read(WIND.format(**(USUAL | {name: given})))
    assert parameters(case, 1)[name] == meant


def test_a_lead_lag_without_a_lag_is_left_out(read):
    """As in GridPACK's WSIEG1, whose own records have T1 = 0 and T2 = 3.3: the governor is proportional."""
    machine = "1 'GENROU' 1 6.5 0.06 0.2 0.05 4.0 0.0 1.8 1.75 0.6 0.8 0.3 0.15 0.09 0.38 /\n"
    governor = "1 'IEEEG1' 1 0 0 25.0 {t1} {t2} 0.3 0.25 -3.3 51.0 0.0 0.086 1.0 0 0 0 0 0 0 0 0 0 0 /\n"
    with pytest.warns(PsmrWarning, match=r"IEEEG1: T1 = 0 leaves its lead-lag out; T2 = 3.3 is without"):
        case = read(machine + governor.format(t1=0, t2=3.3))
    plain = read(machine + governor.format(t1=0, t2=0))
    assert parameters(case, 1) == parameters(plain, 1)
    np.testing.assert_array_equal(build(case).x0, build(plain).x0)


def test_the_later_of_two_exciters_counts(read):
    machine = "1 'GENROU' 1 6.5 0.06 0.2 0.05 4.0 0.0 1.8 1.75 0.6 0.8 0.3 0.15 0.09 0.38 /\n"
    exciters = "1 'SEXS' 1 0.1 10 100 0.1 0 4 /\n1 'SEXS' 1 0.1 10 150 0.1 0 4 /\n"
    with pytest.warns(PsmrWarning, match=r"case\.dyr:3: SEXS: the SEXS of line 4 is the exciter of this"):
        assert parameters(read(machine + exciters), 1)["k"] == 150.0


MACHINE = "1 'GENROU' 1 6.5 0.06 0.2 0.05 4.0 0.0 1.8 1.75 0.6 0.8 0.3 0.15 0.09 0.38 /\n"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            "2 'USRLOD' 1 'ACMTBLU1' 12 1 2 1 1 1 1 0 0.5 /",
            "'USRLOD' 'ACMTBLU1'; the load at bus 2 keeps its static characteristic; left out",
        ),
        (
            "1 'USRMDL' 1 'MYGOV' 5 0 0 1 1 1 0.5 /",
            "'USRMDL' 'MYGOV'; generator '1' at bus 1 runs without it (governor); left out",
        ),
        (
            "1 'USRMDL' 1 'MYWIND' 106 0 0 1 1 1 0.5 /",
            "'USRMDL' 'MYWIND'; generator '1' at bus 1 runs without it (wind); left out",
        ),
        ("1 'NOSUCH' 1 0.5 /", "'NOSUCH'; generator '1' at bus 1 runs without it; left out"),
    ],
)
def test_what_is_left_out_is_named_with_its_bus_and_what_is_lacking(read, record, said):
    with pytest.warns(PsmrWarning, match=re.escape(f"psmr has no model {said}")):
        read(MACHINE + record + "\n", skip_unknown_models=True)


def test_what_is_user_written_is_left_out_in_any_case(read):
    for record in (
        "1 'USRMDL' 1 'MYGOV' 5 0 0 1 1 1 0.5 /",
        "2 'USRLOD' 1 'ACMTBLU1' 12 1 2 1 1 1 1 0 0.5 /",
    ):
        with pytest.warns(PsmrWarning, match="psmr has no model 'USR.*; left out"):
            read(MACHINE + record + "\n")
    with pytest.raises(CaseError, match="skip unknown models with a warning"):
        read(MACHINE + "1 'NOSUCH' 1 0.5 /\n")


def test_a_record_that_has_lost_its_slash_ends_where_the_next_begins(read):
    governor = "1 'TGOV1' 1 0.05 0.49 33.0 0.0 2.1 7.0 0.0 /\n"
    with pytest.warns(PsmrWarning, match=r"case\.dyr:2: its record has no slash before 1 'TGOV1', where"):
        case = read(MACHINE.replace("/", "") + governor)
    assert [row.type for row in case.generators[0].devices] == ["GENROU", "TGOV1"]


def test_a_record_without_a_model_is_left_out_on_request(read):
    """What a comment over two lines leaves of its second line, in a public file of InterPSS."""
    with pytest.raises(CaseError, match=r"case\.dyr:3: must be a record: bus 'MODEL' id values"):
        read(MACHINE + "0.0000/\n")
    with pytest.warns(PsmrWarning, match=r"case\.dyr:3: must be a record"):
        assert len(read(MACHINE + "0.0000/\n", skip_unknown_models=True).generators[0].devices) == 1


def test_a_subtransient_reactance_below_the_leakage_is_unlikely(read):
    """Public planning data of New England have it; only a transient reactance must be above the leakage."""
    with pytest.warns(
        PsmrWarning, match=r"GENROU: x'' is below the leakage reactance: x_2 = 0\.3, x_l = 0\.35"
    ):
        assert parameters(read(MACHINE.replace("0.3 0.15", "0.3 0.35")), 1)["x_l"] == 0.35


def test_comments_of_other_programs(read):
    """Between records, as InterPSS writes them."""
    with pytest.warns(
        PsmrWarning, match=r"case\.dyr:2: begins with #, which is no mark of a comment in PSS/E"
    ):
        assert parameters(read("  #--- 1 'NOSUCH' below ---\n" + MACHINE), 1)["h"] == 4.0


def test_records_of_generators_that_are_not_there(read):
    record = "77 'GENROU' 1 6.5 0.06 0.2 0.05 4.0 0.0 1.8 1.75 0.6 0.8 0.3 0.15 0.09 0.38 /\n"
    with pytest.warns(PsmrWarning, match=r"no generator '1' at bus 77 in the RAW file .*; left out"):
        read(MACHINE + record)


GENERATOR = "1,'1 ',0.0,0.0,999.0,-999.0,0.0,0,200.0,0.0,0.2,0.0,0.0,1.0,1,100.0,200.0,0.0"


def test_a_generator_that_cannot_be_read_is_not_said_to_be_missing(tmp_path):
    (tmp_path / "case.raw").write_text(raw_text(generator=GENERATOR))
    (tmp_path / "case.dyr").write_text(MACHINE)
    with (
        warnings.catch_warnings(record=True) as said,
        pytest.raises(CaseError, match=r"VS = '0\.0': must be"),
    ):
        read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    assert not [str(warning.message) for warning in said if "no generator" in str(warning.message)]


def test_the_later_of_a_machine_and_a_converter_counts(read):
    turbine = "1 'WT1G1' 1 0.846 0 3.927 0.1773 0 0.1 1 0.03 1.2 0.179 /\n"
    with pytest.warns(PsmrWarning, match=r":2: GENROU: the WT1G1 of line 3 is the converter of this"):
        case = read(MACHINE + turbine)
    assert [device.type for device in case.generators[0].devices] == ["WT1G1"]


def test_an_exciter_with_a_leakage_reactance_is_no_machine(read):
    """X_L of ESST4B is that of its supply; it has no subtransient reactance to compare with."""
    record = "1 'ESST4B' 1 0 10.75 10.75 1 -0.87 0.02 1 0 1.1 -0.87 0 9.3 0 11.6 0.1 0.1 0 /\n"
    case = read(MACHINE + record)
    assert case.generators[0].devices[1].parameters["x_l"] == 0.1
