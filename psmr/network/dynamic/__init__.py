"""Regions of a network whose elements have their own dynamics, inside a network of phasors."""
