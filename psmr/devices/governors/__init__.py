"""Turbine governors: they read the speed of the machine and give it its mechanical torque `t_m`.

The set-point `p_ref` is a power (or gate opening) in per unit on the machine base; the standard library's
speed reference is droop times this. Torque and power are taken as one number, as the machines here do.
"""
