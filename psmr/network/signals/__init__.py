"""Signals: names of what can be looked at, and how each depends on variables, inputs and parameters."""
