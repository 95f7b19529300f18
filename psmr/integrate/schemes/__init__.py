"""Schemes: a frozen record each, with the coefficients of its method."""
