"""Your own DAE

A component is names and one plain function; no network is needed. The string's force is an algebraic
variable.
"""

import matplotlib.pyplot as plt
import numpy as np

import psmr


class Pendulum(psmr.Component):
    """A damped pendulum; the string's force is algebraic."""

    states = ("angle", "speed")
    algebraic = ("force",)
    units = {"angle": "rad", "speed": "rad/s", "force": "N"}

    length = psmr.Parameter("m", "length of the string")
    mass = psmr.Parameter("kg", "mass of the bob")
    damping = psmr.Parameter("1/s", "damping of the speed", default=0.0)

    @staticmethod
    def equations(m, v, p):
        g = 9.81
        derivatives = (v.speed, -g / p.length * m.sin(v.angle) - p.damping * v.speed)
        residuals = (v.force - p.mass * (g * m.cos(v.angle) + p.length * v.speed**2),)
        return derivatives, residuals, ()


device = psmr.Device("bob", Pendulum, {"length": 1.0, "mass": 0.5, "damping": 0.1})
at_rest = psmr.assemble([device], start={"bob.force": 0.5 * 9.81})
report = psmr.deformation(at_rest.linearise(), psmr.SingleRate("TM", h=0.05))
print(report)

run = psmr.simulate(at_rest, psmr.SingleRate("TM", h=0.01), 10.0, start=([np.pi / 4, 0.0], [3.0]))
run.plot(["bob.angle", "bob.force"], title="Pendulum released at 45 degrees")

plt.show()
