"""Public controllers, left out where the person names no library: a static exciter, a plant controller."""

import os

import numpy as np
import pytest

import psmr
from tests.internals import CodeLibrary

EPRI = """
format = "psmr-case"
version = 1
name = "test circuit of EPRI 3002028322"
base_mva = 1.0
frequency_hz = 60.0
bus = [{ number = 1, base_kv = 34.5 }, { number = 2, base_kv = 34.5 }, { number = 3, base_kv = 0.6 }]
line = [{ from = 1, to = 2, r = 0.0139, x = 0.1394 }]
transformer = [{ from = 3, to = 2, r = 0.006, x = 0.06 }]

[[generator]]
name = "grid"
bus = 1
control = "slack"
v = 1.0
machine = { type = "InfiniteBus", s_n = 100.0, x_d1 = 0.001 }

[[generator]]
name = "IBR"
bus = 3
control = "pq"
p_mw = 0.9
q_mvar = 0.0
converter = { type = "AveragedBridge", s_n = 1.0, r_f = 0.0020833, x_f = 0.10472 }

[generator.code]
library = "LIBRARY"
outputs = { m_a = "e_a 0.6 kV", m_b = "e_b 0.6 kV", m_c = "e_c 0.6 kV" }

[generator.code.inputs]
Idc = 0
VdcMPPT = 1.2
Pref = "p_ref pu"
Qref = "q_ref pu"
Vdc_meas = 1.2
Vref = "v_ref pu"
"""
for _port, _signal in (("Vt", "v_{} kV"), ("I1", "i_{} kA"), ("I2", "i_{} kA")):
    EPRI += "".join(f'{_port}{x} = "{_signal.format(x)}"\n' for x in "abc")


@pytest.fixture
def public():
    """The path of a public controller, left out where the person names none."""

    def path(variable):
        found = os.environ.get(variable)
        return found or pytest.skip(f"left out: {variable} names no library")

    return path


def test_static_exciter_of_the_public_repository(public):
    info = CodeLibrary(public("PSMR_SCRX9")).info
    assert (info.period, sum(info.states)) == (0.005, 6)


@pytest.mark.slow
def test_plant_controller_of_the_public_repository_rests_at_its_power(public, tmp_path):
    text = EPRI.replace("LIBRARY", public("PSMR_GFM_GFL_IBR2"))
    (tmp_path / "epri.toml").write_text(text)
    system = psmr.build(psmr.read_case(tmp_path / "epri.toml", allow_code=True))
    run = psmr.simulate(system, psmr.SingleRate("TM", 1e-5), 0.1, certify=False)
    assert np.ptp(run["IBR.p"]) < 1e-5
    assert run["IBR.p"].iloc[-1] == pytest.approx(0.9, abs=1e-5)
    assert run["IBR.q"].iloc[-1] == pytest.approx(0.0, abs=1e-5)
    fault = psmr.Fault(bus=2, x=0.1, start=0.02, clear=0.08)
    dip = psmr.simulate(system, psmr.SingleRate("TM", 1e-5), 0.1, [fault], certify=False)
    assert dip["CODE-IBR.FRT_Flag"].max() == 1.0
