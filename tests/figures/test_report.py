import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

import psmr
from psmr import one_line
from psmr.errors import InputError
from tests.internals import line_marks, plants, save, spikes_cut, thinned, trajectories


def texts(figure):
    import matplotlib.text

    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


def test_a_page_without_system_or_certificate(system, tmp_path):
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 0.1, certify=False)
    run.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "There is no accuracy check" in page
    # Speeds, voltages, rotor angles: nothing of modes and no partition.
    assert page.count("<svg") == 3


def test_the_figures_of_modes_heed_the_criteria_of_the_run(system, tmp_path):
    """Backward Euler at 20 ms adds 8.3 points to a damping ratio of 2.3 %; the usual limit is 1 point."""
    for criteria, red in ((None, True), (psmr.Criteria(damping_change=0.5), False)):
        psmr.simulate(system, psmr.SingleRate("BEM", h=0.02), 0.1, criteria=criteria).to_html(
            tmp_path / "r.html"
        )
        assert ("scheme, damping off limits" in (tmp_path / "r.html").read_text()) == red


def test_trajectories_mark_the_events(fault_run):
    figure = fault_run.plot()
    assert len(figure.axes) == 2
    assert {"speed [pu]", "bus voltage [pu]", "time [s]", "G1", "bus9"} <= set(texts(figure))
    assert "fault at bus5 cleared, line5-7 tripped, 1.1 s" in texts(figure)
    (window,) = figure.axes[0].patches
    assert np.unique(window.get_xy()[:, 0]) == pytest.approx([1.0, 1.1])


def test_a_long_step_ahead_of_an_event_is_drawn_to_its_end():
    """Flat in one step to a fault at 0.1 s, then 4000 points that swing: no line falls from 0 to 0.1 s."""
    after = np.linspace(0.1, 0.4, 4000)
    t = np.concatenate([[0.0, 0.1], after])
    values = np.concatenate([[1.0, 1.0], 0.7 + 0.3 * np.cos(2000 * (after - 0.1))])[:, None]
    shown, line = thinned(t, values)
    assert np.interp(np.linspace(0.0, 0.0999, 9), shown, line[:, 0]) == pytest.approx(np.ones(9))
    assert len(shown) <= 710
    assert (line.min(), line.max()) == (values.min(), values.max())


def test_a_spike_does_not_flatten_a_panel():
    """A fault of 0.1 s to 0.02 pu in 10 s: swings of 0.8 to 1.1 pu fill the panel, a mark has the spike."""
    t = np.linspace(0.0, 10.0, 1001)
    swing = np.where(t < 1.1, 1.0, 0.95 + 0.15 * np.cos(4 * (t - 1.1)))
    values = np.column_stack([np.where((t >= 1.0) & (t <= 1.1), 0.02, swing), np.ones(len(t))])
    run = SimpleNamespace(t=t, events=[psmr.Fault(bus=5, start=1.0, clear=1.1)])
    (mark,), (low, high) = spikes_cut(run, ["bus5.v", "bus6.v"], values)
    assert mark.text == "▼ 0.02, bus5"
    assert 0.77 < low < 0.8
    assert 1.1 < high < 1.13
    # One step without a fault; what stays, as a collapse at the end does, is none; nor is half of the range.
    values[500, 1] = 3.0
    marks, _ = spikes_cut(run, ["bus5.v", "bus6.v"], values)
    assert [mark.text for mark in marks] == ["▼ 0.02, bus5", "▲ 3, bus6"]
    values[-1] = 0.01, 3.0
    assert spikes_cut(run, ["bus5.v", "bus6.v"], values) == ([], None)


def test_a_page_names_the_extremes_of_a_bundle_and_says_the_others_under_the_pointer(fault_run):
    """Nine speeds that end within 1e-4 pu after swings of 1 to 9 mpu: the widest three of both sides."""
    run, t = fault_run, fault_run.t
    names = [f"bus{k}.v_re" for k in range(1, 10)]
    swing = np.exp(-20.0 * t / t[-1])[:, None] * np.arange(1, 10) * np.sin(9.0 * t)[:, None]
    marks, _ = line_marks(run, names, 1.0 + 1e-3 * swing, (220.0, 145.0), bundled=True)
    named = [mark.text for mark in marks if hasattr(mark, "text")]
    assert sorted(named) == ["6 more", "bus7", "bus8", "bus9"]
    assert {mark.hover for mark in marks if getattr(mark, "hover", "")} == {f"bus{k}" for k in range(1, 10)}
    marks, _ = line_marks(run, names, 1.0 + 1e-3 * swing, (220.0, 145.0))
    assert len([mark for mark in marks if hasattr(mark, "text")]) == 9


def test_chosen_signals_make_a_panel_each_kind(fault_run):
    figure = trajectories(fault_run, ["G*.delta", "AVR1.v_f"], title="own", until=1.5)
    assert len(figure.axes) == 2
    assert "rotor angle [rad]" in texts(figure)
    assert figure.axes[0].get_xlim()[1] == 1.5
    with pytest.raises(InputError, match="no signal"):
        fault_run.plot("nothing")


def test_many_lines_are_counted_not_listed(fault_run):
    figure = fault_run.plot("bus*.v_*")
    assert len(figure.axes) == 2
    figure = trajectories(fault_run, ["bus*.v_re", "AVR*.v_m"])
    # Nine lines have their names beside them.
    assert {f"bus{k}" for k in range(1, 10)} <= set(texts(figure))
    figure = trajectories(fault_run, "*_from")
    assert len(figure.axes) == 3
    assert {"active power [MW]", "reactive power [Mvar]", "current [pu]"} <= set(texts(figure))
    figure = trajectories(fault_run, ["*.p_from", "*.p_to"])
    assert len(figure.axes) == 1
    # Of 18 lines, 7: the extremes and those at the faulted bus; the rest is an envelope, which says so.
    assert "grey band: range of all 18 (7 shown)" in texts(figure)
    assert len(figure.axes[0].lines) - 2 == 7
    assert {"line4-5 to", "line5-7 from"} & set(texts(figure))


def test_figures_do_not_need_pyplot_and_leave_settings_alone(fault_run, tmp_path):
    before = dict(matplotlib.rcParams)
    figure = fault_run.plot()
    for suffix in ("svg", "png", "pdf"):
        save(figure, tmp_path / f"run.{suffix}")
    assert dict(matplotlib.rcParams) == before
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".pdf", ".png", ".svg"]


def test_the_same_figure_is_the_same_file(fault_run, tmp_path):
    for name in ("a.svg", "b.svg"):
        save(fault_run.plot(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_pyplot_shows_the_figure_where_it_is_loaded(fault_run, monkeypatch):
    import matplotlib.pyplot as plt

    figure = fault_run.plot()
    assert figure.number in plt.get_fignums()
    plt.close(figure)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    assert not hasattr(fault_run.plot(), "number")


def test_the_partition_on_the_one_line_graph(system, split):
    found = plants(system, split)
    assert [(p.name, p.bus, p.fast, p.states) for p in found] == [
        ("G1", "bus1", 1, 11),
        ("G2", "bus2", 1, 11),
        ("G3", "bus3", 1, 11),
    ]
    assert found[0].devices == ("G1", "AVR1", "GOV1", "PSS1")
    assert found[0].note == "AVR1 1/4"
    words = texts(one_line(system, split))
    assert {"G1", "1", "9", "fast", "slow"} <= set(words)
    assert any("3 of 33 states" in w for w in words)


def test_a_partition_of_another_system_is_not_drawn(system, split):
    import dataclasses

    other = dataclasses.replace(system, names_x=tuple(f"{n}2" for n in system.names_x))
    with pytest.raises(InputError, match="the partition belongs to another system"):
        one_line(other, split)


def test_the_reasons_stand_right_below_the_first_line(system):
    """A run at 93 Hz kept synchronism: what is wrong with it is not below ten lines of figures."""
    trips = [psmr.LoadTrip(bus, 1.0, 1.0) for bus in (5, 6, 8)]
    run = psmr.simulate(system, t_end=8.0, events=trips)
    assert run.judgement.colour == "red"
    first, *rest = run.summary().splitlines()
    assert first.endswith(": Synchronism maintained to t = 8 s; frequency criterion violated.")
    assert rest[: len(run.judgement.reasons)] == [f"  note: {reason}" for reason in run.judgement.reasons]
    assert "The frequency went above 61.8 Hz" in rest[0]
