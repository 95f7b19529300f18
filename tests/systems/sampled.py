"""Digital controllers to test samples with, and plants for them whose sampled motion is known exactly."""

import numpy as np

import psmr
from tests.internals import Action, nonnegative, positive

TIMES = {
    "T": psmr.Parameter("s", "time between samples", positive, 0.01),
    "T_0": psmr.Parameter("s", "time of the first sample", nonnegative, 0.0),
    "T_d": psmr.Parameter("s", "computing delay", nonnegative, 0.0),
}


class Lag(psmr.Component):
    """x' = (u - x) / tau: between samples, with u held, x goes to u by exp(-t / tau)."""

    states = ("x",)
    inputs = ("u",)
    tau = psmr.Parameter("s", "time constant", positive, 0.5)

    @staticmethod
    def equations(m, v, p):
        return ((v.u - v.x) / p.tau,), (), ()


class PI(psmr.Component):
    """A regulator with an integral, at samples; the integral of this sample acts at the next one."""

    inputs = ("y", "ref")
    sampled_states = ("integral",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T", offset="T_0", delay="T_d")
    T, T_0, T_d = TIMES.values()
    k_p = psmr.Parameter("pu", "proportional gain", default=2.0)
    k_i = psmr.Parameter("1/s", "integral gain", default=3.0)

    @staticmethod
    def sample(m, v, p):
        error = v.ref - v.y
        return (v.integral + p.k_i * p.T * error,), (p.k_p * error + v.integral,)


class LinePI(PI):
    """The same, its output on the line through the last two."""

    samples = psmr.Samples(period="T", offset="T_0", delay="T_d", hold=1)


class ExternalPI(psmr.Component):
    """The same, computed by code from elsewhere."""

    inputs = ("y", "ref")
    sampled_states = ("integral",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T", offset="T_0", delay="T_d")
    T, T_0, T_d = TIMES.values()

    @staticmethod
    def reads(m, v, p):
        return v.y, v.ref, p.T


class DigitalLoop(psmr.Component):
    """A phase-locked loop in software; its frame turns at nominal frequency."""

    inputs = ("v_re", "v_im")
    sampled_states = ("theta", "integral")
    sampled_outputs = ("f",)
    samples = psmr.Samples(period="T")
    units = {"theta": "rad"}
    T = psmr.Parameter("s", "time between samples", positive, 0.001)
    f_n = psmr.Parameter("Hz", "nominal frequency", positive, 60.0)
    k_p = psmr.Parameter("rad/s", "proportional gain", positive, 60.0)
    k_i = psmr.Parameter("rad/s2", "integral gain", positive, 900.0)

    @staticmethod
    def sample(m, v, p):
        size = m.sqrt(v.v_re**2 + v.v_im**2)
        v_q = (v.v_im * m.cos(v.theta) - v.v_re * m.sin(v.theta)) / size
        omega = p.k_p * v_q + v.integral
        f = p.f_n + omega / (2 * np.pi)
        return (v.theta + p.T * omega, v.integral + p.T * p.k_i * v_q), (f,)


class PhasorMeasurement(psmr.Component):
    """Magnitude, angle and frequency of a voltage, some frames a second; each is there a frame later."""

    inputs = ("v_re", "v_im")
    sampled_states = ("before",)
    sampled_outputs = ("magnitude", "angle", "f")
    samples = psmr.Samples(period="T", delay="T_d")
    units = {"before": "rad", "angle": "rad", "f": "Hz"}
    T = psmr.Parameter("s", "time between frames", positive, 0.02)
    T_d = psmr.Parameter("s", "time until a frame is there", nonnegative, 0.02)
    f_n = psmr.Parameter("Hz", "nominal frequency", positive, 50.0)

    @staticmethod
    def sample(m, v, p):
        angle = m.atan2(v.v_im, v.v_re)
        turned = angle - v.before
        turned = m.atan2(m.sin(turned), m.cos(turned))
        return (angle,), (m.sqrt(v.v_re**2 + v.v_im**2), angle, p.f_n + turned / (2 * np.pi * p.T))


class GenerationControl(psmr.Component):
    """Automatic generation control of one area: an integral of the frequency, every few seconds."""

    inputs = ("omega", "omega_ref")
    sampled_states = ("integral",)
    sampled_outputs = ("p_ref",)
    samples = psmr.Samples(period="T", offset="T_0")
    T = psmr.Parameter("s", "cycle", positive, 4.0)
    T_0 = psmr.Parameter("s", "first cycle", nonnegative, 0.0)
    k = psmr.Parameter("pu/s", "integral gain", positive, 0.5)

    @staticmethod
    def sample(m, v, p):
        new = v.integral + p.k * p.T * (v.omega_ref - v.omega)
        return (new,), (new,)


class Area(psmr.Component):
    """Speed and prime mover of an area with droop."""

    states = ("omega", "p_m")
    inputs = ("p_ref", "p_load")
    optional = {"p_load": 0.5}
    h = psmr.Parameter("s", "inertia constant", positive, 5.0)
    t_g = psmr.Parameter("s", "time constant of the prime mover", positive, 0.5)
    droop = psmr.Parameter("pu", "droop", positive, 0.05)

    @staticmethod
    def equations(m, v, p):
        order = v.p_ref - (v.omega - 1) / p.droop
        return ((v.p_m - v.p_load) / (2 * p.h), (order - v.p_m) / p.t_g), (), ()


class SamplingRelay(psmr.Component):
    """Undervoltage relay that samples: it trips after some samples in a row below its threshold."""

    inputs = ("v_re", "v_im")
    sampled_states = ("count",)
    sampled_outputs = ("low",)
    samples = psmr.Samples(period="T")
    T = psmr.Parameter("s", "time between samples", positive, 0.005)
    v_min = psmr.Parameter("pu", "threshold", positive, 0.8)
    number = psmr.Parameter("1", "samples in a row", positive, 4.0)

    @staticmethod
    def sample(m, v, p):
        below = m.where(m.ge(p.v_min, m.sqrt(v.v_re**2 + v.v_im**2)), 1, 0)
        count = below * (v.count + 1)
        return (count,), (m.where(m.ge(count, p.number), 1, 0),)

    actions = (Action("undervoltage", lambda m, v, p: v.low - 0.5, trips=True, protects=True),)


def regulated(controller=PI, code=None, start=0.7, plant=None, **parameters):
    """Return the lag of a regulator, at rest at `start`."""
    devices = [
        psmr.Device("P", Lag, plant or {}, {"u": "C.u"}),
        psmr.Device("C", controller, parameters, {"y": "P.x"}, code=code),
    ]
    return psmr.assemble(devices, {"P.x": start})


def sampled_twin(component):
    """Return a continuous controller as code: Euler's steps of its states, its outputs one after the other.

    Its algebraic equations must be ``expression - variable``.
    """
    limits, states, outputs = component.limits, component.states, component.algebraic
    continuous = component.equations

    def sample(m, v, p):
        derivatives, residuals, _ = continuous(m, v, p)
        new = [getattr(v, s) + p.T * d for s, d in zip(states, derivatives, strict=True)]
        for k, (low, high) in ((states.index(s), bounds) for s, bounds in limits.items()):
            new[k] = m.clip(new[k], *(getattr(p, name) for name in (low, high)))
        return tuple(new), tuple(getattr(v, y) + r for y, r in zip(outputs, residuals, strict=True))

    body = {
        "__module__": __name__,
        "states": (),
        "algebraic": (),
        "rows": (),
        "limits": {},
        "lags": {},
        "integrals": {},
        "sampled_states": states,
        "sampled_outputs": outputs,
        "samples": psmr.Samples(period="T", delay="T_d"),
        "T": TIMES["T"],
        "T_d": TIMES["T_d"],
        "sample": staticmethod(sample),
        "equations": psmr.Component.equations,
    }
    return type(f"Sampled{component.__name__}", (component,), body)
