"""Five converters in full in the New England system

Five of the ten machines are converters in full; each has a phase-locked loop between 30 and 45 1/s. How far
are these five modes from their place where every line, transformer, load and stator is a phasor? Left:
predicted by the sum of participation factors of what is left out, and measured by following each mode; then
with a region that was chosen by its error to keep the loop of G34 within 0.5 %. The other loops gain less:
a region serves the modes that it was chosen for. Right: the deformation of that loop over the number of
elements with their own dynamics, in regions by error and by distance from its bus.
"""

import matplotlib.pyplot as plt
import numpy as np

import partitioning
import psmr

case = psmr.case("new-england-plants")
full = psmr.build(case, loads="impedance", dynamic=psmr.Region("all"))
modes = psmr.modes(full.linearise())
loops = modes[modes["dominant_state"].str.endswith("_full.theta")].sort_values("dominant_state")
values = [complex(row.real, row.imag) for row in loops.itertuples()]
names = [state.split("_")[0] for state in loops["dominant_state"]]

phasors = partitioning.measured_deformation(full, values, ())
chosen = names.index("G34")
by_error = [partitioning.by_deformation(full, values[chosen], limit) for limit in (0.02, 0.01, 0.005, 0.002)]
region = partitioning.measured_deformation(full, values, by_error[2].devices)
for k, name in enumerate(names):
    print(
        f"{name}: {values[k]:.1f} 1/s, phasors {100 * phasors.predicted[k]:.1f} % predicted,"
        f" {100 * phasors.measured[k]:.1f} % measured, region {100 * region.measured[k]:.1f} %"
    )
print(f"by error: {by_error[2]}")

branches = [*case.lines, *case.transformers]
elements = {*by_error[0].devices, *by_error[0].phasors}
ring, by_distance = {34}, []
for _ in range(5):
    around = {f"bus{n}" for n in ring} | {load.name for load in case.loads if load.bus in ring}
    around |= {device.name for plant in case.generators if plant.bus in ring for device in plant.devices}
    by_distance.append(partitioning.measured_deformation(full, values[chosen], around & elements))
    ring |= {n for row in branches for n in (row.from_bus, row.to_bus) if {row.from_bus, row.to_bus} & ring}

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
for k, (label, found) in enumerate(
    (
        ("phasors, predicted", phasors.predicted),
        ("phasors, measured", phasors.measured),
        ("region for G34, measured", region.measured),
    )
):
    left.bar(np.arange(5) + 0.27 * (k - 1), 100 * np.array(found), 0.25, label=label)
left.set_xticks(range(5), names)
left.set_ylabel("deformation of the loop's mode [%]")
left.set_ylim(0.0, 8.0)
left.legend(fontsize="small")
for label, found in (("by error", by_error), ("by distance", by_distance)):
    right.semilogy([len(c.devices) for c in found], [100 * c.measured[0] for c in found], "o-", label=label)
right.set_xlabel("elements with their own dynamics, of 108")
right.set_ylabel("deformation of the loop of G34 [%]")
right.set_yticks([0.2, 0.5, 1.0, 2.0, 5.0], ["0.2", "0.5", "1", "2", "5"])
right.minorticks_off()
right.grid(alpha=0.3)
right.legend(fontsize="small")

plt.show()
