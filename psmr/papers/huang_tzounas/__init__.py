"""Huang and Tzounas, Matrix pencil-based analysis of multirate simulation schemes, reproduced."""

from psmr.papers.huang_tzounas.reproduce import reproduce

__all__ = ["reproduce"]
