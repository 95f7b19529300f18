"""Excitation systems: they read the voltage of the bus and give the machine its field voltage `v_f`.

Per unit: voltage on the bus base; v_f = 1 gives rated voltage on the open, unsaturated stator. `v_s` is the
stabiliser's signal.
"""
