"""Modes of a linearised DAE: spectrum, choice, matching with multipliers."""
