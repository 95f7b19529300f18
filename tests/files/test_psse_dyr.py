"""PSS/E DYR files: which device gets what, and the message for what is wrong or does not match."""

import re

import numpy as np
import pytest

import psmr
from psmr import build, read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.internals import MODELS, component_for, monitored_branches, parameters, role_parameters

GOOD = """\
// the machines
1 'GENROU' 1   8.0 0.03 0.4 0.05   6.5 0.0 1.8 1.7 0.3
   0.55 0.25 0.06   0.0 0.0 /
2 'GENCLS' 'G1' 4.0, 0.0 /   a comment
2, 'GENCLS', 'G2', 4.0, 0.0 /
1 'TGOV1 ' 1 0.05 0.49 33.0 0.0 2.1 7.0 0.0/
1 'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0 /
/
"""


@pytest.fixture
def read(tmp_path):
    def read(dyr, raw=None, **options):
        (tmp_path / "case.raw").write_text(raw or raw_text())
        (tmp_path / "case.dyr").write_text(dyr)
        return read_case(tmp_path / "case.raw", tmp_path / "case.dyr", **options)

    return read


def test_devices_of_the_plants(read):
    one, two = read(GOOD).generators
    assert [(d.name, d.role, d.type) for d in one.devices] == [
        ("G1", "machine", "GENROU"),
        ("GOV1", "governor", "TGOV1"),
        ("AVR1", "exciter", "SEXS"),
    ]
    machine = one.devices[0].parameters
    # From the DYR record, and base and resistance from the RAW record.
    assert (machine["t_d01"], machine["h"], machine["x_q1"], machine["x_l"]) == (8.0, 6.5, 0.55, 0.06)
    assert (machine["s_n"], machine["r_a"]) == (200.0, 0.0)
    assert one.devices[2].parameters["t_a"] == pytest.approx(0.1 * 10.0)
    # The classical machine's reactance is the generator's ZX.
    assert two.devices[0].parameters["x_d1"] == 0.3


def test_a_comment_as_in_raw_files(read):
    """What follows @! at the start of a line is no record, also within one, and may have a quotation mark."""
    commented = "@! the owner's data\n" + GOOD.replace("   0.55", "@!  x'q ...\n   0.55")
    assert (
        read(commented).generators[0].devices[0].parameters == read(GOOD).generators[0].devices[0].parameters
    )


def test_the_case_starts(read):
    system = build(read(GOOD))
    assert "G1.e_q" in system.names_x


@pytest.mark.parametrize("model", [model for model in MODELS if component_for(model)])
def test_names_are_parameters(model):
    """Every value of a record is a parameter, and every parameter without default has its value."""
    _, component = component_for(model)
    declared = role_parameters(component)
    names = {name for name in MODELS[model].split() if name[0] not in "-@" and "=" not in name}
    given = set(parameters(component, dict.fromkeys(names, 1.0), 1.0, 0.0, 0.0))
    assert given <= declared.keys()
    assert {name for name, parameter in declared.items() if parameter.default is None} <= given


WRONG = {
    "unknown": ("'GENROU'", "'GENRO'", 2, "psmr has no model 'GENRO'; did you mean 'GENROU'?"),
    "few": ("6.5 0.0 1.8", "6.5 0.0", 2, "GENROU: has 13 values; must have 14"),
    "none at all": ("2 'GENCLS' 'G1' 4.0", "2 'GENCLS' 'G1' / 4.0", 4, "GENCLS: has 0 values; must have 2"),
    "many": ("6.5 0.0 1.8", "6.5 0.0 1.8 1.8", 2, "GENROU: has 15 values; must have 14"),
    "number": ("0.49 33.0", "x 33.0", 6, "t_1 = 'x': must be a finite number"),
    "line of a value": ("0.55 0.25", "nan 0.25", 3, "x_q1 = 'nan': must be a finite number"),
    "forbidden": ("6.5 0.0 1.8", "-6.5 0.0 1.8", 2, "h = -6.5: must be > 0"),
    "quotation mark": ("'GENCLS' 'G1'", "'GENCLS' 'G1", 4, "not closed"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_line(read, name):
    old, new, line, message = WRONG[name]
    assert old in GOOD
    with pytest.raises(CaseError, match=rf"case\.dyr:{line}\b.*{re.escape(message)}"):
        read(GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("9 'TGOV1 ' 1", "there is no generator '1' at bus 9"),
        ("5 'TGOV1 ' 1", "there is no generator '1' at bus 5"),
        ("1 'TGOV1 ' 2", "no generator '2' at bus 1 in the RAW file (at this bus: '1'); left out"),
    ],
    ids=["no such bus", "isolated", "no such id"],
)
def test_a_record_of_no_generator_is_left_out(read, new, words):
    with pytest.warns(PsmrWarning, match=rf"case\.dyr:6: TGOV1: .*{re.escape(words)}"):
        case = read(GOOD.replace("1 'TGOV1 ' 1", new, 1))
    assert "TGOV1" not in {row.type for row in case.generators[0].devices}


def test_generator_without_machine(read):
    without = GOOD.replace("2 'GENCLS' 'G1' 4.0, 0.0", "")
    with pytest.raises(CaseError, match=r"case\.raw:19 .*has no machine for generator 'G1' at bus 2"):
        read(without, net_unmodelled=False)
    with pytest.warns(PsmrWarning, match="'G1' at bus 2"):
        case = read(without, skip_unknown_models=True, net_unmodelled=False)
    assert case.generators[1].devices == ()


def test_each_model_that_is_skipped_is_listed(read):
    unknown = GOOD.replace("'GENROU'", "'GENXYZ'").replace("'TGOV1 '", "'GOVXYZ'")
    with pytest.warns(PsmrWarning) as warned:
        case = read(unknown, skip_unknown_models=True, net_unmodelled=False)
    text = "\n".join(str(w.message) for w in warned)
    for what in ("dyr:2: .*'GENXYZ'", "dyr:6: .*'GOVXYZ'", "no machine for generator '1'", "dyr:7: SEXS"):
        assert re.search(what, text)
    assert len(warned) == 4
    assert case.generators[0].devices == ()


def test_step_up_transformer(read):
    raw = raw_text().replace("0.0,0.2,0.0,0.0,1.0,1", "0.0,0.2,0.0,0.1,1.0,1")
    with pytest.raises(CaseError, match=r"case\.raw:18 .*step-up transformer.*--skip-unknown-models"):
        read(GOOD, raw)


def test_option_that_psmr_does_not_have(read):
    governor = GOOD.replace("1 'TGOV1 ' 1 0.05 0.49 33.0 0.0 2.1 7.0 0.0/\n", "") + (
        "1 'IEEEG1' 1 0 1 20 0 0 0.2 1 -1 33 0 0.3 0.3 0.1 5 0.4 0 0.5 0.3 0 0 0 0 /\n"
    )
    with pytest.raises(
        CaseError, match=r"case\.dyr:8 .*k_2 = '0\.1': psmr has this model only with 0.*--skip-unknown-models"
    ):
        read(governor)
    with pytest.warns(PsmrWarning, match="k_2 = '0.1'"):
        assert len(read(governor, skip_unknown_models=True).generators[0].devices) == 2


CODES = [
    ("IEEEST", "3 1", ("delta", "i_d")),
    ("IEEEST", "2 0", ("x_theta",)),
    ("ST2CUT", "1 0 6 1", ("x_v_2",)),
    ("IEE2ST", "1 0 3 0", ("x_w", "i_d")),
    ("PSS2A", "1 0 3 0", ("r_5", "i_d")),
    ("PSS2A", "2 2 5 1", ("x_theta_1", "u_2_re")),
    ("STAB2A", "", ("w_3", "i_q")),
]
VALUES = {
    "IEEEST": "0 0 0 0 0 0 0.1 0.1 0.1 0.1 10 10 5 0.1 -0.1 0 0",
    "ST2CUT": "5 1 0 0.1 10 10 0.1 0.1 0.1 0.1 0 0 0.1 -0.1 0 0",
    "IEE2ST": "3 2 0.03 0.03 10 10 0.4 0.04 0 0 0 0 0.05 -0.05 0 0",
    "STAB2A": "1 2 0 2 0.55 1 0.01 0.03",
    "PSS2A": "5 1 2 2 0 2 0 2 0.2 1 0.5 0.1 10 0.2 0.02 0.2 0.02 0.1 -0.1",
}


@pytest.mark.parametrize(("model", "codes", "names"), CODES)
def test_input_codes(read, model, codes, names):
    case = read(GOOD + f"1 '{model}' 1 {codes} {VALUES[model]} /\n")
    stabiliser = build(case).devices[-2]
    component = stabiliser.component
    assert stabiliser.name == "PSS1"
    assert set(names) <= {*component.states, *component.inputs}
    # What it measures is at rest.
    assert build(case).w0[build(case).index("PSS1.v_s")] == pytest.approx(0.0, abs=1e-12)


WRONG_CODES = {
    "STAB2A 1": "STAB2A: has 9 values; must have 8: k_2 t_2",
    "IEEEST 7 0": "input = 7.0: must be a whole number from 0 to 6",
    "IEEEST 1.5 0": "input = 1.5: must be a whole number from 0 to 6",
    "ST2CUT 1 0 7 0": "input_2 = 7.0: must be a whole number from 0 to 6",
    "ST2CUT 1 0 5 99": "bus_2 = 99: there is no bus with this number",
    "PSS2A -1 0 3 0": "input_1 = -1.0: must be a whole number from 0 to 6",
}


@pytest.mark.parametrize("record", WRONG_CODES)
def test_input_code_that_is_none(read, record):
    model, _, codes = record.partition(" ")
    with pytest.raises(CaseError, match=rf"case\.dyr:9\b.*{WRONG_CODES[record]}"):
        read(GOOD + f"1 '{model}' 1 {codes} {VALUES[model]} /\n")


@pytest.mark.parametrize("codes", ["ST2CUT 1 0 1 2", "PSS2A 1 5 3 0", "IEEEST 1 7", "PSS2A 0 2 3 0"])
def test_a_bus_of_a_signal_that_is_no_bus_s_is_without_effect(read, codes):
    """As in a public file of InterPSS, whose PSS2A has the code 1 and a bus."""
    model, _, given = codes.partition(" ")
    record = f"1 '{model}' 1 {given} {VALUES[model]} /\n"
    with pytest.warns(PsmrWarning, match=rf"case\.dyr:9: {model}: bus\w* = [257] is without effect: input"):
        found = read(GOOD + record).generators[0].devices[-1].parameters
    assert not any(found.get(name, 0.0) for name in ("bus", "bus_1", "bus_2"))


@pytest.mark.parametrize("codes", ["ST2CUT 0 0 0 0", "PSS2A 0 0 0 0", "IEEEST 0 0", "IEE2ST 0 0 0 0"])
def test_a_stabiliser_without_a_signal_is_left_out(read, codes):
    model, _, given = codes.partition(" ")
    record = f"1 '{model}' 1 {given} {VALUES[model]} /\n"
    with pytest.warns(PsmrWarning, match=rf"case\.dyr:9: {model}: input.* = 0 switch it off; left out"):
        roles = [row.role for row in read(GOOD + record).generators[0].devices]
    assert roles == ["machine", "governor", "exciter"]


def test_a_stabiliser_with_the_second_signal_alone(read):
    """The first is 0: the sum of ST2CUT is the second's, and what the first would pass is nothing."""
    case = read(GOOD + f"1 'ST2CUT' 1 0 0 1 0 {VALUES['ST2CUT']} /\n")
    system = build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert not any(name.startswith("PSS1.u") for name in system.names_u)


def test_a_stabiliser_whose_output_has_no_room_is_left_out(read):
    with pytest.warns(PsmrWarning, match=r"case\.dyr:9: STAB1: h_lim = 0 switch it off; left out"):
        read(GOOD + "1 'STAB1' 1 20 10 5 0.02 5 0.02 0 /\n")


def test_stabiliser_whose_exciter_is_left_out(read):
    record = f"1 'IEEEST' 1 1 0 {VALUES['IEEEST']} /\n"
    text = GOOD.replace("'sexs'", "'EXCXYZ'") + record
    with pytest.warns(PsmrWarning) as warned:
        case = read(text, skip_unknown_models=True)
    assert re.search(r"case\.dyr:9: IEEEST: its generator has no exciter", str(warned[-1].message))
    assert [d.role for d in case.generators[0].devices] == ["machine", "governor"]
    with pytest.warns(PsmrWarning, match=r"case\.dyr:8: IEEEST: its generator has no exciter; left out"):
        read(GOOD.replace("1 'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0 /\n", "") + record)


DIRECT = {
    "EXDC2": "0.02 20 0.02 1 1 5.2 -4.2 1 0.8 0.08 1.2 0 2.8 0.1 3.7 0.3",
    "ESDC2A": "0.02 20 0.02 1 1 5.2 -4.2 1 0.8 0.08 1.2 0 2.8 0.1 3.7 0.3",
    "AC8B": "0.02 20 5 10 0.1 35 -5 35 -1 16 0 0.01 1 1.2 0.2 0.4 1 4.5 0.1 6 0.4",
}


@pytest.mark.parametrize("model", DIRECT)
def test_a_limit_that_moves_is_read_and_starts(read, model):
    system = build(read(GOOD.replace("'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0", f"'{model}' 1 {DIRECT[model]}")))
    moving = [system.names_x[i] for i in range(system.n) if system.limits_move[i]]
    assert moving == (["AVR1.v_e"] if model == "AC8B" else ["AVR1.v_r"])
    assert np.abs(system.residual(system.w0)).max() < 1e-10


def dc_exciter(read, old, new):
    text = "'IEEEX1' 1 0.02 20 0.02 0 0 5.2 -4.2 1 0.8 0.08 1.2 0 2.8 0.1 3.7 0.3"
    assert old in text
    return read(GOOD.replace("'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0", text.replace(old, new)))


@pytest.mark.parametrize(("k_e", "needed"), [(1, 1.3 * 3.7), (-0.05, 0.3 * 3.7)])
def test_zero_limit_of_the_regulator(read, k_e, needed):
    with pytest.warns(PsmrWarning) as warned:
        case = dc_exciter(read, "5.2 -4.2 1", f"0 0 {k_e}")
    high, low = (str(warning.message) for warning in warned)
    assert re.search(rf"dyr:7: IEEEX1: v_r_max = 0 stands for .*: {needed:g}$", high)
    assert re.search(rf"dyr:7: IEEEX1: v_r_min = 0 stands for -v_r_max: {-needed:g}$", low)
    found = case.generators[0].devices[2].parameters
    assert (found["v_r_max"], found["v_r_min"]) == (pytest.approx(needed), pytest.approx(-needed))


def test_zero_constant_of_the_exciter(read):
    """PSS/E starts with v_r = v_r_max / 10: IEEEX1, ESDC1A (tests/programs/conformance/quoted.py)."""
    case = dc_exciter(read, "1 0.8 0.08 1.2 0 2.8 0.1 3.7 0.3", "0 0.8 0.08 1.2 0 0.8 0.1 1.2 0.3")
    with pytest.warns(PsmrWarning, match=r"AVR1\.k_e = 0 stands for the value that holds the start: -0\.192"):
        system = build(case)
    assert system.w0[system.index("AVR1.v_r")] == pytest.approx(0.52, abs=1e-12)
    assert system.w0[system.index("AVR1.v_ref")] == pytest.approx(1.05 + 0.52 / 20, abs=1e-12)
    with pytest.warns(PsmrWarning, match=r"AVR1\.k_e = 0"):
        assert psmr.check(case).system is not None


def test_a_saturation_curve_of_one_point(read):
    with pytest.warns(PsmrWarning, match=r"e_1 = se_1 = 0 and se_2 = 0\.3 .* without saturation"):
        case = dc_exciter(read, "2.8 0.1", "0 0")
    assert case.generators[0].devices[2].parameters["se_2"] == 0.0


CONVERTER = "2 'REGCA1' 'G1' 1 0.02 10 0.9 0.4 1.22 1.2 0.8 0.4 -1.3 0.02 0.7 99 -99 0.7 /\n"
CONTROL = (
    "2 'REECA1' 'G1' 0 0 1 1 {p_flag} 0 0.85 1.2 0.02 -0.05 0.05 2 1.05 -1.05 0 0 {t_hld} 0 0.05 0.4"
    " -0.4 1.1 0.9 0.1 2 0.5 40 0 0.02 99 -99 1 -1 1.5 0.05 0 1.4 2 1.4 0 0 0 0 0 1.4 2 1.4 0 0 0 0 /\n"
)
PLANT = (
    "2 'REPCA1' 'G1' {bus} {branch} '1 ' 0 1 1 0.02 18 5 0 0.15 0.7 0 0 0.02 0.1 -0.1 0 0 0.4 -0.4 0.1 0.05"
    " 0.25 -0.0006 0.0006 99 -99 1 -1 0.1 20 20 /\n"
)


def renewable(p_flag=0, t_hld=0, bus=0, branch="0 0"):
    """GOOD with a wind plant in place of the first classical machine."""
    records = CONVERTER + CONTROL.format(p_flag=p_flag, t_hld=t_hld) + PLANT.format(bus=bus, branch=branch)
    return GOOD.replace("2 'GENCLS' 'G1' 4.0, 0.0 /   a comment\n", records)


def test_renewable_plant(read):
    plant = read(renewable(bus=1)).generators[1]
    assert [row.type for row in plant.devices] == ["REGCA1", "REECA1", "REPCA1"]
    converter, control, regulator = (row.parameters for row in plant.devices)
    assert (converter["i_olim"], converter["k_hv"], converter["iqrmin"]) == (-1.3, 0.7, -99.0)
    assert (control["k_vi"], control["v_ref1"], control["vq2"], control["ip2"]) == (40.0, 0.0, 2.0, 1.4)
    assert (regulator["bus"], regulator["ref_flag"], regulator["d_up"]) == (1, 1, 20)


def test_options_of_renewable_plants(read):
    """Timers, the turbine's speed, and a branch whose power the plant control measures."""
    case = read(renewable(bus=1, t_hld=-0.5, p_flag=1, branch="1 2"))
    _, control, regulator = (row.parameters for row in case.generators[1].devices)
    assert (control["t_hld"], control["p_flag"]) == (-0.5, 1)
    assert (regulator["from_bus"], regulator["to_bus"], regulator["circuit"]) == (1, 2, 1)
    # The base of its powers is the generator's.
    assert regulator["s_n"] == case.generators[1].rating_mva
    assert monitored_branches(case) == {"line1-2"}


FORMING = ".02 .03 .04 2 1.3 0 1.2 0 1 -1 .01 .05 .01 .1 3 20 0 6 /\n"
SOURCES = {
    "REGCB1": "2 'REGCB1' 'G1' 0 0 0.02 0.02 99 -99 10 0.01 1.82 /\n",
    "REGFMA1": f"2 'REGFMA1' 'G1' 1 1 {FORMING}",
    "REGFMA1, without QVflag": f"2 'REGFMA1' 'G1' 1 {FORMING}",
}
POINTS = "0.2 1.1 0.6 1.2 1.0 1.3 " + "0 " * 14
SECOND = (
    "2 'REECD1' 'G1' 0 1 1 0 0 1 0.8 1.2 0.02 -0.05 0.05 2 1.05 -1.05 0 0.1 0.2 0.3 0.05 0.6 -0.6 1.1 0.9 0.1"
    f" 2 0.5 40 0 0.02 99 -99 1 0 1.5 0.05 {POINTS}{POINTS}0.01 0.05 0.02 0.03 0.4 0.1 1.3 0.2 /\n"
)


@pytest.mark.parametrize("name", SOURCES)
def test_voltage_sources(read, name):
    """The impedance of the source is that of the generator; each starts at rest."""
    records = SOURCES[name] + (SECOND if name == "REGCB1" else "")
    case = read(GOOD.replace("2 'GENCLS' 'G1' 4.0, 0.0 /   a comment\n", records))
    source = case.generators[1].devices[0]
    assert (source.parameters["x_e"], source.parameters["s_n"]) == (0.3, case.generators[1].rating_mva)
    if name == "REGCB1":
        control = case.generators[1].devices[1].parameters
        assert (control["vcmp_flag"], control["iq_frz"], control["t_hld2"], control["t_pord"]) == (
            1,
            0.1,
            0.3,
            0.05,
        )
        assert (control["vp3"], control["ip3"], control["ip10"]) == (1.0, 1.3, 0.0)
        assert (control["r_c"], control["k_e"], control["v_blkl"], control["t_blk"]) == (0.01, 0.4, 0.1, 0.2)
    else:
        assert source.parameters.get("qv_flag", 0.0) == (0.0 if "without" in name else 1.0)
        assert (source.parameters["t_qf"], source.parameters["k_iv"]) == (0.03, 6.0)
    system = build(case)
    assert np.abs(system.residual(system.w0)).max() < 1e-9


def test_plant_control_of_a_grid_forming_converter(read):
    """REPCA1 gives REGFMA1 a power and a reactive power; with QVflag = 1 that one takes a voltage."""

    plant = PLANT.format(bus=0, branch="0 0").replace("0.4 -0.4", "0.9 -0.9")

    def with_plant(qv_flag):
        records = f"2 'REGFMA1' 'G1' 1 {qv_flag} {FORMING}{plant}"
        return read(GOOD.replace("2 'GENCLS' 'G1' 4.0, 0.0 /   a comment\n", records))

    system = build(with_plant(0))
    assert np.abs(system.residual(system.w0)).max() < 1e-9
    assert {"G2-G1.p_ref", "G2-G1.q_ext"}.isdisjoint(system.names_u)
    held = system.u0[system.names_u.index("PPC-G2-G1.ref")]
    step = psmr.SetPoint("PPC-G2-G1", "ref", held - 0.005, 1.0)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 20.0, events=[step], certify=False)
    assert run.values("PPC-G2-G1.y_m")[-1] == pytest.approx(held - 0.005, abs=5e-4)
    taken = (
        r"dyr:5 \(PPC-G2-G1\): nothing in G2-G1 takes the q_ext of REPCA1; REGFMA1 as it is set takes p_ref,"
    )
    with pytest.raises(CaseError, match=f"{taken} v_ref"):
        build(with_plant(1))


def test_trips_of_distributed_generation(read):
    record = (
        "2 'DERA1' 'G1' 1 0 0 1 1 1 0.02 0.02 -99 99 5.0 0 0.02 0.02 20 0 -0.0006 0.0006 99 -99 1.1 0 0.5"
        " -0.5 0.02 0.1 10 1.2 0.44 0.49 1.2 1.15 0.16 0.17 0.18 0.19 0.7 57 62 0.2 0.3 0.02 99 0.02 0.8"
        " 1 -1 /\n"
    )
    case = read(GOOD.replace("2 'GENCLS' 'G1' 4.0, 0.0 /   a comment\n", record))
    p = case.generators[1].devices[0].parameters
    assert (p["vtrip_flag"], p["vl1"], p["tvh1"], p["vrfrac"], p["fl"], p["tfh"]) == (
        1,
        0.49,
        0.19,
        0.7,
        57,
        0.3,
    )
    assert any(name.endswith(".work") for name in build(case).names_x)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p_flag": 2}, "p_flag = 2.0: must be 0 or 1"),
        ({"branch": "2 77"}, "from_bus = 2, to_bus = 77, circuit = 1: there is no such branch"),
        ({"bus": 77}, "bus = 77: there is no bus with this number"),
    ],
)
def test_renewable_options_that_cannot_be(read, changes, message):
    with pytest.raises(CaseError, match=rf"case\.dyr:\d+.*{re.escape(message)}"):
        read(renewable(**changes))
