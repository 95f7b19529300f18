"""Van Cutsem and Vournas, section 8.5: three cases against the equations by hand, by SUNDIALS' IDA."""

import numpy as np
import pytest

import psmr
from tests.systems import van_cutsem as vc

SLICE = 2.0


def by_hand(point, t_end):
    """V_2, V_3, V_4, the angle and the slip; one circuit opens at 10 s; the tap changer moves in slices."""
    ida = pytest.importorskip("sksundae.ida")
    delta, e_q, r, e_th, v_ref, v = vc.equilibrium(point)
    field = vc.G * (v_ref - abs(v[1]))
    w = np.array([delta, 0.0, e_q, field, -vc.K_1, 0.0, point.slip, *v.real, *v.imag])
    x_14, out_since, last, rows = vc.X_14, np.inf, -np.inf, []

    def residual(t, w, rate, off):
        delta, speed, e_q, v_f, x_t, x_oxl, slip = w[:7]
        v = w[7:11] + 1j * w[11:15]
        current, i_d = vc.machine_current(v[1], delta, e_q)
        excess = e_q + (vc.X_D - vc.X_D1) * i_d - vc.I_LIM
        count = (vc.S_1 if excess >= 0 else vc.S_2) * excess
        signal = vc.K_I * (excess if x_t > 0 else -vc.K_R)
        field = (vc.G * (v_ref - abs(v[1]) - x_oxl) - v_f) / vc.T
        # Into the limits within a millisecond, so that no rate jumps there.
        field = min(field, (vc.V_FD_MAX - v_f) / 1e-3)
        count = min(max(count, (-vc.K_1 - x_t) / 1e-3), (vc.K_2 - x_t) / 1e-3)
        signal = max(signal, -x_oxl / 1e-3)
        power = (v[1] * np.conj(current)).real
        off[0] = 2 * np.pi * 50 * speed - rate[0]
        off[1] = (point.p_m - power - vc.D * speed) / (2 * vc.H) - rate[1]
        off[2] = (v_f - excess - vc.I_LIM) / vc.T_D01 - rate[2]
        off[3:6] = field - rate[3], count - rate[4], signal - rate[5]
        torque = vc.motor_admittance(slip).real * abs(v[2]) ** 2 if point.motor else 0.0
        off[6] = (point.motor - torque) / (2 * vc.H_M) - rate[6]
        balance = vc.balance(v, delta, e_q, slip, r, x_14, e_th, point)
        off[7:11], off[11:] = balance.real, balance.imag

    for k in range(round(t_end / SLICE)):
        t = k * SLICE
        if k == round(10.0 / SLICE):
            x_14 *= 2
        found = ida.IDA(residual, algebraic_idx=list(range(7, 15)), rtol=1e-7, atol=1e-9, calc_initcond="yp0")
        out = found.solve([t, t + SLICE], w, np.zeros(15))
        w = np.array(out.y[-1])
        v = np.abs(w[7:11] + 1j * w[11:15])
        rows.append((t + SLICE, *v[1:], w[0], w[6]))
        outside = v[2] < 1.0 - vc.BAND
        out_since = min(out_since, t if k >= round(10.0 / SLICE) else np.inf) if outside else np.inf
        wait = vc.NEXT if last > out_since else vc.FIRST
        if outside and t + SLICE >= max(out_since, last) + wait - 1e-6 and r - vc.STEP > 0.8:
            r, last = r - vc.STEP, t + SLICE
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "until", "limited", "end"),
    [(vc.LT1, 120.0, 63.72, 180.0), (vc.S_LT1, 150.0, 60.0, 158.6), (vc.MOTOR, 44.0, 41.01, 180.0)],
    ids=["LT1", "S-LT1", "motor"],
)
def test_it_goes_as_the_equations_by_hand_do(tmp_path, point, until, limited, end):
    """Loss of the long-term equilibrium, of synchronism of the limited machine, and a motor that stalls."""
    (tmp_path / "case.toml").write_text(vc.text(point))
    case = psmr.read_case(tmp_path / "case.toml", modules=[vc.__name__])
    events, monitors = [psmr.LineTrip("line1-4-2", 10.0)], [psmr.AngleSpread(180.0)]
    run = psmr.simulate(
        psmr.build(case), psmr.VariableStep(1e-6), 180.0, events, certify=False, monitors=monitors
    )
    assert run.t[-1] == pytest.approx(end, abs=0.1)
    acts = [(change.t, act.kind) for change in run.changes for act in change.acts]
    assert next(t for t, kind in acts if kind == "limiter") == pytest.approx(limited, abs=0.05)
    rows = by_hand(point, until)
    # At the instants of moves and of the trip there are two values.
    t, *theirs = rows[np.abs(np.remainder(rows[:, 0] + 5.0, 10.0) - 5.0) > 0.1].T
    # The angle goes off with a rate of 0.015 rad/s at the end: 7e-6 rad there, elsewhere below 2e-6.
    names = ["bus2.v", "bus3.v", "bus4.v", "G2.delta", "M3.slip"][: 5 if point.motor else 4]
    for (name, values), expected in zip(run.at(t, names).items(), theirs, strict=False):
        assert np.abs(values - expected).max() < 2e-5, name
    if point.motor:
        assert run["M3.slip"].iloc[-1] > 1.0
