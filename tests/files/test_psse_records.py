"""Records of the later models as files have them: read in PSS/E's order, at rest.

ESST1A, WSIEG1, EXDC1, SCRX, IEEET2, ESAC1A and ESAC6A are records of public files (GridPACK's cases); GGOV1,
ESDC1A, DC4B and PSS2B those of OpenIPSL's validation against PSS/E, STAB1 that of PSS/E's trace; the others
have values of the same kind.
"""

from pathlib import Path

import numpy as np
import pytest

from psmr import build, read_case
from tests.files.raw import raw_text
from tests.files.test_psse_dyr import GOOD

EXCITER = "1 'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0 /\n"
GOVERNOR = "1 'TGOV1 ' 1 0.05 0.49 33.0 0.0 2.1 7.0 0.0/\n"
EXCITERS = {
    "EXDC1": "0.0 40.0 0.1 0.0 0.0 5.0 -5.0 0.1 0.5 0.05 0.7 0.0 2.8 0.08 3.7 0.33",
    "ESDC1A": "0.01 50.0 0.02 0.0 0.0 22.5 -22.5 1.0 0.7 0.03 0.45 0.0 2.322 0.221 3.096 0.549",
    "IEEET2": "0.0 729.0 0.04 5.32 -4.05 1.0 0.44 0.0667 2.0 0.44 6.5 0.054 8.0 0.202",
    "DC4B": "1 1 0.01 40.0 14.0 15.0 0.01 10.9 0.0 0.15 0.01 1.0 1.0 0.0 1.0 0.0 1.5 0.03 3.0 1.2",
    "ESAC1A": "0.0 0.0 0.0 400.0 0.02 10.0 -10.0 0.8 0.03 1.0 0.2 0.38 1.0 3.14 0.03 4.18 0.1 7.32 -7.32",
    "EXAC2": "0.0 1.0 1.0 400.0 0.05 7.72 -7.72 1.0 21.2 -21.2 0.55 4.0 0.0 0.0135 1.0 0.0 0.0 1.0 10.0"
    " 3.05 0.0004 4.07 0.0102",
    "ESAC6A": "0.0 531.499 21.3817 3.0 0.23 0.2 9.08 -9.08 9.08 -9.08 0.5 0 0 1 0 0 0 0 1 4.9386 0.0547"
    " 6.5848 0.3648",
    "ESST1A": "1 1 0.0 999 -999 0.51 2.01 0.0 0.0 178.9 0.029 999 -999 24.48 -21.79 0.11 0.0 1.0 0.0 2.8",
    "SCRX": "0.2 10.0 165.0 0.04 0.0 5.0 0.0 0.0",
    "EXPIC1": "0 3.5 1 1 -0.87 0 0 0 1 -0.87 0 1 0 7.3 0 0 0 1 0 1.2 0 6.2 0 0.08",
}
GOVERNORS = {
    "GGOV1": "1 1 0.04 1.0 0.05 -0.05 10.0 2.0 0.0 1.0 1.0 0.15 0.5 1.5 0.2 0.1 0.0 0.0 3.0 2.0 0.67 1.0 0.0"
    " 0.1 -0.1 0.0 0.01 10.0 0.1 0.0 0.0 4.0 5.0 99.0 -99.0",
    "WSIEG1": f"0 0 25.0 0.0 0.0 0.1 1.0 -10.0 1.01 0.0 0.3 1.0 {' '.join(['0.0'] * 23)} 0",
    "IEEEG3": "0.52 0.1 0.1 -0.1 1 0 0.058 0.4 8 1.4 0.5 1 1.5 1",
    "DEGOV": "0.05 0.02 0.2 40.0 0.25 0.009 0.0384 0.024 1.1 0.0",
    "DEGOV1": "1 0.01 0.02 0.2 15 0.25 0.01 0.04 0.01 1.1 0 0.05 0.02",
}
STABILISERS = {
    "PSS2B": "1 0 3 0 5 1 2 2 0 2 0 2 0.1564 1 0.5 0.1 10 0.25 0.03 0.15 0.015 0 0 999 -999 999 -999"
    " 0.1 -0.1",
    "STAB1": "6 1.5 13.3 0.0447 13.3 0.0447 0.2",
}
RECORDS = [
    *((EXCITER, "AVR1", model, values) for model, values in EXCITERS.items()),
    *((GOVERNOR, "GOV1", model, values) for model, values in GOVERNORS.items()),
    *(("", "PSS1", model, values) for model, values in STABILISERS.items()),
]


@pytest.mark.parametrize(
    ("instead", "name", "model", "values"), RECORDS, ids=[model for _, _, model, _ in RECORDS]
)
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_record(tmp_path, instead, name, model, values):
    record = f"1 '{model}' 1 {values} /\n"
    text = GOOD.replace(instead, record) if instead else GOOD.replace("/\n/\n", f"/\n{record}")
    assert record in text
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(text)
    case = read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    device = next(d for d in case.generators[0].devices if d.name == name)
    assert device.type == model
    system = build(case)
    rest = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    assert np.abs(rest).max() < 1e-8
    assert any(variable.startswith(f"{name}.") for variable in (*system.names_x, *system.names_y))


def test_static_expic1_needs_no_exciter(tmp_path):
    """t_e = 0: the record's k_e = 0 and saturation have no part."""
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(GOOD.replace(EXCITER, f"1 'EXPIC1' 1 {EXCITERS['EXPIC1']} /\n"))
    case = read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    given = next(d for d in case.generators[0].devices if d.role == "exciter").parameters
    assert (given["t_e"], given["k_e"], given["se_2"]) == (0.0, 1.0, 0.0)


def test_the_list_of_models_has_every_component_and_record(monkeypatch):
    from tests.internals import (
        ALIASES,
        MODELS,
        RECORDS,
        RelayRecords,
        StaticVarRecords,
        TransformerRecords,
        components,
    )

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))
    import model_list

    listed = [kind for kinds in model_list.groups().values() for kind in kinds]
    assert sorted(listed, key=str) == sorted(components(), key=str)
    names = {name for names in model_list.records().values() for name in names}
    others = (*RelayRecords((), {}).takers(), *StaticVarRecords({}).takers())
    others += (*TransformerRecords([]).takers(),)
    assert names == {*MODELS, *RECORDS, *others} - {*ALIASES}
    table = model_list.table(listed, dict.fromkeys(listed, "page.md"))
    assert table.count("\n") == len(listed) + 1
    assert "only with `bus2 = 0`" in table
    assert "passed over: `r_up`, `r_down`" in table
