"""What is found out at each point of a sweep."""

from psmr.sweep.measures.clearing import ClearingTime
from psmr.sweep.measures.damping import Damping, Stability
from psmr.sweep.measures.measure import Column, Measure, Start
from psmr.sweep.measures.outcomes import Outcomes

__all__ = ["ClearingTime", "Column", "Damping", "Measure", "Outcomes", "Stability", "Start"]
