"""Limiters of IEEE Std 421.5-2016 in a plant, against the plant's equations by hand, by SUNDIALS' IDA.

The equations are written from the block diagrams of the standard (types ST1A, OEL1B, OEL2C, UEL2C, SCL1C)
and the usual ones of a machine with one damper in each axis. Nothing here is psmr's, the start included.
"""

import numpy as np
import pytest

import psmr

X_D, X_D1, X_D2, X_Q, X_Q2, X_L, H = 1.1, 0.25, 0.2, 0.7, 0.2, 0.15, 3.0
T_D01, T_D02, T_Q02 = 5.0, 0.05, 0.1
T_R, K_A, T_A = 0.02, 60.0, 0.05
S_N, P, V = 350.0, 310.0, 1.02
X_LINE, X_GRID = 0.03 * S_N / 100, 1e-4 * S_N / 100
STEP = 1.0
FAST = 1e-5  # s; in which an integral comes to its limit by hand


class Plant:
    """Machine, static exciter and grid; a limiter adds states, flags and its signal at the error or gate."""

    def __init__(self, limiter):
        angle = np.arcsin(P / S_N * X_LINE / V)
        v = V * np.exp(1j * angle)
        i = (v - 1) / (1j * X_LINE)
        self.source, self.x_e = 1 - 1j * X_GRID * i, X_LINE + X_GRID
        delta = np.angle(v + 1j * X_Q * i)
        i_d, i_q = -(i * np.exp(-1j * delta)).imag, (i * np.exp(-1j * delta)).real
        psi_d, psi_q = (v * np.exp(-1j * delta)).real, (v * np.exp(-1j * delta)).imag
        e_q = psi_d + X_D1 * i_d
        field = e_q + (X_D - X_D1) * i_d
        self.torque = psi_d * i_q - psi_q * i_d
        assert abs(psi_q + X_Q * i_q) < 1e-12
        self.v_ref = V + field / K_A
        self.limiter, self.flags = limiter, limiter.flags | {"limiting": False}
        first = [delta, 1.0, e_q, e_q - (X_D1 - X_L) * i_d, -(X_Q - X_L) * i_q, V, field]
        self.start = np.array([*first, *limiter.rest(self.measured(np.array(first)))])

    def measured(self, x):
        """Terminal quantities of the machine, per unit on its base."""
        delta, _, e_q, psi_1d, psi_2q = x[:5]
        k_d, k_q = (X_D2 - X_L) / (X_D1 - X_L), (X_Q - X_Q2) / (X_Q - X_L)
        inner = k_d * e_q + (1 - k_d) * psi_1d + 1j * k_q * psi_2q
        grid = self.source * np.exp(-1j * delta)
        # In the frame of the q axis v = psi_d + j psi_q and i = i_q - j i_d; x''_d = x''_q here.
        current = (inner - grid) / (1j * (X_D2 + self.x_e))
        v = inner - 1j * X_D2 * current
        i_d, i_q = -current.imag, current.real
        lag = (X_D1 - X_D2) / (X_D1 - X_L) ** 2 * (psi_1d + (X_D1 - X_L) * i_d - e_q)
        i_f = e_q + (X_D - X_D1) * (i_d - lag)
        power = v * np.conj(current)
        return {
            "v": abs(v),
            "i": abs(current),
            "p": power.real,
            "q": power.imag,
            "i_d": i_d,
            "i_q": i_q,
            "i_f": i_f,
        }

    def rates(self, t, x):
        _, omega, e_q, psi_1d, psi_2q, v_m, v_a = x[:7]
        m = self.measured(x)
        signal, slopes = self.limiter.signal(x[7:], m, self.flags)
        error = self.v_ref + (self.step if t >= STEP else 0.0) - v_m
        at_gate = self.limiter.gate
        error, v_f = (error, min(v_a, signal)) if at_gate else (error + signal, v_a)
        return np.array(
            [
                2 * np.pi * 50 * (omega - 1),
                (self.torque - m["p"]) / (2 * H),
                (v_f - m["i_f"]) / T_D01,
                (e_q - (X_D1 - X_L) * m["i_d"] - psi_1d) / T_D02,
                (-psi_2q - (X_Q - X_L) * m["i_q"]) / T_Q02,
                (m["v"] - v_m) / T_R,
                (K_A * error - v_a) / T_A,
                *slopes,
            ]
        )

    def switches(self, x):
        """Values that turn a flag over, by its name and what it is before, where they come above zero."""
        m = self.measured(x)
        signal = self.limiter.signal(x[7:], m, self.flags)[0]
        margin = x[6] - signal if self.limiter.gate else abs(signal) - 1e-6
        return self.limiter.switches(x[7:], m) | {("limiting", False): margin, ("limiting", True): -margin}

    def run(self, step, t_end, times):
        """Return (times, states) and (instant, flag) of each change of a flag."""
        ida = pytest.importorskip("sksundae.ida")
        self.step, x, t, rows, switched = step, self.start, 0.0, [], []

        def residual(t, x, rate, off):
            off[:] = rate - self.rates(t, x)

        names = list(self.switches(x))

        def events(t, x, rate, values):
            found = self.switches(x)
            values[:] = [found[name] if self.flags[name[0]] == name[1] else -1.0 for name in names]

        events.terminal, events.direction = [True] * len(names), [1] * len(names)
        for end in (STEP, t_end):
            while t < end - 1e-9:
                # Conditions that a jump has made true already.
                values = np.empty(len(names))
                events(t, x, None, values)
                for (flag, old), value in zip(names, values, strict=True):
                    if value > 0 and self.flags[flag] == old:
                        self.flags[flag] = not old
                        switched.append((t, flag))
                inside = times[(times > t + 1e-9) & (times < end - 1e-9)]
                solver = ida.IDA(
                    residual,
                    eventsfn=events,
                    num_events=len(names),
                    rtol=1e-9,
                    atol=1e-11,
                    max_num_steps=50_000,
                )
                out = solver.solve(np.r_[t, inside, end], x, self.rates(t, x))
                rows += [(a, *b) for a, b in zip(out.t, out.y, strict=True) if a in inside]
                t, x = out.t[-1], out.y[-1]
                if out.i_events is not None and len(out.i_events):
                    for k in np.flatnonzero(out.i_events[-1]):
                        self.flags[names[k][0]] = not names[k][1]
                        switched.append((t, names[k][0]))
        return np.array(rows), switched


def held(rate, x, low, high):
    """Return the rate of an integral within limits, without windup."""
    return min(max(rate, (low - x) / FAST), (high - x) / FAST)


class Oel1b:
    """Overload by ANSI C50.13 of a field of `rated`, and the limit that ramps between two levels."""

    gate, role = True, "over_excitation_limiter"
    p = {"itf_pu": 1.05, "ifd_max": 1.5, "ifd_lim": 1.02, "hyst": 0.02, "k_cd": 1.0, "k_ramp": 0.1}
    p |= {"ifd_rated": 1.5}
    flags = {"above": False, "timed_out": False}

    def rest(self, m):
        return [0.0, self.p["ifd_max"]]

    def signal(self, x, m, flags):
        p, i = self.p, m["i_f"] / self.p["ifd_rated"]
        heating = (i**2 - 1) if flags["above"] else -p["k_cd"] * (p["itf_pu"] ** 2 - i**2)
        ramp = -p["k_ramp"] if flags["timed_out"] else p["k_ramp"]
        return p["ifd_rated"] * x[1], [
            held(0.0 if flags["timed_out"] else heating / 33.75, x[0], 0.0, 2.0),
            held(ramp, x[1], p["ifd_lim"], p["ifd_max"]),
        ]

    def switches(self, x, m):
        i = m["i_f"] / self.p["ifd_rated"]
        return {("above", False): i - self.p["itf_pu"], ("timed_out", False): x[0] - 1}


class Oel2c:
    """Inverse time, the reference that falls at its end, and a PI regulator at the error."""

    gate, role = False, "over_excitation_limiter"
    p = {
        "oel_pi": (0.02, 0.05),
        "t_r": 0.05,
        "itf_pu": 1.7,
        "i_inst": 3.0,
        "i_lim": 1.65,
        "t_fcl": 0.5,
        "k_rd": -0.5,
    }
    flags = {"above": False, "ended": False}

    def rest(self, m):
        return [m["i_f"], 0.0, 3.0, 0.0]

    def error(self, x, flags):
        return x[2] + (0.0 if flags["ended"] else 100.0) - x[0]

    def signal(self, x, m, flags):
        p = self.p
        count = 0.5 * ((x[0] / p["itf_pu"]) ** 2 - 1)
        count = min(max(count, 0.0), 100.0) + (0.0 if flags["above"] else -0.01)
        e, (k_p, k_i) = self.error(x, flags), p["oel_pi"]
        slopes = [
            (m["i_f"] - x[0]) / p["t_r"],
            held(0.0 if flags["ended"] else count, x[1], 0.0, 9.0),
            held(p["k_rd"] if flags["ended"] else 1000.0, x[2], p["i_lim"], p["i_inst"]),
            held(k_i * e, x[3], -0.2, 0.0),
        ]
        return min(max(k_p * e + x[3], -0.2), 0.0), slopes

    def switches(self, x, m):
        return {("above", False): x[0] - self.p["itf_pu"], ("ended", False): x[1] - self.p["t_fcl"]}


class Uel2c:
    """Least reactive power by a polygon of the active one, and a PI regulator at the error."""

    gate, role = False, "under_excitation_limiter"
    flags = {}

    def rest(self, m):
        return [m["v"], m["p"], m["q"], self.limit(m["v"], m["p"]), 0.0]

    def limit(self, v, p):
        return float(np.interp(p, [0.0, 1.0], [-0.3, -0.1])) * v**2

    def error(self, x):
        return x[3] - x[2]

    def signal(self, x, m, flags):
        e = self.error(x)
        slopes = [(m["v"] - x[0]) / 0.05, (m["p"] - x[1]) / 0.1, (m["q"] - x[2]) / 0.1]
        slopes += [(self.limit(x[0], x[1]) - x[3]) / 0.2, held(0.2 * e, x[4], 0.0, 0.5)]
        return min(max(0.05 * e + x[4], 0.0), 0.5), slopes

    def switches(self, x, m):
        return {}


class Scl1c:
    """Excess of the stator current behind an inverse time, and a PI regulator for overexcitation."""

    gate, role = False, "stator_current_limiter"
    flags = {"inverse": False}

    def rest(self, m):
        return [m["i"], m["i"], 0.0]

    def signal(self, x, m, flags):
        e = x[0] - 0.95 if flags["inverse"] and m["q"] >= 0.01 else 0.0
        slopes = [(m["i"] - x[0]) / 0.05, (m["i"] - x[1]) / 4.0, held(0.1 * e, x[2], 0.0, 0.3)]
        return -min(max(0.02 * e + x[2], 0.0), 0.3), slopes

    def switches(self, x, m):
        return {("inverse", False): x[1] - 0.95}


PI = {"t_c1": 0.1, "t_b1": 0.1, "t_c2": 0.1, "t_b2": 0.1, "k_d": 0.0, "t_d": 0.1}
PI |= {f"v_oel_{end}{k}": x for end, x in (("max", 0.0), ("min", -0.2)) for k in (1, 2, 3)}
GIVEN = {
    Oel1b: {"type": "OEL1B", **Oel1b.p},
    Oel2c: PI
    | {
        "type": "OEL2C",
        "k_p": 0.02,
        "k_i": 0.05,
        "i_reset": 100.0,
        "t_en": 50.0,
        "t_off": 5.0,
        "ith_off": 0.05,
    }
    | {
        "t_r": 0.05,
        "itf_pu": 1.7,
        "i_inst": 3.0,
        "i_lim": 1.65,
        "t_a": 0.0,
        "c_1": 0.0,
        "k_1": 0.0,
        "c_2": 2.0,
    }
    | {"k_2": 0.5, "v_inv_max": 100.0, "v_inv_min": 0.0, "fixed_ru": -0.01, "fixed_rd": 0.0, "t_fcl": 0.5}
    | {"t_max": 0.5, "t_min": 0.0, "k_fb": 0.0, "k_rd": -0.5, "k_ru": 1000.0, "k_zru": 0.99},
    Uel2c: {
        "type": "UEL2C",
        "k_1": 0,
        "k_2": 2,
        "t_uv": 0.05,
        "t_up": 0.1,
        "t_uq": 0.1,
        "k_ui": 0.2,
        "k_ul": 0.05,
    }
    | {"v_ui_max": 0.5, "v_ui_min": 0.0, "t_u1": 0.0, "t_u2": 0.0, "t_u3": 0.0, "t_u4": 0.0, "p_1": 0.0}
    | {"q_1": -0.3, "p_2": 1.0, "q_2": -0.1, "v_ul_max": 0.5, "v_ul_min": 0.0, "v_bias": -1.0, "t_adj": 0.0}
    | {"t_qref": 0.2, "v_uel_max2": 0.5, "v_uel_min2": 0.0, "v_uel_max1": 0.5, "v_uel_min1": 0.0, "x_q": X_Q},
    Scl1c: {"type": "SCL1C", "sw_1": 2, "sw_2": 1, "i_scl_lim": 0.95, "t_it": 0.05, "k": 1.0, "t_qscl": 0.05}
    | {"i_q_min": 0.0, "v_scl_db": 0.01, "t_inv": 4.0, "t_dscl": 0.0, "k_poex": 0.02, "k_ioex": 0.1}
    | {"k_puex": 0.02, "k_iuex": 0.1, "v_scl_max": 0.3, "v_scl_min": 0.0},
}
CASE = """
format = "psmr-case"
version = 1
name = "one machine at a stiff network"
base_mva = 100.0
frequency_hz = 50.0
bus = [{number = 1}, {number = 2}]
line = [{from = 1, to = 2, x = 0.03}]
[[generator]]
name = "grid"
bus = 2
v = 1.0
control = "slack"
machine = {type = "InfiniteBus", s_n = 10000.0, x_d1 = 0.01}
[[generator]]
name = "G1"
bus = 1
p_mw = 310.0
v = 1.02
control = "pv"
[generator.machine]
type = "AirGapMachine"
s_n = 350.0
"""


def toml(values):
    return "".join(f"{name} = {value!r}\n".replace("'", '"') for name, value in values.items())


def case(tmp_path, hand):
    machine = {"h": H, "d": 0.0, "r_a": 0.0, "x_l": X_L, "x_d": X_D, "x_d1": X_D1, "x_2": X_D2, "x_q": X_Q}
    machine |= {"x_q1": X_Q, "x_q2": X_Q2, "t_d01": T_D01, "t_d02": T_D02, "t_q01": 0.0, "t_q02": T_Q02}
    exciter = {
        "type": "ESST1A",
        "t_r": T_R,
        "v_i_max": 9.0,
        "v_i_min": -9.0,
        "t_c": 0.0,
        "t_b": 0.0,
        "t_c1": 0.0,
    }
    exciter |= {"t_b1": 0.0, "k_a": K_A, "t_a": T_A, "v_a_max": 9.0, "v_a_min": -9.0, "v_r_max": 9.0}
    exciter |= {"v_r_min": -9.0, "k_c": 0.0, "k_f": 0.0, "t_f": 1.0, "k_lr": 0.0, "i_lr": 9.0}
    exciter |= {"oel": 3 if hand.gate else 1, "uel": 1}
    text = CASE + toml(machine | {"s_10": 0.0, "s_12": 0.0}) + "[generator.exciter]\n" + toml(exciter)
    (tmp_path / "case.toml").write_text(f"{text}[generator.{hand.role}]\n{toml(GIVEN[hand])}")
    return psmr.read_case(tmp_path / "case.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hand", "step", "t_end"),
    [(Oel1b, 0.1, 40.0), (Oel2c, 0.03, 30.0), (Uel2c, -0.07, 15.0), (Scl1c, 0.05, 25.0)],
)
def test_it_goes_as_the_block_diagram_by_hand(tmp_path, hand, step, t_end):
    """Trajectories of the machine within 1e-5; the instants at which the limiter takes over."""
    times = np.linspace(0.0, t_end, 401)[1:-1]
    times = times[np.abs(times - STEP) > 1e-6]
    plant = Plant(hand())
    rows, switched = plant.run(step, t_end, times)
    system = psmr.build(case(tmp_path, hand))
    at_rest = system.u0[system.names_u.index("AVR1.v_ref")]
    assert at_rest == pytest.approx(plant.v_ref, abs=1e-9)
    events = [psmr.SetPoint("AVR1", "v_ref", at_rest + step, STEP)]
    run = psmr.simulate(system, psmr.VariableStep(1e-8), t_end, events, certify=False)
    found = run.at(rows[:, 0], ["G1.omega", "bus1.v", "G1.i_f", "AVR1.v_a"])
    by_hand = [plant.measured(x[1:]) for x in rows]
    for name, values in (
        ("G1.omega", rows[:, 2]),
        ("bus1.v", [m["v"] for m in by_hand]),
        ("G1.i_f", [m["i_f"] for m in by_hand]),
        ("AVR1.v_a", rows[:, 7]),
    ):
        np.testing.assert_allclose(found[name], values, atol=1e-5, err_msg=name)
    acts = [c.t for c in run.changes for act in c.acts if act.kind == "limiter"]
    # What acts at once acts up to 8 us behind its zero.
    np.testing.assert_allclose(acts, [t for t, flag in switched if flag == "limiting"], atol=1e-5)
