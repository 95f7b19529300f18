"""Declarations: a component, its parameters and connections, and the forms that zero constants make."""
