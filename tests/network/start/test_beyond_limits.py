"""A start beyond limits: refused, with the limits moved there, or held at them."""

from pathlib import Path

import numpy as np
import pytest

import psmr
from psmr import build, read_case
from psmr.errors import InitialisationError, InputError, PsmrWarning
from tests.files.raw import raw_text
from tests.network.equilibrium.test_equilibrium import with_device

ST6B = Path(__file__).parents[2] / "files" / "psse" / "data" / "ST6B"


def tight(wscc9):
    """A regulator and a governor whose limits the start exceeds."""
    case = with_device(read_case(wscc9 / "wscc9.toml"), "exciter", v_r_max=1.5)
    return with_device(case, "governor", p_max=1.5)


def test_adjusted(wscc9):
    """The limits are what they limit; the equilibrium is that without limits."""
    message = (
        r"2 limits moved to the start, which exceeds them: AVR2\.v_r = 1\.9\d+ is 0\.4\d+ above v_r_max ="
        r" 1\.5: v_r_max = 1\.5 set to 1\.9\d+; GOV2: input of a limiter = 1\.63"
        r" is .*: p_max = 1\.5 set to 1\.63"
    )
    with pytest.warns(PsmrWarning, match=message):
        system = build(tight(wscc9))
    free = build(read_case(wscc9 / "wscc9.toml"))
    np.testing.assert_allclose(system.x0, free.x0, rtol=0, atol=1e-10)
    assert system.parameter("GOV2", "p_max") == pytest.approx(1.63, abs=1e-9)


def test_held(wscc9):
    """The limits hold: the start is no rest, but the algebraic equations are solved, and a run goes on."""
    message = r"2 limits are exceeded at the start and held: .*does not start at rest: \w+\.\w+ changes by"
    with pytest.warns(PsmrWarning, match=message):
        system = build(tight(wscc9), start_at_limits="hold")
    assert system.x0[system.index("AVR2.v_r")] == pytest.approx(1.5)
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-10
    assert np.abs(system.f(system.x0, system.y0)).max() > 1e-3
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), t_end=1.0, certify=False)
    # The valve is held: the turbine sinks from what the start asked for towards it.
    torque = run.values("GOV2.t_m")
    assert torque[0] > torque[-1] > 1.5


def test_refused(wscc9):
    with pytest.raises(InitialisationError, match=r"2 limits are exceeded .*\(start_at_limits\)"):
        build(tight(wscc9), start_at_limits="refuse")
    with pytest.raises(
        InputError, match="start_at_limits = 'adjusts': must be 'adjust' or 'hold' or 'refuse'; did you"
    ):
        build(tight(wscc9), start_at_limits="adjusts")


def test_computed_limit(tmp_path):
    """The limit of EXST1 follows voltage and field current; its parameter is moved by what is short."""
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(
        "1 'GENROU' 1 8.0 0.03 0.4 0.05 6.5 0.0 1.8 1.7 0.3 0.55 0.25 0.06 0.0 0.0 /\n"
        "1 'EXST1' 1 0.02 9 -9 1 1 50 0.02 0.9 -9 0.05 0 1 /\n2 'GENCLS' 'G1' 4.0 0.0 /\n"
    )
    case = psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    with pytest.raises(
        InitialisationError, match="a limit is exceeded at the start: AVR1: input of a limiter"
    ):
        build(case, start_at_limits="refuse")
    with pytest.warns(PsmrWarning, match=r"1 limits moved .*: v_r_max = 0\.9 set to \d"):
        build(case)


def test_a_limit_that_no_parameter_moves_is_held():
    """The file of ST6B starts 0.015 pu beyond its field current limiter, which reads the field current."""
    with pytest.warns(PsmrWarning, match=r"1 limits are exceeded at the start and held: AVR102: input of a"):
        system = build(read_case(ST6B / "ThreeBusMulti.raw", ST6B / "ThreeBus_ST6B.dyr", loads="impedance"))
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), t_end=1.0, certify=False)
    assert 0.5 < run.values("bus102.v").min() < run.values("bus102.v").max() < 1.1


@pytest.mark.parametrize(("how", "good"), [("refuse", False), ("adjust", True), ("hold", True)])
def test_check_says_what_is_done(wscc9, how, good):
    report = psmr.check(tight(wscc9), start_at_limits=how)
    assert report.good is good
    words = " ".join(finding.message for finding in report.about("limit"))
    assert {"refuse": "above v_r_max = 1.5", "adjust": "moved to the start", "hold": "held"}[how] in words


def test_command_line_and_study(wscc9, tmp_path, capsys):
    """--start-at-limits and the field of a study file do the same."""
    from psmr import write_case
    from psmr.cli import main

    write_case(tight(wscc9), tmp_path / "tight.toml")
    assert main(["check", str(tmp_path / "tight.toml"), "--start-at-limits", "refuse"]) == 1
    assert "exceeded" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "tight.toml")]) == 0
    assert "2 limits moved to the start" in capsys.readouterr().out
    study = tmp_path / "study.toml"
    study.write_text(
        'format = "psmr-study"\nversion = 1\ncase = "tight.toml"\nstart_at_limits = "adjust"\n'
        'loads = "p=0.5,0.3,0.2 q=1,0,0"\n[scheme]\ntype = "single"\nmethod = "TM"\nh = 0.01\n'
        "[simulation]\nt_end = 0.1\n"
    )
    assert main(["check", str(study)]) == 0
    study.write_text(study.read_text().replace("p=0.5", "p=0.6"))
    assert main(["check", str(study)]) == 2
    assert "study.toml:5: loads: p = (0.6, 0.3, 0.2): must be three fractions" in capsys.readouterr().err
