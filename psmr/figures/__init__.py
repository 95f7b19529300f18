"""Figures and pages of everything that psmr computes."""
