"""Figures and the page of modes and of their deformation."""
