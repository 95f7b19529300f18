"""Components of your own.

A component is a class: names, parameters with units, and one function of its equations. Jacobian,
initialisation and the equations of the documentation come from that text. [](../extending.md) has the
long form.
"""

# %% psmr.Component, psmr.Parameter
import psmr


class Pendulum(psmr.Component):
    """A pendulum; angle in rad, speed in rad/s."""

    states = ("angle", "speed")
    length = psmr.Parameter(unit="m", doc="length")

    def equations(m, v, p):
        return [v.speed, -9.81 / p.length * m.sin(v.angle)], [], []


# %% psmr.Device
device = psmr.Device("P", Pendulum, {"length": 1.0})

# %% psmr.assemble
system = psmr.assemble([device], start={"P.angle": 0.1})
run = psmr.simulate(system, t_end=2.0)
print(run["P.angle"].iloc[-1].round(4), "rad after 2 s")

# %% psmr.devices.placement.Placement
# %% psmr.Samples
every = psmr.Samples(period="T")

# %% psmr.ExternalCode
print([name for name in dir(psmr.ExternalCode) if not name.startswith("_")])

# %% psmr.network.chain.chain
