"""Shi and Rojas, the stabilized multirate explicit scheme, reproduced."""

from psmr.reproduce.shi_rojas.reproduce import reproduce

__all__ = ["reproduce"]
