"""Devices with steps of their own within a step of the whole system."""
