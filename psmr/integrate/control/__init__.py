"""Steps that follow an error: its estimate, the controller, limits and corners."""
