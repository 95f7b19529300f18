"""The limits by which a run is judged: their defaults, and what is refused."""

import dataclasses

import pytest

import psmr
from psmr.errors import InputError, StudyError

DEFAULTS = {
    "angle_deg": 180.0, "f_low": 57.0 / 60.0, "f_high": 61.8 / 60.0, "f_end_low": 59.3 / 60.0,
    "f_end_high": 60.7 / 60.0,
    "v_low": 0.8, "v_low_time": 2.0, "v_high": 1.1, "v_high_time": 1.0, "v_trip": 1.2, "v_trip_time": 0.05,
    "v_end_low": 0.9, "v_end_high": 1.1, "motor_slip": 0.2, "swing_f": 0.0005, "swing_v": 0.01,
    "damping_change": 0.01, "damping_change_part": 0.2, "oscillation_hz": 10.0, "oscillation_damping": 0.3,
    "error": 0.01,
}  # fmt: skip


def test_the_defaults():
    """Sources: `psmr.Criteria` and docs/criteria.md."""
    assert dataclasses.asdict(psmr.Criteria()) == pytest.approx(DEFAULTS, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"v_low": 1.15}, "v_low = 1.15 and v_high = 1.1 contradict each other: .*; give both, in pu"),
        ({"v_low": 1.1}, "v_low = 1.1 and v_high = 1.1 contradict"),
        ({"f_low": 57.0}, "f_low = 57 and f_end_low = .* give both, in parts of the nominal frequency"),
        ({"v_low_time": -1.0}, "v_low_time = -1.0: must be a finite number >= 0"),
        ({"v_low": 0.0}, "v_low = 0.0: must be a finite number > 0"),
        ({"v_trip": float("inf")}, "v_trip = inf: must be a finite number > 0"),
        ({"motor_slip": True}, "motor_slip = True: must be a number"),
    ],
)
def test_what_contradicts_or_is_none_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        psmr.Criteria(**values)
    assert psmr.Criteria(v_low_time=0.0, v_trip=1e9).v_trip == 1e9  # a limit that nothing meets


def test_a_study_file_names_the_line_once(wscc9, tmp_path):
    text = f'format = "psmr-study"\nversion = 1\ncase = "{wscc9 / "wscc9.toml"}"\n[criteria]\nvlow = 0.9\n'
    (tmp_path / "study.toml").write_text(f"{text}[simulation]\nt_end = 2.0\n")
    with pytest.raises(StudyError) as caught:
        psmr.read_study(tmp_path / "study.toml")
    assert str(caught.value).count("study.toml") == 1
    assert "study.toml:5 [criteria]: there is no field 'vlow'; did you mean 'v_low'?" in str(caught.value)
