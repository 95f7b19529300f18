"""What is found out at each point of a sweep."""

from psmr.study.sweep.measures.clearing import ClearingTime
from psmr.study.sweep.measures.damping import Damping
from psmr.study.sweep.measures.measure import Column, Measure, Start
from psmr.study.sweep.measures.outcomes import Outcomes
from psmr.study.sweep.measures.stability import Stability

__all__ = ["ClearingTime", "Column", "Damping", "Measure", "Outcomes", "Stability", "Start"]
