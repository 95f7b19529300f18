"""Sweeps: many runs of one study, over parameters, schemes, events and cases."""
