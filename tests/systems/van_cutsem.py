"""The example system of Van Cutsem and Vournas (1998), sections 6.3 and 8.5, and its equations by hand.

A load behind a tap changer, fed by a line of two circuits and by a machine with an over-excitation limiter;
in the third case a motor is a part of the load. Data: the book's section 6.7 and table 6.8, as the repository
uhyogo-epa/VoltageStability has them. It gives cases 1 and 2 whole; of case 3 powers, voltages and capacitor
of its power flow, with which 600 MW of the motor and 900 MW + j450 Mvar of the load are what is left (with
their ratio of 0.5 in all cases these take 832.16 Mvar together, 150 Mvar and the capacitor give 832.2).
Powers on 100 MVA; inertia and damping of machine and motor are on their own 500 and 800 MVA.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, root

from psmr import Component, Parameter
from tests.internals import Action, BlockDiagram

X_TH, X_14, X_24, X_34, N = 0.01, 0.0277, 0.016, 0.004, 1.04
X_D, X_D1, T_D01, H, D = 2.1 / 5, 0.4 / 5, 8.0, 3.5 * 5, 4.0 * 5
G, T, V_FD_MAX = 50.0, 0.1, 5.0
I_LIM, S_1, S_2, K_1, K_2, K_R, K_I = 2.825, 1.0, 2.0, 20.0, 0.1, 1.0, 0.1
STEP, BAND, R_MIN, R_MAX, FIRST, NEXT = 0.01, 0.01, 0.8, 1.1, 20.0, 10.0
ALPHA, BETA = 1.5, 2.5
X_S, X_M, X_R, R_R, H_M = 0.1 / 8, 3.2 / 8, 0.18 / 8, 0.018 / 8, 0.5 * 8


@dataclass(frozen=True)
class Operation:
    """An operating point: powers of machine, load and motor, the capacitor, and |V_1|, |V_2| where given."""

    p_m: float
    load: complex = 15.0 - 7.5j
    motor: float = 0.0
    b_3: float = 6.0
    v_1: float = 0.0
    v_2: float = 0.0

    @property
    def slip(self):
        """Slip of the motor at 1 pu."""
        return brentq(lambda s: motor_admittance(s).real - self.motor, 1e-9, 0.1) if self.motor else 0.0


LT1, S_LT1 = Operation(3.0), Operation(4.5)
MOTOR = Operation(2.0, 9.0 - 4.5j, 6.0, 6.822, 1.08, 1.01)


def motor_admittance(slip):
    """Admittance of the motor, whose stator has no resistance: its real part is the torque at 1 pu."""
    rotor = R_R / slip + 1j * X_R
    return 1 / (1j * X_S + 1j * X_M * rotor / (rotor + 1j * X_M))


def network(r, x_14, b_3):
    """Admittance matrix of buses 1 to 4, with the Thevenin impedance and the capacitor."""
    y = np.zeros((4, 4), dtype=complex)

    def branch(i, j, x, a):
        # The ratio a is at bus j: v_i a = v_j at no load, x at the side of bus i.
        b = -1j / x
        y[i, i] += b
        y[j, j] += b / a**2
        y[i, j] -= b / a
        y[j, i] -= b / a

    y[0, 0] += -1j / X_TH
    branch(0, 3, x_14, 1.0)
    branch(1, 3, X_24, N)
    branch(2, 3, X_34, r)
    y[2, 2] += 1j * b_3
    return y


def load_current(v, load, slip):
    """Current out of bus 3 into load and motor."""
    size = max(abs(v), 1e-4)
    s = load.real * size**ALPHA - 1j * load.imag * size**BETA
    return np.conj(s / v) + (motor_admittance(slip) * v if slip else 0.0)


def machine_current(v, delta, e_q):
    """Current of the machine into bus 2, and i_d."""
    turn = np.exp(1j * (delta - np.pi / 2))
    u = v * np.conj(turn)
    i_d, i_q = (e_q - u.imag) / X_D1, u.real / X_D
    return (i_d + 1j * i_q) * turn, i_d


def balance(v, delta, e_q, slip, r, x_14, e_th, point):
    injected = np.array([-1j / X_TH * e_th, 0, 0, 0])
    injected[1] += machine_current(v[1], delta, e_q)[0]
    injected[2] -= load_current(v[2], point.load, slip if point.motor else 0.0)
    return injected - network(r, x_14, point.b_3) @ v


def equilibrium(point):
    """Angle, E'_q, ratio, E_th, V_ref and voltages with bus 3 at 1 pu and the regulator at its reference."""

    def rest(z):
        delta, e_q, r, e_th, v_ref = z[:5]
        v = z[5:9] + 1j * z[9:13]
        current, i_d = machine_current(v[1], delta, e_q)
        off = balance(v, delta, e_q, point.slip, r, X_14, e_th, point)
        power = (v[1] * np.conj(current)).real
        field = G * (v_ref - abs(v[1])) - e_q - (X_D - X_D1) * i_d
        given = (abs(v[0]) - point.v_1, abs(v[1]) - point.v_2) if point.v_1 else (e_th - 1.10, v_ref - 1.01)
        return [*off.real, *off.imag, power - point.p_m, field, abs(v[2]) - 1.0, *given]

    found = root(rest, [0.9, 1.2, 0.97, 1.1, 1.01, 1, 1, 0.9, 0.9, -0.1, -0.2, -0.4, -0.4], tol=1e-13)
    assert found.success
    z = found.x
    return *z[:5], z[5:9] + 1j * z[9:13]


class SlipMotor(Component):
    """The motor of section 6.3: torque and slip; its rotor's flux follows at once."""

    role = "motor"
    states = ("slip",)
    inputs = ("v_re", "v_im", "t_0", "b_shunt")
    outputs = ("i_re", "i_im")
    s_n = Parameter("MVA", "rated power", default=100.0)

    @staticmethod
    def equations(m, v, p):
        # Of R/s + jX_r beside jX_m, and jX_s before it; s of 0 would be the open rotor.
        a, b = R_R, v.slip * (X_R + X_M)
        re = X_M**2 * v.slip * a / (a**2 + b**2)
        im = X_S + X_M - X_M**2 * v.slip * b / (a**2 + b**2)
        g, h = re / (re**2 + im**2), im / (re**2 + im**2)
        torque = g * (v.v_re**2 + v.v_im**2)
        return (
            ((v.t_0 - torque) / (2 * H_M),),
            (),
            (
                -(g * v.v_re + h * v.v_im) + v.b_shunt * v.v_im,
                -(g * v.v_im - h * v.v_re) - v.b_shunt * v.v_re,
            ),
        )

    @staticmethod
    def most_power(p, voltage):
        share = X_M / (X_S + X_M)
        return (voltage * share) ** 2 / 2 / (X_R + X_S * share)

    @staticmethod
    def guess(terminal, p):
        power = -(terminal.voltage * np.conj(terminal.current)).real
        return {"slip": MOTOR.slip, "t_0": power, "b_shunt": 0.0}


def _e(v, p):
    """The field current of the machine, in the unit of the field voltage; i_d on the machine's base."""
    return v.e_q + (2.1 - 0.4) * v.i_d


class LimitedRegulator(BlockDiagram):
    """The regulator of section 6.3 with its over-excitation limiter, by the names of the book."""

    role = "exciter"
    inputs = ("v_re", "v_im", "v_ref", "e_q", "i_d")
    set_point = "v_ref"
    timers = ("x_t", "x_oxl")
    acts_on = "source"
    memory = ("limiting", "above")
    actions = tuple(
        Action(
            name,
            condition,
            effect=lambda v, p, flag=flag, value=value: {flag: value},
            kind=kind,
        )
        for name, flag, value, kind, condition in (
            ("above", "above", 1.0, "", lambda m, v, p: m.min(_e(v, p) - p.i_lim, 0.5 - p.above)),
            ("below", "above", 0.0, "", lambda m, v, p: m.min(p.i_lim - _e(v, p), p.above - 0.5)),
            ("limits", "limiting", 1.0, "limiter", lambda m, v, p: m.min(v.x_t, 0.5 - p.limiting)),
            ("free", "limiting", 0.0, "limiter", lambda m, v, p: m.min(-v.x_t, p.limiting - 0.5)),
        )
    )
    i_lim = Parameter("pu", "limit of the field current", default=I_LIM)
    t_v = Parameter("s", "time constant of the regulator", default=T)
    v_f_min = Parameter("pu", "lower limit", default=0.0)
    v_f_max = Parameter("pu", "upper limit", default=V_FD_MAX)
    x_t_min = Parameter("s", "where the timer begins", default=-K_1)
    x_t_max = Parameter("s", "how far it goes", default=K_2)
    x_min = Parameter("pu", "least signal", default=0.0)
    x_max = Parameter("pu", "most signal", default=1e6)
    limiting = Parameter("1", "whether the timer has run out", default=0.0)
    above = Parameter("1", "whether the current is above its limit", default=0.0)

    @classmethod
    def diagram(cls, b, v, p):
        excess = _e(v, p) - p.i_lim
        b.timer("x_t", b.where(b.ge(p.above, 0.5), S_1, S_2) * excess, ("x_t_min", "x_t_max"))
        signal = b.where(b.ge(p.limiting, 0.5), excess, -K_R)
        x_oxl = b.timer("x_oxl", K_I * signal, ("x_min", "x_max"))
        b.lag("v_f", G * (v.v_ref - b.magnitude(v.v_re, v.v_im) - x_oxl), "t_v", ("v_f_min", "v_f_max"))

    @staticmethod
    def known(terminal, p):
        return {"v_f": terminal.signals.get("v_f", 2.0)}


def text(point):
    """The case as TOML, at its equilibrium."""
    _, _, r, e_th, _, v = equilibrium(point)
    r, e_th, v_2 = float(r), float(e_th), float(abs(v[1]))
    motor = f"""
[[load]]
name = "M3"
bus = 3
p_mw = {100 * point.motor}
q_mvar = {-100 * motor_admittance(point.slip or 1.0).imag}
model = "motor"
[load.motor]
type = "SlipMotor"
"""
    return f"""
format = "psmr-case"
version = 1
name = "Van Cutsem and Vournas, section 6.3"
base_mva = 100.0
frequency_hz = 50.0
bus = [{{number = 1}}, {{number = 2}}, {{number = 3}}, {{number = 4}}, {{number = 5}}]
line = [
  {{from = 5, to = 1, x = {X_TH}}},
  {{from = 1, to = 4, x = {2 * X_14}}},
  {{from = 1, to = 4, x = {2 * X_14}, circuit = 2}},
]
shunt = [{{bus = 3, b_mvar = {100 * point.b_3}}}]

[[transformer]]
from = 4
to = 2
tap = {N}
x = {X_24}

[[transformer]]
name = "T3"
from = 4
to = 3
tap = {r!r}
x = {X_34}

[transformer.tap_changer]
type = "TapChanger"
v_set = 1.0
half_band = {BAND}
tap_min = {r - 16 * STEP!r}
tap_max = {r + 10 * STEP!r}
positions = 27
t_first = {FIRST}
t_next = {NEXT}

[[load]]
bus = 3
p_mw = {100 * point.load.real}
q_mvar = {-100 * point.load.imag}
model = "exponential"
v_0 = 1.0
exponent_p = {ALPHA}
exponent_q = {BETA}
v_min = 0.01

[[generator]]
name = "G5"
bus = 5
control = "slack"
v = {e_th!r}

[generator.machine]
type = "InfiniteBus"
s_n = 100.0
x_d1 = 1e-7

[[generator]]
name = "G2"
bus = 2
control = "pv"
p_mw = {100 * point.p_m}
v = {v_2!r}

[generator.machine]
type = "TwoAxisMachine"
s_n = 500.0
h = 3.5
d = 4.0
x_d = 2.1
x_q = 2.1
x_d1 = 0.4
x_q1 = 2.1
t_d01 = 8.0
t_q01 = 1.0

[generator.exciter]
type = "LimitedRegulator"
{motor if point.motor else ""}"""
