"""The ten-bus system of voltage collapse against the times that ObjectStab's author prints."""

import pytest

import psmr
from tests.systems import ten_bus

FAULT = psmr.Fault(line="6-7-5", at=0.5, start=10.0, clear_from=10.07, clear_to=10.07)


@pytest.mark.slow
def test_voltage_collapses_after_160_s(tmp_path):
    """Nine moves of the tap changer before G2 is limited, two after it, and the end of the run at 160 s.

    The first move is 0.6 s later here: an inverse delay is counted up, ObjectStab compares the time since the
    voltage left the band with the delay of the instant. G3 and G2 are limited 2.3 and 5.3 s later with it.
    """
    (tmp_path / "case.toml").write_text(ten_bus.TEXT)
    case = psmr.read_case(tmp_path / "case.toml", modules=[ten_bus.__name__])
    run = psmr.simulate(
        psmr.build(case),
        psmr.VariableStep(1e-5),
        220.0,
        [FAULT],
        certify=False,
        monitors=[psmr.VoltageCollapse(0.5, 0.2)],
    )
    acts = [(change.t, act.device, act.kind) for change in run.changes for act in change.acts]
    moves = [t for t, device, kind in acts if kind == "tap"]
    limited = {device: t for t, device, kind in acts if kind == "limiter"}
    assert run.t[-1] == pytest.approx(160.0, rel=0.02)
    assert moves[0] == pytest.approx(22.5, rel=0.03)
    assert limited["AVR3"] == pytest.approx(32.5, abs=2.5)
    assert limited["AVR2"] == pytest.approx(97.0, rel=0.06)
    assert [t > limited["AVR2"] for t in moves] == [False] * 9 + [True] * 2
