"""The ten-bus system of voltage collapse (Taylor; Kundur), with the data and controls of ObjectStab.

Source: ObjectStab (Modelica, repository modelica-3rdparty/ObjectStab, Examples.BPA); curves: M. Larsson,
Coordinated Voltage Control in Electric Power Systems, thesis, Lund (2000), section 2.3, figures 2.7, 2.9 and
2.10, vector graphics in the same repository. Stabiliser and governor are left out.
"""

from psmr import Component, Parameter
from tests.internals import Action


class LimitedFieldVoltage(Component):
    """Static exciter of ObjectStab: gain and lag; its output is at most 2.9 pu from 10 s above that on."""

    role = "exciter"
    acts_on = "source"
    states = ("x",)
    algebraic = ("v_f",)
    inputs = ("v_re", "v_im", "v_ref")
    memory = ("limiting",)
    k = Parameter("pu", "gain", default=200.0)
    t_r = Parameter("s", "lag", default=1.5)
    limit = Parameter("pu", "limit of the field voltage", default=2.9)
    limiting = Parameter("1", "whether it limits", default=0.0)
    actions = (
        Action(
            "limits",
            lambda m, v, p: m.min(p.k * v.x - p.limit, 0.5 - p.limiting),
            lambda p: 10.0,
            lambda v, p: {"limiting": 1.0},
            kind="limiter",
        ),
        Action(
            "free",
            lambda m, v, p: m.min(p.limit - 1e-5 - p.k * v.x, p.limiting - 0.5),
            effect=lambda v, p: {"limiting": 0.0},
            kind="limiter",
        ),
    )

    @staticmethod
    def equations(m, v, p):
        raw = p.k * v.x
        limited = m.where(m.ge(p.limiting, 0.5), m.min(raw, p.limit), raw)
        return (
            ((v.v_ref - m.sqrt(v.v_re**2 + v.v_im**2) - v.x) / p.t_r,),
            (m.clip(limited, 0.0, 7.0) - v.v_f,),
            (),
        )

    @staticmethod
    def guess(terminal, p):
        v_f = terminal.signals.get("v_f", 2.0)
        return {"x": v_f / p.k, "v_f": v_f, "v_ref": abs(terminal.voltage) + v_f / p.k}


TEXT = (
    """
format = "psmr-case"
version = 1
name = "ten-bus system"
base_mva = 100.0
frequency_hz = 50.0
"""
    + "".join(f"\n[[bus]]\nnumber = {n}\n" for n in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11))
    + """
[[line]]
from = 5
to = 6
x = 0.0040
b = 2.0
"""
    + "".join(
        f"\n[[line]]\nfrom = 6\nto = 7\ncircuit = {k}\nr = 0.0015\nx = 0.0288\nb = 1.173\n"
        for k in range(1, 6)
    )
    + """
[[line]]
from = 9
to = 10
r = 0.001
x = 0.003
"""
    + "".join(
        f"\n[[transformer]]\nfrom = {a}\nto = {b}\ntap = {n}\nx = {x}\n"
        for a, b, n, x in (
            (1, 5, 0.8857, 0.002),
            (2, 6, 0.8857, 0.0045),
            (3, 7, 0.9024, 0.00625),
            (7, 9, 1.08, 0.0026),
            (7, 8, 1.0664, 0.003),
        )
    )
    + f"""
[[transformer]]
name = "T6"
from = 11
to = 10
tap = {1 / 0.96}
x = 0.001

[transformer.tap_changer]
type = "TapChanger"
bus = 11
v_set = 0.922
half_band = 0.01
tap_min = {1 / 0.96 - 0.19}
tap_max = {1 / 0.96 + 0.11}
positions = 31
t_first = 30.0
t_next = 30.0
inverse = 3
"""
    + "".join(
        f"\n[[shunt]]\nbus = {n}\nb_mvar = {q}\n"
        for n, q in ((7, 963.0), (8, 700.0), (9, 400.0), (11, 100.0))
    )
    + """
[[load]]
bus = 8
p_mw = 3370.0
q_mvar = 1050.0
model = "characteristic"
[load.characteristic]
type = "ExponentialRecovery"
t_p = 1.0
t_q = 1.0

[[load]]
bus = 11
p_mw = 3490.0
q_mvar = 0.0
model = "impedance"

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 0.98
[generator.machine]
type = "InfiniteBus"
s_n = 100.0
x_d1 = 1e-6
"""
    + "".join(
        f"""
[[generator]]
name = "{name}"
bus = {bus}
control = "pv"
p_mw = {p}
v = {v}
[generator.machine]
type = "RoundRotorMachine"
s_n = {s}
h = {h}
d = 0.2
r_a = 0.0
x_l = 0.15
x_d = 2.07
x_q = 1.99
x_d1 = 0.28
x_q1 = 0.49
x_2 = 0.215
x_q2 = 0.215
t_d01 = 4.1
t_q01 = 0.56
t_d02 = 0.033
t_q02 = 0.062
[generator.exciter]
type = "LimitedFieldVoltage"
"""
        for name, bus, p, v, s, h in (
            ("G2", 2, 1736.0, 0.9646, 2200.0, 2.33),
            ("G3", 3, 1155.0, 0.9553, 1600.0, 2.09),
        )
    )
)
