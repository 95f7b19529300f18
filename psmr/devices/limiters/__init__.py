"""Limiters of a machine's excitation: they give its exciter a signal where field or stator are overloaded.

What a limiter reads is in per unit as the machine has it: i_f and v_f are 1 at rated voltage on the open,
unsaturated stator, currents and powers are on the machine's base. An over-excitation limiter gives v_oel,
one of underexcitation v_uel, one of the stator current v_scl_oel and v_scl_uel. At rest it stands at its
own limits. Sources of the equations, where not said otherwise: IEEE Std 421.5-2016, clauses 9 to 11, as
the models of Dynawo (RTE) and InterPSS show them, both after its figures.
"""
