"""Figures and pages of runs and of tunings."""
