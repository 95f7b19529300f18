"""Buses, branches and plants of a system, and its islands."""
