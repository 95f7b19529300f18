"""Shafts of turbine generators whose masses turn against each other."""
