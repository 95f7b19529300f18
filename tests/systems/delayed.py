"""Systems that read signals with a delay, with what is known of their solutions."""

from math import factorial

import numpy as np

from psmr import Component, Device, Parameter, assemble


class Integrator(Component):
    """x' = u - b x(t - tau)."""

    states = ("x",)
    inputs = ("late", "u")
    optional = {"u": 0.0}
    b = Parameter("1/s", "gain")

    @staticmethod
    def equations(m, v, p):
        return (v.u - p.b * v.late,), (), ()


def integrator(tau, b):
    """Return the loop of an integrator; it is stable below tau = pi / (2 b)."""
    return assemble([Device("I", Integrator, {"b": b}, {"late": "I.x"}, delays={"late": tau})])


def step_of_integrator(t, tau, b):
    """Return x(t) after a step of u from 0 to 1 at t = 0, by the method of steps."""
    terms = range(int(np.max(t) / tau) + 1)
    after = [np.maximum(np.asarray(t) - k * tau, 0.0) for k in terms]
    return sum((-b) ** k * after[k] ** (k + 1) / factorial(k + 1) for k in terms)


class TwoDelays(Component):
    """A state and an algebraic variable read with delays, the second one declared by the component."""

    states = ("x", "z")
    algebraic = ("y",)
    inputs = ("x_late", "y_late")
    delays = {"y_late": "tau"}
    b = Parameter("1/s", "gain")
    tau = Parameter("s", "delay of y")

    @staticmethod
    def equations(m, v, p):
        return (
            (-p.b * v.x_late - 0.3 * v.z, v.y_late - v.z),
            (v.y - v.x - 0.2 * v.z - 0.1 * v.y_late,),
            (),
        )


def two_delays(tau_x, tau_y, b=1.0):
    """Return the system with its delays in s."""
    reads = {"x_late": "L.x", "y_late": "L.y"}
    return assemble([Device("L", TwoDelays, {"b": b, "tau": tau_y}, reads, delays={"x_late": tau_x})])


def three_delays(tau_x, tau_y, tau_i, b=1.0):
    """Return the system with an integrator beside it, which reads itself with a delay and L.z at once."""
    system = two_delays(tau_x, tau_y, b)
    beside = Device("I", Integrator, {"b": 0.5 * b}, {"late": "I.x", "u": "L.z"}, delays={"late": tau_i})
    return assemble([*system.devices, beside])
