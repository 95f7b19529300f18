"""EPC files of PSLF: the nine buses of WSCC as a public file has them, and what is refused.

The values and the stored solution are those of "WSCC 9 bus.epc" of LLNL/GridDyn (BSD-3-Clause). Measured on
its other files: IEEE 14 and 39 meet their stored solutions within 1.9e-6 pu; 14, 24, 57 and 118 have the rows
of the RAW files beside them. InterPSS' Sample18Bus, with bases of 600 and 1200 MVA and loads of constant
impedance, is met within 1e-6 pu.
"""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.internals import power_flow

BUSES = {
    1: (16.5, 0, 1.04, 1.04, 0.0),
    2: (18.0, 2, 1.025, 1.025, 9.35067),
    3: (13.8, 2, 1.025, 1.025, 5.14198),
    4: (230.0, 1, 1.025307, 1.025307, -2.21741),
    5: (230.0, 1, 0.999723, 0.999723, -3.68015),
    6: (230.0, 1, 1.012255, 1.012255, -3.56656),
    7: (230.0, 1, 1.026832, 1.026832, 3.79614),
    8: (230.0, 1, 1.017266, 1.017266, 1.33727),
    9: (230.0, 1, 1.032689, 1.032689, 2.44482),
}
LINES = (
    *((5, 4, 0.01, 0.068, 0.176), (6, 4, 0.017, 0.092, 0.158), (7, 5, 0.032, 0.161, 0.306)),
    *((7, 8, 0.0085, 0.0576, 0.149), (8, 9, 0.0119, 0.1008, 0.209), (9, 6, 0.039, 0.1738, 0.358)),
)
TRANSFORMERS = ((2, 7, 0.0625), (4, 1, 0.0576), (9, 3, 0.0586))
GENERATORS = (
    (1, 71.627498, 27.914819, 500.0),
    (2, 163.0, 4.903169, 250.0),
    (3, 85.000002, -11.448775, 100.0),
)
LOADS = ((5, 125.0, 50.0), (6, 89.999998, 30.000001), (8, 100.0, 34.999999))


def at(bus):
    return f'{bus:7d} "Bus {bus}       " {BUSES[bus][0]:6.2f}'


def transformer(i, j, x, ratio=1.0, angle=0.0, base=100.0, tertiary=0):
    none = '0 "            "   0.00'
    return (
        f'{at(i)} {at(j)} "1 " "{" " * 32}" :  1  1 {none} 0 {none} {tertiary} "    " 0.00  1  1'
        f" {base} 0.0 {x} 0.0 0.0 0.0 0.0 /\n"
        f" {BUSES[i][0]} {BUSES[j][0]} 0.0 {angle} 0.0 0.0 0.0 0.0 0.0 0.0 0.0 1.5 0.51 1.5 0.51 0.00625"
        f" {ratio} 1.0 1.0 1.0 400101 391231 0 1 0.0 0.0 0.0 0.0 /\n"
        "   1 1.000   0 0.000 /\n   0.0 0.0\n"
    )


def epc(transformers="", loads="", extra=""):
    buses = [
        f"{at(b)} : {t} {vs} {v} {a} 1 1 1.1 0.9 400101 391231 0 0 1 0"
        for b, (_, t, vs, v, a) in BUSES.items()
    ]
    lines = [
        f'{at(i)} {at(j)} "1 "  1 "{" " * 32}" :  1 {r} {x} {b} 0.0 0.0 0.0 0.0 0.0 1.0 /\n   1  1 0.0'
        for i, j, r, x, b in LINES
    ]
    units = [
        f'{at(b)} "1 " "long name" :  1 {at(b)} 0.0 1.0 1 1 {p} 999.0 0.0 {q} 9900.0 -9900.0 {m}'
        " 0.0 0.0 0.0 1.0 /\n 0 0"
        for b, p, q, m in GENERATORS
    ]
    drawn = [f'{at(b)} "1 " "{" " * 32}"  :  1 {p} {q} 0.0 0.0 0.0 0.0 1 1' for b, p, q in LOADS]
    return (
        "title\nWSCC nine buses\n!\ncomments\n!\nsolution parameters\ntoler 0.1 newton tolerance\n"
        "sbase 100.0000    system mva base\n!\n"
        "bus data  [9]               ty  vsched   volt     angle\n" + "\n".join(buses)
        + "\nbranch data  [    6]       ck  se\n" + "\n".join(lines)
        + "\ntransformer data  [   3]\n" + (transformers or "".join(transformer(*t) for t in TRANSFORMERS))
        + "generator data  [   3]\n" + "\n".join(units)
        + f"\nload data  [   {3 + loads.count(chr(10))}]\n" + "\n".join(drawn) + "\n" + loads
        + "shunt data  [   0]\nsvd data  [   0]\narea data  [  1]\n    1 \"1\" 0 0.0\n" + extra + "end\n"
    )  # fmt: skip


def read(folder, text, **given):
    (folder / "nine.epc").write_text(text)
    with pytest.warns(PsmrWarning, match="gives no frequency; taken as 60 Hz"):
        return psmr.read_case(folder / "nine.epc", **given)


def test_the_public_file_comes_back_to_its_stored_solution(tmp_path):
    """3.7e-7 pu and 3e-6 degrees, its printed digits."""
    case = read(tmp_path, epc())
    assert (case.name, case.base_mva, case.stored) == ("WSCC nine buses", 100.0, True)
    flow = power_flow(case)
    for bus, v in zip(case.buses, flow.voltage, strict=True):
        _, _, _, stored, angle = BUSES[bus.number]
        assert abs(v) == pytest.approx(stored, abs=1e-6)
        assert np.degrees(np.angle(v)) == pytest.approx(angle, abs=1e-4)
    assert [(row.bus, row.control, row.v, row.rating_mva) for row in case.generators] == [
        (1, "slack", 1.04, 500.0),
        (2, "pv", 1.025, 250.0),
        (3, "pv", 1.025, 100.0),
    ]


def test_ratios_angles_bases_and_loads_of_constant_impedance(tmp_path):
    """The angle has the sign of a RAW file's, as in the IEEE 300-bus system; impedances are on tbase."""
    own = transformer(2, 7, 0.0625, ratio=0.978, angle=-11.4, base=600.0)
    text = epc(
        own + "".join(transformer(*t) for t in TRANSFORMERS[1:]),
        f'{at(9)} "z " " " : 1 0.0 0.0 3.0 4.0 30.0 0.0 1 1\n',
    )
    text = text.replace(
        "shunt data  [   0]\n",
        f'shunt data  [   1]\n{at(9)} "b " 0 "    " 0.00 "  " 0 "  " : 1 1 1 0.0 0.19 400101 391231\n',
    )
    case = read(tmp_path, text)
    row = case.transformers[0]
    assert (row.from_bus, row.to_bus, row.tap, row.shift_deg) == (2, 7, 0.978, -11.4)
    assert row.x == pytest.approx(0.0625 / 6)
    load = next(row for row in case.loads if row.bus == 9)
    assert load.p_mw == pytest.approx(33.0)
    assert load.p_zip == pytest.approx((30 / 33, 3 / 33, 0.0))
    assert [(row.bus, row.b_mvar) for row in case.shunts] == [(9, pytest.approx(19.0))]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("bus data  [9]", "bus data  [8]", r"\(bus data\): 9 records where the header says 8"),
        ("svd data  [   0]\n", "svd data  [   1]\n 9\n", r"1 records of a kind that psmr does not read"),
        ("sbase 100.0000", "base 100.0000", "gives no sbase"),
        ("sbase 100.0000", "sbase 100.0x", r"epc:\d+ .*SBASE = .100.0x.: must be a finite"),
        (": 2 1.025 1.025 9", ": 7 1.025 1.025 9", r"\(bus data\): ty = '7': must be one of 0, 1, 2, -2"),
        ("0 0 1 0\n", "0 0 1 1\n", "st = '1': buses out of service are not read from EPC files"),
        ("0.01 0.068", "0.01 abc", r"epc:21 \(branch data\): react = 'abc': must be a finite number"),
        ('"1 "  1 "', '"1 "  2 "', "se = '2': lines of several sections are not read"),
        ("125.0 50.0 0.0 0.0 0.0 0.0", "125.0 50.0 0.0 0.0 0.0 7.0", "mvar_z = '7.0': must be 0"),
        (" 18.0 230.0 0.0 0.0", " 20.0 230.0 0.0 0.0", "vnomp = '20.0': must be the bus's 18.00 kV"),
        ('"    " 0.00  1  1 100.0', '"    " 0.00  1  1 0', "SBASE1-2"),
    ],
)  # fmt: skip
def test_what_no_public_file_explains_is_refused(old, new, words, tmp_path):
    text = epc()
    assert old in text
    (tmp_path / "nine.epc").write_text(text.replace(old, new, 1))
    with pytest.raises(CaseError, match=words):
        psmr.read_case(tmp_path / "nine.epc")


def test_all_mistakes_are_said_at_once(tmp_path):
    text = (
        epc()
        .replace("0.01 0.068", "0.01 abc")
        .replace("125.0 50.0 0.0 0.0 0.0 0.0", "x 50.0 0.0 0.0 0.0 0.0")
    )
    (tmp_path / "nine.epc").write_text(text)
    with pytest.raises(CaseError, match=r"(?s)react = 'abc'.*mw = 'x'"):
        psmr.read_case(tmp_path / "nine.epc")


def test_it_takes_dynamic_data(tmp_path):
    dyr = "".join(f"{b} 'GENCLS' 1 {h} 0.0 /\n" for b, h in ((1, 5.0), (2, 6.0), (3, 4.0)))
    (tmp_path / "nine.dyr").write_text(dyr)
    case = read(tmp_path, epc(), dynamics=tmp_path / "nine.dyr")
    assert [row.devices[0].type for row in case.generators] == ["ClassicalMachine"] * 3
    assert "G2.omega" in psmr.build(case).names_x
