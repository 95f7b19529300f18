"""What a zero in a PSS/E record stands for, where it stands for another value."""

from __future__ import annotations

from collections.abc import Mapping

DIRECT_CURRENT = ("IEEET1", "IEEEX1", "EXDC1", "EXDC2", "ESDC1A", "ESDC2A", "IEEET2", "DC4B")
"""Models with a direct-current exciter, whose regulator has to feed the exciter at its second point."""


def meant(model: str, given: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """Return the parameters of a record with what its zeros stand for, and a note on each.

    ``v_r_max = 0`` of a direct-current exciter is what the exciter needs at e_2, (k_e + S_E(e_2)) e_2,
    without k_e where that is not positive; ``v_r_min``, if 0 too, is the negative of it. ``t_e = 0`` of
    EXPIC1 is a static exciter, whose k_e and saturation have no part. A saturation curve whose first point is
    e_1 = 0, se_1 = 0 has one point only, through which go curves of any curvature: there is no saturation
    then. Source: PSS/E, Model Library, IEEET1; for the curve the practice of ANDES.
    """
    found, notes = dict(given), []
    if found.get("e_1") == 0 == found.get("se_1") and found["se_2"] * found["e_2"] > 0:
        notes.append(
            f"e_1 = se_1 = 0 and se_2 = {found['se_2']:g} give the saturation curve one point; taken without"
            " saturation (se_2 = 0)"
        )
        found["se_2"] = 0.0
    if model == "EXPIC1" and found["t_e"] == 0:
        found |= {"k_e": 1.0, "se_1": 0.0, "se_2": 0.0}
    if model in DIRECT_CURRENT and found["v_r_max"] == 0:
        found["v_r_max"] = (max(found["k_e"], 0.0) + found["se_2"]) * found["e_2"]
        notes.append(f"v_r_max = 0 stands for what the exciter needs at e_2: {found['v_r_max']:g}")
        if found["v_r_min"] == 0:
            found["v_r_min"] = -found["v_r_max"]
            notes.append(f"v_r_min = 0 stands for -v_r_max: {found['v_r_min']:g}")
    return found, notes
