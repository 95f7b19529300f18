"""The power system: cases, power flow, start, topology."""
