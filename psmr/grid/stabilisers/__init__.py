"""Power system stabilisers: they give the exciter a signal `v_s`."""

from psmr.grid.stabilisers.ieeest import IEEEST
from psmr.grid.stabilisers.speed import PssSpeed

__all__ = ["IEEEST", "PssSpeed"]
