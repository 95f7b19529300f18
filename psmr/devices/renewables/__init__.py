"""Generic models of wind, solar and storage plants: converter, electrical control, plant control.

The models of the Western Electricity Coordinating Council (WECC), with the names of the PSS/E Model Library.
A plant has a converter (REGCA1, REGCB1), which takes the commands ``ip_cmd`` and ``iq_cmd`` of an electrical
control (REECA1, REECB1, REECD1), which takes the references ``p_ref`` and ``q_ext`` of a plant
control (REPCA1) or holds them. DERA1 is all of that in one, for generation in
distribution networks. All are per unit on the converter's base; time in s.

Sources: EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023); WECC, Solar
Photovoltaic Power Plant Modeling and Validation Guideline (2019); PSS/E Model Library.
"""
