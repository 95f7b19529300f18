"""Voltage collapse of the Nordic test system in three minutes

A fault of 0.1 s takes out one of the lines that bring the power of the North to the loads of the Central
area. The swing is over after 20 s. From then on tap changers of the loads bring their voltages back, for
which the machines of the area need more field current than their limiters allow: each that is limited gives
up its voltage, the tap changers go on, and after 170 s g6 is pulled out of step. Above: voltages, with the
instants at which machines were limited; below: positions of the tap changers.
"""

import matplotlib.pyplot as plt

import psmr

system = psmr.build(psmr.case("nordic"))
fault = psmr.Fault(bus=4032, start=1.0, clear=1.1, trip="4032-4044")
stop = psmr.AngleSpread(180.0)
run = psmr.simulate(system, t_end=200.0, events=[fault], monitors=[stop], certify=False)
print(run.judgement.headline)

limited = {
    act.device.removeprefix("AVR-"): change.t
    for change in reversed(run.changes)
    for act in change.acts
    if act.kind == "limiter" and act.value == 1.0
}
for name, t in sorted(limited.items(), key=lambda item: item[1]):
    print(f"{t:6.1f} s  field current of {name} limited")

figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 6.5), sharex=True, layout="constrained")
for bus in (4062, 4012, 1042, 1041):
    above.plot(run.t, run[f"bus{bus}.v"], label=f"bus {bus}")
for name, t in limited.items():
    above.axvline(t, color="0.75", linewidth=0.8, zorder=0)
    above.annotate(name, (t, 1.105), fontsize=8, ha="center")
above.set(ylabel="voltage [pu]", ylim=(0.6, 1.13))
above.legend(loc="lower left")
for name in ("41-4041", "2-1042", "1-1041", "3-1043"):
    below.step(run.t, run[f"LTC-{name}.position"], where="post", label=name)
below.set(xlabel="time [s]", ylabel="position of 33")
below.legend()

plt.show()
