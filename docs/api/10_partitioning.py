"""Partitioning: which variables are fast.

`partitioning` is a package of its own on numpy and scipy. Every split is checked for solvability, with a
table that says why each variable is where it is.
"""

# %% partitioning.by_participation
import partitioning
import psmr

system = psmr.build(psmr.case("wscc9-ibr"))
linear = system.linearise()
split = partitioning.by_participation(linear, delta=20.0)

# %% partitioning.Partition
print(split)
print(split.table[["variable", "reason"]].head(3))

# %% partitioning.suggest_delta
print(partitioning.suggest_delta(linear).head(3))

# %% partitioning.participation
factors = partitioning.participation(linear)

# %% partitioning.by_device
converter = partitioning.by_device(linear, ["C1"])

# %% partitioning.by_hand
one = partitioning.by_hand(linear, ["AVR1.v_r"])

# %% partitioning.all_fast
fast = partitioning.all_fast(linear)

# %% partitioning.all_slow
slow = partitioning.all_slow(linear)

# %% partitioning.by_deformation, partitioning.DeformationChoice
full = psmr.build(psmr.case("wscc9"), loads="impedance", dynamic=psmr.Region("all"))
swing = psmr.modes(full.linearise()).query("1.3 < frequency_hz < 1.4").iloc[0]
chosen = partitioning.by_deformation(full, swing.real + 1j * swing.imag, tolerance=2e-4)
print(chosen)

# %% partitioning.measured_deformation
print(partitioning.measured_deformation(full, chosen.modes, chosen.devices).predicted)

# %% partitioning.modes_in_full
print(partitioning.modes_in_full(full, chosen.modes, chosen.devices))

# %% partitioning.PartitionError
try:
    partitioning.by_hand(linear, ["nothing"])
except partitioning.PartitionError as error:
    print(error)
