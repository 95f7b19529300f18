"""What PSS/E takes in a DYR file every day: wrappers of its own models, other orders, parts that are off.

The network is a machine or a plant behind a reactance of 0.2 pu, beside an infinite bus.
"""

import re
import warnings

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text

FINITE = "2 'GENROU' 'G1' 6.0 0.05 0.5 0.06 4 0 1.6 1.55 0.3 0.5 0.2 0.1 0.0 0.0 /\n"
SWING = "1 'GENCLS' 1 0 0 /\n"
CONVERTER = "0.02 10 0.9 0.4 1.22 1.2 0.9 0.5 -1.3 0.02 0.7 9999 -9999 1"
CONTROL = (
    "0.85 1.15 0.02 -0.05 0.05 2 1.05 -1.05 0 0 0 0 0.02 0.4 -0.4 1.1 0.9 0 0.1 1 40 0 0.02 99 -99 1 0 1.11 "
    "0.02 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
)
PLANT = "0.02 18 5 0 0.15 -1 0 0 0 999 -999 0 0 0.436 -0.436 0.1 0.05 0.25 0 0 999 -999 1.2 0 0.1 0 0"
FORMING = "0.02 0.02 0.02 1.5 1.15 0 0.9 0 0.5 -0.5 0.01 0.01 0.01 0.1 0.1 20 0 5.86"


@pytest.fixture
def read(tmp_path):
    def read(records, raw=None, **options):
        (tmp_path / "case.raw").write_text(raw or raw_text())
        (tmp_path / "case.dyr").write_text(SWING + records)
        return psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr", **options)

    return read


def devices(case):
    return [(d.type, dict(d.parameters)) for g in case.generators for d in g.devices if g.bus == 2]


# The header of a wrapper: kind, type, numbers of whole numbers and values, two of variables.
WRAPPED = [
    ("REGCAU1", "101 1 1 14 3 4", "REGCA1", f"1 {CONVERTER}"),
    ("REECAU1", "102 0 6 45 6 9", "REECA1", f"0 0 0 0 0 0 {CONTROL}"),
    ("REPCAU1", "107 0 7 27 7 9", "REPCA1", f"0 0 0 '0' 1 1 0 {PLANT}"),
    ("WTDTAU1", "103 0 0 5 4 3", "WTDTA1", "5.3 0 0.92 2.132 1.5"),
    ("WTTQAU1", "106 0 1 14 3 3", "WTTQA1", "0 3 0.6 0.05 60 1.2 0 0.2 0.69 0.4 0.78 0.6 0.98 0.74 1.2 0"),
    ("WTPTAU1", "104 0 0 10 3 3", "WTPTA1", "25 150 30 3 0 0.3 27 0 10 -10"),
    ("WTARAU1", "105 0 0 2 1 4", "WTARA1", "0.007 0"),
]


def wrapped(own, header, values):
    return f"2 'USRMDL' G1 '{own}' {header}\n {values} /\n"


def test_the_wrappers_of_library_models_are_those_models(read):
    """The same plant with and without them, parameter by parameter; WTTQA1 has 15 values and one code."""
    plain = "".join(f"2 '{model}' G1 {values} /\n" for _, _, model, values in WRAPPED)
    counts = [(own, re.sub("1 14 3 3", "1 15 3 3", header), v) for own, header, _, v in WRAPPED]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PsmrWarning)
        warnings.filterwarnings("ignore", message=".*has no dynamic model; netted")
        found = devices(read("".join(wrapped(*parts) for parts in counts)))
        expected = devices(read(plain))
    assert found == expected
    assert [kind for kind, _ in found] == [model for _, _, model, _ in WRAPPED]


@pytest.mark.parametrize("last", ["machine", "converter"])
def test_of_two_sources_of_a_plant_the_later_counts_with_its_own_controls(read, last):
    """A public file has a wind plant's records and, after them, those of the machine in its place."""
    wind = "".join(wrapped(*WRAPPED[k][:2], WRAPPED[k][3]) for k in (0, 1))
    steam = FINITE + "2 'SEXS' G1 0.1 10 100 0.05 -5 5 /\n"
    words = (
        "acts on the REGCA1, in whose place the GENROU counts"
        if last == "machine"
        else ("acts on the GENROU, in whose place the REGCA1 counts")
    )
    with pytest.warns(PsmrWarning, match=f"{words}; left out"):
        case = read(wind + steam if last == "machine" else steam + wind)
    kinds = {"machine": ["GENROU", "SEXS"], "converter": ["REECA1", "REGCA1"]}
    assert sorted(kind for kind, _ in devices(case)) == sorted(kinds[last])
    psmr.build(case)


@pytest.mark.parametrize("version", [33, 34, 35])
def test_the_public_user_written_regfma1(read, version):
    """Two codes and eighteen values, those of REGFMA1 in its order."""
    found = devices(read(wrapped(f"REGFMA1_{version}", "101 1 2 18 9 8", f"1 0 {FORMING}")))
    assert found == devices(read(f"2 'REGFMA1' G1 1 0 {FORMING} /\n"))
    assert found[0][1]["m_p"] == found[0][1]["m_q"] == 0.01


def test_a_wrapper_whose_counts_are_not_its_values_is_refused(read):
    words = r"case\.dyr:2: REGCAU1: its third and fourth counts say 1 whole numbers and 14 values, and there"
    with pytest.raises(CaseError, match=words + " are 14 of both"):
        read(wrapped("REGCAU1", "101 1 1 14 3 4", CONVERTER))
    with pytest.raises(CaseError, match=r"REGCA1: has 14 values; must have 15: lvplsw"):
        read(wrapped("REGCAU1", "101 1 0 14 3 4", CONVERTER))


def test_a_model_of_ones_own_with_a_name_of_the_library_stays_user_written(read):
    """REGFMB1U is that of the library, as a script of PNNL has it; a TGOV1 with two values is another one."""
    with pytest.warns(PsmrWarning, match="psmr has no model 'USRMDL' 'TGOV1'; generator 'G1' at bus 2 runs"):
        assert len(devices(read(FINITE + "2 'USRMDL' G1 'TGOV1' 5 0 0 2 1 1 0.05 0.5 /\n"))) == 1
    assert len(devices(read(FINITE + "2 'USRMDL' G1 'TGOV1' 5 0 0 7 2 1 .05 .5 1 0 1 3 0 /\n"))) == 2


def test_the_last_record_may_lack_its_slash(read):
    exciter = "2 'SEXS' 'G1' 0.1 10 100 0.05 -5 5"
    with pytest.warns(PsmrWarning, match=r"case\.dyr:3: the last record does not end with a slash; is the"):
        found = devices(read(FINITE + exciter))
    assert found == devices(read(FINITE + exciter + " /\n"))
    with (
        pytest.warns(PsmrWarning, match="does not end with a slash"),
        pytest.raises(CaseError, match=r"SEXS: has 5 values; must have 6"),
    ):
        read(FINITE + exciter[:-2])


@pytest.mark.parametrize(
    "record", ["2 'USRMDL' G1 'WTARAU1' 105 0 0 2 1 4 0.007 0", "2 'LVSHBL' '1' 0 .5 1 .1 0 0 0 0 0 0 .05"]
)
def test_a_record_without_its_slash_ends_before_any_model_that_is_known(read, record):
    """Relays and wrappers begin a record as well."""
    exciter = "2 'SEXS' 'G1' 0.1 10 100 0.05 -5 5"
    with pytest.warns(
        PsmrWarning, match=rf"dyr:3: its record has no slash before 2 '{record.split(chr(39))[1]}'"
    ):
        case = read(f"{FINITE}{exciter}\n{record} /\n")
    assert "SEXS" in [kind for kind, _ in devices(case)]


# Reactances in another order than those of windings.
X2_ABOVE = "2 'GENSAL' G1 10.4 0.1 0.12 3.63 0.5 1.07 0.74 0.24 0.33 0.15 0.1 0.25 /\n"
XQ1_ABOVE = "2 'GENROU' G1 6 0.05 0.5 0.06 4 0 0.9 0.12 0.12 0.197 0.1 0.08 0 0 /\n"
ODD = {
    X2_ABOVE: "GENSAL: x'' is above x'd: x_2 = 0.33, x_d1 = 0.24; are columns swapped?",
    XQ1_ABOVE: "GENROU: x'q is above xq: x_q1 = 0.197, x_q = 0.12; are columns swapped?",
    FINITE.replace("0.5 0.2 0.1", "0.5 0.2 0.35"): "GENROU: x'd is below the leakage reactance: x_d1 = 0.3",
}


@pytest.mark.parametrize("record", ODD, ids=["x2", "xq1", "xl"])
def test_reactances_in_another_order_are_a_warning(read, record):
    with pytest.warns(PsmrWarning, match=re.escape(ODD[record])):
        case = read(record)
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert psmr.modes(system.linearise()).real.max() < 0.1


def test_the_windings_of_an_open_stator_have_the_poles_of_the_formula(read):
    """With the stator's currents held, and unsaturated, the matrix of e_q and psi_1d is that of the windings.

    Their sum is -9.21 and their product 1/(T'd0 T''d0), by hand from k = -9.22: stable.
    """
    with pytest.warns(PsmrWarning, match="x'' is above x'd"):
        system = psmr.build(read(X2_ABOVE.replace("0.1 0.25", "0 0")))
    linear = system.linearise()
    x = [system.names_x.index(f"G2-G1.{name}") for name in ("e_q", "psi_1d")]
    y = system.names_y.index("G2-G1.i_f")
    fx, fy, gx, gy = (m.toarray() for m in (linear.fx, linear.fy, linear.gx, linear.gy))
    windings = fx[np.ix_(x, x)] - np.outer(fy[x, y], gx[y, x]) / gy[y, y]
    k = (1.07 - 0.24) * (0.24 - 0.33) / (0.24 - 0.15) ** 2
    assert np.trace(windings) == pytest.approx(-((1 + k) / 10.4 + 1 / 0.1), rel=1e-9)
    assert np.trace(windings) == pytest.approx(-9.21, abs=0.01)
    assert np.linalg.det(windings) == pytest.approx(1 / (10.4 * 0.1), rel=1e-9)
    assert np.linalg.eigvals(windings).real.max() < 0


def test_windings_that_grow_by_themselves_are_named_with_the_reactance(read):
    """New England's first machine in a public file of STEPS: it grows shorted, and not in its network.

    b = 1.57 + (5.65 - 15.0) at y = 1/x'' by the formula of `growing`, zero at y x'' = 1.57/9.35: behind less
    than x'' (9.35/1.57 - 1) = 0.0099 pu.
    """
    values = "7 0.003 1.5 0.04 50 0 0.01 0.0069 0.0006 0.0008 0.002 0.00125 0 0"
    record = f"2 'GENROU' G1 {values} /\n".replace("0.0006", "0.0060")
    words = r"the q axis is unstable: its currents grow by themselves behind a reactance below 0\.0099\d* pu"
    with pytest.warns(PsmrWarning, match=words):
        read(record)
    every = FINITE.replace("1.55 0.3 0.5", "1.55 0.3 0.08")
    with pytest.warns(PsmrWarning, match="grow by themselves behind a reactance of any size"):
        read(every)


@pytest.mark.parametrize("kind", ["CIM5BL", "CIM6BL", "CIMWBL"])
def test_a_relay_sheds_motors(read, kind):
    """Of many motors alike a part goes off the bus, the others go on: their current is what is left of it.

    LDSHBL at 61 Hz picks up at the start and takes 0.4 of the load off 0.15 s later.
    """
    torque = {"CIM5BL": "0 0", "CIM6BL": "1 0 0 0 0 0", "CIMWBL": "1 0 0 0"}[kind]
    motor = f"3 '{kind}' '1' 1 0.02 0.1 3.0 0.02 0.12 0 0 1 0 1.2 0 15 1 0.6 0 0 0 {torque} /\n"
    case = read(FINITE + motor + "3 'LDSHBL' '1' 61 0.1 0.4 0 0 0 0 0 0 0.05 /\n")
    assert [row.acts_on for row in case.relays] == ["load3"]
    run = psmr.simulate(psmr.build(case), psmr.VariableStep(tolerance=1e-6), t_end=0.4, certify=False)
    ((at, words),) = [(c.t, c.label) for c in run.changes if c.protects]
    assert (round(at, 6), words.partition(",")[0]) == (0.15, "shed-load3: 40 % of load3 shed")
    before, after = (np.flatnonzero(run.t == at)[k] for k in (0, -1))
    voltage = run["bus3.v"].to_numpy()
    through = np.hypot(run["load3.p"], run["load3.q"]).to_numpy() / voltage
    # The current of the motors follows the rise of the voltage too, by less than it at this instant.
    assert through[after] / through[before] == pytest.approx(0.6, abs=0.03)
    assert run["load3.p"].iloc[-1] == pytest.approx(0.6 * run["load3.p"].iloc[0], rel=0.01)


# Of IEESGO (1 - K2) + K2 (1 - K3) + K2 K3 = 1: the torque at rest is p_ref for any K2.
GOVERNORS = {
    "IEESGO": ("25 0 1 1 12.5 0 5 3.0 0.5 1 0", "IEESGO: k_2 = 3: a fraction must be between 0 and 1"),
    "IEEEG1": ("0 0 0 0 0 0.2 1 -1 1 0 0.3 1 0 0 0 0 0 0 0 0 0 0", ""),
}


@pytest.mark.parametrize("model", GOVERNORS)
def test_governors_with_a_part_that_is_off_or_odd(read, model):
    """IEEEG1 with K = 0 does not answer to the speed; IEESGO with K2 = 3 starts with the torque of p_ref."""
    values, said = GOVERNORS[model]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case = read(FINITE + f"2 '{model}' G1 {values} /\n")
    assert not said or any(said in str(warning.message) for warning in caught)
    system = psmr.build(case)
    torque, asked = (system.w0[system.index(f"GOV-G2-G1.{name}")] for name in ("t_m", "p_ref"))
    assert torque == pytest.approx(asked, rel=1e-9)


# A record with {} for gain and time constant of its washout, and the names of these.
WASHOUTS = {
    "EXNI": ("0.02 100 0.05 5 -5 {} 0.1 0 0", "k_f", "t_f1"),
    "WEHGOV": (
        "0 0.02 0.04 0.3 2 0.6 {} 0.05 0.1 0.2 0.08 -0.12 0.95 0.1 0.3 0.9 0 0.02 0.05 0 0.25 0.5 0.75 1"
        " 0.05 0.3 0.55 0.8 1 0 0.2 0.3 0.4 0.6 0.8 0.9 1 0 0 0 0.02 0.15 0.3 0.6 0.8 0.86 0.9 0 0",
        "k_d",
        "t_d",
    ),
}


@pytest.mark.parametrize("model", WASHOUTS)
def test_a_washout_whose_gain_and_time_constant_are_zero_is_off(read, model):
    """s K/(1 + s T) with K = T = 0 is not there: the modes are those with K = 0 and any T, but -1/T."""
    record, gain, time = WASHOUTS[model]

    def modes(values):
        case = read(FINITE + f"2 '{model}' G1 {record.format(values)} /\n")
        return np.sort_complex(
            psmr.modes(psmr.build(case).linearise()).filter(["real", "imag"]).to_numpy() @ [1, 1j]
        )

    off, other = modes("0 0"), modes("0 0.3")
    own = np.argmin(abs(other + 1 / 0.3))
    assert other[own] == pytest.approx(-1 / 0.3, rel=1e-9)
    np.testing.assert_allclose(off, np.delete(other, own), rtol=1e-8, atol=1e-8)
    with pytest.raises(CaseError, match=rf"{time} = 0 and {gain} = 0\.02: {time} must be > 0"):
        read(FINITE + f"2 '{model}' G1 {record.format('0.02 0')} /\n")


PLANT_CONTROLS = {
    "no voltage control": ("0.02 18 5", "0.02 0 0", ""),
    "no control of the power": (
        "-0.436 0.1 0.05",
        "-0.436 0 0",
        "REPCA1: k_pg = k_ig = 0 leave the control of the",
    ),
}


@pytest.mark.parametrize("off", PLANT_CONTROLS)
def test_plant_controls_whose_gains_are_zero(read, off):
    """Kp = Ki = 0: q_ext stays what it was, whatever the voltage does; Kpg = Kig = 0: so does p_ref."""
    old, new, said = PLANT_CONTROLS[off]
    records = {model: values for _, _, model, values in WRAPPED[:2]}
    plant = f"0 0 0 '0' 1 1 1 {PLANT}".replace(old, new)
    text = "".join(f"2 '{model}' G1 {v} /\n" for model, v in records.items()) + f"2 'REPCA1' G1 {plant} /\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case = read(text)
    assert not said or any(said in str(warning.message) for warning in caught)
    run = psmr.simulate(
        psmr.build(case), t_end=1.0, events=[psmr.LoadTrip(bus=2, start=0.1, fraction=0.5)], certify=False
    )
    signal = run["PPC-G2-G1.q_ext" if "voltage" in off else "PPC-G2-G1.p_ref"]
    assert np.ptp(run["bus2.v"]) > 1e-4
    assert np.ptp(signal) < 1e-12


@pytest.mark.parametrize("ceiling", ["0.3", "0.01"])
def test_a_start_far_beyond_a_limit_is_held(read, ceiling):
    """The active current goes to its ceiling; the algebraic equations hold there as at any start."""
    values = CONVERTER.replace("0.4 1.22 ", f"0.4 {ceiling} ")
    with pytest.warns(PsmrWarning, match=rf"limits are exceeded at the start and held: .*lvpl = {ceiling}"):
        system = psmr.build(read(f"2 'REGCA1' G1 1 {values} /\n"))
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-12
