"""Shi and Rojas, the stabilized multirate explicit scheme, reproduced."""

from psmr.papers.shi_rojas.reproduce import reproduce

__all__ = ["reproduce"]
