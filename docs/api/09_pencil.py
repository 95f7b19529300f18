"""The pencil: what a scheme does to the modes.

One step of a scheme is a matrix on the linearised system. Its eigenvalues, compared with those of the
system, say by how much each mode is damped or shifted by the numerics. [](../pencil.md) has the theory.
"""

# %% psmr.deformation, psmr.pencil.deformation.report.Deformation
import partitioning
import psmr
import psmr.pencil

system = psmr.build(psmr.case("wscc9"))
linear = system.linearise()
split = partitioning.by_participation(linear, delta=20.0)
scheme = psmr.Multirate(split, h_slow=0.05, ratio=10, predictor="FEM", solution="TM")
report = psmr.deformation(linear, scheme)
print(report.verdict)
print(report.dominant[["real", "imag", "relative_deformation"]])

# %% psmr.figures.modes.figures.eigenvalue_map
figure = report.plot_modes()

# %% psmr.figures.modes.figures.deformation_dots
figure = report.plot_deformations()

# %% psmr.step_operator
print(psmr.step_operator(linear, scheme).shape)

# %% psmr.critical_step, psmr.pencil.CriticalStep
found = psmr.critical_step(linear, psmr.SingleRate("FEM", h=0.001), first=0.001, last=0.1)
print(found)

# %% psmr.ringdown
print(psmr.ringdown(system, scheme, seconds=5.0)[["held_real", "held_imag", "real", "damping_ratio"]].head(2))

# %% psmr.network_deformation
within = psmr.network_deformation(psmr.case("wscc9"), modes=[-0.2 + 8.6j])
print(within)

# %% psmr.pencil.macro_pencil
pencil = psmr.pencil.macro_pencil(linear, scheme)

# %% psmr.pencil.published_pencil
printed = psmr.pencil.published_pencil(linear, scheme)

# %% psmr.pencil.spectral_radius
print(psmr.pencil.spectral_radius(linear, scheme))

# %% psmr.pencil.correction_rate
print(psmr.pencil.correction_rate(linear, scheme))

# %% psmr.fit_mode
import numpy as np

t = np.linspace(0.0, 1.0, 50)
print(psmr.fit_mode(t, np.exp(-t) * np.cos(9.0 * t), near=-1.0 + 9.0j))
