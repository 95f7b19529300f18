"""The bus-fed static excitation system of Ontario Hydro in the standard library."""

from __future__ import annotations

from psmr.devices.exciters.exst1 import EXST1


class OEX12T(EXST1):
    """Bus-fed static excitation system, IEEE type ST1 (1981), of Ontario Hydro without its limiters.

    The equations are those of EXST1. The record has limiters of the terminal voltage and of the field current
    besides, for which no public description gives the equations: it is read where their values are zero
    (VTMAX, VTMIN, LIMOUT, IFLMT, KIFL, ETLMT, KETL, TL1, TL2, VOMX, VOMN), the ceiling is in proportion to
    the terminal voltage (ACON = 0, BCON = 1) and VEMAX, VEMIN are out of reach, as in every public record.
    ETMIN, the least terminal voltage of the supply, changes nothing: the ceiling falls with the voltage.
    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    ST1; PSS/E, Model Library, OEX12T; for the order of its values the reader of DSPSS (PETSc).
    """

    role = "exciter"
    records = (
        "OEX12T t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f -et_min vt_max=0 vt_min=0 "
        "limout=0 acon=0 bcon=1 ve_max=99.9 ve_min=-99.9 iflmt=0 kifl=0 etlmt=0 ketl=0 tl_1=0 tl_2=0 "
        "vo_max=0 vo_min=0",
    )
