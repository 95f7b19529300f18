"""RAW files that psmr writes are RAW files to others: ANDES reads them and finds the same power flow.

Without magnetising admittances: ANDES 2.0 puts half of them at each end of a transformer, where the format
has them at the first (in MATPOWER's case118 that moves a voltage by 9e-4 pu).
"""

from pathlib import Path

import numpy as np
import pytest

from psmr import read_case, write_case

andes = pytest.importorskip("andes")
from tests.peers.test_andes_power_flow import compare  # noqa: E402, it needs ANDES

CASES = Path(andes.__file__).parent / "cases"


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*RAW and DYR files cannot keep:psmr.errors.PsmrWarning")
@pytest.mark.parametrize("name", ["ieee39/ieee39.raw", "npcc/npcc.raw", "matpower/case14.m"])
def test_same_power_flow(name, tmp_path):
    case = read_case(CASES / name, frequency_hz=60.0 if name.endswith(".m") else None)
    (path,) = write_case(case, tmp_path / "out.raw")
    again = compare(path)
    assert [bus.number for bus in again.buses] == [bus.number for bus in case.buses]


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*TOGGLE:psmr.errors.PsmrWarning")
def test_plants_arrive(tmp_path):
    case = read_case(
        CASES / "kundur/kundur.raw", CASES / "kundur/kundur_gencls.dyr", skip_unknown_models=True
    )
    raw, dyr = write_case(case, tmp_path / "out.raw")
    system = andes.load(str(raw), addfile=str(dyr), setup=True, no_output=True, default_config=True)
    given = {generator.bus: generator.devices[0].parameters for generator in case.generators}
    for bus, h, s_n, x in zip(
        system.GENCLS.bus.v, system.GENCLS.M.vin, system.GENCLS.Sn.v, system.GENCLS.xd1.vin, strict=True
    ):
        own = given[int(bus)]
        np.testing.assert_allclose((h / 2, s_n, x), (own["h"], own["s_n"], own["x_d1"]), rtol=1e-12)
