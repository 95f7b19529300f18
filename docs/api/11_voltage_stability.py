"""Voltage stability.

How much load a system carries, and how much reactive power a bus needs.
"""

# %% psmr.pv_curve, psmr.study.voltage_curves.PvCurve
import psmr

case = psmr.case("wscc9")
curve = psmr.pv_curve(case, loads=5)
print(curve)

# %% psmr.qv_curve, psmr.study.voltage_curves.QvCurve
print(psmr.qv_curve(case, bus=5, count=15))
