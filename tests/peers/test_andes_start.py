"""Cases of the ANDES package whose devices start at a limit."""

from pathlib import Path

import numpy as np
import pytest

from psmr import SingleRate, build, read_case, simulate
from psmr.errors import PsmrWarning

andes = pytest.importorskip("andes")

pytestmark = pytest.mark.peers


def test_ieee14_starts_at_a_limit_and_stays_there():
    """The valve of the turbine at bus 6 stands at its lower limit of 0.3."""
    folder = Path(andes.__file__).parent / "cases" / "ieee14"
    with pytest.warns(PsmrWarning):
        case = read_case(folder / "ieee14.raw", folder / "ieee14.dyr", skip_unknown_models=True)
    with pytest.warns(PsmrWarning, match=r"GOV6\.valve is at v_min = 0\.3"):
        system = build(case)
    run = simulate(system, SingleRate("TM", h=0.01), t_end=1.0)
    assert np.abs(run.x - system.x0).max() < 1e-9
