"""The power system: components, cases, power flow, initialisation."""
