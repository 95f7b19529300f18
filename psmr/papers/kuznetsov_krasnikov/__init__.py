"""Kuznetsov and Krasnikov, integration along the arc of the solution, reproduced."""

from psmr.papers.kuznetsov_krasnikov.reproduce import reproduce

__all__ = ["reproduce"]
